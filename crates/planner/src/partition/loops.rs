//! Loops that span devices.
//!
//! A `_Recv` inside of a loop has no inputs that would make it run once an iteration, and a device
//! without the loop's condition does not know how many iterations there are. So each device that
//! takes part in such a loop gets a *control loop*: a value that goes round as often as the loop
//! does, steered by the condition, which it receives like any other value. Its merge runs in every
//! iteration, and starts the `_Recv`s.
//!
//! A control loop is always entered, even where the loop itself is in a branch that was not taken.
//! Its first iteration then receives a dead condition, and ends.

use std::sync::Arc;

use tensorfleet_graph::{AttrValue, NodeId, Output};
use tensorfleet_tensor::{DType, Result, Tensor, invalid_argument};

use super::Cut;
use super::frames::FrameId;
use crate::edit::{NewNode, first_output, string_attr};

impl Cut<'_> {
    /// Makes the control loops of devices that take part in a loop whose condition is elsewhere.
    pub(super) fn add_control_loops(&mut self) -> Result<()> {
        for (id, _) in self.graph.iter() {
            let frame = self.frames.of_outputs(id);
            if frame == FrameId::ROOT {
                continue;
            }
            let (home, _) = self.homes[id.index()];
            let condition = self.frames.get(frame).condition;
            if condition.is_some_and(|condition| self.homes[condition.index()].0 != home) {
                self.trigger(frame, home)?;
            }
        }
        Ok(())
    }

    /// The node of the piece `home` that runs in every iteration of `frame`.
    pub(super) fn trigger(&mut self, frame: FrameId, home: usize) -> Result<NodeId> {
        if let Some(&trigger) = self.triggers.get(&(frame, home)) {
            return Ok(trigger);
        }
        let info = self.frames.get(frame);
        let (name, parent) = (info.name.clone(), info.parent);
        let parallel_iterations = info.parallel_iterations;
        let Some(condition) = info.condition else {
            return Err(invalid_argument!("The loop '{name}' spans devices but has no condition"));
        };
        let starts = match parent {
            FrameId::ROOT => Vec::new(),
            parent => vec![self.trigger(parent, home)?],
        };
        let bool_type = || ("T", AttrValue::Type(DType::Bool));
        let start = self.add_to_loop(home, &name, "Const", Vec::new(), |node| {
            node.attrs = vec![
                ("dtype", AttrValue::Type(DType::Bool)),
                ("value", AttrValue::Tensor(Tensor::scalar(true))),
            ];
            node.control_inputs = starts;
        })?;
        let enter = self.add_to_loop(home, &name, "Enter", vec![first_output(start)], |node| {
            node.attrs = vec![
                bool_type(),
                ("frame_name", string_attr(&name)),
                ("parallel_iterations", AttrValue::Int(parallel_iterations)),
            ];
        })?;
        let entered = first_output(enter);
        let merge = self.add_to_loop(home, &name, "Merge", vec![entered; 2], |node| {
            node.attrs = vec![bool_type(), ("N", AttrValue::Int(2))];
        })?;
        // The condition's own `_Recv` needs the trigger.
        self.triggers.insert((frame, home), merge);
        let goes_on = self.input(first_output(condition), home)?;
        let inputs = vec![first_output(merge), goes_on];
        let switch = self.add_to_loop(home, &name, "Switch", inputs, |node| {
            node.attrs = vec![bool_type()];
        })?;
        let inputs = vec![Output { node: switch, index: 1 }];
        let next = self.add_to_loop(home, &name, "NextIteration", inputs, |node| {
            node.attrs = vec![bool_type()];
        })?;
        self.pieces[home].graph.node_mut(merge).inputs[1] = first_output(next);
        Ok(merge)
    }

    fn add_to_loop(
        &mut self,
        home: usize,
        frame: &str,
        op: &str,
        inputs: Vec<Output>,
        complete: impl FnOnce(&mut NewNode<'_>),
    ) -> Result<NodeId> {
        let piece = &mut self.pieces[home];
        let name = format!("{frame}/_control_loop/{}", op.to_lowercase());
        let device = Arc::clone(&piece.device);
        let mut node = NewNode { name: &name, op, device, inputs, ..NewNode::default() };
        complete(&mut node);
        node.add_to(&mut piece.graph, self.ops)
    }
}
