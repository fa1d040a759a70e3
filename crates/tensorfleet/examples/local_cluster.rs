//! The second tutorial: a cluster in one process, with every node on the task that it is told.
//!
//! `cargo run --example local_cluster`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::{Config, Graph, Result, RunOptions, Session, create_local_cluster};

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(2, 2, "grpc", &config, &config)?;

    let graph = Graph::new();
    // Parameters live on two parameter servers.
    let slope = graph.device("/job:ps/task:0", || graph.variable("slope", 0.0f32));
    let offset = graph.device("/job:ps/task:1", || graph.variable("offset", 0.0f32));
    let (xs, ys) = ([-2.0f32, -1.0, 0.0, 1.0, 2.0], [-5.0f32, -2.0, 1.0, 4.0, 7.0]);
    // Each worker computes the error of half of the points.
    let parts = [0, 1].map(|worker| {
        graph.device(format!("/job:worker/task:{worker}"), || {
            let range = if worker == 0 { 0..3 } else { 3..5 };
            let (x, y) = (xs[range.clone()].to_vec(), ys[range].to_vec());
            (graph.constant(x) * &slope + &offset - graph.constant(y)).square().sum()
        })
    });
    let loss = graph.device("/job:worker/task:0", || (&parts[0] + &parts[1]) / 5.0);
    let train = Sgd::new(0.1).minimize(&loss);

    let session = Session::connect(&cluster.workers[0].target(), &graph)?;
    session.run((), &graph.initializer())?;
    for step in 0..=100 {
        let ((), loss) = session.run((), (&train, loss.value::<f32>()))?;
        if step % 25 == 0 {
            println!("step {step}: loss {loss:.6}");
        }
    }
    let (slope, offset) = session.run((), (slope.value::<f32>(), offset.value::<f32>()))?;
    println!("y = {slope:.3} x + {offset:.3}");

    // A traced step tells where its nodes ran.
    let (_, metadata) = session.run_with(&RunOptions::default().trace(true), (), &loss)?;
    let mut devices: Vec<&str> = metadata.nodes.iter().map(|node| node.device.as_str()).collect();
    devices.sort_unstable();
    devices.dedup();
    println!("one step ran on {} devices: {}", devices.len(), devices.join(", "));
    Ok(())
}
