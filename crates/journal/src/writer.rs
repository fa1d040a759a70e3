//! Writes frames into the files of a log, on a thread of its own.
//!
//! All frames that are ready are written together and synced once: steps that end at the same time share
//! the disk's time. A file is as long as it will ever be before its first frame is written, so one that
//! is shorter has been cut.

use std::io;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tensorfleet_tensor::{Error, data_loss, resource_exhausted, unavailable};

use crate::disk::{Disk, DiskFile};
use crate::durability::Durability;
use crate::frame::{HEADER, Header, Kind, padded};
use crate::queue::{Pending, Shared};

/// The version of the format that is written; and the oldest that is read. Version 1 knew variables only.
pub(crate) const VERSION: u32 = 2;
pub(crate) const OLDEST: u32 = 1;
/// The first file of a life is no longer than this; each of the next is longer, up to what is wanted. So
/// tasks that change little take little room, however often they are started.
const FIRST_BYTES: u64 = 4 << 20;
const GROWTH: u64 = 4;
/// The name of a file of the log that is being made.
pub(crate) const NEW_SEGMENT: &str = "log.new";

/// The name of the file of the log whose first frame has this number.
pub(crate) fn segment_name(first: u64) -> String {
    format!("log-{first:016x}")
}

/// The end of a log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct End {
    /// The number of the next frame.
    pub(crate) next: u64,
    /// The checksum of the last header.
    pub(crate) chain: u32,
}

#[derive(Debug)]
pub(crate) struct Writer {
    shared: Arc<Shared>,
    disk: Arc<dyn Disk>,
    file: Box<dyn DiskFile>,
    /// How long files become, unless a frame needs more.
    segment_bytes: u64,
    /// The first record of the file, its length, and how much of it is written.
    first: u64,
    len: u64,
    offset: u64,
    end: End,
    synced: u64,
    buffer: Vec<u8>,
}

impl Writer {
    /// Goes on with a log in a new file.
    pub(crate) fn new(
        shared: Arc<Shared>,
        disk: Arc<dyn Disk>,
        segment_bytes: u64,
        end: End,
    ) -> io::Result<Writer> {
        let synced = end.next - 1;
        let (file, len) = new_segment(&*disk, segment_bytes.min(FIRST_BYTES), end, synced)?;
        let (first, offset, buffer) = (end.next, HEADER as u64, Vec::new());
        Ok(Writer { shared, disk, file, segment_bytes, first, len, offset, end, synced, buffer })
    }

