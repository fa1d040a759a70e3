//! Training on the cluster: one thread, one session and one graph for each worker.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tensorfleet_client::{Session, SessionOptions};
use tensorfleet_server::{LocalCluster, Server};
use tensorfleet_strategy::{Coordinator, Loss, Mode, OnLoss, Replica};
use tensorfleet_tensor::{Context, Result, internal};

use super::data::{Batches, Digits, Images, PIXELS};
use super::model::{Model, Update};
use super::progress::{Now, Progress, Sample};

/// Images of a batch.
pub(super) const BATCH: usize = 32;
/// How often training is looked at.
const GLANCE: Duration = Duration::from_millis(50);
/// How long a step may take before it counts as failed.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);

/// What all workers share besides the variables.
#[derive(Debug)]
struct Common {
    cluster: Arc<LocalCluster>,
    digits: Digits,
    progress: Progress,
    /// After how many steps the last worker's server is stopped.
    kill_after: Option<u64>,
}

impl Common {
    /// Counts a step, and stops a server when its time has come.
    fn count(&self, worker: usize, loss: f32, accuracy: f32) -> Result<()> {
        let steps = self.progress.add(worker, loss, accuracy);
        match self.cluster.workers.last() {
            Some(victim) if self.kill_after == Some(steps) => victim.stop(),
            _ => Ok(()),
        }
    }
}

/// A worker's copy of the model, with its session.
#[derive(Debug)]
struct Worker {
    index: usize,
    model: Model,
    session: Session,
    batches: Batches,
    common: Arc<Common>,
}

impl Worker {
    /// Opens a session that sees no other worker, so that it does not care for their fate.
    fn connect(
        index: usize,
        server: &Server,
        model: Model,
        common: &Arc<Common>,
    ) -> Result<Worker> {
        let options = SessionOptions::default()
            .device_filter("/job:ps")
            .device_filter(format!("/job:worker/task:{index}"))
            .timeout(STEP_TIMEOUT);
        let session = Session::connect_with(&server.target(), &model.graph, &options)?;
        let batches = Batches::new(common.digits.train.len(), index as u64);
        Ok(Worker { index, model, session, batches, common: Arc::clone(common) })
    }

    fn batch(&mut self) -> Images {
        self.common.digits.train.select(&self.batches.draw(BATCH))
    }

    /// The part of held-out images that are recognised.
    fn evaluate(&self) -> Result<f32> {
        let Images { pixels, classes } = &self.common.digits.held_out;
        let images = ([classes.len(), PIXELS], pixels.as_slice());
        let feeds = ((&self.model.images, images), (&self.model.classes, classes));
        self.session.run(feeds, self.model.accuracy.value::<f32>())
    }
}

impl Replica for Worker {
    fn step(&mut self) -> Result<()> {
        let Images { pixels, classes } = self.batch();
        let Worker { model, session, .. } = &*self;
        let Update::Alone(train) = &model.update else {
            return Err(internal!("this model is trained in rounds"));
        };
        let images = ([classes.len(), PIXELS], pixels);
        let feeds = ((&model.images, images), (&model.classes, classes));
        let fetches = (train, model.loss.value::<f32>(), model.accuracy.value::<f32>());
        let ((), loss, accuracy) = session.run(feeds, fetches)?;
        self.common.count(self.index, loss, accuracy)
    }

    fn contribute(&mut self, round: u64) -> Result<()> {
        let Images { pixels, classes } = self.batch();
        let Worker { model, session, .. } = &*self;
        let Update::Together { gradients, .. } = &model.update else {
            return Err(internal!("this model is trained by each worker alone"));
        };
        let images = ([classes.len(), PIXELS], pixels);
        let feeds =
            ((&model.images, images), (&model.classes, classes), (&gradients.round, round as i64));
        let fetches =
            (&gradients.contribute, model.loss.value::<f32>(), model.accuracy.value::<f32>());
        let ((), loss, accuracy) = session.run(feeds, fetches)?;
        self.common.count(self.index, loss, accuracy)
    }

    fn apply(&mut self, contributions: usize) -> Result<()> {
        let Update::Together { gradients, apply } = &self.model.update else {
            return Err(internal!("this model is trained by each worker alone"));
        };
        self.session.run((&gradients.contributions, contributions as i32), apply)
    }
}

/// Workers that are ready to train.
#[derive(Debug)]
pub(super) struct Training {
    coordinator: Coordinator<Worker>,
    common: Arc<Common>,
    /// Trained parameters on each parameter server.
    pub(super) parameters: Vec<usize>,
    /// Where the last layer's bias is.
    pub(super) bias_device: String,
}

impl Training {
    /// Has each worker build its graph and the first one initialise the variables.
    pub(super) fn prepare(
        cluster: &Arc<LocalCluster>,
        digits: Digits,
        mode: Mode,
        kill_after: Option<u64>,
    ) -> Result<Training> {
        let ps_tasks = cluster.ps.len();
        let common = Arc::new(Common {
            cluster: Arc::clone(cluster),
            digits,
            progress: Progress::start(),
            kill_after,
        });
        let mut workers: Vec<Worker> = Vec::new();
        for (index, server) in cluster.workers.iter().enumerate() {
            let model = Model::new(index, ps_tasks, mode == Mode::Sync);
            let worker = Worker::connect(index, server, model, &common)
                .context(|| format!("worker {index}"))?;
            if index == 0 {
                worker.session.run((), &worker.model.graph.initializer())?;
            }
            workers.push(worker);
        }
        let model = workers.first().map(|worker| &worker.model);
        let parameters = model.map(|model| model.parameters(ps_tasks)).unwrap_or_default();
        let bias_device = model.map(Model::bias_device).unwrap_or_default();
        let coordinator = Coordinator::new(workers, mode, OnLoss::GoOn)?;
        Ok(Training { coordinator, common, parameters, bias_device })
    }

    /// Trains, and lets somebody watch from this thread.
    pub(super) fn run(
        &self,
        steps: u64,
        mut watch: impl FnMut(&Now, &[Loss]) -> Result<()>,
    ) -> Result<()> {
        let workers = self.common.cluster.workers.len();
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                // Nobody listens any more if watching has failed.
                let _ = sender.send(self.coordinator.train(steps));
            });
            loop {
                let ended = receiver.recv_timeout(GLANCE);
                watch(&self.common.progress.now(workers), &self.coordinator.losses())?;
                match ended {
                    Ok(outcome) => return outcome,
                    Err(mpsc::RecvTimeoutError::Timeout) => {}
                    Err(mpsc::RecvTimeoutError::Disconnected) => {
                        return Err(internal!("the thread that trains has ended"));
                    }
                }
            }
        })
    }

    /// All steps so far.
    pub(super) fn samples(&self) -> Vec<Sample> {
        self.common.progress.samples()
    }

    /// How many of the held-out images are recognised, and how many there are.
    pub(super) fn evaluate(&self) -> Result<(usize, usize)> {
        let accuracy = self.coordinator.schedule(|worker: &mut Worker| worker.evaluate());
        let all = self.common.digits.held_out.len();
        let right = f64::from(accuracy.fetch()?) * all as f64;
        Ok((right.round() as usize, all))
    }
}
