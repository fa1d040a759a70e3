//! Loops in their order give what the executor's own way gives.

use std::sync::Arc;

use tensorfleet_graph::{AttrValue, FunctionLibrary, Graph, NodeDef};
use tensorfleet_tensor::{DType, Result, Tensor};
use tensorfleet_testing::{block_on, constant, node, retval, step_context};

use crate::{ComputePool, Executable, NewKernels, Run, Trace};

fn of(dtype: DType) -> (&'static str, AttrValue) {
    ("T", AttrValue::Type(dtype))
}

fn enter(name: &str, input: &str, dtype: DType, is_constant: bool) -> NodeDef {
    let frame = ("frame_name", AttrValue::String("loop".into()));
    let parallel = ("parallel_iterations", AttrValue::Int(10));
    let is_constant = ("is_constant", AttrValue::Bool(is_constant));
    node(name, "Enter", &[input], &[of(dtype), frame, parallel, is_constant])
}

/// The nodes by which a variable goes through a loop: `x` enters, `x_in` is for the body, which
/// makes `next` of it, and `x_out` is the result.
fn variable(x: &str, dtype: DType, next: &str) -> Vec<NodeDef> {
    let name = |suffix: &str| format!("{x}_{suffix}");
    let merged = [name("enter"), name("next")];
    let two = ("N", AttrValue::Int(2));
    vec![
        enter(&name("enter"), x, dtype, false),
        node(&name("merge"), "Merge", &[&merged[0], &merged[1]], &[of(dtype), two]),
        node(&name("switch"), "Switch", &[&name("merge"), "cond"], &[of(dtype)]),
        node(&name("in"), "Identity", &[&format!("{}:1", name("switch"))], &[of(dtype)]),
        node(&name("next"), "NextIteration", &[next], &[of(dtype)]),
        node(&name("out"), "Exit", &[&name("switch")], &[of(dtype)]),
    ]
}

/// `while i < limit`, with `i` going up by one.
fn counter(limit: i32) -> Vec<NodeDef> {
    let int = DType::Int32;
    let mut nodes = variable("i", int, "i_plus");
    nodes.extend([
        constant("i", Tensor::scalar(0i32)),
        constant("limit", Tensor::scalar(limit)),
        enter("limit_enter", "limit", int, true),
        node("less", "Less", &["i_merge", "limit_enter"], &[of(int)]),
        node("cond", "LoopCond", &["less"], &[]),
        constant("one", Tensor::scalar(1i32)),
        node("i_plus", "AddV2", &["i_in", "one"], &[of(int)]),
    ]);
    // As a constant of a body is.
    nodes.iter_mut().find(|node| node.name == "one").unwrap().inputs = vec!["^i_in".to_owned()];
    nodes
}

fn executable(nodes: Vec<NodeDef>) -> Executable {
    let registry = tensorfleet_ops::registry().unwrap();
    let library = Arc::new(FunctionLibrary::default());
    let graph = Graph::from_nodes(nodes, library, &registry).unwrap();
    Executable::new(&graph, &registry, "CPU", &NewKernels).unwrap()
}

fn run(executable: &Arc<Executable>, trace: Option<Arc<Trace>>) -> Result<Vec<Tensor>> {
    let pool = Arc::new(ComputePool::new(2).unwrap());
    block_on(Run::new(Arc::clone(executable), step_context(), pool, Vec::new(), trace).unwrap())
}

/// The results of a graph, in whose loop a fixed order is found, as both ways give them. A traced
/// run looks at every node.
fn both_ways(nodes: Vec<NodeDef>) -> Result<Vec<Tensor>> {
    let executable = Arc::new(executable(nodes));
    assert!(executable.frames.iter().any(|frame| frame.sequence.is_some()), "no order was found");
    let in_order = run(&executable, None);
    let traced = run(&executable, Some(Arc::new(Trace::default())));
    match (&in_order, &traced) {
        (Ok(in_order), Ok(traced)) => {
            let show = |tensors: &[Tensor]| format!("{tensors:?}");
            assert_eq!(show(in_order), show(traced));
        }
        (in_order, traced) => {
            assert_eq!(in_order.as_ref().unwrap_err(), traced.as_ref().unwrap_err());
        }
    }
    in_order
}

fn ints(nodes: Vec<NodeDef>) -> Vec<i32> {
    let results = both_ways(nodes).unwrap();
    results.iter().map(|tensor| tensor.scalar_value().unwrap()).collect()
}

#[test]
fn a_counter_counts() {
    for limit in [-1, 0, 1, 1000] {
        let mut nodes = counter(limit);
        nodes.push(retval(0, "i_out", DType::Int32));
        assert_eq!(ints(nodes), [limit.max(0)]);
    }
}

#[test]
fn variables_may_change_places() {
    let int = DType::Int32;
    for limit in [0, 1, 4, 7] {
        let mut nodes = counter(limit);
        nodes.extend(variable("a", int, "b_in"));
        // Straight from the gate to the next iteration.
        nodes.extend(variable("b", int, "a_switch:1"));
        nodes.extend([constant("a", Tensor::scalar(3i32)), constant("b", Tensor::scalar(5i32))]);
        nodes.extend([retval(0, "a_out", int), retval(1, "b_out", int)]);
        assert_eq!(ints(nodes), if limit % 2 == 0 { [3, 5] } else { [5, 3] });
    }
}

