//! Workers that are programs of their own train in step.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::thread;

use tensorfleet_client::optimizer::{Optimizer, Sgd};
use tensorfleet_client::{Gradient, Graph, Output, ReplicaDevices, Session, Variable};
use tensorfleet_server::{Config, create_local_cluster};
use tensorfleet_strategy::{MeanGradients, Replicas, SyncReplicas};

/// What each worker's program makes: `w` is drawn to what the workers feed.
struct Program {
    graph: Graph,
    target: Output,
    w: Variable,
    sync: SyncReplicas,
}

impl Program {
    fn new(replicas: Replicas) -> Program {
        let graph = Graph::new();
        let (target, w, sync) = graph.device(ReplicaDevices::new(1), || {
            let target = graph.placeholder::<f32>([]);
            let w = graph.variable("w", 0.0f32);
            let loss = (w.read() - &target).square();
            let sync = SyncReplicas::new(&graph, &Sgd::new(0.25), &loss, replicas);
            (target, w, sync)
        });
        Program { graph, target, w, sync }
    }
}

/// Trains with several workers until one of them has contributed so many times; returns what `w` is
/// then, and how many contributions there were.
fn train(targets: &[String], replicas: Replicas, times: usize) -> (f32, usize) {
    let chief_program = Program::new(replicas);
    let session = Session::connect(&targets[0], &chief_program.graph).unwrap();
    session.run((), &chief_program.graph.initializer()).unwrap();
    let own = Session::connect(&targets[0], &chief_program.graph).unwrap();
    let chief = chief_program.sync.chief(own).unwrap();
    let work = |target: &str| {
        let mut program = Program::new(replicas);
        let session = Session::connect(target, &program.graph).unwrap();
        let mut made = 0;
        while program.sync.train(&session, (&program.target, 1.0f32)).unwrap() {
            made += 1;
            if made == times {
                program.sync.finish(&session).unwrap();
            }
        }
        made
    };
    let made = thread::scope(|scope| {
        let threads: Vec<_> = targets.iter().map(|target| scope.spawn(|| work(target))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(!chief.is_over());
    chief.stop().unwrap();
    (session.run((), chief_program.w.value::<f32>()).unwrap(), made)
}

#[test]
fn workers_train_in_step_until_one_ends_it() {
    let config = Config::default();
    let cluster = create_local_cluster(3, 1, "grpc", &config, &config).unwrap();
    let targets: Vec<String> = cluster.workers.iter().map(|worker| worker.target()).collect();
    let all = Replicas { aggregate: 3, total: 3 };
    // Twice on the same servers: the second program finds nothing of the first.
    for _ in 0..2 {
        let (w, made) = train(&targets, all, 30);
        // At least one worker was there in thirty steps, each of which halves the distance.
        assert!((w - 1.0).abs() < 0.01, "{w}");
        assert!((30..=90).contains(&made), "{made}");
    }
}

#[test]
fn backups_are_not_waited_for() {
    let config = Config::default();
    let cluster = create_local_cluster(2, 1, "grpc", &config, &config).unwrap();
    // Of two workers only one is there.
    let (w, made) = train(&[cluster.workers[1].target()], Replicas { aggregate: 1, total: 2 }, 30);
    assert!((w - 1.0).abs() < 0.01 && made >= 30, "{w} {made}");
}

#[test]
fn fewer_workers_than_gradients_contribute_several_times() {
    let config = Config::default();
    let cluster = create_local_cluster(1, 1, "grpc", &config, &config).unwrap();
    let (w, made) = train(&[cluster.workers[0].target()], Replicas { aggregate: 2, total: 1 }, 40);
    assert!((w - 1.0).abs() < 0.01 && made >= 40, "{w} {made}");
}

#[test]
fn a_step_of_no_gradients_is_refused_instead_of_waited_for() {
    let mut program = Program::new(Replicas { aggregate: 0, total: 1 });
    let session = Session::new(&program.graph).unwrap();
    let error = program.sync.train(&session, (&program.target, 1.0f32)).unwrap_err();
    assert!(error.message().contains("at least one gradient"), "{error}");
    assert_eq!(program.sync.chief(session).unwrap_err(), error);
}

/// What TensorFlow's `SparseConditionalAccumulator` and a rate of 0.1 make of a table of ones with the
/// same gradients: row 3 is in both, rows 1 and 0 are in one.
const TABLE: [f32; 5] = [0.9, 0.8, 1.0, 0.75, 1.0];

#[test]
fn rows_of_a_table_stay_rows() {
    let config = Config::default();
    let cluster = create_local_cluster(1, 1, "grpc", &config, &config).unwrap();
    let graph = Graph::new();
    let (rows, weights, table, sync, apply) = graph.device(ReplicaDevices::new(1), || {
        let rows = graph.placeholder::<i32>([None]);
        let weights = graph.placeholder::<f32>([None, Some(1)]);
        let table = graph.variable("table", vec![vec![1.0f32]; 5]);
        let loss = (table.gather(&rows) * &weights).sum();
        let sgd = Sgd::new(0.1);
        let sync = MeanGradients::new(&graph, &sgd.compute_gradients(&loss));
        let apply = sgd.apply_gradients(&sync.means);
        (rows, weights, table, sync, apply)
    });
    assert!(matches!(sync.means[0].0, Gradient::Sparse { .. }), "{:?}", graph.check());
    let session = Session::connect(&cluster.workers[0].target(), &graph).unwrap();
    session.run((), &graph.initializer()).unwrap();
    let contribute = |ids: Vec<i32>, by: Vec<Vec<f32>>| {
        let feeds = ((&rows, ids), (&weights, by), (&sync.round, 0i64));
        session.run(feeds, &sync.contribute).unwrap();
    };
    contribute(vec![3, 1, 3], vec![vec![1.0], vec![2.0], vec![2.0]]);
    contribute(vec![3, 0], vec![vec![2.0], vec![1.0]]);
    session.run((&sync.contributions, 2i32), &apply).unwrap();
    let table = session.run((), table.value::<Vec<f32>>()).unwrap();
    let is_near = table.iter().zip(TABLE).all(|(is, should)| (is - should).abs() < 1e-6);
    assert!(is_near, "{table:?}");
}
