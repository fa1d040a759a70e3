//! The checkpoints of a training: which are kept, how far each had come, and which is the best.
//!
//! A [`Saver`] knows the variables of a graph; what is here knows the directory, and has no graph. So
//! one [`CheckpointManager`] serves all workers of a program, whoever of them saves.

pub(crate) mod state;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tensorfleet_tensor::{Code, Error, Result, invalid_argument, unavailable};

use self::state::{Checkpoint, PROGRESS, State};
use crate::saver::{BASE_NAME, Saver};
use crate::session::Session;

/// How far a training has come.
///
/// As in the example of [`CheckpointManager`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many steps were made, which is in the checkpoint's name.
    pub step: i64,
    /// How many batches were taken of the data; a pipeline goes on there by `skip`.
    pub position: u64,
}

/// Whether a metric is to be small, as a loss, or large, as an accuracy.
///
/// As in the example of [`CheckpointManager::keep_best`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The smaller the better.
    Smallest,
    /// The larger the better.
    Largest,
}

/// Keeps the checkpoints of a directory: the newest ones, by time if wanted, and the best.
///
/// It adopts what a former run, or TensorFlow, has left there. Where each worker is a program of its
/// own, only the chief's writes.
///
/// ```
/// use tensorfleet_client::data::{Pipeline, TensorRows};
/// use tensorfleet_client::{CheckpointManager, Graph, IntoTensor, Progress, Saver, Session};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("manager-{}", std::process::id()));
/// let graph = Graph::new();
/// let x = graph.placeholder::<f32>([None]);
/// let sum = graph.variable("sum", 0.0f32);
/// let add = sum.assign_add(x.sum());
/// let saver = Saver::new(&graph);
/// for run in 0..2 {
///     // The second run goes on where the first was interrupted.
///     let session = Session::new(&graph)?;
///     let manager = CheckpointManager::new(&directory).keep(3);
///     let start = match manager.restore(&saver, &session)? {
///         Some(progress) => progress.position,
///         None => session.run((), &graph.initializer()).map(|()| 0)?,
///     };
///     let rows = TensorRows::new([vec![1.0f32, 2.0, 3.0, 4.0].into_tensor()?])?;
///     let batches = rows.shuffle(4, 7).batch(1).enumerate().skip(start as usize);
///     for (position, batch) in batches.take(2) {
///         session.run((&x, batch?.remove(0)), &add)?;
///         let position = position as u64 + 1;
///         manager.save(&saver, &session, Progress { step: position as i64, position })?;
///     }
///     assert_eq!(manager.checkpoints().len(), if run == 0 { 2 } else { 3 });
///     if run == 1 {
///         // Every row once.
///         assert_eq!(session.run((), sum.value::<f32>())?, 10.0);
///     }
/// }
/// # std::fs::remove_dir_all(&directory).ok();
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CheckpointManager {
    shared: Arc<Shared>,
    /// Writes a checkpoint, and names it when it is whole.
    writing: Mutex<Option<JoinHandle<Result<()>>>>,
}

#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    keep: usize,
    keep_every: Option<Duration>,
    is_chief: bool,
    state: Mutex<State>,
}

/// How many checkpoints are kept.
const KEEP: usize = 5;

/// Where the best checkpoint is, below the directory.
const BEST: &str = "best";

/// The file that has the metric of the best.
const METRIC: &str = "metric";

impl CheckpointManager {
    /// Keeps the five newest checkpoints of a directory, which may exist.
    ///
    /// As in the example of [`CheckpointManager`].
    pub fn new(directory: impl Into<PathBuf>) -> CheckpointManager {
        let directory = directory.into();
        let state = Mutex::new(State::read(&directory));
        let shared = Shared { directory, keep: KEEP, keep_every: None, is_chief: true, state };
        CheckpointManager { shared: Arc::new(shared), writing: Mutex::default() }
    }

    /// Keeps so many of the newest; zero keeps all.
    ///
    /// As in the example of [`CheckpointManager`].
    #[must_use]
    pub fn keep(self, checkpoints: usize) -> CheckpointManager {
        self.with(|shared| shared.keep = checkpoints)
    }

