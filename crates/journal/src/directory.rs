//! A data directory: which task it belongs to, which process has it, and the threads that write to it.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tensorfleet_framework::{Registry, Resources};
use tensorfleet_tensor::{Context, Result, data_loss, failed_precondition, internal, unavailable};

use crate::backup::Backup;
use crate::capture::Snapshots;
use crate::disk::{Disk, LocalDisk, sync_directory};
use crate::durability::Durability;
use crate::identity;
use crate::queue::{Queue, Shared};
use crate::recover::recover;
use crate::restore::{lineage, restore};
use crate::snapshot::NEW_SNAPSHOT;
use crate::store::Store;
use crate::unit::Pen;
use crate::writer::{NEW_SEGMENT, Writer, failure};

/// How a task keeps what it changes.
#[derive(Clone, Debug)]
pub struct Options {
    pub directory: PathBuf,
    pub durability: Durability,
    /// How long a file of the log is.
    pub segment_bytes: u64,
    /// After how many bytes of log a snapshot is taken, at the least.
    pub snapshot_after: u64,
    /// Where everything is shipped to.
    pub backup: Option<Store>,
    /// Where an empty directory is filled from.
    pub restore_from: Option<Store>,
}

impl Options {
    /// The usual ones.
    pub fn new(directory: impl Into<PathBuf>, durability: Durability) -> Options {
        let (segment_bytes, snapshot_after) = (64 << 20, 256 << 20);
        let (directory, backup, restore_from) = (directory.into(), None, None);
        Options { directory, durability, segment_bytes, snapshot_after, backup, restore_from }
    }
}

/// The journal of a task, open. Dropping it closes it.
#[derive(Debug)]
pub struct DurableJournal {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Locked as long as this process has the directory.
    _lock: Option<File>,
    /// Where it is, if it is in the file system.
    directory: Option<PathBuf>,
}

impl DurableJournal {
    /// Takes a directory for a task, gives its devices the variables that it had, and keeps from now on
    /// what changes there. Nothing is done where nothing is to be kept; but a directory that has
    /// something is not passed over.
    pub fn open(
        options: &Options,
        task: &str,
        registry: &Registry,
        devices: &[Arc<Resources>],
    ) -> Result<Option<DurableJournal>> {
        let open = || {
            if options.durability == Durability::None {
                if options.backup.is_some() || options.restore_from.is_some() {
                    return Err(failed_precondition!(
                        "with durability `none` there is nothing to back up or to start from"
                    ));
                }
                return match has_log(&options.directory) {
                    false => Ok(None),
                    true => Err(failed_precondition!(
                        "it has variables, which a task with durability `none` would not have"
                    )),
                };
            }
            let lock = take(&options.directory, task)?;
            restore(&options.directory, options.restore_from.as_ref(), task)?;
            let disk: Arc<dyn Disk> = Arc::new(LocalDisk::new(&options.directory));
            let lock = Some(lock);
            let mut journal =
                DurableJournal::on(Arc::clone(&disk), options, registry, devices, lock)?;
            if let Some(store) = &options.backup {
                let owner = (task, &*lineage(&options.directory)?);
                let backup = Backup::begin(Arc::clone(&journal.shared), disk, store.clone(), owner)
                    .context(|| format!("backup {}", store.url()))?;
                journal.spawn("backup", Box::new(move || backup.run()))?;
            }
            journal.directory = Some(options.directory.clone());
            Ok(Some(journal))
        };
        open().context(|| format!("data directory {}", options.directory.display()))
    }

    pub(crate) fn on(
        disk: Arc<dyn Disk>,
        options: &Options,
        registry: &Registry,
        devices: &[Arc<Resources>],
        lock: Option<File>,
    ) -> Result<DurableJournal> {
        let began = Instant::now();
        let recovered = recover(&*disk, registry, devices)?;
        let mut queue = Queue::new(recovered.end.next, recovered.numbered, recovered.logged);
        queue.ends = recovered.ends;
        queue.outcomes = recovered.outcomes;
        let shared = Arc::new(Shared::new(options.durability, queue));
        let writer = Writer::new(
            Arc::clone(&shared),
            Arc::clone(&disk),
            options.segment_bytes,
            recovered.end,
        )
        .map_err(|error| failure(&error))?;
        for new in [NEW_SEGMENT, NEW_SNAPSHOT] {
            // What was being made when the task ended, if there was anything.
            let _ = disk.remove(new);
        }
        let snapshots = Snapshots {
            shared: Arc::clone(&shared),
            disk,
            devices: devices.iter().map(Arc::downgrade).collect(),
            after: options.snapshot_after,
        };
        let journal = DurableJournal {
            shared: Arc::clone(&shared),
            threads: Mutex::default(),
            _lock: lock,
            directory: None,
        };
        journal.spawn("journal", Box::new(move || writer.run()))?;
        journal.spawn("snapshots", Box::new(move || snapshots.run()))?;
        for (number, resources) in (0..).zip(devices) {
            resources.keep_in(Arc::new(Pen(Arc::clone(&shared))), number);
        }
        tracing::info!(
            "data directory ready in {:?}: {} variables, {} other resources, {} changes made again, \
             {} unfinished steps left out",
            began.elapsed(),
            recovered.variables,
            recovered.resources,
            recovered.changes,
            recovered.undone
        );
        Ok(journal)
    }

