//! Rewrites a placed graph into a faster one that does the same.
//!
//! Results, the order of side effects and the errors of what is read stay as they are: a rewrite
//! never changes what nodes with state, references or handles do, and never moves a node to another
//! device.

mod branches;
mod controls;
mod dedupe;
mod fold;
mod forward;
mod fuse;
mod identities;
mod replicate;
mod unread;
mod uses;

use tensorfleet_framework::Registry;
use tensorfleet_graph::{AttrList, AttrValue, ControlFlow, Node};
use tensorfleet_tensor::{DType, Result, Tensor};

use crate::{Evaluate, Step, validate};

/// Applies all rewrites.
pub(crate) fn optimise(step: Step, ops: &Registry, evaluate: &dyn Evaluate) -> Result<Step> {
    let checked = |step: Step| {
        evaluate.go_on()?;
        validate(&step.graph)?;
        Ok(step)
    };
    let step = checked(fold::fold(step, ops, evaluate)?)?;
    let step = checked(identities::drop_untaken(step, ops)?)?;
    let step = checked(forward::forward(step))?;
    let step = checked(unread::drop_unread(step, ops)?)?;
    let step = checked(controls::drop_satisfied(step))?;
    let step = checked(dedupe::dedupe(step))?;
    let step = checked(fuse::fuse(step, ops)?)?;
    checked(replicate::replicate(step)?)
}

/// Leaves out what a session's step never does, because constants decide so. As in TensorFlow this is
/// for control flow that is written into the graph itself, and calls that only a branch needs that is
/// never taken are not made.
pub(crate) fn decide(step: Step, ops: &Registry, evaluate: &dyn Evaluate) -> Result<Step> {
    if !step.graph.nodes().iter().any(|node| node.steers(ControlFlow::Switch)) {
        return Ok(step);
    }
    let folded = fold::fold(step.clone(), ops, evaluate)?;
    Ok(branches::drop_untaken(folded, ops, evaluate)?.unwrap_or(step))
}

/// Whether the node is a function of its inputs and nothing else.
fn is_pure(node: &Node) -> bool {
    let values = || node.input_types().iter().chain(node.output_types());
    let has_function = |value: &AttrValue| {
        matches!(value, AttrValue::Func(_) | AttrValue::List(AttrList::Funcs(_)))
    };
    !node.is_stateful()
        && !is_control_flow(node)
        && !node.nature().reads_outside
        && values().all(|v| !v.is_ref && !matches!(v.dtype, DType::Resource | DType::Variant))
        && !node.attrs.values().any(has_function)
}

/// Whether the executor itself does what the node means, and it is no end of the graph.
fn is_control_flow(node: &Node) -> bool {
    node.nature().control_flow.is_some_and(|what| !what.is_end())
}

/// The value of a constant.
fn constant(node: &Node) -> Option<&Tensor> {
    match (&*node.op, node.attrs.get("value")) {
        ("Const", Some(AttrValue::Tensor(tensor))) => Some(tensor),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