    /// Keeps for good one checkpoint of each such time, beside the newest, as TensorFlow's
    /// `keep_checkpoint_every_n_hours` does.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tensorfleet_client::CheckpointManager;
    ///
    /// let manager = CheckpointManager::new("runs/1").keep_every(Duration::from_secs(2 * 3600));
    /// assert!(manager.latest().is_none());
    /// ```
    #[must_use]
    pub fn keep_every(self, time: Duration) -> CheckpointManager {
        self.with(|shared| shared.keep_every = Some(time))
    }

    /// Says whether this program writes. Others only restore.
    ///
    /// ```
    /// use tensorfleet_client::{CheckpointManager, Graph, Progress, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let manager = CheckpointManager::new("nowhere").chief(false);
    /// let path = manager.save(&Saver::new(&graph), &session, Progress::default())?;
    /// assert_eq!(path, None);
    /// # drop(w);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn chief(self, is_chief: bool) -> CheckpointManager {
        self.with(|shared| shared.is_chief = is_chief)
    }

    fn with(self, change: impl FnOnce(&mut Shared)) -> CheckpointManager {
        // Nobody else has it before something is saved.
        let mut this = self;
        if let Some(shared) = Arc::get_mut(&mut this.shared) {
            change(shared);
        }
        this
    }

    /// Writes a checkpoint; returns its path, or nothing if this is not the chief's.
    ///
    /// As in the example of [`CheckpointManager`].
    pub fn save(
        &self,
        saver: &Saver,
        session: &Session,
        progress: Progress,
    ) -> Result<Option<PathBuf>> {
        if !self.shared.is_chief {
            return Ok(None);
        }
        self.wait()?;
        let path = self.shared.path(progress);
        saver.write(session, &path)?;
        self.shared.written(progress)?;
        Ok(Some(path))
    }

    /// Puts the values of the variables aside and writes them while training goes on. A checkpoint that
    /// is still written is waited for first; its failure is reported here or by
    /// [`CheckpointManager::wait`]. The checkpoint counts when it is whole.
    ///
    /// ```
    /// use tensorfleet_client::{CheckpointManager, Graph, Progress, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("manager-background-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let change = w.assign(7.0);
    /// let saver = Saver::new(&graph);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let manager = CheckpointManager::new(&directory);
    /// manager.save_in_background(&saver, &session, Progress { step: 1, position: 1 })?;
    /// // The checkpoint has the values of before.
    /// session.run((), &change)?;
    /// manager.wait()?;
    /// manager.restore(&saver, &session)?;
    /// assert_eq!(session.run((), w.value::<f32>())?, 5.0);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn save_in_background(
        &self,
        saver: &Saver,
        session: &Session,
        progress: Progress,
    ) -> Result<()> {
        if !self.shared.is_chief {
            return Ok(());
        }
        let mut writing = self.writing();
        join(writing.take())?;
        let step = saver.start_to_write(session, &self.shared.path(progress))?;
        let shared = Arc::clone(&self.shared);
        let thread = thread::Builder::new().name("checkpoint".to_owned()).spawn(move || {
            step.wait()?;
            shared.written(progress)
        });
        let thread = thread.map_err(|error| unavailable!("threads cannot be started: {error}"))?;
        *writing = Some(thread);
        Ok(())
    }

    /// Waits until what is written in the background is whole.
    ///
    /// As in the example of [`CheckpointManager::save_in_background`].
    pub fn wait(&self) -> Result<()> {
        join(self.writing().take())
    }

    /// Reads the newest checkpoint into the variables, if there is one. Tells how far it had come; of a
    /// checkpoint that another program wrote, only the step in its name is known.
    ///
    /// As in the example of [`CheckpointManager`].
    pub fn restore(&self, saver: &Saver, session: &Session) -> Result<Option<Progress>> {
        self.wait()?;
        let Some(path) = self.latest() else { return Ok(None) };
        saver.restore(session, &path)?;
        progress_of(&path).map(Some)
    }

    /// The path of the newest checkpoint.
    ///
    /// As in the example of [`CheckpointManager::keep_every`].
    pub fn latest(&self) -> Option<PathBuf> {
        self.checkpoints().pop()
    }

    /// The paths of all checkpoints that are to be removed some day, the oldest first.
    ///
    /// As in the example of [`CheckpointManager`].
    pub fn checkpoints(&self) -> Vec<PathBuf> {
        let state = self.shared.state();
        state.checkpoints.iter().map(|c| self.shared.directory.join(&c.name)).collect()
    }

    /// Keeps a copy of the newest checkpoint if its metric is better than that of the copy that there
    /// is, of this run or of one before; tells whether it is.
    ///
    /// ```
    /// use tensorfleet_client::{CheckpointManager, Goal, Graph, Progress, Saver, Session};
    ///
    /// # fn main() -> tensorfleet_client::Result<()> {
    /// # let name = format!("manager-best-{}", std::process::id());
    /// # let directory = std::env::temp_dir().join(name);
    /// let graph = Graph::new();
    /// let w = graph.variable("w", 5.0f32);
    /// let saver = Saver::new(&graph);
    /// let session = Session::new(&graph)?;
    /// session.run((), &graph.initializer())?;
    /// let manager = CheckpointManager::new(&directory).keep(1);
    /// for (step, loss) in [(1, 0.5), (2, 0.25), (3, 0.75)] {
    ///     manager.save(&saver, &session, Progress { step, position: 0 })?;
    ///     assert_eq!(manager.keep_best(loss, Goal::Smallest)?, step < 3);
    /// }
    /// let (path, loss) = manager.best().expect("there is one");
    /// assert!(path.ends_with("best/model.ckpt-2") && loss == 0.25);
    /// saver.restore(&session, path)?;
    /// # drop(w);
    /// # std::fs::remove_dir_all(&directory).ok();
    /// # Ok(())
    /// # }
    /// ```
    pub fn keep_best(&self, metric: f64, goal: Goal) -> Result<bool> {
        if !self.shared.is_chief {
            return Ok(false);
        }
        self.wait()?;
        let before = self.best();
        let is_better = before.as_ref().is_none_or(|(_, best)| match goal {
            Goal::Smallest => metric < *best,
            Goal::Largest => metric > *best,
        });
        if !is_better || metric.is_nan() {
            return Ok(false);
        }
        let Some(newest) = self.shared.state().checkpoints.last().cloned() else {
            return Err(invalid_argument!(
                "nothing was saved yet in {} that could be the best",
                self.shared.directory.display()
            ));
        };
        self.shared.copy_best(&newest, metric)?;
        if let Some((path, _)) = before
            && let Some(name) = path.file_name().and_then(|name| name.to_str())
            && name != file_name(&newest.name)
        {
            state::remove(&self.shared.directory.join(BEST), name);
        }
        Ok(true)
    }

    /// The copy of the best checkpoint, and its metric.
    ///
    /// As in the example of [`CheckpointManager::keep_best`].
    pub fn best(&self) -> Option<(PathBuf, f64)> {
        let directory = self.shared.directory.join(BEST);
        let newest = State::read(&directory).checkpoints.pop()?;
        let metric = fs::read_to_string(directory.join(METRIC)).ok()?.trim().parse().ok()?;
        Some((directory.join(newest.name), metric))
    }

    fn writing(&self) -> MutexGuard<'_, Option<JoinHandle<Result<()>>>> {
        self.writing.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for CheckpointManager {
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            crate::notice(&format!("a checkpoint could not be written: {error}"));
        }
    }
}

