//! `DatasetToGraph`: a dataset as the graph that makes it, and `DatasetFingerprint`.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_graph::{AttrMap, AttrValue, FunctionLibrary, NodeDef};
use tensorfleet_tensor::{Error, Result, Tensor};

use super::dataset::from_tensor;
use super::origin::{DatasetGraph, functions_of};
use super::wire;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DatasetFingerprint",
        inputs: &["input_dataset: variant"],
        outputs: &["fingerprint: uint64"],
        kernels: &[cpu::<Fingerprint>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DatasetToGraph",
        inputs: &["input_dataset: variant"],
        outputs: &["graph: string"],
        attrs: &[
            "stateful_whitelist: list(string) >= 0 = []",
            "allow_stateful: bool = false",
            "strip_device_assignment: bool = false",
        ],
        kernels: &[cpu::<ToGraph>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DatasetToGraphV2",
        inputs: &["input_dataset: variant"],
        outputs: &["graph: string"],
        attrs: &["external_state_policy: int = 0", "strip_device_assignment: bool = false"],
        kernels: &[cpu::<ToGraph>()],
        ..Op::DEFAULT
    },
];

/// The policy that forbids state outside of the graph; others allow it, with or without a warning.
pub(super) const FAIL: i64 = 2;

#[derive(Debug)]
struct ToGraph {
    allows_state: bool,
    strips_devices: bool,
}

impl Kernel for ToGraph {
    fn new(attrs: &Attrs<'_>) -> Result<ToGraph> {
        let allows_state = match attrs.get("allow_stateful") {
            Some(_) => attrs.bool("allow_stateful")?,
            None => attrs.int("external_state_policy")? != FAIL,
        };
        Ok(ToGraph { allows_state, strips_devices: attrs.bool("strip_device_assignment")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dataset = from_tensor(ctx.input(0)?)?;
        let explain =
            |error: Error| error.prefixed("Failed to serialize the input pipeline graph: ");
        if !self.allows_state {
            dataset.check_external_state().map_err(explain)?;
        }
        let mut graph = DatasetGraph::new(&dataset).map_err(explain)?;
        if self.strips_devices {
            strip_devices(&mut graph.library);
        }
        let graph = wire::encode_graph(&graph).map_err(explain)?;
        ctx.set_output(0, Tensor::string(graph));
        Ok(())
    }
}

/// Functions made for one cluster may run in another when their nodes name no devices.
fn strip_devices(library: &mut FunctionLibrary) {
    let functions: Vec<_> = library.iter().cloned().collect();
    for function in functions {
        let mut stripped = (*function).clone();
        stripped.nodes.iter_mut().for_each(|node| node.device.clear());
        library.insert(stripped.into());
    }
}

#[derive(Debug)]
struct Fingerprint;

impl Kernel for Fingerprint {
    fn new(_: &Attrs<'_>) -> Result<Fingerprint> {
        Ok(Fingerprint)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let graph = DatasetGraph::new(&from_tensor(ctx.input(0)?)?)?;
        ctx.set_output(0, Tensor::scalar(fingerprint(&graph)));
        Ok(())
    }
}

/// Tells pipelines apart by what they compute: transformations, tensors and the bodies of functions,
/// but not the names of functions.
pub(super) fn fingerprint(graph: &DatasetGraph) -> u64 {
    let mut functions = FxHashMap::default();
    let mut hasher = FxHasher::default();
    for node in &graph.nodes {
        hash_node(node, &graph.library, &mut functions, &mut hasher);
    }
    hasher.finish()
}

fn hash_node<'a>(
    node: &'a NodeDef,
    library: &'a FunctionLibrary,
    functions: &mut FxHashMap<&'a str, u64>,
    hasher: &mut FxHasher,
) {
    match library.find(&node.op) {
        Some(_) => hash_function(&node.op, library, functions).hash(hasher),
        None => node.op.hash(hasher),
    }
    node.inputs.hash(hasher);
    hash_attrs(&node.attrs, library, functions, hasher);
}

fn hash_attrs<'a>(
    attrs: &'a AttrMap,
    library: &'a FunctionLibrary,
    functions: &mut FxHashMap<&'a str, u64>,
    hasher: &mut FxHasher,
) {
    // What is only for people to read does not count.
    let counts = |name: &str| name != "metadata" && !name.starts_with('_');
    for (name, value) in attrs.iter().filter(|(name, _)| counts(name)) {
        name.hash(hasher);
        let mut names_functions = false;
        for func in functions_of(value) {
            names_functions = true;
            hash_function(&func.name, library, functions).hash(hasher);
            hash_attrs(&func.attrs, library, functions, hasher);
        }
        match value {
            _ if names_functions => {}
            AttrValue::Tensor(tensor) => wire::hash_tensor(tensor, hasher),
            value => format!("{value:?}").hash(hasher),
        }
    }
}

fn hash_function<'a>(
    name: &'a str,
    library: &'a FunctionLibrary,
    functions: &mut FxHashMap<&'a str, u64>,
) -> u64 {
    if let Some(known) = functions.get(name) {
        return *known;
    }
    // A function that calls itself finds this.
    functions.insert(name, 0);
    let Some(function) = library.find(name) else { return 0 };
    let mut hasher = FxHasher::default();
    let signature = &function.signature;
    format!("{:?}{:?}", signature.inputs, signature.outputs).hash(&mut hasher);
    format!("{:?}{:?}", function.returns, function.control_returns).hash(&mut hasher);
    for node in &function.nodes {
        node.name.hash(&mut hasher);
        hash_node(node, library, functions, &mut hasher);
    }
    let hash = hasher.finish();
    functions.insert(name, hash);
    hash
}
