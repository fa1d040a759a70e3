//! A step outside of everything: single ops run in it that call nobody and leave nothing behind.

use std::sync::Arc;

use tensorfleet_graph::Func;
use tensorfleet_tensor::{Result, unimplemented_error};

use crate::background::NoPeers;
use crate::{
    BoxFuture, Function, FunctionRunner, Resources, Spawn, StepContext, StepId, Surroundings,
    step_resources,
};

impl StepContext {
    /// A step without peers, functions, background or journal.
    pub fn bare() -> Arc<StepContext> {
        let surroundings = Surroundings {
            device: "".into(),
            resources: Arc::new(Resources::default()),
            functions: Arc::new(NoFunctions),
            spawner: Arc::new(NoBackground),
            parallelism: 1,
            policy: None,
            account: None,
        };
        surroundings.step(StepId(0), step_resources(), Arc::new(NoPeers), None)
    }
}

#[derive(Debug)]
struct NoFunctions;

impl FunctionRunner for NoFunctions {
    fn instantiate(&self, function: &Func) -> Result<Arc<dyn Function>> {
        Err(unimplemented_error!("function {} cannot be called outside of a step", function.name))
    }

    fn fork(&self) -> Arc<dyn FunctionRunner> {
        Arc::new(NoFunctions)
    }
}

/// Nothing goes on: what is spawned is dropped.
#[derive(Debug)]
struct NoBackground;

impl Spawn for NoBackground {
    fn spawn(&self, _: BoxFuture<()>) {}

    fn spawn_file_work(&self, _: Arc<str>, _: Box<dyn FnOnce() + Send>) {}
}
