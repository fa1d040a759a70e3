//! `If` and `Case` as switches and merges.
//!
//! Every input goes through a switch whose outputs lead to the branches; the pivot of a branch, an
//! identity behind a switch of the condition itself, keeps nodes without inputs from running in a
//! branch that was not chosen. Merges pass on the results of the branch that ran.

use std::sync::Arc;

use tensorfleet_graph::{AttrList, AttrValue, Func, Node, NodeId, OpLookup as _, Output};
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::body::Site;
use super::call::{END, check_arguments, check_results};
use super::{Lowering, Pending, is_call};
use crate::edit::{NewNode, first_output};

impl Lowering<'_> {
    pub(super) fn expand_branches(&mut self, pending: &Pending, node: &Node) -> Result<()> {
        let chooses_by_number = matches!(&*node.op, "Case" | "StatelessCase");
        let branches = branches(node)?;
        let Some((&condition, inputs)) = node.inputs.split_first() else {
            return Err(invalid_argument!("no condition").at_node(&node.name));
        };
        if !chooses_by_number && !self.can_be_truth(node.input_types()[0].dtype) {
            return Ok(());
        }
        let mut bodies = Vec::with_capacity(branches.len());
        for func in &branches {
            let Some(body) = self.body(func, pending)? else { return Ok(()) };
            check_arguments(node, func, &node.input_types()[1..], &body)?;
            check_results(node, func, &body)?;
            bodies.push(body);
        }
        let condition = if chooses_by_number { condition } else { self.truth(node, condition)? };
        let condition = self.after_controls(node, condition)?;
        let switch =
            Switch { node, condition, outputs: chooses_by_number.then_some(branches.len()) };
        let condition_type = if chooses_by_number { DType::Int32 } else { DType::Bool };
        let pivot_switch = self.switch(&switch, "pivot_switch", condition, condition_type)?;
        let mut args = Vec::with_capacity(inputs.len());
        for (index, &input) in inputs.iter().enumerate() {
            let dtype = node.input_types()[index + 1].dtype;
            args.push(self.switch(&switch, &format!("switch_{index}"), input, dtype)?);
        }

        let mut returns: Vec<Vec<Output>> = vec![Vec::new(); node.output_types().len()];
        let mut done = Vec::with_capacity(branches.len());
        for (branch, (func, body)) in branches.iter().zip(&bodies).enumerate() {
            let chosen = |node: NodeId| Output { node, index: branch as u32 };
            let label = branch_label(chooses_by_number, branch);
            let pivot = self.add(NewNode {
                name: &format!("{}/pivot_{label}", node.name),
                op: "Identity",
                device: Arc::clone(&node.device),
                attrs: vec![("T", AttrValue::Type(condition_type))],
                inputs: vec![chosen(pivot_switch)],
                ..NewNode::default()
            })?;
            let branch_args: Vec<Output> = args.iter().map(|&arg| chosen(arg)).collect();
            let prefix = format!("{}/{label}", node.name);
            let (device, entry) = (&*node.device, [pivot]);
            let site = Site { prefix: &prefix, device, args: &branch_args, entry: &entry };
            let expansion = self.enter(func, pending);
            let inlined = self.inline(body, &site, expansion)?;
            for (all, output) in returns.iter_mut().zip(inlined.returns) {
                all.push(output);
            }
            done.push((pivot, inlined.done));
        }
        let mut results = Vec::with_capacity(returns.len());
        for (index, inputs) in returns.into_iter().enumerate() {
            let dtype = node.output_types()[index].dtype;
            // A handle is the same whichever branch runs; a value waits for what chooses the branch.
            let is_handle =
                |&arg: &NodeId| dtype == DType::Resource && is_whole_switch(&inputs, arg);
            results.push(match args.iter().position(is_handle) {
                Some(position) => node.inputs[position + 1],
                None => {
                    let label = format!("merge_{index}");
                    first_output(self.merge(node, &label, dtype, inputs)?)
                }
            });
        }
        self.replace_outputs(pending.id, results);
        if self.awaited.contains(&pending.id) {
            self.merge_done(pending.id, node, done, condition_type)?;
        }
        Ok(())
    }

    /// Whether values of a type can be turned into Booleans.
    pub(super) fn can_be_truth(&self, dtype: DType) -> bool {
        dtype == DType::Bool || self.ops.op_def("ToBool").is_some()
    }

    /// A condition as a Boolean.
    pub(super) fn truth(&mut self, node: &Node, condition: Output) -> Result<Output> {
        let dtype = self.dtype(condition);
        if dtype == DType::Bool {
            return Ok(condition);
        }
        let truth = self.add(NewNode {
            name: &format!("{}/to_bool", node.name),
            op: "ToBool",
            device: Arc::clone(&node.device),
            attrs: vec![("T", AttrValue::Type(dtype))],
            inputs: vec![condition],
            ..NewNode::default()
        })?;
        Ok(first_output(truth))
    }

    fn dtype(&self, output: Output) -> DType {
        self.graph.node(output.node).output_types()[output.index as usize].dtype
    }

    /// The condition, available only when what the node waits for has run.
    fn after_controls(&mut self, node: &Node, condition: Output) -> Result<Output> {
        if node.control_inputs.is_empty() {
            return Ok(condition);
        }
        let gate = self.add(NewNode {
            name: &format!("{}/condition", node.name),
            op: "Identity",
            device: Arc::clone(&node.device),
            attrs: vec![("T", AttrValue::Type(self.dtype(condition)))],
            inputs: vec![condition],
            control_inputs: node.control_inputs.clone(),
        })?;
        Ok(first_output(gate))
    }

    /// Makes a switch, beside the node whose value it passes on.
    fn switch(
        &mut self,
        switch: &Switch<'_>,
        label: &str,
        data: Output,
        dtype: DType,
    ) -> Result<NodeId> {
        let name = format!("{}/{label}", switch.node.name);
        let source = self.graph.node(data.node);
        let mut attrs = vec![("T", AttrValue::Type(dtype))];
        let device = if is_call(&self.graph, source) {
            Arc::clone(&switch.node.device)
        } else {
            let class = format!("loc:@{}", source.name).into_bytes().into();
            attrs.push(("_class", AttrValue::List(AttrList::Strings(vec![class]))));
            Arc::clone(&source.device)
        };
        let op = match switch.outputs {
            None => "Switch",
            Some(count) => {
                attrs.push(("num_outs", AttrValue::Int(count as i64)));
                "_SwitchN"
            }
        };
        let inputs = vec![data, switch.condition];
        self.add(NewNode { name: &name, op, device, attrs, inputs, ..NewNode::default() })
    }

    /// Makes a node that runs when the chosen branch has run.
    fn merge_done(
        &mut self,
        call: NodeId,
        node: &Node,
        done: Vec<(NodeId, Vec<NodeId>)>,
        dtype: DType,
    ) -> Result<()> {
        let mut ends = Vec::with_capacity(done.len());
        for (pivot, control_inputs) in done {
            let end = self.add(NewNode {
                name: &format!("{}/branch_executed", node.name),
                op: "Identity",
                device: Arc::clone(&node.device),
                attrs: vec![("T", AttrValue::Type(dtype))],
                inputs: vec![first_output(pivot)],
                control_inputs,
            })?;
            ends.push(first_output(end));
        }
        let executed = self.merge(node, "executed", dtype, ends)?;
        self.redirects.node(call, executed);
        Ok(())
    }

    fn merge(
        &mut self,
        node: &Node,
        label: &str,
        dtype: DType,
        inputs: Vec<Output>,
    ) -> Result<NodeId> {
        self.add(NewNode {
            name: &format!("{}/{label}", node.name),
            op: "Merge",
            device: Arc::clone(&node.device),
            attrs: vec![
                ("T", AttrValue::Type(dtype)),
                ("N", AttrValue::Int(inputs.len() as i64)),
                (END, AttrValue::Bool(true)),
            ],
            inputs,
            ..NewNode::default()
        })
    }
}

