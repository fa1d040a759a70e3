//! Synchronous training: in each round all workers compute gradients of the same variables, and the
//! mean of them is applied once. The result is that of one worker with a batch as large as all.
//!
//! `cargo run --example synchronous`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::strategy::{Coordinator, MeanGradients, Mode, OnLoss, Replica};
use tensorfleet::{
    Config, Graph, Operation, Output, ReplicaDevices, Result, Session, create_local_cluster,
};

struct Worker {
    index: usize,
    session: Session,
    x: Output,
    y: Output,
    gradients: MeanGradients,
    apply: Operation,
}

impl Replica for Worker {
    /// Only trained in rounds.
    fn step(&mut self) -> Result<()> {
        self.contribute(0)
    }

    fn contribute(&mut self, round: u64) -> Result<()> {
        let xs = [self.index as f32 - 2.0, self.index as f32 + 1.0];
        let ys = xs.map(|x| 3.0 * x + 1.0);
        let feeds = ((&self.x, xs), (&self.y, ys), (&self.gradients.round, round as i64));
        self.session.run(feeds, &self.gradients.contribute)
    }

    fn apply(&mut self, contributions: usize) -> Result<()> {
        self.session.run((&self.gradients.contributions, contributions as i32), &self.apply)
    }
}

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    let mut workers = Vec::new();
    let mut line = None;
    for (index, server) in cluster.workers.iter().enumerate() {
        let graph = Graph::new();
        let device = format!("/job:worker/task:{index}");
        graph.device(ReplicaDevices::new(1).worker(&device), || -> Result<()> {
            let x = graph.placeholder::<f32>([None]);
            let y = graph.placeholder::<f32>([None]);
            let slope = graph.variable("slope", 0.0f32);
            let offset = graph.variable("offset", 0.0f32);
            let loss = (&x * &slope + &offset - &y).square().mean();
            let optimizer = Sgd::new(0.1);
            let gradients = MeanGradients::new(&graph, &optimizer.compute_gradients(&loss));
            let apply = optimizer.apply_gradients(&gradients.means);
            let session = Session::connect(&server.target(), &graph)?;
            if index == 0 {
                session.run((), &graph.initializer())?;
            }
            line = Some((Session::connect(&server.target(), &graph)?, slope, offset));
            workers.push(Worker { index, session, x, y, gradients, apply });
            Ok(())
        })?;
    }

    Coordinator::new(workers, Mode::Sync, OnLoss::Stop)?.train(400)?;
    if let Some((session, slope, offset)) = line {
        let (slope, offset) = session.run((), (slope.value::<f32>(), offset.value::<f32>()))?;
        println!("y = {slope:.3} x + {offset:.3}");
    }
    Ok(())
}
