//! What is measured: each path with everything prepared that a step does not pay for.

use std::hint::black_box;
use std::sync::Arc;

use tensorfleet_framework::{Delivery, Parcel, Registry, Rendezvous};
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, NodeDef};
use tensorfleet_runtime::{ComputePool, Executable, LocalRendezvous, NewKernels, Run};
use tensorfleet_tensor::{DType, Shape, Tensor, wire};
use tensorfleet_testing::{block_on, node, step_context};

/// A path and how to get ready for it.
pub(crate) struct Path {
    pub(crate) name: &'static str,
    prepare: fn() -> Box<dyn FnMut()>,
}

impl Path {
    /// Returns what is measured.
    pub(crate) fn prepare(&self) -> Box<dyn FnMut()> {
        (self.prepare)()
    }
}

/// All paths, in the order of reports.
pub(crate) fn all() -> Vec<Path> {
    let path = |name, prepare| Path { name, prepare };
    vec![
        path("executor/nothing", || steps(chain("Identity", 0))),
        path("executor/chain-200", || steps(chain("Identity", 200))),
        path("executor/fused-200", || steps(chain("Neg", 200))),
        path("executor/loop-20", || steps(counting_loop(20))),
        path("rendezvous/send-first", send_first),
        path("rendezvous/receive-first", receive_first),
        path("codec/scalar", || codec(&Tensor::scalar(1.0_f32))),
        path("codec/64KB", || {
            codec(&Tensor::build(Shape::vector(16 * 1024), |x: &mut [f32]| x.fill(1.5)).unwrap())
        }),
    ]
}

/// Runs a graph of scalars again and again.
fn steps(nodes: Vec<NodeDef>) -> Box<dyn FnMut()> {
    // Reading the definitions of all ops would take longer than everything that is counted.
    let used = tensorfleet_ops::all().filter(|op| nodes.iter().any(|node| node.op == op.name));
    let registry = Registry::new(used).unwrap();
    let graph = Graph::from_nodes(nodes, Arc::new(FunctionLibrary::default()), &registry).unwrap();
    let executable = Executable::new(&graph, &registry, "CPU", &NewKernels).unwrap();
    let executable = Arc::new(executable);
    let pool = Arc::new(ComputePool::new(1).unwrap());
    let step = step_context();
    Box::new(move || {
        let args = vec![Tensor::scalar(0_i32)];
        let (executable, step, pool) = (Arc::clone(&executable), Arc::clone(&step), &pool);
        let run = Run::new(executable, step, Arc::clone(pool), args, None).unwrap();
        black_box(block_on(run).unwrap());
    })
}

/// Nodes of one op, one after the other.
fn chain(op: &str, length: usize) -> Vec<NodeDef> {
    let mut nodes = vec![node("n0", "_Arg", &[], &[int32(), ("index", AttrValue::Int(0))])];
    for i in 0..length {
        nodes.push(node(&format!("n{}", i + 1), op, &[&format!("n{i}")], &[int32()]));
    }
    nodes.push(retval(&format!("n{length}")));
    nodes
}

/// A loop that counts to a limit.
fn counting_loop(limit: i32) -> Vec<NodeDef> {
    let enter = |name, input, is_constant| {
        let frame = ("frame_name", AttrValue::String("loop".into()));
        node(
            name,
            "Enter",
            &[input],
            &[int32(), frame, ("is_constant", AttrValue::Bool(is_constant))],
        )
    };
    vec![
        node("arg", "_Arg", &[], &[int32(), ("index", AttrValue::Int(0))]),
        constant("limit_out", limit),
        constant("one_out", 1),
        enter("enter", "arg", false),
        enter("limit", "limit_out", true),
        enter("one", "one_out", true),
        node("merge", "Merge", &["enter", "next"], &[int32(), ("N", AttrValue::Int(2))]),
        node("less", "Less", &["merge", "limit"], &[int32()]),
        node("cond", "LoopCond", &["less"], &[]),
        node("switch", "Switch", &["merge", "cond"], &[int32()]),
        node("exit", "Exit", &["switch"], &[int32()]),
        node("add", "AddV2", &["switch:1", "one"], &[int32()]),
        node("next", "NextIteration", &["add"], &[int32()]),
        retval("exit"),
    ]
}

const KEY: &str = "/job:ps/replica:0/task:0/device:CPU:0;0000000000000001;\
                   /job:worker/replica:0/task:0/device:CPU:0;edge_7_weights/read;0:0";

fn parcel() -> Parcel {
    Parcel { tensor: Tensor::scalar(1.0_f32), is_dead: false }
}

fn send_first() -> Box<dyn FnMut()> {
    let rendezvous = LocalRendezvous::default();
    Box::new(move || {
        rendezvous.send(KEY, parcel()).unwrap();
        black_box(rendezvous.recv(KEY).unwrap());
    })
}

fn receive_first() -> Box<dyn FnMut()> {
    let rendezvous = LocalRendezvous::default();
    Box::new(move || {
        let Delivery::Later(delivery) = rendezvous.recv(KEY).unwrap() else {
            unreachable!("nothing was sent")
        };
        rendezvous.send(KEY, parcel()).unwrap();
        black_box(block_on(delivery).unwrap());
    })
}

/// A tensor into a message and back.
fn codec(tensor: &Tensor) -> Box<dyn FnMut()> {
    let tensor = tensor.clone();
    Box::new(move || {
        let message = wire::tensor_proto(black_box(&tensor)).unwrap();
        black_box(wire::tensor(&message).unwrap());
    })
}

fn int32() -> (&'static str, AttrValue) {
    ("T", AttrValue::Type(DType::Int32))
}

fn constant(name: &str, value: i32) -> NodeDef {
    tensorfleet_testing::constant(name, Tensor::scalar(value))
}

fn retval(input: &str) -> NodeDef {
    tensorfleet_testing::retval(0, input, DType::Int32)
}