/// Whether every branch returns the same argument.
fn is_whole_switch(returns: &[Output], switch: NodeId) -> bool {
    returns.iter().zip(0..).all(|(output, index)| *output == Output { node: switch, index })
}

/// How the switches of one node choose.
struct Switch<'a> {
    node: &'a Node,
    condition: Output,
    /// The number of outputs to choose from; two when absent.
    outputs: Option<usize>,
}

/// The functions of the branches, in the order of a switch's outputs: the `else` of an `If` first.
fn branches(node: &Node) -> Result<Vec<Func>> {
    match (node.attrs.get("branches"), node.attrs.get("else_branch"), node.attrs.get("then_branch"))
    {
        (Some(AttrValue::List(AttrList::Funcs(funcs))), None, None) => Ok(funcs.clone()),
        (None, Some(AttrValue::Func(otherwise)), Some(AttrValue::Func(then))) => {
            Ok(vec![otherwise.clone(), then.clone()])
        }
        _ => Err(invalid_argument!("no functions for the branches").at_node(&node.name)),
    }
}

pub(super) fn branch_label(chooses_by_number: bool, branch: usize) -> String {
    match (chooses_by_number, branch) {
        (false, 0) => "else".to_owned(),
        (false, _) => "then".to_owned(),
        (true, _) => format!("branch_{branch}"),
    }
}