fn join(writing: Option<JoinHandle<Result<()>>>) -> Result<()> {
    let panicked = |_| Err(Error::new(Code::Internal, "the thread that writes panicked"));
    writing.map_or(Ok(()), |thread| thread.join().unwrap_or_else(panicked))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn path(&self, progress: Progress) -> PathBuf {
        self.directory.join(format!("{BASE_NAME}-{}", progress.step))
    }

    /// Notes a checkpoint that is whole, and removes those that have become too many.
    fn written(&self, progress: Progress) -> Result<()> {
        let name = format!("{BASE_NAME}-{}", progress.step);
        let position = format!("{}\n", progress.position);
        state::write_whole(&self.directory.join(format!("{name}{PROGRESS}")), &position)?;
        let mut state = self.state();
        let removed = state.add(Checkpoint::now(&name), self.keep, self.keep_every);
        // First they are no longer named, then they go.
        state.write(&self.directory)?;
        removed.iter().for_each(|name| state::remove(&self.directory, name));
        Ok(())
    }

    fn copy_best(&self, newest: &Checkpoint, metric: f64) -> Result<()> {
        let name = file_name(&newest.name);
        let source = self.directory.join(&newest.name);
        let from = source.parent().unwrap_or(&self.directory);
        let directory = self.directory.join(BEST);
        let failed = |error| unavailable!("the best checkpoint cannot be kept: {error}");
        fs::create_dir_all(&directory).map_err(failed)?;
        for file in state::files(from, name) {
            let target = directory.join(&file);
            // The name may be of another training.
            let _ = fs::remove_file(&target);
            let linked = fs::hard_link(from.join(&file), &target);
            linked.or_else(|_| fs::copy(from.join(&file), &target).map(drop)).map_err(failed)?;
        }
        let checkpoint = Checkpoint { name: name.to_owned(), time: newest.time };
        State { checkpoints: vec![checkpoint], last_preserved: 0.0 }.write(&directory)?;
        state::write_whole(&directory.join(METRIC), &format!("{metric:?}\n"))
    }
}

