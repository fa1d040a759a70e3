//! Which nodes are fused with which.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use tensorfleet_framework::{Implementation, Kernel};
use tensorfleet_graph::{Graph, NodeId};
use tensorfleet_tensor::DType;

/// The members of a group with their kernels, each after those that it needs.
pub(super) type Group = Vec<(NodeId, Arc<dyn Kernel>)>;

/// The groups of a graph.
#[derive(Debug)]
pub(super) struct Groups {
    /// Groups of several members by their last one, the only one that others see.
    pub(super) by_root: FxHashMap<NodeId, Group>,
    /// For each node, whether it is a member but not the last one.
    pub(super) is_absorbed: Vec<bool>,
}

/// A node that may be fused.
struct Candidate {
    kernel: Arc<dyn Kernel>,
    dtype: DType,
    consumers: Vec<NodeId>,
    /// Whether it may be anything but the last member: nobody else waits for it, nor it for others.
    may_be_absorbed: bool,
    /// Consumers among the candidates that do not know their group yet.
    undecided: usize,
    root: Option<NodeId>,
}

impl Groups {
    pub(super) fn find(graph: &Graph, implementations: &[Implementation]) -> Groups {
        let mut candidates = candidates(graph, implementations);
        let mut groups: FxHashMap<NodeId, Group> = FxHashMap::default();
        let mut is_absorbed = vec![false; graph.len()];
        // Consumers are decided before what they consume. Loops are no obstacle: a cycle always has
        // nodes that are not candidates.
        let mut decidable: Vec<NodeId> = (0u32..)
            .map(NodeId)
            .zip(&candidates)
            .filter(|(_, candidate)| candidate.as_ref().is_some_and(|c| c.undecided == 0))
            .map(|(id, _)| id)
            .collect();
        while let Some(id) = decidable.pop() {
            let joined = candidates[id.index()].as_ref().and_then(|c| group_of(c, &candidates));
            let Some(candidate) = &mut candidates[id.index()] else { continue };
            let root = joined.unwrap_or(id);
            candidate.root = Some(root);
            is_absorbed[id.index()] = root != id;
            groups.entry(root).or_default().push((id, Arc::clone(&candidate.kernel)));
            for input in &graph.node(id).inputs {
                if let Some(source) = &mut candidates[input.node.index()] {
                    source.undecided -= 1;
                    if source.undecided == 0 {
                        decidable.push(input.node);
                    }
                }
            }
        }
        groups.retain(|_, group| group.len() > 1);
        groups.values_mut().for_each(|group| group.reverse());
        Groups { by_root: groups, is_absorbed }
    }
}

/// The group that all consumers of a candidate are in, if it may join them.
fn group_of(candidate: &Candidate, candidates: &[Option<Candidate>]) -> Option<NodeId> {
    if !candidate.may_be_absorbed {
        return None;
    }
    let group = |consumer: &NodeId| {
        let consumer = candidates[consumer.index()].as_ref()?;
        consumer.root.filter(|_| consumer.dtype == candidate.dtype)
    };
    let first = group(candidate.consumers.first()?)?;
    candidate.consumers.iter().all(|consumer| group(consumer) == Some(first)).then_some(first)
}

fn candidates(graph: &Graph, implementations: &[Implementation]) -> Vec<Option<Candidate>> {
    let mut consumers: Vec<Vec<NodeId>> = vec![Vec::new(); graph.len()];
    let mut is_waited_for = vec![false; graph.len()];
    for (id, node) in graph.iter() {
        node.inputs.iter().for_each(|input| consumers[input.node.index()].push(id));
        node.control_inputs.iter().for_each(|source| is_waited_for[source.index()] = true);
    }
    let passes_variables = variables(graph, implementations, &consumers);
    let mut candidates: Vec<Option<Candidate>> = graph
        .nodes()
        .iter()
        .zip(implementations)
        .zip(consumers)
        .zip(is_waited_for)
        .map(|(((node, implementation), consumers), is_waited_for)| {
            let Implementation::Compute(kernel) = implementation else { return None };
            let pointwise = kernel.pointwise()?;
            // A variable is read when the node runs, so that node must run when it always did.
            let reads_variable = node.inputs.iter().any(|i| passes_variables[i.node.index()]);
            if node.inputs.len() != pointwise.arity() || reads_variable {
                return None;
            }
            Some(Candidate {
                kernel: Arc::clone(kernel),
                dtype: pointwise.dtype(),
                consumers,
                may_be_absorbed: node.control_inputs.is_empty() && !is_waited_for,
                undecided: 0,
                root: None,
            })
        })
        .collect();
    for (id, node) in graph.iter() {
        if candidates[id.index()].is_none() {
            continue;
        }
        for input in &node.inputs {
            if let Some(source) = &mut candidates[input.node.index()] {
                source.undecided += 1;
            }
        }
    }
    candidates
}

/// For each node, whether an output of it may be a variable instead of a value.
fn variables(
    graph: &Graph,
    implementations: &[Implementation],
    consumers: &[Vec<NodeId>],
) -> Vec<bool> {
    let passes_on = |node: NodeId| match &implementations[node.index()] {
        Implementation::Compute(kernel) => kernel.passes_references(),
        Implementation::ControlFlow(_) => true,
        Implementation::Async(_) => false,
    };
    let mut found: Vec<bool> = graph
        .nodes()
        .iter()
        .map(|node| node.output_types().iter().any(|value| value.is_ref))
        .collect();
    let mut rest: Vec<usize> = (0..found.len()).filter(|&index| found[index]).collect();
    while let Some(index) = rest.pop() {
        for &consumer in &consumers[index] {
            if passes_on(consumer) && !found[consumer.index()] {
                found[consumer.index()] = true;
                rest.push(consumer.index());
            }
        }
    }
    found
}
