//! Lets nodes that pass on several tensors pass on only those that somebody takes.
//!
//! What only the others need is not computed. A node of which a result is fed or fetched computes all
//! of them, as in TensorFlow.

use tensorfleet_graph::{AttrList, AttrMap, AttrValue, NodeId, OpLookup, signature};
use tensorfleet_tensor::Result;

use super::uses::Uses;
use crate::Step;
use crate::lower::END;
use crate::prune::keep_needed;

/// Takes the inputs away that nobody takes the outputs of.
pub(super) fn drop_untaken(mut step: Step, ops: &dyn OpLookup) -> Result<Step> {
    let identities = step.graph.iter().filter(|(_, node)| {
        &*node.op == "IdentityN" && node.inputs.len() > 1 && !node.attrs.contains_key(END)
    });
    let identities: Vec<NodeId> = identities.map(|(id, _)| id).collect();
    if identities.is_empty() {
        return Ok(step);
    }
    let Uses { consumers, awaited } = Uses::new(&step);
    for id in identities {
        let node = step.graph.node(id);
        let inputs = consumers[id.index()].iter().flat_map(|&user| &step.graph.node(user).inputs);
        let mut taken: Vec<u32> =
            inputs.filter(|input| input.node == id).map(|input| input.index).collect();
        taken.sort_unstable();
        taken.dedup();
        if awaited[id.index()] || taken.is_empty() || taken.len() == node.inputs.len() {
            continue;
        }
        let types = taken.iter().map(|&index| node.output_types()[index as usize].dtype).collect();
        let mut attrs = AttrMap::clone(&node.attrs);
        attrs.insert("T".to_owned(), AttrValue::List(AttrList::Types(types)));
        let (attrs, signature) = signature("IdentityN", attrs, step.graph.library(), ops)?;
        let kept = taken.iter().map(|&index| node.inputs[index as usize]).collect();
        let node = step.graph.node_mut(id);
        (node.inputs, node.attrs, node.signature) = (kept, attrs, Some(signature));
        // A user that takes several outputs is listed several times, one after the other.
        let mut users = consumers[id.index()].clone();
        users.dedup();
        for user in users {
            let inputs = &mut step.graph.node_mut(user).inputs;
            for input in inputs.iter_mut().filter(|input| input.node == id) {
                input.index = taken.partition_point(|&index| index < input.index) as u32;
            }
        }
    }
    Ok(keep_needed(step))
}
