//! A data directory: which task it belongs to, which process has it, and the threads that write to it.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use tensorfleet_framework::{Registry, Resources};
use tensorfleet_tensor::{Context, Result, data_loss, failed_precondition, internal};

use crate::capture::Snapshots;
use crate::disk::{Disk, LocalDisk, sync_directory};
use crate::durability::Durability;
use crate::queue::{Queue, Shared};
use crate::recover::recover;
use crate::snapshot::NEW_SNAPSHOT;
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
}

impl Options {
    /// The usual ones.
    pub fn new(directory: impl Into<PathBuf>, durability: Durability) -> Options {
        let (segment_bytes, snapshot_after) = (64 << 20, 256 << 20);
        Options { directory: directory.into(), durability, segment_bytes, snapshot_after }
    }
}

/// The journal of a task, open. Dropping it closes it.
#[derive(Debug)]
pub struct DurableJournal {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Locked as long as this process has the directory.
    _lock: Option<File>,
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
                return match has_log(&options.directory) {
                    false => Ok(None),
                    true => Err(failed_precondition!(
                        "it has variables, which a task with durability `none` would not have"
                    )),
                };
            }
            let lock = take(&options.directory, task)?;
            let disk = Arc::new(LocalDisk::new(&options.directory));
            DurableJournal::on(disk, options, registry, devices, Some(lock)).map(Some)
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
        let queue = Queue::new(recovered.end.next, recovered.numbered, recovered.logged);
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
        let spawn = |name: &str, work: Box<dyn FnOnce() + Send>| {
            let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
            spawned.map_err(|error| internal!("no thread for the journal: {error}"))
        };
        let threads = vec![
            spawn("journal", Box::new(move || writer.run()))?,
            spawn("snapshots", Box::new(move || snapshots.run()))?,
        ];
        for (number, resources) in (0..).zip(devices) {
            resources.keep_in(Arc::new(Pen(Arc::clone(&shared))), number);
        }
        tracing::info!(
            "data directory ready in {:?}: {} variables, {} changes made again, {} unfinished steps left out",
            began.elapsed(),
            recovered.variables,
            recovered.changes,
            recovered.undone
        );
        Ok(DurableJournal { shared, threads: Mutex::new(threads), _lock: lock })
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

fn has_log(directory: &Path) -> bool {
    let names = LocalDisk::new(directory).list().unwrap_or_default();
    names.iter().any(|name| name.starts_with("log-"))
}

/// Takes a directory for a task, for this process alone.
fn take(directory: &Path, task: &str) -> Result<File> {
    let wrong = |error| failed_precondition!("cannot be used: {error}");
    fs::create_dir_all(directory).map_err(wrong)?;
    let lock = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(directory.join("lock"))
        .map_err(wrong)?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(failed_precondition!("another process is using it"));
        }
        Err(TryLockError::Error(error)) => return Err(wrong(error)),
    }
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
