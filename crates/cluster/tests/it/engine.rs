//! The engine's verbs: graphs, single ops, and functions that come and go.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use tensorfleet_cluster::RunLimits;
use tensorfleet_graph::{
    AttrMap, AttrValue, Func, FunctionDef, FunctionLibrary, Graph, NodeDef, op_def_text,
};
use tensorfleet_tensor::{Code, DType, Result, Tensor};
use tensorfleet_testing::{block_on, node, retval};

use crate::fixture::{Fixture, device};

fn attrs(attrs: &[(&str, AttrValue)]) -> AttrMap {
    attrs.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect()
}

const FLOAT: AttrValue = AttrValue::Type(DType::Float);

/// Runs an op on the first device.
fn execute(fixture: &Fixture, op: &str, given: AttrMap, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
    let node = fixture.engine.node(op, op, &device(0), given)?;
    block_on(fixture.engine.execute(&node, &fixture.step(1), inputs.to_vec()))
}

fn scalar(tensors: Vec<Tensor>) -> f32 {
    tensors[0].scalar_value().unwrap()
}

/// A function of one number that applies an op to it.
fn unary(name: &str, op: &str) -> FunctionLibrary {
    let body = NodeDef {
        name: "n".to_owned(),
        op: op.to_owned(),
        inputs: vec!["x".to_owned()],
        attrs: attrs(&[("T", FLOAT)]),
        ..NodeDef::default()
    };
    let signature = op_def_text::parse(name, &["x: float"], &["y: float"], &[]).unwrap();
    let mut library = FunctionLibrary::default();
    library.insert(Arc::new(FunctionDef {
        signature: Arc::new(signature),
        nodes: vec![body],
        returns: [("y".to_owned(), "n:y:0".to_owned())].into(),
        ..FunctionDef::default()
    }));
    library
}

