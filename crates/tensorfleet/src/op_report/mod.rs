//! `tensorfleet ops`: which ops this server knows, what one of them is, and what a graph lacks.

mod saved_model;

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use serde_json::{Value, json};
use tensorfleet_framework::{Op, Registry};
use tensorfleet_graph::NodeDef;
use tensorfleet_tensor::{Context, Result, not_found};

use crate::cli::{Ops, Output};
use crate::nearest::nearest;
use crate::table::aligned;

/// Carries a command out. Returns what to show, and the exit code: 1 for a graph that lacks ops.
pub(crate) fn run(command: &Ops) -> Result<(Vec<u8>, u8)> {
    let registry = tensorfleet_ops::registry()?;
    match command {
        Ops::List { proto: true } => {
            let list = tensorfleet_graph::wire::op_list(registry.iter().map(|(_, def)| &**def))?;
            Ok((list, 0))
        }
        Ops::List { proto: false } => {
            let list: String = registry.iter().map(|(_, def)| format!("{def}\n")).collect();
            Ok((list.into_bytes(), 0))
        }
        Ops::Show { name, output } => Ok((show(&registry, name, *output)?.into_bytes(), 0)),
        Ops::Check { path, output } => {
            let (text, code) = check(&registry, path, *output)?;
            Ok((text.into_bytes(), code))
        }
    }
}

fn show(registry: &Registry, name: &str, output: Output) -> Result<String> {
    let Some((op, def)) = registry.iter().find(|(op, _)| op.name == name) else {
        let names = registry.iter().map(|(op, _)| op.name);
        let hint = nearest(name, names).map(|near| format!("; is it {near}?")).unwrap_or_default();
        return Err(not_found!("this server has no op {name}{hint}"));
    };
    let kernels: Vec<String> = op.kernels.iter().map(kernel).collect();
    let differs = op.differs;
    if output == Output::Json {
        let object = json!({
            "name": name, "definition": def.to_string(), "kernels": kernels,
            "gradient": op.gradient.is_some(), "stateful": op.stateful, "differs": differs,
        });
        return Ok(format!("{object:#}\n"));
    }
    let kernels =
        if kernels.is_empty() { "none".to_owned() } else { kernels.join("\n           ") };
    let gradient = if op.gradient.is_some() { "yes" } else { "none" };
    let differs =
        if differs.is_empty() { String::new() } else { format!("differs:   {differs}\n") };
    Ok(format!("{def}\nkernels:   {kernels}\ngradient:  {gradient}\n{differs}"))
}

/// A kernel's device, and the types that it is for.
fn kernel(kernel: &tensorfleet_framework::KernelDef) -> String {
    let types = kernel.types.iter().flatten().map(|(attr, types)| {
        let types: Vec<String> = types.iter().map(ToString::to_string).collect();
        format!(" {attr}: {{{}}}", types.join(", "))
    });
    format!("{}{}", kernel.device, types.collect::<String>())
}

/// An op that is missing, in how many nodes, and one of them.
#[derive(Debug)]
struct Missing {
    op: String,
    why: &'static str,
    nodes: usize,
    example: String,
}

fn check(registry: &Registry, path: &Path, output: Output) -> Result<(String, u8)> {
    let graphs = read(path)?;
    let mut nodes = Vec::new();
    let mut functions = std::collections::BTreeSet::new();
    for graph in graphs {
        let (found, library) =
            tensorfleet_graph::wire::graph(graph).context(|| path.display().to_string())?;
        nodes.extend(found);
        for function in library.iter() {
            functions.insert(function.signature.name.to_string());
            nodes.extend(function.nodes.iter().cloned());
        }
    }
    let missing = missing(registry, &nodes, |op| functions.contains(op));
    let code = u8::from(!missing.is_empty());
    if output == Output::Json {
        let object = |missing: &Missing| {
            let Missing { op, why, nodes, example } = missing;
            json!({"op": op, "why": why, "nodes": nodes, "example": example})
        };
        let missing: Vec<Value> = missing.iter().map(object).collect();
        let whole = json!({"nodes": nodes.len(), "functions": functions.len(), "missing": missing});
        return Ok((format!("{whole:#}\n"), code));
    }
    let counts = format!("{} nodes, {} functions", nodes.len(), functions.len());
    if missing.is_empty() {
        return Ok((format!("{counts}: all their ops are there\n"), code));
    }
    let mut rows = vec![["OP", "NODES", "WHY", "EXAMPLE"].map(str::to_owned).to_vec()];
    rows.extend(missing.into_iter().map(|missing| {
        vec![missing.op, missing.nodes.to_string(), missing.why.to_owned(), missing.example]
    }));
    Ok((format!("{}\n{counts}\n", aligned(&rows)), code))
}

fn missing(
    registry: &Registry,
    nodes: &[NodeDef],
    is_function: impl Fn(&str) -> bool,
) -> Vec<Missing> {
    let known: BTreeMap<&str, &Op> = registry.iter().map(|(op, _)| (op.name, op)).collect();
    let mut missing: BTreeMap<&str, Missing> = BTreeMap::new();
    for node in nodes {
        let op: &str = &node.op;
        let why = match known.get(op) {
            None if is_function(op) => continue,
            None => "unknown",
            Some(known) if known.kernels.is_empty() => "no kernel",
            Some(_) => continue,
        };
        let example = node.name.to_string();
        let new = || Missing { op: op.to_owned(), why, nodes: 0, example };
        missing.entry(op).or_insert_with(new).nodes += 1;
    }
    missing.into_values().collect()
}

/// The graphs of a file: one of a `GraphDef`, those of a `SavedModel` or of the directory of one.
fn read(path: &Path) -> Result<Vec<Bytes>> {
    let is_model = path.is_dir();
    let file = if is_model { path.join("saved_model.pb") } else { path.to_owned() };
    let bytes = std::fs::read(&file)
        .map_err(|error| not_found!("cannot read {}: {error}", file.display()))?;
    let is_model = is_model || path.file_name().is_some_and(|name| name == "saved_model.pb");
    match is_model {
        true => saved_model::graphs(&bytes).context(|| file.display().to_string()),
        false => Ok(vec![Bytes::from(bytes)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_is_shown_and_a_mistyped_one_is_guessed() {
        let registry = tensorfleet_ops::registry().unwrap();
        let shown = show(&registry, "MatMul", Output::Text).unwrap();
        assert!(shown.contains("kernels:   CPU T: {"), "{shown}");
        assert!(shown.contains("gradient:  yes\n"), "{shown}");
        let error = show(&registry, "MatMull", Output::Text).unwrap_err();
        assert_eq!(error.message(), "this server has no op MatMull; is it MatMul?");
    }

    #[test]
    fn what_a_graph_lacks_is_found() {
        let registry = tensorfleet_ops::registry().unwrap();
        let node = |name: &str, op: &str| NodeDef {
            name: name.into(),
            op: op.into(),
            ..NodeDef::default()
        };
        let nodes =
            [node("a", "MatMul"), node("b", "Fancy"), node("c", "Fancy"), node("d", "mine")];
        let missing = missing(&registry, &nodes, |op| op == "mine");
        assert_eq!(missing.len(), 1);
        let only = &missing[0];
        assert_eq!((&*only.op, only.why, only.nodes, &*only.example), ("Fancy", "unknown", 2, "b"));
    }
}
