//! Between-graph training: two workers, each with a graph and a session of its own, train the same
//! variables on two parameter servers, none waiting for the other.
//!
//! `cargo run --example between_graph`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::data::{Pipeline, TensorRows};
use tensorfleet::optimizer::{Adam, Optimizer};
use tensorfleet::strategy::{Mode, OnLoss, ParameterServerStrategy, Worker};
use tensorfleet::{
    Config, Graph, IntoTensor, Operation, Output, Result, Tensor, create_local_cluster,
    initializer, layers, loss,
};

/// A worker's copy of the model, and the examples that it reads.
struct Sine {
    x: Output,
    y: Output,
    loss: Output,
    train: Operation,
    batches: Vec<Vec<Tensor>>,
    next: usize,
}

impl Sine {
    fn new(graph: &Graph, rows: impl Pipeline<Vec<Tensor>>) -> Result<Sine> {
        let x = graph.placeholder::<f32>([None, Some(1)]);
        let y = graph.placeholder::<f32>([None, Some(1)]);
        let weights = initializer::glorot_uniform([1, 16]).seed(1);
        let hidden = layers::dense_with(&x, "hidden", weights).tanh();
        let weights = initializer::glorot_uniform([16, 1]).seed(2);
        let result = layers::dense_with(&hidden, "result", weights);
        let loss = loss::mean_squared_error(&result, &y);
        let train = Adam::new(0.02).minimize(&loss);
        Ok(Sine { x, y, loss, train, batches: rows.collect::<Result<_>>()?, next: 0 })
    }
}

/// What is scheduled: one step on whichever worker is free.
fn step(worker: &mut Worker<Sine>) -> Result<f32> {
    let Worker { session, model, .. } = worker;
    let batch = &model.batches[model.next % model.batches.len()];
    model.next += 1;
    let feeds = ((&model.x, &batch[0]), (&model.y, &batch[1]));
    let ((), loss) = session.run(feeds, (&model.train, model.loss.value::<f32>()))?;
    Ok(loss)
}

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(2, 2, "grpc", &config, &config)?;
    let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    let coordinator = strategy.coordinator(Mode::Async, OnLoss::GoOn, |graph, index| {
        // Each worker reads its own part of the examples.
        let rows = examples()?.shard(strategy.num_workers(), index).shuffle(256, index as u64);
        Sine::new(graph, rows.batch(32))
    })?;
    for round in 0..=4 {
        let steps: Vec<_> = (0..60).map(|_| coordinator.schedule(step)).collect();
        let losses: Vec<f32> = steps.into_iter().map(|step| step.fetch()).collect::<Result<_>>()?;
        let mean = losses.iter().sum::<f32>() / losses.len() as f32;
        println!("after {} steps: loss {mean:.5}", (round + 1) * 60);
    }
    coordinator.join()
}

/// Points of a sine.
fn examples() -> Result<TensorRows> {
    let xs: Vec<f32> = (0..256).map(|i| i as f32 / 256.0 * 4.0 - 2.0).collect();
    let ys: Vec<f32> = xs.iter().map(|x| (2.0 * x).sin()).collect();
    TensorRows::new([([256, 1], xs).into_tensor()?, ([256, 1], ys).into_tensor()?])
}