#[test]
fn an_op_is_executed_on_its_inputs() {
    let fixture = Fixture::new();
    let inputs = [Tensor::scalar(2f32), Tensor::scalar(3f32)];
    let sum = execute(&fixture, "AddV2", attrs(&[("T", FLOAT)]), &inputs).unwrap();
    assert_eq!(scalar(sum), 5.0);
    let inputs = [Tensor::scalar(2f32), Tensor::scalar(3f64)];
    let error = execute(&fixture, "AddV2", attrs(&[("T", FLOAT)]), &inputs).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(
        error.message(),
        "cannot compute AddV2 as input #1(zero-based) was expected to be a float tensor but is a double \
         tensor"
    );
    let error = execute(&fixture, "AddV2", attrs(&[("T", FLOAT)]), &inputs[..1]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let error = execute(&fixture, "Switch", attrs(&[("T", FLOAT)]), &[]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    let error = execute(&fixture, "Gone", AttrMap::new(), &[]).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
}

#[test]
fn an_op_that_waits_goes_on_or_is_dropped() {
    let fixture = Fixture::new();
    let types = AttrValue::from(vec![DType::Float]);
    let queue = attrs(&[("component_types", types.clone()), ("shared_name", "q".into())]);
    let handle = execute(&fixture, "FIFOQueueV2", queue, &[]).unwrap().remove(0);
    let of = |attr: &str| attrs(&[(attr, types.clone())]);
    let engine = &fixture.engine;
    let dequeue = engine.node("d", "QueueDequeueV2", &device(0), of("component_types")).unwrap();
    let step = fixture.step(1);
    let mut cancelled = Box::pin(engine.execute(&dequeue, &step, vec![handle.clone()]));
    let mut waiting = pin!(engine.execute(&dequeue, &step, vec![handle.clone()]));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(cancelled.as_mut().poll(&mut cx).is_pending());
    assert!(waiting.as_mut().poll(&mut cx).is_pending());
    drop(cancelled);
    let element = [handle, Tensor::scalar(7f32)];
    execute(&fixture, "QueueEnqueueV2", of("Tcomponents"), &element).unwrap();
    assert_eq!(scalar(block_on(waiting).unwrap()), 7.0);
}

#[test]
fn an_op_with_state_keeps_it_from_call_to_call() {
    let fixture = Fixture::new();
    let int = AttrValue::Type(DType::Int32);
    let given =
        attrs(&[("dtype", FLOAT), ("T", int), ("seed", 7i64.into()), ("seed2", 9i64.into())]);
    let draw = |index| {
        let node =
            fixture.engine.node("r", "RandomUniform", &device(index), given.clone()).unwrap();
        let shape = Tensor::vector::<i32>(&[]).unwrap();
        scalar(block_on(fixture.engine.execute(&node, &fixture.step(1), vec![shape])).unwrap())
    };
    let (first, second) = (draw(0), draw(0));
    assert_ne!(first, second, "the generator goes on");
    assert_eq!(draw(1), first, "each device has its own");
}

#[test]
fn functions_come_and_go_while_steps_run() {
    let fixture = Fixture::new();
    let functions = fixture.engine.functions();
    functions.add(&unary("f", "Neg")).unwrap();
    let call = || execute(&fixture, "f", AttrMap::new(), &[Tensor::scalar(3f32)]);
    assert_eq!(scalar(call().unwrap()), -3.0);
    functions.add(&unary("f", "Neg")).expect("the same function is no other one");
    let error = functions.add(&unary("f", "Square")).unwrap_err();
    assert_eq!(error.code(), Code::InvalidArgument);
    assert_eq!(
        error.message(),
        "Cannot add function 'f' because a different function with the same name already exists."
    );
    let name = Func { name: "f".to_owned(), attrs: AttrMap::new() };
    let before = functions.instantiate(&name, &device(0).into()).unwrap();
    assert!(functions.remove("f") && !functions.remove("f"));
    assert_eq!(call().unwrap_err().code(), Code::InvalidArgument);
    functions.add(&unary("f", "Square")).unwrap();
    assert_eq!(scalar(call().unwrap()), 9.0, "nothing of the old one is left");
    let after = functions.instantiate(&name, &device(0).into()).unwrap();
    assert!(!Arc::ptr_eq(&before, &after));
    let again = functions.instantiate(&name, &device(0).into()).unwrap();
    assert!(Arc::ptr_eq(&again, &after), "compiled once");
}

#[test]
fn what_contains_a_removed_function_goes_with_it() {
    let fixture = Fixture::new();
    let functions = fixture.engine.functions();
    functions.add(&unary("inner", "Neg")).unwrap();
    let mut outer = FunctionLibrary::default();
    let mut def = FunctionDef::clone(unary("outer", "inner").find("outer").unwrap());
    def.nodes[0].attrs = AttrMap::new();
    outer.insert(Arc::new(def));
    functions.add(&outer).unwrap();
    let call = || execute(&fixture, "outer", AttrMap::new(), &[Tensor::scalar(3f32)]);
    assert_eq!(scalar(call().unwrap()), -3.0);
    functions.remove("inner");
    assert_eq!(call().unwrap_err().code(), Code::NotFound);
    functions.add(&unary("inner", "Square")).unwrap();
    assert_eq!(scalar(call().unwrap()), 9.0);
}

/// A graph that calls function `f` of its library on its argument.
fn calling(fixture: &Fixture, op: &str) -> Graph {
    let on = |mut def: NodeDef| {
        def.device = device(0);
        def
    };
    let nodes = vec![
        on(node("x", "_Arg", &[], &[("T", FLOAT), ("index", 0i64.into())])),
        on(node("c", "f", &["x"], &[])),
        on(retval(0, "c", DType::Float)),
    ];
    let nodes = nodes.into_iter().map(|mut def| {
        if def.op == "f" {
            let list = || AttrValue::from(vec![DType::Float]);
            let f = Func { name: "f".to_owned(), attrs: AttrMap::new() };
            def.attrs = attrs(&[("Tin", list()), ("Tout", list()), ("f", f.into())]);
            def.op = "PartitionedCall".to_owned();
        }
        def
    });
    Graph::from_nodes(nodes.collect(), Arc::new(unary("f", op)), &*fixture.task.registry).unwrap()
}

#[test]
fn graphs_share_functions_unless_they_mean_others() {
    let fixture = Fixture::new();
    let run = |op: &str| {
        let instance = fixture.engine.instantiate(&calling(&fixture, op)).unwrap();
        let args = vec![Tensor::scalar(3f32)];
        let (step, limits) = (fixture.step(2), RunLimits::default());
        scalar(block_on(fixture.engine.run(&instance, &step, args, limits)).unwrap().retvals)
    };
    assert_eq!((run("Neg"), run("Square"), run("Neg")), (-3.0, 9.0, -3.0));
    let library = fixture.engine.functions().library();
    assert_eq!(library.find("f").unwrap().nodes[0].op, "Neg", "the first one is everybody's");
}

#[test]
fn arguments_and_results_may_be_on_several_devices() {
    let fixture = Fixture::new();
    let on = |mut def: NodeDef, index| {
        def.device = device(index);
        def
    };
    let arg = |name, index: i64, dtype: DType| {
        node(name, "_Arg", &[], &[("T", dtype.into()), ("index", index.into())])
    };
    let nodes = vec![
        on(arg("i", 0, DType::Int32), 1),
        on(arg("x", 1, DType::Float), 0),
        on(retval(0, "x", DType::Float), 0),
        on(retval(1, "i", DType::Int32), 1),
        on(node("n", "Neg", &["x"], &[("T", FLOAT)]), 1),
        on(retval(2, "n", DType::Float), 0),
    ];
    let registry = &*fixture.task.registry;
    let graph = Graph::from_nodes(nodes, Arc::default(), registry).unwrap();
    let instance = fixture.engine.instantiate(&graph).unwrap();
    let args = vec![Tensor::scalar(5i32), Tensor::scalar(2f32)];
    let (step, limits) = (fixture.step(3), RunLimits::default());
    let run = fixture.engine.run(&instance, &step, args, limits);
    let retvals = block_on(run).unwrap().retvals;
    assert_eq!(retvals[0].scalar_value::<f32>().unwrap(), 2.0);
    assert_eq!(retvals[1].scalar_value::<i32>().unwrap(), 5);
    assert_eq!(retvals[2].scalar_value::<f32>().unwrap(), -2.0);
}