    /// Writes until the journal is closed or the disk fails.
    pub(crate) fn run(mut self) {
        loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => {
                    return self.shared.fail(&unavailable!("the journal has been closed"));
                }
                Err(error) => {
                    let error = failure(&error);
                    tracing::error!("nothing can be changed any more: {error}");
                    return self.shared.fail(&error);
                }
            }
        }
    }

    /// Writes what there is, and syncs it when it is time. Returns whether there may be more to do.
    fn turn(&mut self) -> io::Result<bool> {
        let (batch, closing) = self.wait_for_work();
        for pending in batch {
            self.write(pending)?;
        }
        self.flush()?;
        let mut queue = self.shared.lock();
        let is_due = match self.shared.durability {
            Durability::Interval(time) => {
                queue.sync_at(time).is_some_and(|time| time <= Instant::now())
            }
            Durability::Sync | Durability::None => false,
        };
        let is_due = is_due || closing || queue.is_awaited(self.end.next - 1);
        let sync = is_due && queue.begin_sync();
        let is_last = closing && queue.pending.is_empty();
        drop(queue);
        if sync {
            self.file.sync()?;
            self.synced = self.end.next - 1;
            self.shared.synced(self.synced, self.first, self.offset);
            self.mark_end()?;
        }
        Ok(!is_last)
    }

    /// Waits until there is something to write or to sync.
    fn wait_for_work(&self) -> (Vec<Pending>, bool) {
        let interval = match self.shared.durability {
            Durability::Interval(time) => Some(time),
            Durability::Sync | Durability::None => None,
        };
        let mut queue = self.shared.lock();
        let written = self.end.next - 1;
        while queue.pending.is_empty() && !queue.closing && !queue.is_awaited(written) {
            let until = interval.and_then(|interval| queue.sync_at(interval));
            let left = until.map(|time| time.saturating_duration_since(Instant::now()));
            let work = &self.shared.work;
            queue = match left {
                Some(Duration::ZERO) => break,
                Some(left) => {
                    work.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => work.wait(queue).unwrap_or_else(PoisonError::into_inner),
            };
        }
        (queue.take(), queue.closing)
    }

    fn write(&mut self, pending: Pending) -> io::Result<()> {
        let Pending { kind, number, payload, rotate } = pending;
        let len: u64 = payload.iter().map(|chunk| chunk.len() as u64).sum();
        let needs = HEADER as u64 + padded(len);
        // There is always room for the mark of the end.
        let taken = self.offset + self.buffer.len() as u64;
        if rotate || taken + needs + HEADER as u64 > self.len {
            self.rotate(needs)?;
        }
        let header = Header {
            kind,
            len,
            number,
            synced: self.synced,
            previous: self.end.chain,
            payload: payload.iter().fold(0, |sum, chunk| crc32c::crc32c_append(sum, chunk)),
        };
        let (bytes, chain) = header.encode();
        self.buffer.extend(bytes);
        for chunk in &payload {
            self.put(chunk)?;
        }
        self.buffer.extend(std::iter::repeat_n(0, (padded(len) - len) as usize));
        self.end = End { next: number + 1, chain };
        Ok(())
    }

    /// Small pieces are collected, large ones written from where they are.
    fn put(&mut self, chunk: &Bytes) -> io::Result<()> {
        const COLLECTED: usize = 64 << 10;
        if chunk.len() < COLLECTED {
            self.buffer.extend_from_slice(chunk);
            return if self.buffer.len() < 1 << 20 { Ok(()) } else { self.flush() };
        }
        self.flush()?;
        self.file.write(self.offset, chunk)?;
        self.offset += chunk.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.file.write(self.offset, &self.buffer)?;
            self.offset += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Goes on in a new file.
    fn rotate(&mut self, needs: u64) -> io::Result<()> {
        self.flush()?;
        self.file.sync()?;
        self.synced = self.end.next - 1;
        self.shared.lock().ends.insert(self.first, self.offset);
        let len = (GROWTH * self.len).min(self.segment_bytes).max(needs + 2 * HEADER as u64);
        (self.file, self.len) = new_segment(&*self.disk, len, self.end, self.synced)?;
        (self.first, self.offset) = (self.end.next, HEADER as u64);
        Ok(())
    }

    /// Leaves word that all before is on the disk, where the next frame will be: who reads the log then
    /// knows that a broken frame before it is not the work of a crash.
    fn mark_end(&mut self) -> io::Result<()> {
        let header = Header {
            kind: Kind::End,
            len: 0,
            number: self.end.next,
            synced: self.synced,
            previous: self.end.chain,
            payload: 0,
        };
        self.file.write(self.offset, &header.encode().0)
    }
}

fn new_segment(
    disk: &dyn Disk,
    len: u64,
    end: End,
    synced: u64,
) -> io::Result<(Box<dyn DiskFile>, u64)> {
    let file = disk.create(NEW_SEGMENT, len)?;
    let header = Header {
        kind: Kind::Segment,
        len,
        number: end.next,
        synced,
        previous: end.chain,
        payload: VERSION,
    };
    file.write(0, &header.encode().0)?;
    file.sync()?;
    disk.rename(NEW_SEGMENT, &segment_name(end.next))?;
    Ok((file, len))
}

/// What steps are told when the disk fails.
pub(crate) fn failure(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => resource_exhausted!(
            "the data directory is full, and nothing can be changed until the task is started again with \
             more room: {error}"
        ),
        _ => data_loss!(
            "the data directory cannot be written, and nothing can be changed until the task is started \
             again: {error}"
        ),
    }
}