#[test]
fn branches_inside_leave_out_what_they_should() {
    let int = DType::Int32;
    let mut nodes = counter(10);
    nodes.extend(variable("sum", int, "chosen"));
    let two = ("N", AttrValue::Int(2));
    let mut ten = constant("ten", Tensor::scalar(10i32));
    ten.inputs = vec!["^large".to_owned()];
    nodes.extend([
        constant("sum", Tensor::scalar(0i32)),
        constant("five", Tensor::scalar(5i32)),
        enter("five_enter", "five", int, true),
        // Adds ten from the sixth iteration on, one before.
        node("is_late", "GreaterEqual", &["i_in", "five_enter"], &[of(int)]),
        node("branch", "Switch", &["sum_in", "is_late"], &[of(int)]),
        node("large", "Identity", &["branch:1"], &[of(int)]),
        ten,
        node("by_ten", "AddV2", &["large", "ten"], &[of(int)]),
        node("by_one", "AddV2", &["branch", "one"], &[of(int)]),
        node("chosen", "Merge", &["by_one", "by_ten"], &[of(int), two]),
        retval(0, "sum_out", int),
    ]);
    assert_eq!(ints(nodes), [55]);
}

#[test]
fn a_constant_may_go_on_to_the_next_iteration_and_to_several_nodes() {
    let int = DType::Int32;
    // The product is 1, then 1 * 1 + 7, 8 * 7 + 7 and 63 * 7 + 7.
    for (limit, expected) in [(0, [1, 1]), (1, [7, 8]), (2, [7, 63]), (3, [7, 448])] {
        let mut nodes = counter(limit);
        nodes.extend(variable("last", int, "seven"));
        nodes.extend(variable("product", int, "raised"));
        let mut seven = constant("seven", Tensor::scalar(7i32));
        seven.inputs = vec!["^i_in".to_owned()];
        nodes.extend([
            constant("last", Tensor::scalar(1i32)),
            constant("product", Tensor::scalar(1i32)),
            seven,
            node("times", "Mul", &["product_in", "last_in"], &[of(int)]),
            node("raised", "AddV2", &["times", "seven"], &[of(int)]),
            retval(0, "last_out", int),
            retval(1, "product_out", int),
        ]);
        assert_eq!(ints(nodes), expected);
    }
}

#[test]
fn the_executor_takes_over_when_nodes_take_long() {
    let float = DType::Float;
    let mut nodes = counter(20);
    nodes.extend(variable("x", float, "doubled"));
    let attrs = [of(float), ("N", AttrValue::Int(2)), ("Tidx", AttrValue::Type(DType::Int32))];
    nodes.extend([
        constant("x", Tensor::vector(&[1f32]).unwrap()),
        constant("axis", Tensor::scalar(0i32)),
        enter("axis_enter", "axis", DType::Int32, true),
        node("doubled", "ConcatV2", &["x_in", "x_in", "axis_enter"], &attrs),
        node("size", "Size", &["x_out"], &[of(float)]),
        retval(0, "size", DType::Int32),
        retval(1, "i_out", DType::Int32),
    ]);
    assert_eq!(ints(nodes), [1 << 20, 20]);
}

#[test]
fn failures_name_their_node_and_iteration_after_iteration_is_left_at_once() {
    let int = DType::Int32;
    let mut nodes = counter(5);
    nodes.extend(variable("x", int, "quotient"));
    nodes.extend([
        constant("x", Tensor::scalar(7i32)),
        constant("three", Tensor::scalar(3i32)),
        enter("three_enter", "three", int, true),
        node("rest", "Sub", &["three_enter", "i_in"], &[of(int)]),
        node("quotient", "FloorDiv", &["x_in", "rest"], &[of(int)]),
        retval(0, "x_out", int),
    ]);
    let error = both_ways(nodes).unwrap_err();
    assert!(error.message().ends_with("[[{{node quotient}}]]"), "{error}");
}

#[test]
fn a_loop_without_end_can_be_dropped() {
    let mut nodes = counter(i32::MAX);
    // Never gets there.
    nodes.iter_mut().find(|node| node.name == "i_plus").unwrap().op = "Mul".to_owned();
    nodes.push(retval(0, "i_out", DType::Int32));
    can_be_dropped(nodes);
}

#[test]
fn a_loop_without_end_that_only_steers_can_be_dropped() {
    let int = DType::Int32;
    let mut nodes = variable("x", int, "x_switch:1");
    nodes.retain(|node| node.name != "x_in");
    nodes.extend([
        constant("x", Tensor::scalar(1i32)),
        constant("always", Tensor::scalar(true)),
        enter("always_enter", "always", DType::Bool, true),
        node("cond", "LoopCond", &["always_enter"], &[]),
        retval(0, "x_out", int),
    ]);
    can_be_dropped(nodes);
}

fn can_be_dropped(nodes: Vec<NodeDef>) {
    let pool = Arc::new(ComputePool::new(1).unwrap());
    let executable = Arc::new(executable(nodes));
    assert!(executable.frames.iter().any(|frame| frame.sequence.is_some()), "no order was found");
    let run = Run::new(executable, step_context(), Arc::clone(&pool), Vec::new(), None).unwrap();
    let mut endless = Box::pin(run);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(endless.as_mut().poll(&mut cx).is_pending());
    drop(endless);
    // The pool's only thread comes free.
    let (done, wait) = std::sync::mpsc::channel();
    pool.spawn(move || done.send(()).unwrap());
    wait.recv().unwrap();
}

#[test]
fn a_loop_that_begins_before_all_has_entered_is_left_to_the_executor() {
    let int = DType::Int32;
    let mut nodes = counter(3);
    nodes.extend(variable("x", int, "x_in"));
    // What enters second is the result of what entered first.
    nodes.push(node("x", "Identity", &["i_out"], &[of(int)]));
    nodes.push(retval(0, "i_out", int));
    let executable = executable(nodes);
    assert!(executable.frames.iter().all(|frame| frame.sequence.is_none()));
}
