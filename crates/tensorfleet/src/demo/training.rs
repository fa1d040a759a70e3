//! Training on the cluster: one thread, one session and one graph for each worker.

use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use tensorfleet_client::{Session, SessionOptions, Spread};
use tensorfleet_server::LocalCluster;
use tensorfleet_strategy::{
    Coordinator, Loss, Mode, Model, OnLoss, ParameterServerStrategy, Worker,
};
use tensorfleet_tensor::{Result, internal, invalid_argument};

use super::data::{Batches, Digits, Images, PIXELS};
use super::model::{self, Classifier, Update};
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

/// A worker's copy of the model, and what it learns from.
#[derive(Debug)]
struct Trainee {
    worker: usize,
    classifier: Classifier,
    batches: Batches,
    common: Arc<Common>,
}

impl Trainee {
    fn batch(&mut self) -> Images {
        self.common.digits.train.select(&self.batches.draw(BATCH))
    }

    /// The part of held-out images that are recognised.
    fn evaluate(&self, session: &Session) -> Result<f32> {
        let Images { pixels, classes } = &self.common.digits.held_out;
        let images = ([classes.len(), PIXELS], pixels.as_slice());
        let feeds = ((&self.classifier.images, images), (&self.classifier.classes, classes));
        session.run(feeds, self.classifier.accuracy.value::<f32>())
    }
}

impl Model for Trainee {
    fn step(&mut self, session: &Session) -> Result<()> {
        let Images { pixels, classes } = self.batch();
        let model = &self.classifier;
        let Update::Alone(train) = &model.update else {
            return Err(internal!("this model is trained in rounds"));
        };
        let images = ([classes.len(), PIXELS], pixels);
        let feeds = ((&model.images, images), (&model.classes, classes));
        let fetches = (train, model.loss.value::<f32>(), model.accuracy.value::<f32>());
        let ((), loss, accuracy) = session.run(feeds, fetches)?;
        self.common.count(self.worker, loss, accuracy)
    }

    fn contribute(&mut self, session: &Session, round: u64) -> Result<()> {
        let Images { pixels, classes } = self.batch();
        let model = &self.classifier;
        let Update::Together { gradients, .. } = &model.update else {
            return Err(internal!("this model is trained by each worker alone"));
        };
        let images = ([classes.len(), PIXELS], pixels);
        let feeds =
            ((&model.images, images), (&model.classes, classes), (&gradients.round, round as i64));
        let fetches =
            (&gradients.contribute, model.loss.value::<f32>(), model.accuracy.value::<f32>());
        let ((), loss, accuracy) = session.run(feeds, fetches)?;
        self.common.count(self.worker, loss, accuracy)
    }

    fn apply(&mut self, session: &Session, contributions: usize) -> Result<()> {
        let Update::Together { gradients, apply } = &self.classifier.update else {
            return Err(internal!("this model is trained by each worker alone"));
        };
        session.run((&gradients.contributions, contributions as i32), apply)
    }
}

/// Workers that are ready to train.
#[derive(Debug)]
pub(super) struct Training {
    coordinator: Coordinator<Worker<Trainee>>,
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
        let Some(server) = cluster.ps.first() else {
            return Err(invalid_argument!("there is no parameter server"));
        };
        let strategy = ParameterServerStrategy::new(server.server_def().cluster())?
            .spread(Spread::BySize)
            .session_options(SessionOptions::default().timeout(STEP_TIMEOUT));
        let common = Arc::new(Common {
            cluster: Arc::clone(cluster),
            digits,
            progress: Progress::start(),
            kill_after,
        });
        let (mut parameters, mut bias_device) = (Vec::new(), String::new());
        let coordinator = strategy.coordinator(mode, OnLoss::GoOn, |graph, worker| {
            let classifier = Classifier::new(graph, mode == Mode::Sync);
            parameters = model::parameters(graph, cluster.ps.len());
            bias_device = model::bias_device(graph);
            let batches = Batches::new(common.digits.train.len(), worker as u64);
            Ok(Trainee { worker, classifier, batches, common: Arc::clone(&common) })
        })?;
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
        let accuracy = self
            .coordinator
            .schedule(|worker: &mut Worker<Trainee>| worker.model.evaluate(&worker.session));
        let all = self.common.digits.held_out.len();
        let right = f64::from(accuracy.fetch()?) * all as f64;
        Ok((right.round() as usize, all))
    }
}
