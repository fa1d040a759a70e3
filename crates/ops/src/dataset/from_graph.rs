//! `DatasetFromGraph`: the dataset that a graph makes.

use std::sync::Arc;

use tensorfleet_framework::{
    AsyncContext, AsyncKernel, Attrs, Op, Outcome, Started, StepContext, cpu_async,
};
use tensorfleet_graph::NodeDef;
use tensorfleet_tensor::{Result, invalid_argument, not_found};

use super::dataset::from_tensor;
use super::origin::DatasetGraph;
use super::wire;

pub(super) const OPS: &[Op] = &[Op {
    name: "DatasetFromGraph",
    inputs: &["graph_def: string"],
    outputs: &["handle: variant"],
    kernels: &[cpu_async::<FromGraph>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct FromGraph;

impl AsyncKernel for FromGraph {
    fn new(_: &Attrs<'_>) -> Result<FromGraph> {
        Ok(FromGraph)
    }

    fn start(&self, ctx: AsyncContext) -> Result<Started> {
        let text = ctx.input(0)?;
        let [bytes] = text.strings()? else {
            return Err(invalid_argument!("graph_def must be a scalar"));
        };
        make(&ctx.step, wire::decode_graph(bytes)?)
    }
}

/// Runs a graph whose `_Retval` is a dataset.
pub(super) fn make(step: &Arc<StepContext>, graph: DatasetGraph) -> Result<Started> {
    let DatasetGraph { nodes, library } = graph;
    if !nodes.iter().any(|node| node.op == "_Retval") {
        return Err(not_found!("Failed to find a _Retval op in the given dataset"));
    }
    let nodes = nodes.into_iter().map(|node| NodeDef { device: String::new(), ..node }).collect();
    // Its functions may have the names of others that this graph has.
    let functions = step.functions.with_library(Arc::new(library));
    let function = functions.graph(nodes)?;
    let step = Arc::new(StepContext { functions, ..StepContext::clone(step) });
    let call = function.call(&step, Vec::new());
    Ok(Started::Waiting(Box::pin(async move {
        let made = call.await?;
        match &made[..] {
            [dataset, ..] => from_tensor(dataset)?,
            [] => return Err(invalid_argument!("the graph of a dataset returns nothing")),
        };
        Ok(Outcome::from(made.into_iter().take(1).collect::<Vec<_>>()))
    })))
}
