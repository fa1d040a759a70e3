//! What a program hears of tasks that are missing from the start, and of parameter servers that go.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::sync::mpsc;
use std::time::Duration;

use tensorfleet_client::{ClusterSpec, Code, Graph, SessionOptions};
use tensorfleet_server::{Config, Durability, Server, create_local_cluster};
use tensorfleet_strategy::{Loss, Lost, Mode, OnLoss, ParameterServerStrategy};

/// An address where nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("localhost:0").unwrap();
    format!("localhost:{}", listener.local_addr().unwrap().port())
}

fn soon() -> SessionOptions {
    SessionOptions::default().open_timeout(Duration::from_secs(6))
}

#[test]
fn every_missing_task_is_named() {
    // One worker is there and waits for the parameter servers; the other is missing too.
    let jobs = [("ps", vec![nobody(), nobody()]), ("worker", vec![nobody(), nobody()])];
    let cluster = ClusterSpec::from_lists(jobs).unwrap();
    let _worker = Server::new(&cluster, "worker", 0, "grpc", &Config::default(), true).unwrap();
    let strategy = ParameterServerStrategy::new(&cluster).unwrap().session_options(soon());
    let build = |graph: &Graph, _| Ok(graph.variable("w", 5.0f32));
    let error = strategy.coordinator(Mode::Async, OnLoss::GoOn, build).unwrap_err();
    assert_eq!(error.code(), Code::DeadlineExceeded, "{error}");
    let message = error.message();
    for (job, task) in [("ps", 0), ("ps", 1), ("worker", 1)] {
        let address = cluster.tasks_of(job).nth(task).unwrap().1;
        assert!(message.contains(address), "{job} {task}: {message}");
    }
    for name in ["/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1", "/job:worker/task:1"] {
        assert!(message.contains(name), "{name}: {message}");
    }
}

#[test]
fn the_loss_of_a_parameter_server_is_the_error_of_all_tasks() {
    let config = Config::default();
    let mut cluster = create_local_cluster(2, 2, "grpc", &config, &config).unwrap();
    let spec = cluster.ps[0].server_def().cluster().clone();
    let strategy = ParameterServerStrategy::new(&spec).unwrap();
    let coordinator = strategy
        .coordinator(Mode::Async, OnLoss::GoOn, |graph, _| {
            let (a, b) = (graph.variable("a", 5.0f32), graph.variable("b", 5.0f32));
            Ok(graph.group(&[a.assign_add(1.0), b.assign_add(1.0)]))
        })
        .unwrap();
    let step = || coordinator.schedule(|worker| worker.session.run((), &worker.model));
    step().fetch().unwrap();
    let (sender, losses) = mpsc::channel();
    coordinator.watch_losses(move |loss: &Loss| drop(sender.send(loss.lost.clone())));

    cluster.ps.remove(1).stop().unwrap();
    let pending: Vec<_> = (0..20).map(|_| step()).collect();
    let error = coordinator.join().unwrap_err();
    let name = "/job:ps/replica:0/task:1";
    let cause = format!("the parameter server {name} was lost: ");
    assert!(error.message().starts_with(&cause), "{error}");
    for task in pending {
        let error = task.fetch().unwrap_err();
        assert!(error.message().starts_with(&cause), "{error}");
    }
    assert_eq!(losses.recv().unwrap(), Lost::ParameterServer(name.to_owned()));
    assert_eq!(coordinator.alive(), 2, "{:?}", coordinator.losses());
}

#[test]
fn a_parameter_server_that_keeps_its_variables_is_waited_for() {
    let directory = std::env::temp_dir().join(format!("strategy-durable-{}", std::process::id()));
    let durable = Config::default().data_directory(&directory, Durability::Sync);
    let jobs = [("ps", vec![nobody()]), ("worker", vec![nobody()])];
    let spec = ClusterSpec::from_lists(jobs).unwrap();
    // A worker that does not hold its steps tells of the loss.
    let impatient = Config::default().wait_for_tasks(Duration::ZERO);
    let _worker = Server::new(&spec, "worker", 0, "grpc", &impatient, true).unwrap();
    let ps = Server::new(&spec, "ps", 0, "grpc", &durable, true).unwrap();
    let strategy = ParameterServerStrategy::new(&spec)
        .unwrap()
        .wait_for_parameter_servers(Duration::from_secs(60));
    let coordinator = strategy
        .coordinator(Mode::Async, OnLoss::GoOn, |graph, _| {
            let w = graph.variable("w", 5.0f32);
            Ok((w.assign_add(1.0), w))
        })
        .unwrap();
    let step = || coordinator.schedule(|worker| worker.session.run((), &worker.model.0));
    step().fetch().unwrap();
    let (sender, losses) = mpsc::channel();
    coordinator.watch_losses(move |loss: &Loss| drop(sender.send(loss.lost.clone())));

    ps.stop().unwrap();
    let pending = step();
    // The worker misses it before it is there again.
    assert!(matches!(losses.recv().unwrap(), Lost::ParameterServer(_)));
    let _restarted = Server::new(&spec, "ps", 0, "grpc", &durable, true).unwrap();
    pending.fetch().unwrap();
    let w = coordinator.schedule(|worker| worker.session.run((), worker.model.1.value::<f32>()));
    assert_eq!(w.fetch().unwrap(), 7.0);
    std::fs::remove_dir_all(directory).unwrap();
}
