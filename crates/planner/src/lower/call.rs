//! Plain calls: `PartitionedCall`, which nodes whose op is a function have become.

use std::sync::Arc;

use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, ControlFlow, Func, Graph, Node, NodeId, Output, ValueType,
};
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::body::Site;
use super::{Lowering, Pending};
use crate::calls::NATIVE_CALL;
use crate::edit::{NewNode, first_output};
use crate::function::FunctionBody;
use crate::gradient::{self, SYMBOLIC_GRADIENT};

/// An attribute of nodes with several results of which one is fed or fetched, and of the merges that
/// a replaced branch or loop has.
pub(crate) const END: &str = "_is_end";

impl Lowering<'_> {
    /// Replaces a call by the body of its function, unless either asks not to.
    pub(super) fn expand_call(&mut self, pending: &Pending, node: &Node) -> Result<()> {
        let func = called(node)?;
        let function_attrs = self.graph.library().find(&func.name).map(|def| def.attrs.clone());
        let asks_to_stay = is_true(&node.attrs, "_noinline")
            || function_attrs.is_some_and(|attrs| is_true(&attrs, "_noinline"));
        let stays = asks_to_stay && self.options.keep_noinline;
        let Some(body) = self.body(&func, pending)? else { return Ok(()) };
        check_arguments(node, &func, node.input_types(), &body)?;
        check_results(node, &func, &body)?;
        if stays {
            return Ok(());
        }
        let expansion = self.enter(&func, pending);
        let (args, mut entry) = self.gate(node)?;
        let may_not_run = pending.within.is_some() || self.had_control_flow;
        if entry.is_empty() && may_not_run && has_sources(&body.graph) {
            entry.extend(self.anchor(node)?);
        }
        let site = Site { prefix: &node.name, device: &node.device, args: &args, entry: &entry };
        let inlined = self.inline(&body, &site, expansion)?;
        let returns = match is_true(&node.attrs, END) {
            true => self.together(node, inlined.returns)?,
            false => inlined.returns,
        };
        self.replace_outputs(pending.id, returns);
        if self.awaited.contains(&pending.id) {
            // Who waits for a call waits for its effects, not for its results. Where a call may not
            // run, its results tell; and who asks for the call itself asks for them.
            let is_native = is_true(&node.attrs, NATIVE_CALL);
            let waits_for_results = is_native || may_not_run || self.targets.contains(&pending.id);
            let control_inputs = if waits_for_results { inlined.done } else { inlined.effects };
            let done = self.add(NewNode {
                name: &format!("{}/output_control_node", node.name),
                op: "NoOp",
                device: Arc::clone(&node.device),
                control_inputs,
                ..NewNode::default()
            })?;
            self.redirects.node(pending.id, done);
        }
        Ok(())
    }

    /// Results of which each waits for all: TensorFlow computes all of them, whichever is asked for.
    fn together(&mut self, node: &Node, results: Vec<Output>) -> Result<Vec<Output>> {
        if results.len() < 2 {
            return Ok(results);
        }
        let types = node.output_types().iter().map(|value| value.dtype).collect();
        let all = self.add(NewNode {
            name: &format!("{}/outputs", node.name),
            op: "IdentityN",
            device: Arc::clone(&node.device),
            attrs: vec![
                ("T", AttrValue::List(AttrList::Types(types))),
                (END, AttrValue::Bool(true)),
            ],
            inputs: results.clone(),
            control_inputs: Vec::new(),
        })?;
        Ok((0..results.len()).map(|index| Output { node: all, index: index as u32 }).collect())
    }

    /// A node that runs when the call would: in the same round of a loop, on the same side of a
    /// branch. Nodes of the body that have no inputs wait for it.
    fn anchor(&mut self, node: &Node) -> Result<Option<NodeId>> {
        let (Some(&input), Some(value)) = (node.inputs.first(), node.input_types().first()) else {
            return Ok(None);
        };
        let anchor = self.add(NewNode {
            name: &format!("{}/input_control_node", node.name),
            op: "Identity",
            device: Arc::clone(&self.graph.node(input.node).device),
            attrs: vec![("T", AttrValue::Type(value.dtype))],
            inputs: vec![input],
            control_inputs: Vec::new(),
        })?;
        Ok(Some(anchor))
    }

    /// Makes the arguments wait for what the call waits for.
    fn gate(&mut self, node: &Node) -> Result<(Vec<Output>, Vec<NodeId>)> {
        if node.control_inputs.is_empty() {
            return Ok((node.inputs.clone(), Vec::new()));
        }
        let entry = match &node.control_inputs[..] {
            &[only] => only,
            several => self.add(NewNode {
                name: &format!("{}/input_control_node", node.name),
                op: "NoOp",
                device: Arc::clone(&node.device),
                control_inputs: several.to_vec(),
                ..NewNode::default()
            })?,
        };
        let mut args = Vec::with_capacity(node.inputs.len());
        for (&input, value) in node.inputs.iter().zip(node.input_types()) {
            let source = self.graph.node(input.node);
            let arg = self.add(NewNode {
                name: &format!("{}/input", node.name),
                op: "Identity",
                device: Arc::clone(&source.device),
                attrs: vec![("T", AttrValue::Type(value.dtype))],
                inputs: vec![input],
                control_inputs: vec![entry],
            })?;
            args.push(first_output(arg));
        }
        Ok((args, vec![entry]))
    }
}

/// Whether some nodes of a body would run at once, whether its call does or not.
fn has_sources(body: &Graph) -> bool {
    body.nodes().iter().any(|node| {
        node.inputs.is_empty() && node.control_inputs.is_empty() && !node.steers(ControlFlow::Arg)
    })
}

/// The function that a plain call calls.
fn called(node: &Node) -> Result<Func> {
    match node.attrs.get("f") {
        Some(AttrValue::Func(_)) if &*node.op == SYMBOLIC_GRADIENT => Ok(gradient::called(node)),
        Some(AttrValue::Func(func)) => Ok(func.clone()),
        _ => Err(invalid_argument!("no function to call").at_node(&node.name)),
    }
}

/// Fails if a node gives a function other arguments than it takes.
pub(super) fn check_arguments(
    node: &Node,
    func: &Func,
    given: &[ValueType],
    body: &FunctionBody,
) -> Result<()> {
    let wanted = body.args.iter().map(|&id| body.graph.node(id).output_types()[0].dtype);
    check_types(node, func, "arguments", given, wanted.collect())
}

/// Fails if a function has other results than the node that calls it has outputs.
pub(super) fn check_results(node: &Node, func: &Func, body: &FunctionBody) -> Result<()> {
    let results = body.returns.iter().map(|&id| body.graph.node(id).input_types()[0].dtype);
    check_types(node, func, "results", node.output_types(), results.collect())
}

fn check_types(
    node: &Node,
    func: &Func,
    what: &str,
    outside: &[ValueType],
    inside: Vec<DType>,
) -> Result<()> {
    if outside.iter().map(|value| value.dtype).eq(inside.iter().copied()) {
        return Ok(());
    }
    let names = |types: Vec<DType>| {
        let names: Vec<&str> = types.iter().map(|dtype| dtype.name()).collect();
        format!("({})", names.join(", "))
    };
    Err(invalid_argument!(
        "function {} has the {what} {}, but the call has {}",
        func.name,
        names(inside),
        names(outside.iter().map(|value| value.dtype).collect())
    )
    .at_node(&node.name))
}

fn is_true(attrs: &AttrMap, name: &str) -> bool {
    matches!(attrs.get(name), Some(AttrValue::Bool(true)))
}
