//! A worker that trains a model together with Python programs, at the same time and on the same
//! cluster: variables are known by their names and tasks, whoever made them.
//!
//! `cargo run --example with_python -- grpc://localhost:9202 1 400` works as task 1 of the job
//! `worker`, whose server that is, until all workers together have taken 400 steps.
//! `conformance/test_rust_client.py` has the Python side.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::monitored::StopAtStep;
use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::{
    Graph, MonitoredSession, ReplicaDevices, Result, SessionOptions, initializer, invalid_argument,
    loss,
};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, task, steps] = &arguments[..] else {
        return Err(invalid_argument!("say the server's address, the task and the steps"));
    };
    let last = steps.parse().map_err(|_| invalid_argument!("{steps:?} is no number of steps"))?;
    let worker = format!("/job:worker/task:{task}");

    let graph = Graph::new();
    let (x, y, w, train) = graph.device(ReplicaDevices::new(1).worker(&worker), || {
        graph.global_step();
        let x = graph.placeholder::<f32>([None, Some(2)]);
        let y = graph.placeholder::<f32>([None, Some(1)]);
        let w = graph.variable("w", initializer::zeros([2, 1]));
        let b = graph.variable("b", initializer::zeros([1]));
        let loss = loss::mean_squared_error(&(x.matmul(&w) + &b), &y);
        let train = Sgd::new(0.05).minimize(&loss);
        (x, y, w, train)
    });

    // Python's worker is the chief, which initialises the variables; this one waits for them.
    let options = SessionOptions::default().device_filter("/job:ps").device_filter(&worker);
    let mut session = MonitoredSession::builder(&graph)
        .target(target)
        .options(options)
        .chief(false)
        .hook(StopAtStep::new(last))
        .open()?;
    let mut taken = 0;
    while !session.should_stop() {
        let point = [(taken % 7) as f32 / 3.0 - 1.0, (taken % 5) as f32 / 2.0 - 1.0];
        let value = [[2.0 * point[0] - 3.0 * point[1] + 0.5]];
        session.run(((&x, [point]), (&y, value)), &train)?;
        taken += 1;
    }
    let w = session.raw()?.run((), w.value::<Vec<f32>>())?;
    println!("{taken} steps here, w = {w:.2?}");
    session.finish()
}
