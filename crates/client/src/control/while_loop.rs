//! Loops: a body that runs for as long as a condition holds.

use std::panic::Location;

use tensorfleet_framework::shape::merge;
use tensorfleet_graph as graph;
use tensorfleet_graph::NodeId;
use tensorfleet_tensor::{DType, PartialShape, Result, invalid_argument};

use super::Outputs;
use super::function::Return;
use super::part::Part;
use crate::graph::Graph;
use crate::output::Output;

impl Graph {
    /// Repeats what `body` builds for as long as what `condition` builds is true, and returns the
    /// variables of the loop as they are in the end. They keep their types and shapes.
    ///
    /// ```
    /// use tensorfleet_client::{Graph, Session, gradients};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let x = graph.placeholder::<f32>([]);
    /// let start = (graph.constant(0i32), graph.constant(1.0f32));
    /// // The fourth power, by repeated multiplication.
    /// let (_, power) =
    ///     graph.while_loop(start, |(i, _)| i.less(4), |(i, product)| (i + 1, product * &x));
    /// let dx = gradients(&power, [&x])[0].clone().expect("the power depends on x").to_dense();
    ///
    /// let session = Session::new(&graph)?;
    /// let fetches = (power.value::<f32>(), dx.value::<f32>());
    /// assert_eq!(session.run((&x, 2.0f32), fetches)?, (16.0, 32.0));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Gradients run the body once more from the variables that each round began with: a body that
    /// draws random numbers must draw the same ones then, as the stateless random ops do.
    #[track_caller]
    pub fn while_loop<R: Outputs>(
        &self,
        start: R,
        condition: impl FnOnce(R) -> Output,
        body: impl FnOnce(R) -> R,
    ) -> R {
        let location = Location::caller();
        let graph = self.innermost();
        let start: Vec<Output> =
            start.into_outputs().iter().map(|output| graph.operand(output, None)).collect();
        if start.iter().any(|output| output.at.is_none()) {
            return R::from_outputs(start);
        }
        let arguments: Vec<(DType, PartialShape)> =
            start.iter().map(|output| (output.dtype(), output.shape())).collect();
        let condition =
            graph.part(&arguments, location, |args| vec![condition(R::from_outputs(args))]);
        let body =
            graph.part(&arguments, location, |args| body(R::from_outputs(args)).into_outputs());
        match graph.assemble(&start, &condition, &body) {
            Ok(outputs) => R::from_outputs(outputs),
            Err(error) => {
                graph.record(error, location);
                R::from_outputs(start.iter().map(|_| Output::new(&graph, None)).collect())
            }
        }
    }

    /// Makes the two parts functions and adds the node that runs them.
    fn assemble(&self, start: &[Output], condition: &Part, body: &Part) -> Result<Vec<Output>> {
        self.root().check()?;
        check_results(start, condition, body)?;
        let mut captures: Vec<graph::Output> = Vec::new();
        for (outer, _) in condition.captures().into_iter().chain(body.captures()) {
            if !captures.contains(&outer) {
                captures.push(outer);
            }
        }
        let captured: Vec<Output> =
            captures.iter().map(|at| Output::new(self, Some(*at))).collect();
        let args_of = |part: &Part| -> Vec<(DType, Option<NodeId>)> {
            let own = part.captures();
            let variables = start.iter().zip(&part.args).map(|(o, arg)| (o.dtype(), Some(*arg)));
            let others = captured.iter().zip(&captures).map(|(output, at)| {
                let found = own.iter().find(|(outer, _)| outer == at);
                (output.dtype(), found.map(|(_, inner)| *inner))
            });
            variables.chain(others).collect()
        };
        let mut body_returns = body.returns()?;
        for (index, output) in captured.iter().enumerate() {
            body_returns.push((output.dtype(), Return::Arg(start.len() + index)));
        }
        let condition_returns = condition.returns()?;
        let condition =
            self.add_function("while_cond", condition, &args_of(condition), &condition_returns)?;
        let body = self.add_function("while_body", body, &args_of(body), &body_returns)?;
        let shapes: Vec<PartialShape> =
            start.iter().chain(&captured).map(|output| output.shape()).collect();
        let op = if condition.1 || body.1 { "While" } else { "StatelessWhile" };
        let outputs = self
            .op(op)
            .named("while")
            .inputs(start.iter().chain(&captured))
            .attr("cond", condition.0)
            .attr("body", body.0)
            .attr("output_shapes", shapes.clone())
            .attr("parallel_iterations", 10i64)
            .attr("_lower_using_switch_merge", true)
            .build()
            .outputs();
        for (output, shape) in outputs.iter().zip(shapes) {
            if let Some(at) = output.at {
                self.lock().builder.set_shape(at, shape);
            }
        }
        Ok(outputs.into_iter().take(start.len()).collect())
    }
}

fn check_results(start: &[Output], condition: &Part, body: &Part) -> Result<()> {
    let holds = &condition.results[0];
    if holds.dtype() != DType::Bool {
        return Err(invalid_argument!(
            "the condition of a loop must be bool, not {}",
            holds.dtype()
        ));
    }
    if body.results.len() != start.len() {
        return Err(invalid_argument!(
            "the loop has {} variables, but its body returns {} tensors",
            start.len(),
            body.results.len()
        ));
    }
    for (index, (before, after)) in start.iter().zip(&body.results).enumerate() {
        let (was, is) = (before.shape(), after.shape());
        if before.dtype() != after.dtype() || merge(&was, &is).is_err() {
            return Err(invalid_argument!(
                "variable {index} of the loop is {} {was} at first, but {} {is} after a round",
                before.dtype(),
                after.dtype()
            ));
        }
    }
    Ok(())
}
