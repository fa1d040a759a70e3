//! Which functions a graph calls, and in what form.

use std::sync::Arc;

use tensorfleet_graph::{
    AttrList, AttrMap, AttrValue, Func, FunctionLibrary, Graph, NodeId, OpLookup, ValueType,
    signature,
};
use tensorfleet_tensor::Result;

/// An attribute of calls that were nodes whose op is a function.
pub(crate) const NATIVE_CALL: &str = "_is_native_call";

/// Turns nodes whose op is a function into nodes that call it, which have kernels.
pub(crate) fn spell_out(graph: &mut Graph, ops: &dyn OpLookup) -> Result<()> {
    for index in 0..graph.len() {
        let id = NodeId(index as u32);
        let node = graph.node(id);
        let Some(own) = &node.signature else { continue };
        if graph.library().find(&node.op).is_none() {
            continue;
        }
        let op = if own.def.is_stateful { "StatefulPartitionedCall" } else { "PartitionedCall" };
        let types = |values: &[ValueType]| {
            AttrValue::List(AttrList::Types(values.iter().map(|value| value.dtype).collect()))
        };
        let (notes, bindings): (AttrMap, AttrMap) =
            AttrMap::clone(&node.attrs).into_iter().partition(|(name, _)| name.starts_with('_'));
        let func = Func { name: node.op.to_string(), attrs: bindings };
        let mut attrs = notes;
        attrs.insert("Tin".to_owned(), types(&own.inputs));
        attrs.insert("Tout".to_owned(), types(&own.outputs));
        attrs.insert("f".to_owned(), AttrValue::Func(func));
        attrs.insert(NATIVE_CALL.to_owned(), AttrValue::Bool(true));
        let (attrs, signature) = signature(op, attrs, graph.library(), ops)?;
        let node = graph.node_mut(id);
        (node.op, node.attrs, node.signature) = (op.into(), attrs, Some(signature));
    }
    Ok(())
}

/// The functions that the nodes of a graph may call, directly or not.
pub(crate) fn reachable(graph: &Graph) -> FunctionLibrary {
    let library = graph.library();
    let mut found = FunctionLibrary::default();
    if library.is_empty() {
        return found;
    }
    let mut names: Vec<String> = Vec::new();
    for node in graph.nodes() {
        mentioned(&node.op, &node.attrs, &mut names);
    }
    while let Some(name) = names.pop() {
        let Some(function) = library.find(&name).filter(|_| found.find(&name).is_none()) else {
            continue;
        };
        found.insert(Arc::clone(function));
        if let Some(gradient) = library.gradient(&name) {
            found.insert_gradient(name, gradient.to_owned());
            names.push(gradient.to_owned());
        }
        for node in &function.nodes {
            mentioned(&node.op, &node.attrs, &mut names);
        }
    }
    found
}

/// Collects what may be names of functions in a node.
fn mentioned(op: &str, attrs: &AttrMap, names: &mut Vec<String>) {
    names.push(op.to_owned());
    for value in attrs.values() {
        let funcs = match value {
            AttrValue::Func(func) => std::slice::from_ref(func),
            AttrValue::List(AttrList::Funcs(funcs)) => funcs,
            _ => &[],
        };
        for func in funcs {
            mentioned(&func.name, &func.attrs, names);
        }
    }
}
