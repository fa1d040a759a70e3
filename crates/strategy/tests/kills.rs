//! Training goes on when a worker's server is stopped, in every mode, and the worker takes part
//! again when its server has come back.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tensorfleet_client::optimizer::{Optimizer, Sgd};
use tensorfleet_client::{Graph, Operation, Result, Session, Variable};
use tensorfleet_server::{Config, Server, create_local_cluster};
use tensorfleet_strategy::{
    Coordinator, MeanGradients, Mode, Model, OnLoss, ParameterServerStrategy, Worker,
};

/// Draws `w` to 2, and stops a server before a certain step.
struct Line {
    w: Variable,
    steps: Variable,
    alone: Operation,
    gradients: MeanGradients,
    apply: Operation,
    victim: Arc<Victim>,
}

/// The server that is stopped.
#[derive(Default)]
struct Victim {
    server: Mutex<Option<Server>>,
    steps: AtomicUsize,
}

/// After how many steps of all workers.
const STOP_AT: usize = 10;

impl Victim {
    fn count(&self) -> Result<()> {
        if self.steps.fetch_add(1, Ordering::SeqCst) == STOP_AT
            && let Some(server) = self.server.lock().unwrap().take()
        {
            server.stop()?;
        }
        Ok(())
    }
}

impl Line {
    fn new(graph: &Graph, victim: &Arc<Victim>) -> Line {
        let w = graph.variable("w", 10.0f32);
        let steps = graph.global_step();
        let loss = (w.read() - 2.0).square();
        let optimizer = Sgd::new(0.05);
        let gradients = MeanGradients::new(graph, &optimizer.compute_gradients(&loss));
        let apply = optimizer.apply_gradients(&gradients.means);
        let alone = optimizer.minimize(&loss);
        Line { w, steps, alone, gradients, apply, victim: Arc::clone(victim) }
    }
}

impl Model for Line {
    fn step(&mut self, session: &Session) -> Result<()> {
        self.victim.count()?;
        session.run((), &self.alone)
    }

    fn contribute(&mut self, session: &Session, round: u64) -> Result<()> {
        self.victim.count()?;
        session.run((&self.gradients.round, round as i64), &self.gradients.contribute)
    }

    fn apply(&mut self, session: &Session, contributions: usize) -> Result<()> {
        session.run((&self.gradients.contributions, contributions as i32), &self.apply)
    }
}

/// The variable, and how often it was changed.
fn state(coordinator: &Coordinator<Worker<Line>>) -> (f32, i64) {
    let read = coordinator.schedule(|worker| {
        let fetches = (worker.model.w.value::<f32>(), worker.model.steps.value::<i64>());
        worker.session.run((), fetches)
    });
    read.fetch().unwrap()
}

fn survives(mode: Mode) {
    let config = Config::default();
    let mut cluster = create_local_cluster(2, 1, "grpc", &config, &config).unwrap();
    let spec = cluster.ps[0].server_def().cluster().clone();
    let victim = Arc::new(Victim::default());
    *victim.server.lock().unwrap() = cluster.workers.pop();

    let strategy = ParameterServerStrategy::new(&spec).unwrap();
    let build = |graph: &Graph, _| Ok(Line::new(graph, &victim));
    let coordinator = strategy.coordinator(mode, OnLoss::GoOn, build).unwrap();
    coordinator.train(120).unwrap();
    assert_eq!(coordinator.lost(), [1], "{mode:?}");
    let (w, steps) = state(&coordinator);
    assert!((w - 2.0).abs() < 0.5, "{mode:?}: {w}");
    // In rounds two batches make one step until the worker is lost.
    assert!(steps >= 100, "{mode:?}: {steps}");

    assert!(strategy.revive(&coordinator, Duration::from_millis(1), build).is_empty());
    let _restarted = Server::new(&spec, "worker", 1, "grpc", &config, true).unwrap();
    assert_eq!(strategy.revive(&coordinator, Duration::from_secs(60), build), [1], "{mode:?}");
    coordinator.train(40).unwrap();
    assert_eq!(coordinator.alive(), 2, "{mode:?}: {:?}", coordinator.losses());
    assert!(state(&coordinator).1 > steps, "{mode:?}");
}

#[test]
fn asynchronous() {
    survives(Mode::Async);
}

#[test]
fn of_bounded_staleness() {
    survives(Mode::Bounded(1));
}

#[test]
fn synchronous() {
    survives(Mode::Sync);
}

#[test]
fn a_new_program_counts_its_rounds_anew_on_servers_that_live_on() {
    let config = Config::default();
    let cluster = create_local_cluster(2, 1, "grpc", &config, &config).unwrap();
    let strategy = ParameterServerStrategy::new(cluster.ps[0].server_def().cluster()).unwrap();
    for _ in 0..2 {
        let victim = Arc::default();
        let build = |graph: &Graph, _| Ok(Line::new(graph, &victim));
        let coordinator = strategy.coordinator(Mode::Sync, OnLoss::Stop, build).unwrap();
        coordinator.train(40).unwrap();
        assert_eq!(state(&coordinator).1, 20);
    }
}

#[test]
fn a_cluster_without_parameter_servers_is_refused() {
    let cluster =
        tensorfleet_client::ClusterSpec::from_lists([("worker", vec!["localhost:1"])]).unwrap();
    let error = ParameterServerStrategy::new(&cluster).unwrap_err().to_string();
    assert!(error.contains("\"ps\"") && error.contains("[\"worker\"]"), "{error}");
}
