//! Checkpoints: training that goes on where it was when the program ended.
//!
//! `cargo run --example checkpoint -- /tmp/checkpoints`, several times.

#![allow(clippy::print_stdout, reason = "an example says what it does")]

use std::sync::Arc;

use tensorfleet::monitored::{CheckpointSaver, StepCounter, StopAtStep, SummarySaver};
use tensorfleet::optimizer::{Optimizer, Sgd};
use tensorfleet::summary::{self, SummaryWriter};
use tensorfleet::{Graph, MonitoredSession, Result, Saver, invalid_argument};

fn main() -> Result<()> {
    let Some(directory) = std::env::args().nth(1) else {
        return Err(invalid_argument!("name a directory for checkpoints"));
    };
    let graph = Graph::new();
    let step = graph.global_step();
    let w = graph.variable("w", 10.0f32);
    let loss = (w.read() - 2.0).square();
    let train = Sgd::new(0.05).minimize(&loss);
    let summary = summary::scalar("loss", &loss);

    // Every start of the program makes ten steps more.
    let begun = Saver::latest(&directory)
        .and_then(|path| path.to_str()?.rsplit('-').next()?.parse::<i64>().ok())
        .unwrap_or(0);
    let writer = Arc::new(SummaryWriter::create(&directory)?);
    let mut session = MonitoredSession::builder(&graph)
        .restore_from(&directory)
        .hook(CheckpointSaver::every_steps(&directory, 5))
        .hook(SummarySaver::every_steps(1, &summary, &writer))
        .hook(StepCounter::every_steps(5, &writer))
        .hook(StopAtStep::new(begun + 10))
        .open()?;
    while !session.should_stop() {
        session.run((), &train)?;
    }
    let (step, w) = session.raw()?.run((), (step.value::<i64>(), w.value::<f32>()))?;
    println!("from step {begun} to step {step}: w is {w:.4}");
    session.finish()
}
