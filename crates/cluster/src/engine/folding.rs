//! Evaluates single nodes for constant folding.

use std::sync::Arc;

use tensorfleet_framework::{
    BoxFuture, Function, FunctionRunner, Outcome, Registry, Resources, Spawn, Started, StepContext,
    StepId, Surroundings, Value, step_resources,
};
use tensorfleet_graph::{Func, Node};
use tensorfleet_planner::Evaluate;
use tensorfleet_runtime::{LocalRendezvous, Operation};
use tensorfleet_tensor::{Result, Tensor, unimplemented_error};

use crate::world::GivenUp;

/// Computes what depends on constants only, outside of any step.
#[derive(Debug)]
pub(crate) struct Folding<'a> {
    registry: &'a Registry,
    step: Arc<StepContext>,
    given_up: GivenUp,
}

impl Folding<'_> {
    pub(crate) fn new(registry: &Registry) -> Folding<'_> {
        let surroundings = Surroundings {
            device: "".into(),
            resources: Arc::new(Resources::default()),
            functions: Arc::new(NoFunctions),
            spawner: Arc::new(NoBackground),
            parallelism: 1,
        };
        let rendezvous = Arc::new(LocalRendezvous::default());
        let step = surroundings.step(StepId(0), step_resources(), rendezvous);
        Folding { registry, step, given_up: GivenUp::default() }
    }

    /// For a plan that somebody may give up.
    #[must_use]
    pub(crate) fn until(self, given_up: &GivenUp) -> Self {
        Folding { given_up: given_up.clone(), ..self }
    }
}

impl Evaluate for Folding<'_> {
    fn go_on(&self) -> Result<()> {
        self.given_up.check()
    }

    fn evaluate(&self, node: &Node, inputs: Vec<Tensor>) -> Option<Vec<Tensor>> {
        let operation = Operation::new(node, self.registry, "CPU").ok()?;
        let inputs = inputs.into_iter().map(Value::Tensor).collect();
        // A kernel that fails does so again in the step, which then reports it; so one that waits.
        let Ok(Started::Done(Outcome::Values(outputs))) = operation.start(&self.step, inputs)
        else {
            return None;
        };
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

    fn spawn_file_work(&self, _: Arc<str>, _: Box<dyn FnOnce() + Send>) {}
}
