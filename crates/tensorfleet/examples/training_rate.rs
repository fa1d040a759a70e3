//! How many training steps a Rust program takes in a second, on servers that are there already.
//!
//! `cargo run --release --example training_rate -- grpc://localhost:PORT [SECONDS [BATCH]]` trains a
//! perceptron of 784, 256, 128 and 10 units, its variables on the first task of the job `ps`, from the
//! worker with that target. `python -m conformance.bench.rust_client` compares it with the same
//! program in Python.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use std::time::{Duration, Instant};

use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::{
    Config, Graph, IntoTensor, ReplicaDevices, Result, Session, create_local_cluster, layers, loss,
};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let target = arguments.next().filter(|target| !target.is_empty());
    let seconds: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(2.0);
    let batch: usize = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(128);
    // Without a target, on a cluster of this process.
    let config = Config::default();
    let own = match target {
        None => Some(create_local_cluster(1, 1, "grpc", &config, &config)?),
        Some(_) => None,
    };
    let own_target = own.as_ref().map(|cluster| cluster.workers[0].target());

    let graph = Graph::new();
    let devices = ReplicaDevices::new(1).worker("/job:worker/task:0");
    let (images, classes, loss, train) = graph.device(devices, || {
        let images = graph.placeholder::<f32>([Some(batch), Some(784)]);
        let classes = graph.placeholder::<i64>([Some(batch)]);
        let hidden = layers::dense(&images, "first", 256).relu();
        let hidden = layers::dense(&hidden, "second", 128).relu();
        let logits = layers::dense(&hidden, "logits", 10);
        let loss = loss::sparse_softmax_cross_entropy(&logits, &classes);
        let train = Sgd::new(0.05).minimize(&loss);
        (images, classes, loss, train)
    });
    let pixels: Vec<f32> = (0..batch * 784).map(|index| (index % 255) as f32 / 255.0).collect();
    let pixels = ([batch, 784], pixels).into_tensor()?;
    let numbers = (0..batch as i64).map(|index| index % 10).collect::<Vec<_>>().into_tensor()?;

    let session = Session::connect(&target.or(own_target).unwrap_or_default(), &graph)?;
    session.run((), &graph.initializer())?;
    let fetches = || (loss.value::<f32>(), &train);
    let run = || Ok(session.run(((&images, &pixels), (&classes, &numbers)), fetches())?.0);
    println!("run: {:.1} steps a second", rate(seconds, run)?);
    let step = session.callable([&images, &classes], fetches())?;
    let run = || Ok(step.run((&pixels, &numbers))?.0);
    println!("callable: {:.1} steps a second", rate(seconds, run)?);
    Ok(())
}

/// Steps a second, after some that are not counted.
fn rate(seconds: f64, step: impl Fn() -> Result<f32>) -> Result<f64> {
    for _ in 0..20 {
        step()?;
    }
    let (start, mut steps) = (Instant::now(), 0);
    let mut last = f32::NAN;
    while start.elapsed() < Duration::from_secs_f64(seconds) {
        last = step()?;
        steps += 1;
    }
    assert!(last.is_finite(), "the loss is {last}");
    Ok(f64::from(steps) / start.elapsed().as_secs_f64())
}
