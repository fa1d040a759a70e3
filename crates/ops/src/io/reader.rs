//! Readers: they take work, mostly names of files, out of a queue and cut it into records.
//!
//! One step at a time reads; others stand in line. The one whose turn it is may have to wait for
//! the queue, which holds no thread.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use futures_channel::oneshot;
use tensorfleet_framework::{BoxFuture, Resource, Spawn};
use tensorfleet_tensor::{Result, Tensor, cancelled, invalid_argument, unimplemented_error};

use super::reader_source::{Record, Source};
use crate::parsing::fields::{Field, Fields, put_varint};

/// Fetches work when a reader has none.
pub(super) type NextWork = Box<dyn Fn() -> BoxFuture<Result<Vec<Tensor>>> + Send + Sync>;

#[derive(Debug)]
pub(super) struct Reader {
    /// The kind and the name, for messages.
    name: String,
    /// Whether the state can be written down: that of open files cannot.
    saves_state: bool,
    state: Mutex<State>,
    line: Mutex<Line>,
}

impl Resource for Reader {
    const TYPE_NAME: &'static str = "N10tensorflow15ReaderInterfaceE";
}

#[derive(Debug)]
struct State {
    source: Box<dyn Source>,
    work: Bytes,
    started: i64,
    finished: i64,
    produced: i64,
}

impl State {
    fn is_working(&self) -> bool {
        self.started != self.finished
    }

    fn start(&mut self, work: Vec<Tensor>) -> Result<()> {
        let [component] = &work[..] else {
            return Err(invalid_argument!("Expected single component queue"));
        };
        let Ok(names) = component.strings() else {
            return Err(invalid_argument!("Expected queue with single string component"));
        };
        let [name] = names else {
            return Err(invalid_argument!("Expected to dequeue a one-element string tensor"));
        };
        self.work = name.clone();
        self.source.start(&self.work)?;
        self.started += 1;
        Ok(())
    }

    /// Reads what the current work still has, but no more than `most` records.
    fn read(&mut self, most: usize) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        while records.len() < most && self.is_working() {
            match self.source.next() {
                Ok(Some(record)) => {
                    records.push(record);
                    self.produced += 1;
                    if self.source.is_finished() {
                        self.finished = self.started;
                    }
                }
                Ok(None) => self.finished = self.started,
                Err(error) => return Err(error),
            }
        }
        Ok(records)
    }
}

