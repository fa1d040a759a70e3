//! Typical mistakes, and whether what is said about them helps: the line that made them, the name,
//! and what is wrong.

use std::fmt::Debug;
use std::time::Duration;

use tensorfleet_client::{Code, Graph, Result, Saver, Session, SessionOptions, layers};

/// A mistake of a graph under construction is reported with the line of the closure.
fn in_building(build: impl FnOnce(&Graph), line: u32, says: &str) {
    let graph = Graph::new();
    build(&graph);
    let error = graph.check().unwrap_err().to_string();
    let place = format!("mistakes.rs:{line}:");
    assert!(error.contains(&place) && error.contains(says), "{error}");
}

#[test]
#[rustfmt::skip]
fn in_graphs() {
    in_building(|g| drop(g.constant([[1.0f32, 2.0]]).matmul([[1.0f32, 2.0]])), line!(), "2 is not 1");
    in_building(|g| drop(g.constant(1.0f32) + g.constant(1i32)), line!(), "must be float, but Const_1:0 is int32");
    in_building(|g| drop(g.constant(1i32) + 0.5), line!(), "0.5 is no value of type int32");
    in_building(|g| drop(g.op("MatMull").output()), line!(), "there is no op of the name MatMull");
    in_building(|g| drop(g.op("MatMul").input([[1.0f32]]).output()), line!(), "MatMul has 2 arguments (a, b)");
    in_building(|g| drop(g.device("/job:ps/tsk:0", || g.constant(1i32))), line!(), "'/job:ps/tsk:0'");
    in_building(|g| drop(g.constant([1i32, 2]).reshape([3i32])), line!(), "2 elements are not 3");
    in_building(|g| drop(g.constant(1.0f32) + Graph::new().constant(1.0f32)), line!(), "belongs to another graph");
    in_building(|g| drop(layers::dense(&g.placeholder::<f32>([None, None]), "d", 3)), line!(), "must be known here");
    in_building(|g| drop(g.variable("v", g.placeholder::<f32>([None]))), line!(), "whose shape is known");
    in_building(|g| drop(g.cond(1i32, || g.constant(1i32), || g.constant(2i32))), line!(), "must be bool");
}

fn fails<T: Debug>(outcome: Result<T>, code: Code, says: &[&str]) {
    let error = outcome.unwrap_err();
    assert_eq!(error.code(), code);
    let message = error.to_string();
    assert!(says.iter().all(|words| message.contains(words)), "{message}");
}

#[test]
fn in_steps() {
    let graph = Graph::new();
    let x = graph.placeholder::<f32>([None, Some(2)]);
    let placeholder_line = line!() - 1;
    let y = &x * 2.0;
    let w = graph.variable("w", [1.0f32, 2.0]);
    let z = &x * &w;
    let read_line = line!() - 1;
    let session = Session::new(&graph).unwrap();
    let at = |line: u32| format!("mistakes.rs:{line}:");
    let invalid = Code::InvalidArgument;

    let not_fed = ["You must feed a value for placeholder", "[?,2]", &at(placeholder_line)];
    fails(session.run((), &y), invalid, &not_fed);
    let feeds = || (&x, [[1.0f32, 2.0]]);
    let not_there = ["w", "uninitialized", &at(read_line)];
    fails(session.run(feeds(), &z), Code::FailedPrecondition, &not_there);
    fails(session.run((&x, [1.0f32, 2.0]), &y), invalid, &["Placeholder:0 has shape [?,2]", "[2]"]);
    fails(session.run((&x, [[1i32, 2]]), &y), invalid, &["Placeholder:0 is float", "int32"]);
    fails(session.run(feeds(), y.value::<Vec<i32>>()), invalid, &["Mul:0", "int32", "float"]);
    fails(session.run(feeds(), y.value::<f32>()), invalid, &["[1,2]", "single number"]);
    // The value of a variable is read where the variable was made, for who only fetches it.
    let made = ["w", "uninitialized", &at(placeholder_line + 3)];
    fails(session.run((), w.value::<Vec<f32>>()), Code::FailedPrecondition, &made);
    let stranger = Graph::new().constant(1.0f32);
    fails(session.run((), &stranger), invalid, &["not of the session's graph"]);
    fails(session.run((&stranger, 1.0f32), &y), invalid, &["not of the session's graph"]);
}

#[test]
fn in_checkpoints() {
    let graph = Graph::new();
    graph.variable("w", [1.0f32, 2.0]);
    let saver = Saver::new(&graph);
    let at = format!("mistakes.rs:{}:", line!() - 1);
    let session = Session::new(&graph).unwrap();
    let missing = ["/nowhere/model.ckpt-1", &at];
    fails(saver.restore(&session, "/nowhere/model.ckpt-1"), Code::NotFound, &missing);
}

#[test]
fn in_targets() {
    let graph = Graph::new();
    let connect = |target: &str, options: &SessionOptions| {
        Session::connect_with(target, &graph, options).map(|_| ())
    };
    let soon = SessionOptions::default().open_timeout(Duration::from_millis(1));
    let closed = connect("grpc://localhost:1", &soon);
    fails(closed, Code::DeadlineExceeded, &["grpc://localhost:1", "1ms"]);
    fails(connect("localhost:1", &soon), Code::InvalidArgument, &["grpc://host:port"]);
    let limited = SessionOptions::default().timeout(Duration::from_millis(1));
    let refused = connect("grpc://localhost:1", &limited);
    fails(refused, Code::Unavailable, &["localhost:1", "cannot be reached"]);
}
