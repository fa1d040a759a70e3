//! `OneShotIterator`: an iterator that makes its dataset when it is first needed.

use std::sync::Arc;

use futures_util::lock::Mutex;
use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, StepContext, cpu_async,
};
use tensorfleet_graph::Func;
use tensorfleet_tensor::{Error, ResourceHandle, Result, Tensor, invalid_argument};

use super::resource::IteratorResource;
use crate::data_flow::named::Named;
use crate::dataset::dataset::{Signature, from_tensor};
use crate::dataset::scope::Scope;

pub(in crate::dataset) const OPS: &[Op] = &[Op {
    name: "OneShotIterator",
    outputs: &["handle: resource"],
    attrs: &[
        "dataset_factory: func",
        "output_types: list(type) >= 1",
        "output_shapes: list(shape) >= 1",
        "container: string = ''",
        "shared_name: string = ''",
    ],
    stateful: true,
    kernels: &[cpu_async::<OneShotIterator>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct OneShotIterator(Arc<Iterator>);

#[derive(Debug)]
struct Iterator {
    named: Named<IteratorResource>,
    factory: Func,
    signature: Signature,
    /// The handle, or why the only attempt to start failed. Held while one step makes the attempt.
    started: Mutex<Option<Result<ResourceHandle, Error>>>,
}

impl AsyncKernel for OneShotIterator {
    fn new(attrs: &Attrs<'_>) -> Result<OneShotIterator> {
        Ok(OneShotIterator(Arc::new(Iterator {
            named: Named::new(attrs)?,
            factory: attrs.func("dataset_factory")?.clone(),
            signature: Signature::new(attrs)?,
            started: Mutex::new(None),
        })))
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let outputs = |handle| Outcome::from(vec![Tensor::resource(handle)]);
        if let Some(started) = self.0.started.try_lock()
            && let Some(handle) = &*started
        {
            return Ok(Started::Done(outputs(handle.clone()?)));
        }
        let iterator = Arc::clone(&self.0);
        Ok(Started::Waiting(Box::pin(async move {
            let mut started = iterator.started.lock().await;
            let handle = match &*started {
                Some(handle) => handle.clone(),
                None => {
                    let handle = iterator.make(&ctx.step).await;
                    *started = Some(handle.clone());
                    handle
                }
            };
            Ok(outputs(handle?))
        })))
    }
}

impl Iterator {
    async fn make(&self, step: &Arc<StepContext>) -> Result<ResourceHandle> {
        let create = |_: &str| Ok(IteratorResource::new(Some(self.signature.clone())));
        let (iterator, handle) = self.named.find(step, create)?;
        let returned = step.functions.instantiate(&self.factory)?.call(step, Vec::new()).await?;
        let [dataset] = &returned[..] else {
            return Err(invalid_argument!(
                "The `dataset_factory` function must return a single scalar of dtype DT_VARIANT."
            ));
        };
        iterator.start(from_tensor(dataset)?, Scope::root(step))?;
        Ok(handle)
    }
}
