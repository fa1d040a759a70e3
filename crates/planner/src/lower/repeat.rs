//! `While` as a frame: values enter it, go round while the condition holds, and exit.
//!
//! A value that the body hands back unchanged enters once, as a constant of the frame, if nobody
//! takes it from the loop; this is what becomes of most captured tensors and variables. Who takes
//! such a value waits for the end of the loop, and so for whatever decides when that is.

use std::sync::Arc;

use tensorfleet_graph::{AttrValue, Func, Node, NodeId, Output};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::body::{Inlined, Site};
use super::call::{END, check_arguments, check_results};
use super::{Lowering, Pending};
use crate::edit::{NewNode, first_output, string_attr};
use crate::function::FunctionBody;

/// A value that changes from iteration to iteration.
struct Variable {
    /// Its position among the inputs; absent for the one that is made for a loop without any.
    index: Option<usize>,
    dtype: DType,
    merge: NodeId,
}

/// The functions of a loop.
struct Functions {
    condition: (Func, FunctionBody),
    body: (Func, FunctionBody),
}

impl Lowering<'_> {
    pub(super) fn expand_while(&mut self, pending: &Pending, node: &Node) -> Result<()> {
        let Some(functions) = self.loop_functions(pending, node)? else { return Ok(()) };
        let body = &functions.body.1;
        let is_constant = |index| {
            let is_handle = node.input_types()[index as usize].dtype == DType::Resource;
            returns_argument(body, index as usize)
                && (is_handle || !self.taken.contains(&Output { node: pending.id, index }))
        };
        let unchanged: Vec<bool> = (0..node.inputs.len() as u32).map(is_constant).collect();

        // What the condition sees: the current value of each variable, and the constants.
        let mut current = Vec::with_capacity(node.inputs.len());
        let mut variables = Vec::new();
        for (index, &input) in node.inputs.iter().enumerate() {
            let dtype = node.input_types()[index].dtype;
            let enter = self.enter_frame(node, input, dtype, unchanged[index])?;
            if unchanged[index] {
                current.push(first_output(enter));
            } else {
                let merge = self.loop_merge(node, enter, dtype)?;
                variables.push(Variable { index: Some(index), dtype, merge });
                current.push(first_output(merge));
            }
        }
        if variables.is_empty() {
            variables.push(self.ticker(node)?);
        }
        let goes_on = self.loop_condition(pending, node, &functions, &current, &variables)?;
        let mut switches = Vec::with_capacity(variables.len());
        for variable in &variables {
            let inputs = vec![first_output(variable.merge), first_output(goes_on)];
            switches.push(self.typed(node, "switch", "Switch", variable.dtype, inputs)?);
        }
        let inlined = self.loop_body(pending, node, &functions, &current, &variables, &switches)?;
        self.go_round(node, &variables, &switches, &inlined)?;
        self.leave_frame(pending.id, node, &variables, &switches)
    }

    /// Connects what the body returns to the next iteration.
    fn go_round(
        &mut self,
        node: &Node,
        variables: &[Variable],
        switches: &[NodeId],
        inlined: &Inlined,
    ) -> Result<()> {
        for (variable, &switch) in variables.iter().zip(switches) {
            let value = match variable.index {
                Some(index) => inlined.returns[index],
                None => Output { node: switch, index: 1 },
            };
            let next = self.add(NewNode {
                name: &format!("{}/next_iteration", node.name),
                op: "NextIteration",
                device: Arc::clone(&node.device),
                attrs: vec![("T", AttrValue::Type(variable.dtype))],
                inputs: vec![value],
                // The effects of one iteration come before those of the next.
                control_inputs: effects(inlined),
            })?;
            self.graph.node_mut(variable.merge).inputs[1] = first_output(next);
        }
        Ok(())
    }

    fn leave_frame(
        &mut self,
        call: NodeId,
        node: &Node,
        variables: &[Variable],
        switches: &[NodeId],
    ) -> Result<()> {
        let mut outputs = node.inputs.clone();
        let mut exits = Vec::with_capacity(variables.len());
        for (variable, &switch) in variables.iter().zip(switches) {
            let inputs = vec![first_output(switch)];
            let exit = self.typed(node, "exit", "Exit", variable.dtype, inputs)?;
            if let Some(index) = variable.index {
                outputs[index] = first_output(exit);
            }
            exits.push(exit);
        }
        self.replace_outputs(call, outputs);
        if self.awaited.contains(&call) {
            let done = self.add(NewNode {
                name: &format!("{}/executed", node.name),
                op: "NoOp",
                device: Arc::clone(&node.device),
                control_inputs: exits,
                ..NewNode::default()
            })?;
            self.redirects.node(call, done);
        }
        Ok(())
    }

    /// The two functions, unless one of them is being replaced already.
    fn loop_functions(&self, pending: &Pending, node: &Node) -> Result<Option<Functions>> {
        let (Some(AttrValue::Func(condition)), Some(AttrValue::Func(body))) =
            (node.attrs.get("cond"), node.attrs.get("body"))
        else {
            return Err(invalid_argument!("no functions for the loop").at_node(&node.name));
        };
        let (Some(condition_graph), Some(body_graph)) =
            (self.body(condition, pending)?, self.body(body, pending)?)
        else {
            return Ok(None);
        };
        check_arguments(node, condition, node.input_types(), &condition_graph)?;
        check_arguments(node, body, node.input_types(), &body_graph)?;
        check_results(node, body, &body_graph)?;
        let &[result] = &condition_graph.returns[..] else {
            return Err(invalid_argument!(
                "the condition {} of a loop has {} results, expected 1",
                condition.name,
                condition_graph.returns.len()
            )
            .at_node(&node.name));
        };
        if !self.can_be_truth(condition_graph.graph.node(result).input_types()[0].dtype) {
            return Ok(None);
        }
        Ok(Some(Functions {
            condition: (condition.clone(), condition_graph),
            body: (body.clone(), body_graph),
        }))
    }

    fn enter_frame(
        &mut self,
        node: &Node,
        value: Output,
        dtype: DType,
        is_constant: bool,
    ) -> Result<NodeId> {
        let parallel = match node.attrs.get("parallel_iterations") {
            Some(AttrValue::Int(count)) => *count,
            _ => 10,
        };
        self.add(NewNode {
            name: &format!("{}/enter", node.name),
            op: "Enter",
            device: Arc::clone(&node.device),
            attrs: vec![
                ("T", AttrValue::Type(dtype)),
                ("frame_name", string_attr(&node.name)),
                ("is_constant", AttrValue::Bool(is_constant)),
                ("parallel_iterations", AttrValue::Int(parallel)),
            ],
            inputs: vec![value],
            control_inputs: node.control_inputs.clone(),
        })
    }

    /// Makes a merge whose second input is not known yet.
    fn loop_merge(&mut self, node: &Node, enter: NodeId, dtype: DType) -> Result<NodeId> {
        self.add(NewNode {
            name: &format!("{}/merge", node.name),
            op: "Merge",
            device: Arc::clone(&node.device),
            attrs: vec![
                ("T", AttrValue::Type(dtype)),
                ("N", AttrValue::Int(2)),
                (END, AttrValue::Bool(true)),
            ],
            inputs: vec![first_output(enter); 2],
            ..NewNode::default()
        })
    }

    /// Makes a variable for a loop that has none, so that something goes round.
    fn ticker(&mut self, node: &Node) -> Result<Variable> {
        let constant = self.add(NewNode {
            name: &format!("{}/ticker", node.name),
            op: "Const",
            device: Arc::clone(&node.device),
            attrs: vec![
                ("dtype", AttrValue::Type(DType::Bool)),
                ("value", AttrValue::Tensor(Tensor::scalar(true))),
            ],
            control_inputs: node.control_inputs.clone(),
            ..NewNode::default()
        })?;
        let enter = self.enter_frame(node, first_output(constant), DType::Bool, false)?;
        let merge = self.loop_merge(node, enter, DType::Bool)?;
        Ok(Variable { index: None, dtype: DType::Bool, merge })
    }

    /// Makes the `LoopCond`.
    fn loop_condition(
        &mut self,
        pending: &Pending,
        node: &Node,
        functions: &Functions,
        current: &[Output],
        variables: &[Variable],
    ) -> Result<NodeId> {
        let (func, body) = &functions.condition;
        let expansion = self.enter(func, pending);
        let site = Site {
            prefix: &format!("{}/cond", node.name),
            device: &node.device,
            args: current,
            entry: &[variables[0].merge],
        };
        let inlined = self.inline(body, &site, expansion)?;
        let condition = self.truth(node, inlined.returns[0])?;
        self.add(NewNode {
            name: &format!("{}/loop_cond", node.name),
            op: "LoopCond",
            device: Arc::clone(&node.device),
            inputs: vec![condition],
            control_inputs: effects(&inlined),
            ..NewNode::default()
        })
    }

    fn loop_body(
        &mut self,
        pending: &Pending,
        node: &Node,
        functions: &Functions,
        current: &[Output],
        variables: &[Variable],
        switches: &[NodeId],
    ) -> Result<Inlined> {
        let (func, body) = &functions.body;
        let expansion = self.enter(func, pending);
        let first = Output { node: switches[0], index: 1 };
        let pivot = self.typed(node, "pivot", "Identity", variables[0].dtype, vec![first])?;
        // A constant of the frame would let the body run once more after the last iteration.
        let mut args = Vec::with_capacity(current.len());
        for (index, &constant) in current.iter().enumerate() {
            let position = variables.iter().position(|variable| variable.index == Some(index));
            args.push(match position {
                Some(position) => Output { node: switches[position], index: 1 },
                None => first_output(self.add(NewNode {
                    name: &format!("{}/constant", node.name),
                    op: "Identity",
                    device: Arc::clone(&node.device),
                    attrs: vec![("T", AttrValue::Type(node.input_types()[index].dtype))],
                    inputs: vec![constant],
                    control_inputs: vec![pivot],
                })?),
            });
        }
        let prefix = format!("{}/body", node.name);
        let (device, entry) = (&*node.device, [pivot]);
        let site = Site { prefix: &prefix, device, args: &args, entry: &entry };
        self.inline(body, &site, expansion)
    }

    fn typed(
        &mut self,
        node: &Node,
        label: &str,
        op: &str,
        dtype: DType,
        inputs: Vec<Output>,
    ) -> Result<NodeId> {
        self.add(NewNode {
            name: &format!("{}/{label}", node.name),
            op,
            device: Arc::clone(&node.device),
            attrs: vec![("T", AttrValue::Type(dtype))],
            inputs,
            ..NewNode::default()
        })
    }
}

/// What must have run before the next iteration, beside the values that go round.
fn effects(inlined: &Inlined) -> Vec<NodeId> {
    let is_result = |id: &NodeId| inlined.returns.iter().any(|output| output.node == *id);
    inlined.done.iter().copied().filter(|id| !is_result(id)).collect()
}

/// Whether a body returns its argument `index` in the same place, through identities at most.
fn returns_argument(body: &FunctionBody, index: usize) -> bool {
    let mut output = body.graph.node(body.returns[index]).inputs[0];
    loop {
        if output.node == body.args[index] {
            return true;
        }
        let node = body.graph.node(output.node);
        if &*node.op != "Identity" || !node.control_inputs.is_empty() {
            return false;
        }
        output = node.inputs[0];
    }
}
