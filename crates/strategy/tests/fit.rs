//! A trainer over a cluster: in every mode, when a worker is lost, and when it is started again.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use tensorfleet_client::data::{Pipeline, TensorRows};
use tensorfleet_client::metrics::Metric;
use tensorfleet_client::optimizer::Sgd;
use tensorfleet_client::{
    CheckpointManager, Goal, Graph, IntoTensor, Result, Tensor, initializer, loss,
};
use tensorfleet_server::{Config, Server, create_local_cluster};
use tensorfleet_strategy::{
    Callback, EarlyStopping, Learner, Mode, Moment, OnLoss, ParameterServerStrategy, Trainer,
};

/// `y = 3 x₀ - 2 x₁`, learnt from points.
fn build(graph: &Graph) -> Result<Learner> {
    let x = graph.placeholder::<f32>([None, Some(2)]);
    let y = graph.placeholder::<f32>([None, Some(1)]);
    let w = graph.variable("w", initializer::zeros([2, 1]));
    let guess = x.matmul(&w);
    let loss = loss::mean_squared_error(&guess, &y);
    let worst = Metric::root_mean_squared_error("rmse", &guess, &y);
    Ok(Learner::new(&[&x, &y], &loss, Sgd::new(0.2)).metric("rmse", &worst))
}

fn rows() -> TensorRows {
    let points: Vec<[f32; 2]> =
        (0..64).map(|i| [(i as f32).sin(), (1.7 * i as f32).cos()]).collect();
    let values: Vec<[f32; 1]> = points.iter().map(|[a, b]| [3.0 * a - 2.0 * b]).collect();
    TensorRows::new([points.into_tensor().unwrap(), values.into_tensor().unwrap()]).unwrap()
}

fn batches(epoch: u64) -> impl Iterator<Item = Result<Vec<Tensor>>> {
    rows().shuffle(64, epoch).batch(8)
}

/// Stops a server after some batches.
struct Kill {
    server: Arc<Mutex<Option<Server>>>,
    after: u64,
}

impl Callback for Kill {
    fn on_batch(&mut self, moment: &mut Moment<'_>) -> Result<()> {
        if moment.epoch() == 0
            && moment.batch() == self.after
            && let Some(server) = self.server.lock().unwrap().take()
        {
            server.stop()?;
        }
        Ok(())
    }
}

#[test]
fn every_mode_trains_and_a_lost_worker_is_missed_by_nobody() {
    for mode in [Mode::Async, Mode::Bounded(1), Mode::Sync] {
        let config = Config::default();
        let mut cluster = create_local_cluster(3, 1, "grpc", &config, &config).unwrap();
        let spec = cluster.ps[0].server_def().cluster().clone();
        let victim = Arc::new(Mutex::new(cluster.workers.pop()));
        let strategy = ParameterServerStrategy::new(&spec).unwrap();
        let mut trainer = Trainer::on(&strategy, mode, OnLoss::GoOn, |graph, _| build(graph))
            .unwrap()
            .validation(|| rows().batch(16))
            .callback(Kill { server: victim, after: 5 });
        let history = trainer.fit(12, batches).unwrap();
        assert_eq!(history.len(), 12, "{mode:?}");
        let (first, last) = (&history[0], &history[11]);
        assert!(last["val_loss"] < 0.01 * first["loss"], "{mode:?}: {first:?} {last:?}");
        // The metric and the mean are of the same numbers.
        let rmse = last["val_rmse"];
        assert!((rmse * rmse - last["val_loss"]).abs() < 1e-4, "{mode:?}: {last:?}");
    }
}

/// Counts what is taken, and fails if told so.
fn counted(
    taken: &Rc<RefCell<Vec<(u64, usize)>>>,
    fails: Option<(u64, usize)>,
) -> impl FnMut(u64) -> Box<dyn Iterator<Item = Result<Vec<Tensor>>>> {
    let taken = Rc::clone(taken);
    move |epoch| {
        let taken = Rc::clone(&taken);
        Box::new(batches(epoch).enumerate().map(move |(number, batch)| {
            if fails == Some((epoch, number)) {
                return Err(tensorfleet_client::invalid_argument!("the disk is gone"));
            }
            taken.borrow_mut().push((epoch, number));
            batch
        }))
    }
}

#[test]
fn what_was_interrupted_ends_as_if_it_had_not_been() {
    let directory = std::env::temp_dir().join(format!("fit-resume-{}", std::process::id()));
    let manager = |name: &str| CheckpointManager::new(directory.join(name));
    let trainer = || Trainer::local(|graph, _| build(graph)).unwrap();
    let taken = Rc::default();
    let whole = trainer().checkpoints(manager("whole")).fit(3, counted(&taken, None)).unwrap();

    let cut = Rc::default();
    let mut first = trainer().checkpoints(manager("cut")).save_every(3);
    let error = first.fit(3, counted(&cut, Some((1, 5)))).unwrap_err();
    assert_eq!(error.message(), "the disk is gone");
    drop(first);
    let again = Rc::default();
    let rest = trainer().checkpoints(manager("cut")).fit(3, counted(&again, None)).unwrap();
    assert_eq!(rest.len(), 2);
    // Two models that have seen the same batches in the same order.
    assert_eq!(rest[1]["loss"], whole[2]["loss"]);
    assert_eq!(rest[1]["rmse"], whole[2]["rmse"]);
    assert_eq!(taken.borrow().last(), again.borrow().last());
    std::fs::remove_dir_all(&directory).ok();
}

#[test]
fn training_ends_early_and_the_best_is_kept() {
    let directory = std::env::temp_dir().join(format!("fit-best-{}", std::process::id()));
    let mut trainer = Trainer::local(|graph, _| build(graph))
        .unwrap()
        .checkpoints(CheckpointManager::new(&directory))
        .keep_best("val_loss", Goal::Smallest)
        .validation(|| rows().batch(64))
        .callback(EarlyStopping::new("val_loss", Goal::Smallest).least_change(1e-3).patience(1));
    let history = trainer.fit(100, batches).unwrap();
    assert!(history.len() < 50, "{}", history.len());
    let (_, best) = CheckpointManager::new(&directory).best().unwrap();
    let least = history.iter().map(|n| n["val_loss"]).fold(f64::INFINITY, f64::min);
    assert_eq!(best, least);
    std::fs::remove_dir_all(&directory).ok();
}

#[test]
fn mistakes_are_told() {
    let mut trainer = Trainer::local(|graph, _| build(graph)).unwrap();
    let one = |_| std::iter::once_with(|| Ok(vec![[1.0f32].into_tensor()?]));
    let error = trainer.fit(1, one).unwrap_err();
    assert!(error.message().contains("takes 2 tensors, but a batch has 1"), "{error}");
    let watched = EarlyStopping::new("val_loss", Goal::Smallest);
    let mut trainer = Trainer::local(|graph, _| build(graph)).unwrap().callback(watched);
    let error = trainer.fit(1, batches).unwrap_err();
    assert!(
        error.message().contains("no number \"val_loss\", there are [\"loss\", \"rmse\"]"),
        "{error}"
    );
}
