//! Evaluates single nodes for constant folding.

use std::sync::Arc;

use tensorfleet_framework::{
    BoxFuture, FrameIteration, Function, FunctionRunner, Implementation, KernelContext, Registry,
    Resources, Spawn, StepContext, StepId, Value,
};
use tensorfleet_graph::{Func, Node};
use tensorfleet_planner::Evaluate;
use tensorfleet_runtime::LocalRendezvous;
use tensorfleet_tensor::{Result, Tensor, unimplemented_error};

/// Computes what depends on constants only, outside of any step.
#[derive(Debug)]
pub(crate) struct Folding<'a> {
    registry: &'a Registry,
    step: Arc<StepContext>,
}

impl Folding<'_> {
    pub(crate) fn new(registry: &Registry) -> Folding<'_> {
        let step = StepContext {
            id: StepId(0),
            device: "".into(),
            resources: Arc::default(),
            step_resources: Arc::new(Resources::new("_step")),
            rendezvous: Arc::new(LocalRendezvous::default()),
            functions: Arc::new(NoFunctions),
            spawner: Arc::new(NoBackground),
            parallelism: 1,
            depth: 0,
        };
        Folding { registry, step: Arc::new(step) }
    }
}

impl Evaluate for Folding<'_> {
    fn evaluate(&self, node: &Node, inputs: Vec<Tensor>) -> Option<Vec<Tensor>> {
        let Ok(Implementation::Compute(kernel)) = self.registry.create_kernel(node, "CPU") else {
            return None;
        };
        let mut inputs: Vec<Value> = inputs.into_iter().map(Value::Tensor).collect();
        let mut outputs = vec![Value::Empty; node.output_types().len()];
        let place = FrameIteration::default();
        // A kernel that panics does so again in the step, which then reports it.
        let computed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut ctx =
                KernelContext::new(&node.name, &self.step, place, &mut inputs, &mut outputs);
            kernel.compute(&mut ctx)?;
            ctx.finish()
        }));
        computed.ok()?.ok()?;
        let tensors = outputs.into_iter().map(|value| match value {
            Value::Tensor(tensor) => Some(tensor),
            Value::Ref(_) | Value::Empty => None,
        });
        tensors.collect()
    }
}

#[derive(Debug)]
struct NoFunctions;

impl FunctionRunner for NoFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        Err(unimplemented_error!(
            "function {} cannot be called while a graph is planned",
            function.name
        ))
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(NoFunctions)
    }
}

/// Nothing goes on when a graph is planned: what is spawned is dropped.
#[derive(Debug)]
struct NoBackground;

impl Spawn for NoBackground {
    fn spawn(&self, _: BoxFuture<()>) {}
}
