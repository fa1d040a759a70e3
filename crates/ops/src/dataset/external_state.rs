//! What a graph cannot say of a dataset: state that its functions depend on.

use tensorfleet_graph::{FunctionDef, FunctionLibrary, NodeDef, OpLookup};
use tensorfleet_tensor::{DType, Result, failed_precondition};

use super::origin::{Origin, functions_of};

/// Ops that count as stateful for other reasons than that they keep something.
const HARMLESS: &[&str] = &["Assert", "Print", "PrintV2", "Timestamp"];

/// Finds an op with state in the functions that a node names, and in those that they call.
pub(super) fn check_functions(origin: &Origin) -> Result<()> {
    let named = origin.attrs.values().flat_map(functions_of);
    for function in named.flat_map(|func| origin.library.reachable(func)) {
        check_function(&function, &origin.library)?;
    }
    Ok(())
}

fn check_function(function: &FunctionDef, library: &FunctionLibrary) -> Result<()> {
    if !function.signature.is_stateful {
        return Ok(());
    }
    function.nodes.iter().try_for_each(|node| check_node(node, library))
}

fn check_node(node: &NodeDef, library: &FunctionLibrary) -> Result<()> {
    let Some(def) = crate::library().op_def(&node.op) else { return Ok(()) };
    let is_dataset = matches!(&def.outputs[..], [output] if output.dtype == Some(DType::Variant))
        && (node.op.ends_with("Dataset") || node.op.ends_with("DatasetV2"));
    if !def.is_stateful || is_dataset || HARMLESS.contains(&node.op.as_str()) {
        return Ok(());
    }
    // What calls functions has as much state as they have.
    if matches!(node.op.as_str(), "If" | "While" | "Case" | "StatefulPartitionedCall") {
        return node
            .attrs
            .values()
            .flat_map(functions_of)
            .filter_map(|func| library.find(&func.name))
            .try_for_each(|function| check_function(function, library));
    }
    Err(failed_precondition!("{} is stateful.", node.op))
}
