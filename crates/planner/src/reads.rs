//! Reads of variables by reference from other devices.
//!
//! Whoever reads a reference sees what the variable holds at that time, so what a reader waits for
//! must have happened before its value is sent to another device: such a value is read where the
//! variable is, by a node that waits for the same.

use std::sync::Arc;

use tensorfleet_graph::{AttrValue, Graph, NodeId, OpLookup};
use tensorfleet_tensor::Result;

use crate::edit::{NewNode, first_output};

/// Puts a read beside each variable whose value a node on another device takes after waiting.
pub(crate) fn read_in_place(graph: &mut Graph, ops: &dyn OpLookup) -> Result<()> {
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        for slot in 0..graph.node(id).inputs.len() {
            let node = graph.node(id);
            let input = node.inputs[slot];
            let source = graph.node(input.node);
            let Some(&value) = source.output_types().get(input.index as usize) else { continue };
            let takes_value = node.input_types().get(slot).is_some_and(|wanted| !wanted.is_ref);
            let waits = !node.control_inputs.is_empty();
            if !(value.is_ref && takes_value && waits && source.device != node.device) {
                continue;
            }
            let read = NewNode {
                name: &format!("{}/read", node.name),
                op: "Identity",
                device: Arc::clone(&source.device),
                attrs: vec![("T", AttrValue::Type(value.dtype))],
                inputs: vec![input],
                control_inputs: node.control_inputs.clone(),
            }
            .add_to(graph, ops)?;
            graph.node_mut(id).inputs[slot] = first_output(read);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{UNOPTIMISED, plan_text, print_plan};

    #[test]
    fn a_value_is_read_where_it_is_after_what_its_reader_waits_for() {
        let text = "v = VariableV2 @ps0
                    c = Const @ps0
                    a = Assign(v, c) @ps0
                    now = Identity(v) @w0
                    later = Identity(v, ^a) @w0";
        let plan = plan_text(text, &[], &["now", "later"], &[], &UNOPTIMISED).unwrap();
        let text = print_plan(&plan);
        assert!(text.contains("later/read = Identity(v, ^a)"), "{text}");
        assert!(!text.contains("now/read"), "{text}");
    }
}
