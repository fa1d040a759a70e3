//! Checkpoints over several runs of a program, and of several workers.

use std::fs;
use std::path::{Path, PathBuf};

use tensorfleet_client::monitored::CheckpointSaver;
use tensorfleet_client::{
    CheckpointManager, Code, Graph, MonitoredSession, Operation, Progress, ReplicaDevices, Saver,
    Session, Variable,
};
use tensorfleet_server::{Config, create_local_cluster};

fn fresh(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&directory);
    directory
}

/// The steps whose checkpoints are in a directory.
fn steps(directory: &Path) -> Vec<i64> {
    let names = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let steps = names.filter_map(|name| {
        let name = name.to_str()?.strip_prefix("model.ckpt-")?.strip_suffix(".index")?;
        name.parse().ok()
    });
    let mut steps: Vec<i64> = steps.collect();
    steps.sort_unstable();
    steps
}

struct Counter {
    graph: Graph,
    count: Variable,
    add: Operation,
}

impl Counter {
    fn new() -> Counter {
        let graph = Graph::new();
        let (count, add) = Counter::build(&graph);
        Counter { graph, count, add }
    }

    /// With its variables on a parameter server.
    fn shared() -> Counter {
        let graph = Graph::new();
        let (count, add) = graph.device(ReplicaDevices::new(1), || Counter::build(&graph));
        Counter { graph, count, add }
    }

    fn build(graph: &Graph) -> (Variable, Operation) {
        let (count, step) = (graph.variable("count", 0.0f32), graph.global_step());
        let add = graph.group(&[count.assign_add(1.0), step.assign_add(1)]);
        (count, add)
    }
}

#[test]
fn three_runs_keep_three_checkpoints() {
    let directory = fresh("three_runs");
    for run in 1..=3 {
        let counter = Counter::new();
        let mut session = MonitoredSession::builder(&counter.graph)
            .restore_from(&directory)
            .hook(CheckpointSaver::every_steps(&directory, 1).keep(3))
            .open()
            .unwrap();
        for _ in 0..4 {
            session.run((), &counter.add).unwrap();
        }
        let count = session.run((), counter.count.value::<f32>()).unwrap();
        assert_eq!(count, 4.0 * run as f32);
        session.finish().unwrap();
        assert_eq!(steps(&directory), [4 * run - 2, 4 * run - 1, 4 * run]);
    }
}

#[test]
fn only_the_chief_of_several_workers_writes() {
    let directory = fresh("chief_only");
    let config = Config::default();
    let cluster = create_local_cluster(2, 1, "grpc", &config, &config).unwrap();
    let mut sessions = Vec::new();
    let counter = Counter::shared();
    for (task, worker) in cluster.workers.iter().enumerate() {
        let hook = CheckpointSaver::every_steps(&directory, 100);
        let builder = MonitoredSession::builder(&counter.graph).target(worker.target());
        sessions.push(builder.chief(task == 0).hook(hook).open().unwrap());
    }
    assert_eq!(steps(&directory), [0]);
    for session in &mut sessions {
        session.run((), &counter.add).unwrap();
    }
    sessions.remove(1).finish().unwrap();
    assert_eq!(steps(&directory), [0], "the second is not the chief");
    sessions.remove(0).finish().unwrap();
    assert_eq!(steps(&directory).len(), 2);
}

/// What is put aside is written as it was, of all parameter servers, whatever happens meanwhile.
#[test]
fn a_checkpoint_in_the_background_has_the_values_of_one_moment() {
    let directory = fresh("background");
    let config = Config::default();
    let cluster = create_local_cluster(1, 2, "grpc", &config, &config).unwrap();
    let graph = Graph::new();
    let (a, b) = graph.device(ReplicaDevices::new(2), || {
        (graph.variable("a", vec![0.0f32; 5000]), graph.variable("b", vec![0.0f32; 5000]))
    });
    assert_ne!(a.device(), b.device());
    let add = graph.group(&[a.assign_add(vec![1.0f32; 5000]), b.assign_add(vec![1.0f32; 5000])]);
    let saver = Saver::new(&graph);
    let session = Session::connect(&cluster.workers[0].target(), &graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let manager = CheckpointManager::new(&directory).keep(0);
    for step in 1..=5i64 {
        session.run((), &add).unwrap();
        let progress = Progress { step, position: 10 * step as u64 };
        manager.save_in_background(&saver, &session, progress).unwrap();
        session.run((), &add).unwrap();
    }
    manager.wait().unwrap();
    for step in 1..=5i64 {
        saver.restore(&session, directory.join(format!("model.ckpt-{step}"))).unwrap();
        let (a, b) = session.run((), (a.value::<Vec<f32>>(), b.value::<Vec<f32>>())).unwrap();
        let expected = 2.0 * step as f32 - 1.0;
        assert!(a.iter().chain(&b).all(|&value| value == expected), "{step}: {} {}", a[0], b[0]);
    }
    // Another program finds all of it.
    let other = CheckpointManager::new(&directory);
    let progress = other.restore(&saver, &session).unwrap();
    assert_eq!(progress, Some(Progress { step: 5, position: 50 }));
    assert_eq!(other.checkpoints().len(), 5);
}

#[test]
fn a_checkpoint_that_cannot_be_written_in_the_background_is_reported() {
    let directory = fresh("unwritable");
    let counter = Counter::new();
    let saver = Saver::new(&counter.graph);
    let session = Session::new(&counter.graph).unwrap();
    session.run((), &counter.graph.initializer()).unwrap();
    let manager = CheckpointManager::new(&directory);
    // A directory is where a file should go.
    fs::create_dir_all(directory.join("model.ckpt-1.index").join("x")).unwrap();
    let progress = Progress { step: 1, position: 0 };
    manager.save_in_background(&saver, &session, progress).unwrap();
    assert!(manager.wait().is_err());
    assert_eq!(manager.latest(), None);
    // The next one is not hindered.
    let next = Progress { step: 2, position: 0 };
    assert!(manager.save(&saver, &session, next).unwrap().is_some());
}

#[test]
fn a_checkpoint_of_before_the_crash_whose_files_are_gone_is_not_there() {
    let directory = fresh("gone");
    let counter = Counter::new();
    let saver = Saver::new(&counter.graph);
    let session = Session::new(&counter.graph).unwrap();
    session.run((), &counter.graph.initializer()).unwrap();
    let manager = CheckpointManager::new(&directory);
    for step in [1, 2] {
        manager.save(&saver, &session, Progress { step, position: 0 }).unwrap();
    }
    fs::remove_file(directory.join("model.ckpt-2.index")).unwrap();
    let restored = CheckpointManager::new(&directory).restore(&saver, &session).unwrap();
    assert_eq!(restored, Some(Progress { step: 1, position: 0 }));
    let missing = saver.restore(&session, directory.join("model.ckpt-2")).unwrap_err();
    assert_eq!(missing.code(), Code::NotFound);
}
