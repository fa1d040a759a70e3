//! Whole runs: branches, loops, failures, cancellation.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};

use tensorfleet_framework::{Parcel, Registry, Rendezvous, StepContext};
use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, NodeDef};
use tensorfleet_runtime::{ComputePool, Executable, LocalRendezvous, NewKernels, Run};
use tensorfleet_tensor::{Code, DType, Result, Tensor};
use tensorfleet_testing::{block_on, constant, node, step_context};

fn int32() -> (&'static str, AttrValue) {
    ("T", AttrValue::Type(DType::Int32))
}

fn retval(index: i64, input: &str) -> NodeDef {
    tensorfleet_testing::retval(index, input, DType::Int32)
}

fn enter(name: &str, input: &str, is_constant: bool) -> NodeDef {
    let frame = AttrValue::String("loop".into());
    let constant = AttrValue::Bool(is_constant);
    node(name, "Enter", &[input], &[int32(), ("frame_name", frame), ("is_constant", constant)])
}

/// `i = start; while i < limit: i = i + 1`, the result in `exit`.
fn counting_loop(start: &str, limit: &str, parallel: i64) -> Vec<NodeDef> {
    let mut nodes = vec![
        enter("enter", start, false),
        enter("limit_in", limit, true),
        node("merge", "Merge", &["enter", "next"], &[int32(), ("N", AttrValue::Int(2))]),
        node("less", "Less", &["merge", "limit_in"], &[int32()]),
        node("cond", "LoopCond", &["less"], &[]),
        node("switch", "Switch", &["merge", "cond"], &[int32()]),
        node("exit", "Exit", &["switch"], &[int32()]),
        constant("one_out", Tensor::scalar(1i32)),
        enter("one", "one_out", true),
        node("add", "AddV2", &["switch:1", "one"], &[int32()]),
        node("next", "NextIteration", &["add"], &[int32()]),
    ];
    for node in nodes.iter_mut().filter(|node| node.op == "Enter") {
        node.attrs.insert("parallel_iterations".to_owned(), AttrValue::Int(parallel));
    }
    nodes
}

fn start(nodes: Vec<NodeDef>, step: Arc<StepContext>) -> Run {
    let registry: Registry = tensorfleet_ops::registry().unwrap();
    let library = Arc::new(FunctionLibrary::default());
    let graph = Graph::from_nodes(nodes, library, &registry).unwrap();
    let executable = Executable::new(&graph, &registry, "CPU", &NewKernels).unwrap();
    let pool = Arc::new(ComputePool::new(2).unwrap());
    Run::new(Arc::new(executable), step, pool, Vec::new(), None).unwrap()
}

fn run(nodes: Vec<NodeDef>) -> Result<Vec<i32>> {
    let values = block_on(start(nodes, step_context()))?;
    values.iter().map(Tensor::scalar_value).collect()
}

#[test]
fn a_loop_counts_whatever_runs_at_once() {
    for parallel in [1, 2, 10] {
        for limit in [0, 1, 7, 5000] {
            let mut nodes = counting_loop("start", "limit", parallel);
            nodes.push(constant("start", Tensor::scalar(0i32)));
            nodes.push(constant("limit", Tensor::scalar(limit)));
            nodes.push(retval(0, "exit"));
            assert_eq!(run(nodes).unwrap(), [limit], "{parallel} at once, to {limit}");
        }
    }
}

#[test]
fn a_loop_in_a_branch_not_taken_is_dead() {
    let mut nodes = counting_loop("taken", "limit", 10);
    nodes.extend([
        constant("start", Tensor::scalar(3i32)),
        constant("limit", Tensor::scalar(5i32)),
        constant("no", Tensor::scalar(false)),
        node("branch", "Switch", &["start", "no"], &[int32()]),
        node("taken", "Identity", &["branch:1"], &[int32()]),
        node("other", "Identity", &["branch"], &[int32()]),
        node("joined", "Merge", &["exit", "other"], &[int32(), ("N", AttrValue::Int(2))]),
        retval(0, "joined"),
        retval(1, "joined:1"),
    ]);
    assert_eq!(run(nodes).unwrap(), [3, 1]);
}

#[test]
fn a_dead_result_is_an_error() {
    let nodes = vec![
        constant("x", Tensor::scalar(1i32)),
        constant("no", Tensor::scalar(false)),
        node("branch", "Switch", &["x", "no"], &[int32()]),
        retval(0, "branch:1"),
    ];
    let error = run(nodes.clone()).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert!(error.message().contains("does not have value"), "{error}");
    let error = block_on(start(nodes, step_context()).fetched()).unwrap_err();
    assert_eq!(error.code(), Code::Internal);
    assert!(error.message().contains("Failed to fetch outputs"), "{error}");
}

#[test]
fn a_failure_names_its_node() {
    let nodes = vec![
        node("p", "Placeholder", &[], &[("dtype", AttrValue::Type(DType::Int32))]),
        retval(0, "p"),
    ];
    let error = run(nodes).unwrap_err();
    assert!(error.message().ends_with("[[{{node p}}]]"), "{error}");
}

#[test]
fn control_edges_order_nodes() {
    let nodes = vec![
        constant("x", Tensor::scalar(4i32)),
        node("first", "NoOp", &["^x"], &[]),
        node("late", "Identity", &["x", "^first"], &[int32()]),
        retval(0, "late"),
    ];
    assert_eq!(run(nodes).unwrap(), [4]);
}

const DEVICE: &str = "/job:a/replica:0/task:0/device:CPU:0";

/// A node that waits for a tensor, and the key that it waits for.
fn recv(name: &str) -> (NodeDef, String) {
    let text = |text: &str| AttrValue::String(text.to_owned().into());
    let attrs = [
        ("tensor_type", AttrValue::Type(DType::Int32)),
        ("tensor_name", text(name)),
        ("send_device", text(DEVICE)),
        ("recv_device", text(DEVICE)),
        ("send_device_incarnation", AttrValue::Int(1)),
    ];
    (node(name, "_Recv", &[], &attrs), format!("{DEVICE};0000000000000001;{DEVICE};{name};0:0"))
}

fn step_with(rendezvous: &Arc<LocalRendezvous>) -> Arc<StepContext> {
    Arc::new(StepContext {
        rendezvous: Arc::clone(rendezvous) as Arc<dyn Rendezvous>,
        parallelism: 1,
        ..StepContext::clone(&step_context())
    })
}

#[test]
fn a_waiting_node_goes_on_when_its_tensor_comes() {
    let rendezvous = Arc::new(LocalRendezvous::default());
    let (recv, key) = recv("x");
    let mut run = Box::pin(start(vec![recv, retval(0, "x")], step_with(&rendezvous)));
    assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let parcel = Parcel { tensor: Tensor::scalar(9i32), is_dead: false };
    rendezvous.send(&key, parcel).unwrap();
    let values = block_on(run).unwrap();
    assert_eq!(values[0].scalar_value::<i32>().unwrap(), 9);
}

#[test]
fn dropping_a_run_drops_what_waits() {
    let rendezvous = Arc::new(LocalRendezvous::default());
    let (recv, _) = recv("x");
    let mut run = Box::pin(start(vec![recv, retval(0, "x")], step_with(&rendezvous)));
    assert!(run.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(run);
    // The cancelled run ends on the pool; when it is gone it holds the rendezvous no more.
    while Arc::strong_count(&rendezvous) > 1 {
        std::thread::yield_now();
    }
}
