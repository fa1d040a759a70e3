//! Writers of event files, which TensorBoard reads.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tensorfleet_files::{FileSystem, scheme};
use tensorfleet_framework::Resource;
use tensorfleet_tensor::{
    Code, Error, Result, failed_precondition, unimplemented_error, unknown_error,
};

use super::wire::{Event, encode_event};
use crate::record::{RecordWriter, Sink};

/// An event file being written.
#[derive(Debug)]
pub(super) struct SummaryWriter {
    /// How many events may wait, and how long.
    max_queue: usize,
    flush_after: Duration,
    /// Absent until there is a file.
    state: Mutex<Option<State>>,
}

#[derive(Debug)]
struct State {
    file: RecordWriter<Sink>,
    waiting: usize,
    flushed: Instant,
}

impl Resource for SummaryWriter {
    const TYPE_NAME: &'static str = "N10tensorflow22SummaryWriterInterfaceE";
}

/// Numbers the event files of a device, so that those made in one second differ.
#[derive(Debug, Default)]
pub(super) struct FileCount(AtomicU64);

impl Resource for FileCount {
    const TYPE_NAME: &'static str = "tensorfleet::EventFileCount";
}

impl FileCount {
    pub(super) fn next(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

impl SummaryWriter {
    /// A writer without a file.
    pub(super) fn new(max_queue: i32, flush_millis: i32) -> SummaryWriter {
        SummaryWriter {
            max_queue: usize::try_from(max_queue).unwrap_or(0),
            flush_after: Duration::from_millis(u64::try_from(flush_millis).unwrap_or(0)),
            state: Mutex::default(),
        }
    }

    /// Creates a file in a directory, which is made if need be, unless the writer has one.
    pub(super) fn open(
        &self,
        files: &dyn FileSystem,
        directory: &str,
        suffix: &str,
        count: impl FnOnce() -> u64,
    ) -> Result<()> {
        let mut state = self.lock();
        if state.is_some() {
            return Ok(());
        }
        let failed = |error: Error| match error.code() {
            Code::PermissionDenied => error,
            _ => unknown_error!("Could not initialize events writer: {}", error.message()),
        };
        // An event file grows while others read it, which an object cannot.
        if let Some(scheme) = scheme(directory).filter(|scheme| *scheme != "file") {
            return Err(unimplemented_error!(
                "File system scheme '{scheme}' not implemented for event files (file: \
                 '{directory}')"
            ));
        }
        files.create_dirs(directory).map_err(failed)?;
        let (time, process, count) = (now() as u64, std::process::id(), count());
        let name = format!("events.out.tfevents.{time:010}.{}.{process}.{count}{suffix}", host());
        let file = Sink::create(files, &format!("{directory}/{name}")).map_err(failed)?;
        let mut opened =
            State { file: RecordWriter::new(file), waiting: 0, flushed: Instant::now() };
        opened.append(&encode_event(Event::FileVersion, 0, now())?)?;
        opened.flush()?;
        *state = Some(opened);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Option<State>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an event that happens now.
    pub(super) fn write(&self, event: Event, step: i64) -> Result<()> {
        self.append(&encode_event(event, step, now())?)
    }

    /// Writes an encoded event.
    pub(super) fn append(&self, event: &[u8]) -> Result<()> {
        let mut state = self.lock();
        let state = state.as_mut().ok_or_else(no_file)?;
        state.append(event)?;
        if state.waiting > self.max_queue || state.flushed.elapsed() > self.flush_after {
            state.flush()?;
        }
        Ok(())
    }

    /// Lets readers see what was written.
    pub(super) fn flush(&self) -> Result<()> {
        self.lock().as_mut().ok_or_else(no_file)?.flush()
    }
}

impl State {
    fn append(&mut self, event: &[u8]) -> Result<()> {
        self.waiting += 1;
        self.file.write(event).map_err(|error| failed(&error))
    }

    fn flush(&mut self) -> Result<()> {
        (self.waiting, self.flushed) = (0, Instant::now());
        self.file.flush().map_err(|error| failed(&error))
    }
}

fn no_file() -> tensorfleet_tensor::Error {
    failed_precondition!("the summary writer has no file")
}

fn failed(error: &std::io::Error) -> tensorfleet_tensor::Error {
    unknown_error!("Failed to write an event file: {error}")
}

/// Seconds of the Unix epoch.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}

/// The name of this machine, as far as it is known.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
}
