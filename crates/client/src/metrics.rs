//! Metrics: of one batch, and kept over many.

use std::panic::Location;

use tensorfleet_tensor::DType;

use crate::graph::Graph;
use crate::output::{Operand, Operation, Output};
use crate::variable::Variable;

/// The part of rows whose greatest logit is at the number of their class.
#[track_caller]
pub fn accuracy(logits: &Output, classes: impl Operand) -> Output {
    let guesses = logits.argmax(-1);
    let classes = logits.graph().operand(&classes, None).cast(DType::Int64);
    guesses.equal(classes).cast(DType::Float).mean()
}

/// The part of rows among whose `k` greatest logits their class is.
#[track_caller]
pub fn top_k_accuracy(logits: &Output, classes: impl Operand, k: i32) -> Output {
    let op = logits.graph().op("InTopKV2").input(logits).input(classes).input(k);
    op.output().cast(DType::Float).mean()
}

/// A mean over all values that it has been updated with.
#[derive(Clone, Debug)]
pub struct Mean {
    total: Variable,
    count: Variable,
    update: Operation,
    result: Output,
    reset: Operation,
}

impl Mean {
    /// Keeps the mean of all elements of `values` over steps.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, metrics::Mean};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([None]);
    /// let mean = Mean::new("mean", &x);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// session.run((&x, [1.0f32, 2.0]), mean.update())?;
    /// session.run((&x, [6.0f32]), mean.update())?;
    /// assert_eq!(session.run((), mean.result().value::<f32>())?, 3.0);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn new(name: &str, values: &Output) -> Mean {
        let graph: &Graph = values.graph();
        graph.layer(name, Location::caller(), || {
            let total = graph.state("total", 0.0f32);
            let count = graph.state("count", 0.0f32);
            let values = values.cast(DType::Float);
            let added = [
                total.assign_add(values.sum()),
                count.assign_add(values.size_tensor().cast(DType::Float)),
            ];
            let reset = [total.assign(0.0f32), count.assign(0.0f32)];
            let result =
                graph.op("DivNoNan").input(total.snapshot()).input(count.snapshot()).output();
            Mean { update: graph.group(&added), reset: graph.group(&reset), total, count, result }
        })
    }

    /// Takes the values of a step in.
    pub fn update(&self) -> &Operation {
        &self.update
    }

    /// The mean so far; zero if there were no values.
    pub fn result(&self) -> &Output {
        &self.result
    }

    /// Starts anew.
    pub fn reset(&self) -> &Operation {
        &self.reset
    }

    /// The variables that it keeps, to be initialised.
    pub fn variables(&self) -> [&Variable; 2] {
        [&self.total, &self.count]
    }
}
