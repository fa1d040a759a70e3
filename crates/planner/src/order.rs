//! Edges and orders without the edges that close loops.

use tensorfleet_graph::{Graph, Node, NodeId};

/// The sources of a node's edges, but for those that close a loop.
pub(crate) fn forward_sources<'a>(
    graph: &'a Graph,
    node: &'a Node,
) -> impl Iterator<Item = NodeId> + 'a {
    let data = node.inputs.iter().map(|input| input.node);
    let all = data.chain(node.control_inputs.iter().copied());
    all.filter(|source| !node.closes_loop(graph.node(*source)))
}

/// The nodes, each after the sources of its edges but for those that close a loop.
pub(crate) fn topological_order(graph: &Graph) -> Vec<NodeId> {
    let mut waiting = vec![0usize; graph.len()];
    let mut consumers: Vec<Vec<NodeId>> = vec![Vec::new(); graph.len()];
    for (id, node) in graph.iter() {
        for source in forward_sources(graph, node) {
            waiting[id.index()] += 1;
            consumers[source.index()].push(id);
        }
    }
    let mut order: Vec<NodeId> =
        graph.iter().map(|(id, _)| id).filter(|id| waiting[id.index()] == 0).collect();
    let mut next = 0;
    while let Some(&id) = order.get(next) {
        next += 1;
        for &consumer in &consumers[id.index()] {
            waiting[consumer.index()] -= 1;
            if waiting[consumer.index()] == 0 {
                order.push(consumer);
            }
        }
    }
    order
}