    fn spawn(&self, name: &str, work: Box<dyn FnOnce() + Send>) -> Result<()> {
        let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
        let thread = spawned.map_err(|error| internal!("no thread for the journal: {error}"))?;
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
        Ok(())
    }

    /// Takes a snapshot now, while steps go on, and returns the last record in it. Blocks until it is on
    /// the disk.
    pub fn snapshot(&self) -> Result<u64> {
        let mut queue = self.shared.lock();
        queue.asked += 1;
        let asked = queue.asked;
        self.shared.progress.notify_all();
        while queue.answered < asked {
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            if queue.closing {
                return Err(unavailable!("the journal has been closed"));
            }
            queue = self.shared.wait(queue);
        }
        queue.answer.clone().unwrap_or_else(|| Err(internal!("a snapshot has no outcome")))
    }

    /// The numbers by which others know the devices of the task. Those that are drawn now count if there
    /// are none yet.
    pub fn incarnations(&self, drawn: &[u64]) -> Result<Vec<u64>> {
        match &self.directory {
            Some(directory) => identity::incarnations(directory, drawn),
            None => Ok(drawn.to_vec()),
        }
    }

    /// How many bytes were told since the last snapshot.
    pub fn logged_bytes(&self) -> u64 {
        self.shared.lock().logged
    }

    /// How far the journal is.
    pub fn progress(&self) -> Progress {
        let queue = self.shared.lock();
        Progress {
            durability: self.shared.durability,
            told: queue.next - 1,
            durable: queue.durable,
            lag: queue.lag(),
            failed: queue.failed.as_ref().map(ToString::to_string),
            backed_up: queue.backed_up.map(|(number, at)| (number, at.elapsed())),
            backup_error: queue.backup_error.clone(),
        }
    }

    /// Writes everything that is told so far, and takes no more changes.
    pub fn close(&self) {
        {
            let mut queue = self.shared.lock();
            queue.closing = true;
            self.shared.work.notify_all();
            self.shared.progress.notify_all();
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for thread in threads.drain(..) {
            // A thread that panicked has nothing more to write.
            let _ = thread.join();
        }
    }
}

impl Drop for DurableJournal {
    fn drop(&mut self) {
        self.close();
    }
}

/// How far a journal is, in records.
#[derive(Clone, Debug)]
pub struct Progress {
    pub durability: Durability,
    /// The last record that was told, and the last that is on the disk.
    pub told: u64,
    pub durable: u64,
    /// For how long something has been waiting to be on the disk.
    pub lag: Duration,
    /// Why nothing can be changed any more, if so.
    pub failed: Option<String>,
    /// The last record that was in the backup when it was last looked at, and how long ago that was.
    pub backed_up: Option<(u64, Duration)>,
    /// Why the backup is late, if it is.
    pub backup_error: Option<String>,
}

pub(crate) fn has_log(directory: &Path) -> bool {
    let names = LocalDisk::new(directory).list().unwrap_or_default();
    names.iter().any(|name| name.starts_with("log-"))
}

/// Keeps other processes from using a directory.
pub(crate) fn lock(directory: &Path) -> Result<File> {
    let wrong = |error| failed_precondition!("cannot be used: {error}");
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("lock"))
        .map_err(wrong)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(failed_precondition!("another process is using it")),
        Err(TryLockError::Error(error)) => Err(wrong(error)),
    }
}

/// Takes a directory for a task, for this process alone.
fn take(directory: &Path, task: &str) -> Result<File> {
    let wrong = |error| failed_precondition!("cannot be used: {error}");
    fs::create_dir_all(directory).map_err(wrong)?;
    let lock = lock(directory)?;
    let owner = format!("tensorfleet data 1\n{task}\n");
    let path = directory.join("task");
    match fs::read_to_string(&path) {
        Ok(known) if known == owner => Ok(lock),
        Ok(known) => match known.strip_prefix("tensorfleet data 1\n") {
            Some(other) => {
                Err(failed_precondition!("it belongs to {}, not to {task}", other.trim()))
            }
            None => Err(data_loss!("the file `task` is damaged or of another version")),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if has_log(directory) {
                return Err(data_loss!("there is a log, but the file `task` is missing"));
            }
            let write = || {
                let mut file = File::create(directory.join("task.new"))?;
                file.write_all(owner.as_bytes())?;
                file.sync_all()?;
                fs::rename(directory.join("task.new"), &path)?;
                sync_directory(directory)
            };
            write().map_err(wrong)?;
            Ok(lock)
        }
        Err(error) => Err(wrong(error)),
    }
}
