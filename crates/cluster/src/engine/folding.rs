//! Evaluates single nodes for constant folding.

use std::sync::Arc;

use tensorfleet_framework::{Outcome, Registry, Started, StepContext, Value};
use tensorfleet_graph::Node;
use tensorfleet_planner::Evaluate;
use tensorfleet_runtime::Operation;
use tensorfleet_tensor::{Result, Tensor};

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
        Folding { registry, step: StepContext::bare(), given_up: GivenUp::default() }
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
