//! The key by which all masters that run the same collectives agree on the ids of their steps.

use std::collections::BTreeSet;

use tensorfleet_graph::{AttrValue, Graph};

const SEED: u64 = 0x8774_aa60_5c72_9c72;

/// The key of a step, from the graphs of its parts: a hash of the instances that they name. Steps
/// without collectives have none.
pub fn graph_key<'a>(graphs: impl IntoIterator<Item = &'a Graph>) -> Option<i64> {
    let mut instances = BTreeSet::new();
    let mut has_any = false;
    let mut look = |op: &str, instance: Option<&AttrValue>| {
        if !op.starts_with("Collective") || op == "CollectiveAssignGroupV2" {
            return;
        }
        has_any = true;
        if let Some(&AttrValue::Int(instance)) = instance {
            instances.insert(instance as i32);
        }
    };
    for graph in graphs {
        for node in graph.nodes() {
            look(&node.op, node.attrs.get("instance_key"));
        }
        for function in graph.library().iter() {
            for node in &function.nodes {
                look(&node.op, node.attrs.get("instance_key"));
            }
        }
    }
    has_any.then(|| hash(instances).cast_signed())
}

fn hash(instances: impl IntoIterator<Item = i32>) -> u64 {
    instances.into_iter().fold(SEED, |hash, instance| {
        let instance = i64::from(instance).cast_unsigned();
        let sum = hash
            .wrapping_add(0x9e37_79b9_7f4a_7800)
            .wrapping_add(instance << 10)
            .wrapping_add(instance >> 4);
        instance ^ sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_tensorflow() {
        assert_eq!(hash([]), 9_760_613_623_263_304_818);
        assert_eq!(hash([7]), 2_714_584_368_876_957_813);
        assert_eq!(hash([60, 61]), 14_115_299_188_200_271_985);
    }
}
