//! The graph that simulated clients run: variables on every task, tensors that cross tasks, nodes that
//! fail, nodes that wait for ever, and calls of functions on other tasks.

use std::sync::Arc;

use tensorfleet_graph::{
    AttrMap, AttrValue, Func, FunctionDef, FunctionLibrary, NodeDef, op_def_text,
};
use tensorfleet_tensor::{DType, Tensor};

use crate::cluster::{Cluster, handle_attrs};

const LONG: AttrValue = AttrValue::Type(DType::Int64);
const FLOAT: AttrValue = AttrValue::Type(DType::Float);

fn attrs(attrs: &[(&str, AttrValue)]) -> AttrMap {
    attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

fn node(name: &str, op: &str, device: &str, inputs: &[&str], attrs: AttrMap) -> NodeDef {
    NodeDef {
        name: name.to_owned(),
        op: op.to_owned(),
        device: device.to_owned(),
        inputs: inputs.iter().map(|&input| input.to_owned()).collect(),
        attrs,
    }
}

/// The nodes of all tasks. For task `t` there are
///
/// - `add_t`, which adds the fed `delta` to the variable of the task;
/// - `read_t`, its value, and `far_t`, the same read by way of the next task;
/// - `check_t`, which fails if the fed `bad` is not a number, and `waits_t` on the next task, which
///   then waits in vain;
/// - `never_t`, which waits for ever;
/// - `double_t` and `remote_t`, twice the `delta`, the latter by a function that runs on the task.
pub(crate) fn nodes(cluster: &Cluster) -> Vec<NodeDef> {
    let tasks = cluster.names.len();
    let long = || attrs(&[("T", LONG)]);
    let mut nodes = vec![
        node("delta", "Placeholder", "", &[], attrs(&[("dtype", LONG)])),
        node("other", "Placeholder", "", &[], attrs(&[("dtype", LONG)])),
        node("bad", "Placeholder", "", &[], attrs(&[("dtype", FLOAT)])),
    ];
    for task in 0..tasks {
        let (here, next) = (cluster.device(task), cluster.device((task + 1) % tasks));
        let name = |what: &str| format!("{what}_{task}");
        let mut add = |what: &str, op: &str, device: &str, inputs: &[&str], attrs: AttrMap| {
            nodes.push(node(&name(what), op, device, inputs, attrs));
        };
        let (handle, read, check) = (name("handle"), name("read"), name("check"));
        let (queue, target) = (name("queue"), name("target"));
        add("handle", "VarHandleOp", &here, &[], handle_attrs());
        let dtype = attrs(&[("dtype", LONG)]);
        add("add", "AssignAddVariableOp", &here, &[&handle, "delta"], dtype.clone());
        add("read", "ReadVariableOp", &here, &[&handle], dtype);
        add("far", "Identity", &next, &[&read], long());
        let message = attrs(&[("T", FLOAT), ("message", name("checked").as_str().into())]);
        add("check", "CheckNumerics", &here, &["bad"], message);
        add("waits", "Identity", &next, &[&check], attrs(&[("T", FLOAT)]));
        let types = AttrValue::from(vec![DType::Int64]);
        add("queue", "FIFOQueueV2", &here, &[], attrs(&[("component_types", types.clone())]));
        let dequeue = attrs(&[("component_types", types.clone())]);
        add("never", "QueueDequeueV2", &here, &[&queue], dequeue);
        add("double", "AddV2", &here, &["delta", "other"], long());
        let device = Tensor::string(here.clone());
        let string = AttrValue::Type(DType::String);
        add("target", "Const", "", &[], attrs(&[("dtype", string), ("value", device.into())]));
        let twice = Func { name: "twice".to_owned(), attrs: AttrMap::new() };
        let call = attrs(&[("Tin", types.clone()), ("Tout", types), ("f", twice.into())]);
        add("remote", "RemoteCall", "", &[&target, "delta"], call);
    }
    nodes
}

/// The function that `remote_t` calls.
pub(crate) fn library() -> FunctionLibrary {
    let signature = op_def_text::parse("twice", &["x: int64"], &["y: int64"], &[]);
    let mut library = FunctionLibrary::default();
    library.insert(Arc::new(FunctionDef {
        signature: Arc::new(signature.expect("the signature is well written")),
        nodes: vec![node("sum", "AddV2", "", &["x", "x"], attrs(&[("T", LONG)]))],
        returns: [("y".to_owned(), "sum:z:0".to_owned())].into(),
        ..FunctionDef::default()
    }));
    library
}
