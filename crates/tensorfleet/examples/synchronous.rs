//! Synchronous training: in each round all workers compute gradients of the same variables, and the
//! mean of them is applied once. The result is that of one worker with a batch as large as all.
//!
//! `cargo run --example synchronous`

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::strategy::{MeanGradients, Mode, Model, OnLoss, ParameterServerStrategy};
use tensorfleet::{
    Config, Graph, Operation, Output, Result, Session, Variable, create_local_cluster,
};

/// A line, and the points that one worker knows of it.
struct Line {
    x: Output,
    y: Output,
    slope: Variable,
    offset: Variable,
    gradients: MeanGradients,
    apply: Operation,
    points: [f32; 2],
}

impl Line {
    fn new(graph: &Graph, worker: usize) -> Result<Line> {
        let x = graph.placeholder::<f32>([None]);
        let y = graph.placeholder::<f32>([None]);
        let slope = graph.variable("slope", 0.0f32);
        let offset = graph.variable("offset", 0.0f32);
        let loss = (&x * &slope + &offset - &y).square().mean();
        let optimizer = Sgd::new(0.1);
        let gradients = MeanGradients::new(graph, &optimizer.compute_gradients(&loss));
        let apply = optimizer.apply_gradients(&gradients.means);
        let points = [worker as f32 - 2.0, worker as f32 + 1.0];
        Ok(Line { x, y, slope, offset, gradients, apply, points })
    }
}

impl Model for Line {
    /// Only trained in rounds.
    fn step(&mut self, session: &Session) -> Result<()> {
        self.contribute(session, 0)
    }

    fn contribute(&mut self, session: &Session, round: u64) -> Result<()> {
        let ys = self.points.map(|x| 3.0 * x + 1.0);
        let feeds = ((&self.x, self.points), (&self.y, ys), (&self.gradients.round, round as i64));
        session.run(feeds, &self.gradients.contribute)
    }

    fn apply(&mut self, session: &Session, contributions: usize) -> Result<()> {
        session.run((&self.gradients.contributions, contributions as i32), &self.apply)
    }
}

fn main() -> Result<()> {
    let config = Config::default();
    let cluster = create_local_cluster(2, 1, "grpc", &config, &config)?;
    let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster())?;
    let coordinator = strategy.coordinator(Mode::Sync, OnLoss::Stop, Line::new)?;
    coordinator.train(400)?;
    let line = coordinator.schedule(|worker| {
        let Line { slope, offset, .. } = &worker.model;
        worker.session.run((), (slope.value::<f32>(), offset.value::<f32>()))
    });
    let (slope, offset) = line.fetch()?;
    println!("y = {slope:.3} x + {offset:.3}");
    Ok(())
}
