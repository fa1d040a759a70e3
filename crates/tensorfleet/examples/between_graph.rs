//! Between-graph training: two workers, each with a graph and a session of its own, train the same
//! variables on two parameter servers, none waiting for the other.
//!
//! `cargo run --example between_graph`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::data::{Pipeline, TensorRows};
use tensorfleet::optimizer::{Adam, Optimizer};
use tensorfleet::strategy::{Coordinator, Mode, OnLoss};
use tensorfleet::{
    Config, Graph, IntoTensor, Operation, Output, ReplicaDevices, Result, Session, SessionOptions,
    Tensor, create_local_cluster, initializer, layers, loss,
};

/// What a worker needs for its steps.
struct Worker {
    session: Session,
    x: Output,
    y: Output,
    loss: Output,
    train: Operation,
    batches: Vec<Vec<Tensor>>,
    next: usize,
}

impl Worker {
    fn step(&mut self) -> Result<f32> {
        let batch = &self.batches[self.next % self.batches.len()];
        self.next += 1;
        let feeds = ((&self.x, batch[0].clone()), (&self.y, batch[1].clone()));
        let ((), loss) = self.session.run(feeds, (&self.train, self.loss.value::<f32>()))?;
        Ok(loss)
    }
}

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(2, 2, "grpc", &config, &config)?;
    let mut workers = Vec::new();
    for (index, server) in cluster.workers.iter().enumerate() {
        let device = format!("/job:worker/task:{index}");
        let graph = Graph::new();
        let (x, y, loss, train) = graph.device(ReplicaDevices::new(2).worker(&device), || {
            let x = graph.placeholder::<f32>([None, Some(1)]);
            let y = graph.placeholder::<f32>([None, Some(1)]);
            let weights = initializer::glorot_uniform([1, 16]).seed(1);
            let hidden = layers::dense_with(&x, "hidden", weights).tanh();
            let weights = initializer::glorot_uniform([16, 1]).seed(2);
            let result = layers::dense_with(&hidden, "result", weights);
            let loss = loss::mean_squared_error(&result, &y);
            let train = Adam::new(0.02).minimize(&loss);
            (x, y, loss, train)
        });
        let options = SessionOptions::default().device_filter("/job:ps").device_filter(&device);
        let session = Session::connect_with(&server.target(), &graph, &options)?;
        if index == 0 {
            session.run((), &graph.initializer())?;
        }
        // Each worker reads its own part of the examples.
        let rows = examples()?.shard(cluster.workers.len(), index).shuffle(256, index as u64);
        let batches = rows.batch(32).collect::<Result<_>>()?;
        workers.push(Worker { session, x, y, loss, train, batches, next: 0 });
    }

    let coordinator = Coordinator::new(workers, Mode::Async, OnLoss::GoOn)?;
    for round in 0..=4 {
        let steps: Vec<_> = (0..60).map(|_| coordinator.schedule(Worker::step)).collect();
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
