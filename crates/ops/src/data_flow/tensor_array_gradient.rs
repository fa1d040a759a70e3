//! Gradients of tensor arrays: beside an array lives one of gradients, which the node that read an
//! element writes, and the node that wrote it reads. The flow orders them.

use tensorfleet_framework::{GradientContext, InputGradients, NewNode};
use tensorfleet_graph::Output;
use tensorfleet_tensor::Result;

/// The array of gradients, and the flow that it begins with.
fn array_of_gradients(g: &GradientContext<'_>, flow: Output) -> Result<[Output; 2]> {
    // Two calls of `gradients` must not add to one array, so it is named after the call.
    let source = g.with_builder(|_, scope| {
        let mut end = 0;
        let found = scope.name.split('/').any(|part| {
            end += part.len() + 1;
            part.starts_with("gradients")
        });
        if found { scope.name[..end - 1].to_owned() } else { scope.name.clone() }
    });
    let node = NewNode::new("TensorArrayGradV3").input(g.input(0)).input(flow);
    g.outs(node.attr("source", source))
}

/// The flow that a node takes in, always the last of its inputs.
fn flow_in(g: &GradientContext<'_>) -> Output {
    g.input(g.num_inputs() - 1)
}

/// The gradient of a node whose only differentiable input is the flow.
fn only_flow(g: &GradientContext<'_>, flow: Output) -> InputGradients {
    let mut gradients = vec![None; g.num_inputs() - 1];
    gradients.push(Some(flow.into()));
    Ok(gradients)
}

pub(super) fn read(g: &GradientContext<'_>) -> InputGradients {
    let [array, flow] = array_of_gradients(g, flow_in(g))?;
    only_flow(g, g.call("TensorArrayWriteV3", [array, g.input(1), g.grad(0)?, flow])?)
}

pub(super) fn gather(g: &GradientContext<'_>) -> InputGradients {
    let [array, flow] = array_of_gradients(g, flow_in(g))?;
    only_flow(g, g.call("TensorArrayScatterV3", [array, g.input(1), g.grad(0)?, flow])?)
}

pub(super) fn concat(g: &GradientContext<'_>) -> InputGradients {
    let [array, flow] = array_of_gradients(g, flow_in(g))?;
    only_flow(g, g.call("TensorArraySplitV3", [array, g.grad(0)?, g.output(1), flow])?)
}

/// The gradient of what a node put into the array, by the op that takes it out.
fn taken_out(g: &GradientContext<'_>, op: &str, value: Output, at: &[Output]) -> InputGradients {
    let flow = g.grad(0)?;
    let [array, array_flow] = array_of_gradients(g, flow)?;
    let node = at.iter().fold(NewNode::new(op).input(array), |node, input| node.input(*input));
    let taken = g.out(node.input(array_flow).attr("dtype", g.dtype(value)))?;
    let inputs = &g.node().inputs;
    let mut gradients = vec![None; inputs.len()];
    if let Some(place) = inputs.iter().position(|input| *input == value) {
        gradients[place] = Some(taken.into());
    }
    if let Some(last) = gradients.last_mut() {
        *last = Some(flow.into());
    }
    Ok(gradients)
}

pub(super) fn write(g: &GradientContext<'_>) -> InputGradients {
    taken_out(g, "TensorArrayReadV3", g.input(2), &[g.input(1)])
}

pub(super) fn scatter(g: &GradientContext<'_>) -> InputGradients {
    taken_out(g, "TensorArrayGatherV3", g.input(2), &[g.input(1)])
}

pub(super) fn split(g: &GradientContext<'_>) -> InputGradients {
    taken_out(g, "TensorArrayConcatV3", g.input(1), &[])
}