impl State {
    /// Adds the newest; returns the names of those whose time has come.
    fn add(&mut self, new: Checkpoint, keep: usize, every: Option<Duration>) -> Vec<String> {
        self.checkpoints.retain(|checkpoint| checkpoint.name != new.name);
        self.checkpoints.push(new);
        let mut removed = Vec::new();
        while keep > 0 && self.checkpoints.len() > keep {
            let oldest = self.checkpoints.remove(0);
            let is_kept =
                every.is_some_and(|every| oldest.time >= self.last_preserved + every.as_secs_f64());
            if is_kept {
                self.last_preserved = oldest.time;
            } else {
                removed.push(oldest.name);
            }
        }
        removed
    }
}

fn file_name(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// How far the training of a checkpoint had come.
fn progress_of(path: &Path) -> Result<Progress> {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let step = name.rsplit_once('-').and_then(|(_, step)| step.parse().ok()).unwrap_or(0);
    let mut file = path.as_os_str().to_owned();
    file.push(PROGRESS);
    let position = match fs::read_to_string(&file) {
        Ok(text) => text.trim().parse().map_err(|_| {
            invalid_argument!("{} is not a number of batches", Path::new(&file).display())
        })?,
        Err(_) => 0,
    };
    Ok(Progress { step, position })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_some_for_good() {
        let hour = Duration::from_secs(3600);
        let mut state = State::default();
        let mut removed = Vec::new();
        for half_hours in 0..8u32 {
            let time = 10_000.0 + f64::from(half_hours) * 1800.0;
            let new = Checkpoint { name: half_hours.to_string(), time };
            removed.extend(state.add(new, 2, Some(hour)));
        }
        let names: Vec<&str> = state.checkpoints.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["6", "7"]);
        // 0, 2 and 4 are an hour apart.
        assert_eq!(removed, ["1", "3", "5"]);
    }

    #[test]
    fn a_step_that_is_saved_again_is_one_checkpoint() {
        let mut state = State::default();
        for name in ["1", "2", "1"] {
            assert!(state.add(Checkpoint::now(name), 2, None).is_empty());
        }
        assert_eq!(state.checkpoints[1].name, "1");
        assert_eq!(state.add(Checkpoint::now("3"), 2, None), ["2"]);
    }
}
