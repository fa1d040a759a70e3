//! Rewrites a placed graph into a faster one that does the same.
//!
//! Results, the order of side effects and the errors of what is read stay as they are: a rewrite
//! never changes what nodes with state, references or handles do, and never moves a node to another
//! device.

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
use tensorfleet_graph::{AttrList, AttrValue, Node};
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

/// Whether the node is a function of its inputs and nothing else.
fn is_pure(node: &Node) -> bool {
    let values = || node.input_types().iter().chain(node.output_types());
    let has_function = |value: &AttrValue| {
        matches!(value, AttrValue::Func(_) | AttrValue::List(AttrList::Funcs(_)))
    };
    !node.is_stateful()
        && !is_control_flow(node)
        && !reads_outside(node)
        && values().all(|v| !v.is_ref && !matches!(v.dtype, DType::Resource | DType::Variant))
        && !node.attrs.values().any(has_function)
}

/// Whether the node's value comes from elsewhere though its definition does not call it stateful.
fn reads_outside(node: &Node) -> bool {
    matches!(
        &*node.op,
        "ImmutableConst" | "MatchingFiles" | "Placeholder" | "PlaceholderV2" | "ReadFile"
    )
}

/// Whether the executor itself does what the node means.
fn is_control_flow(node: &Node) -> bool {
    matches!(
        &*node.op,
        "ControlTrigger"
            | "Enter"
            | "Exit"
            | "LoopCond"
            | "Merge"
            | "NextIteration"
            | "RefEnter"
            | "RefExit"
            | "RefMerge"
            | "RefNextIteration"
            | "RefSwitch"
            | "Switch"
            | "_SwitchN"
    )
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