impl Reader {
    pub(super) fn new(name: String, source: Box<dyn Source>, saves_state: bool) -> Reader {
        let state = State { source, work: Bytes::new(), started: 0, finished: 0, produced: 0 };
        Reader { name, saves_state, state: Mutex::new(state), line: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads at least one record and at most `most`, from one work.
    pub(super) async fn read(
        self: Arc<Self>,
        most: usize,
        work: NextWork,
        spawner: Arc<dyn Spawn>,
    ) -> Result<Vec<Record>> {
        if most == 0 {
            return Ok(Vec::new());
        }
        let mut turn = self.turn().await?;
        let mut queued = None;
        loop {
            // The turn goes along: whoever gives up leaves it to a file that hangs.
            let reader = Arc::clone(&self);
            let read = spawner.with_files(self.name.as_str().into(), move || {
                let mut state = reader.lock();
                if let Some(work) = queued {
                    state.start(work)?;
                }
                let records = state.read(most)?;
                if records.is_empty() {
                    state.work = Bytes::new();
                }
                drop(state);
                Ok((turn, records))
            });
            let records;
            (turn, records) = read.await?;
            if !records.is_empty() {
                return Ok(records);
            }
            queued = Some(work().await?);
        }
    }

    pub(super) fn records_produced(&self) -> i64 {
        self.lock().produced
    }

    pub(super) fn work_units_completed(&self) -> i64 {
        self.lock().finished
    }

    /// Starts anew.
    pub(super) fn reset(&self) {
        let mut state = self.lock();
        (state.started, state.finished, state.produced) = (0, 0, 0);
        state.work = Bytes::new();
        state.source.reset();
    }

    /// Encodes a `ReaderBaseState`.
    pub(super) fn save(&self) -> Result<Vec<u8>> {
        if !self.saves_state {
            return Err(unimplemented_error!("Reader SerializeState"));
        }
        let state = self.lock();
        let mut out = Vec::new();
        for (number, value) in [(1, state.started), (2, state.finished), (3, state.produced)] {
            if value != 0 {
                put_varint(&mut out, number << 3);
                put_varint(&mut out, value as u64);
            }
        }
        if !state.work.is_empty() {
            put_varint(&mut out, 4 << 3 | 2);
            put_varint(&mut out, state.work.len() as u64);
            out.extend_from_slice(&state.work);
        }
        Ok(out)
    }

    pub(super) fn restore(&self, saved: &[u8]) -> Result<()> {
        if !self.saves_state {
            return Err(unimplemented_error!("Reader RestoreState"));
        }
        let wrong = || {
            let shown = escape(saved);
            invalid_argument!("Could not parse state for {}: {shown}", self.name)
        };
        let (mut numbers, mut work) = ([0i64; 3], Bytes::new());
        let mut fields = Fields::new(saved);
        while let Some((number, field)) = fields.next().map_err(|_| wrong())? {
            match (number, field) {
                (1..=3, Field::Varint(value)) => numbers[number as usize - 1] = value as i64,
                (4, Field::Bytes(bytes)) => work = Bytes::copy_from_slice(bytes),
                (1..=4, _) => return Err(wrong()),
                _ => {}
            }
        }
        let [started, finished, produced] = numbers;
        let described = || {
            format!(
                "{}: work_started: {started} work_finished: {finished} num_records_produced: \
                 {produced}",
                self.name
            )
        };
        if numbers.iter().any(|&number| number < 0) {
            return Err(invalid_argument!(
                "Unexpected negative value when restoring in {}",
                described()
            ));
        }
        if started != finished {
            return Err(invalid_argument!(
                "Inconsistent work started vs. finished when restoring in {}",
                described()
            ));
        }
        let mut state = self.lock();
        (state.started, state.finished, state.produced) = (started, finished, produced);
        state.work = work;
        state.source.reset();
        Ok(())
    }

    /// Waits until all who came before have read.
    async fn turn(self: &Arc<Self>) -> Result<Turn> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
            if !line.busy {
                line.busy = true;
                return Ok(Turn(Arc::clone(self)));
            }
            line.waiting.push_back(sender);
        }
        receiver.await.map_err(|_| cancelled!("{} was forgotten", self.name))
    }
}

/// Who waits to read.
#[derive(Debug, Default)]
struct Line {
    busy: bool,
    waiting: VecDeque<oneshot::Sender<Turn>>,
}

/// The right to read, handed on when it is dropped: also by a waiter that left unnoticed.
#[derive(Debug)]
struct Turn(Arc<Reader>);

impl Drop for Turn {
    fn drop(&mut self) {
        let next = {
            let mut line = self.0.line.lock().unwrap_or_else(PoisonError::into_inner);
            let next = line.waiting.pop_front();
            line.busy = next.is_some();
            next
        };
        if let Some(next) = next {
            // Whoever does not take the turn drops it, and so hands it on.
            drop(next.send(Turn(Arc::clone(&self.0))));
        }
    }
}

/// Bytes as TensorFlow shows them: those that are not printable in octal.
fn escape(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for &byte in bytes {
        match byte {
            b'\n' => shown.push_str("\\n"),
            b'\r' => shown.push_str("\\r"),
            b'\t' => shown.push_str("\\t"),
            b'"' | b'\'' | b'\\' => shown.extend(['\\', char::from(byte)]),
            b' '..=b'~' => shown.push(char::from(byte)),
            _ => shown.push_str(&format!("\\{byte:03o}")),
        }
    }
    shown
}
