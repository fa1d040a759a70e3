//! Ships what is on the disk to a store, on a thread of its own.
//!
//! A snapshot is shipped before the log after it, and what it stands for is removed only then: whenever
//! shipping stops, what is there can be started from. Steps do not wait for it.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use tensorfleet_tensor::{Code, Result, data_loss, failed_precondition};

use crate::disk::Disk;
use crate::queue::Shared;
use crate::segment::numbered;
use crate::snapshot;
use crate::store::{Store, piece_name};
use crate::writer::segment_name;

/// After so many failures in a row, the next try waits no longer.
const PATIENCE: u32 = 6;

#[derive(Debug)]
pub(crate) struct Backup {
    shared: Arc<Shared>,
    disk: Arc<dyn Disk>,
    store: Store,
    epoch: u64,
    /// By the first record of a file of the log, how much of it is there.
    shipped: BTreeMap<u64, u64>,
    snapshot: u64,
}

impl Backup {
    /// Goes on with what a store has. `task` is who asks, and `lineage` names its data directory.
    pub(crate) fn begin(
        shared: Arc<Shared>,
        disk: Arc<dyn Disk>,
        store: Store,
        (task, lineage): (&str, &str),
    ) -> Result<Backup> {
        match store.owner()? {
            None => store.set_owner(task, lineage)?,
            Some((owner, of)) if owner == task && of == lineage => {}
            Some((owner, _)) => {
                return Err(failed_precondition!(
                    "it has another data directory, of {owner}: give another place, or start from it on an \
                     empty one"
                ));
            }
        }
        let epoch = store.begin()?;
        let listing = store.list()?;
        let mut shipped = BTreeMap::new();
        for (&first, offsets) in &listing.pieces {
            let last = offsets.last().copied().unwrap_or(0);
            let len = store.len(&piece_name(first, last))?;
            shipped.insert(first, last + len);
        }
        let snapshot = listing.snapshots.last().copied().unwrap_or(0);
        Ok(Backup { shared, disk, store, epoch, shipped, snapshot })
    }

    /// Ships until the journal has ended and all is there, or once more in vain.
    pub(crate) fn run(mut self) {
        let mut failures = 0;
        loop {
            let pause = self.store.every * 2u32.pow(failures.min(PATIENCE));
            let is_last = self.wait(if failures == 0 { self.store.every } else { pause });
            match self.round() {
                Ok(()) => failures = 0,
                Err(error) if error.code() == Code::FailedPrecondition => {
                    tracing::error!("nothing is backed up any more: {error}");
                    self.shared.lock().backup_error = Some(error.to_string());
                    return;
                }
                Err(error) => {
                    failures += 1;
                    tracing::warn!("the backup is late, and is tried again: {error}");
                    self.shared.lock().backup_error = Some(error.to_string());
                }
            }
            if is_last {
                return;
            }
        }
    }

    /// Waits for a while, or until nothing more will be written. Returns whether that is so.
    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut queue = self.shared.lock();
        while queue.failed.is_none() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.shared.progress.wait_timeout(queue, left);
            queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    fn round(&mut self) -> Result<()> {
        let (ends, durable) = {
            let queue = self.shared.lock();
            (queue.ends.clone(), queue.durable)
        };
        let names = self.disk.list().map_err(|error| data_loss!("cannot be listed: {error}"))?;
        let newest = names.iter().filter_map(|name| numbered(name, snapshot::PREFIX)).max();
        let is_new = newest.is_some_and(|newest| newest > self.snapshot);
        let has_more = ends.iter().any(|(first, end)| self.shipped.get(first) < Some(end));
        if !is_new && !has_more {
            return self.done(durable);
        }
        self.store.check(self.epoch)?;
        if let Some(newest) = newest.filter(|_| is_new) {
            self.ship_snapshot(newest)?;
        }
        for (&first, &end) in &ends {
            let begin = self.shipped.get(&first).copied().unwrap_or(0);
            if begin < end && !self.is_replaced(first, &ends) {
                self.ship_log(first, begin, end)?;
            }
        }
        if is_new {
            self.remove_old()?;
        }
        self.done(durable)
    }

    fn done(&self, durable: u64) -> Result<()> {
        let mut queue = self.shared.lock();
        queue.backed_up = Some((durable, Instant::now()));
        queue.backup_error = None;
        Ok(())
    }

    /// Whether a shipped snapshot has all of a file in it.
    fn is_replaced(&self, first: u64, ends: &BTreeMap<u64, u64>) -> bool {
        let next = ends.range(first + 1..).next();
        next.is_some_and(|(&next, _)| next <= self.snapshot + 1)
    }

    fn ship_snapshot(&mut self, number: u64) -> Result<()> {
        let name = snapshot::name(number);
        let unreadable = |error| data_loss!("{name} cannot be read: {error}");
        let file = self.disk.open(&name).map_err(unreadable)?;
        let len = file.size().map_err(unreadable)?;
        self.store.ship(&name, &*file, 0, len)?;
        self.snapshot = number;
        Ok(())
    }

    fn ship_log(&mut self, first: u64, begin: u64, end: u64) -> Result<()> {
        let name = segment_name(first);
        let file = self.disk.open(&name);
        let file = file.map_err(|error| data_loss!("{name} cannot be read: {error}"))?;
        self.store.ship(&piece_name(first, begin), &*file, begin, end)?;
        self.shipped.insert(first, end);
        Ok(())
    }

    /// Removes what the last snapshot stands for, there and from what is to be shipped.
    fn remove_old(&mut self) -> Result<()> {
        let listing = self.store.list()?;
        for old in listing.snapshots.iter().filter(|&&old| old < self.snapshot) {
            self.store.remove(&snapshot::name(*old));
        }
        let firsts: Vec<u64> = listing.pieces.keys().copied().collect();
        for pair in firsts.windows(2).filter(|pair| pair[1] <= self.snapshot + 1) {
            for &offset in &listing.pieces[&pair[0]] {
                self.store.remove(&piece_name(pair[0], offset));
            }
            self.shipped.remove(&pair[0]);
        }
        let snapshot = self.snapshot;
        let mut queue = self.shared.lock();
        let firsts: Vec<u64> = queue.ends.keys().copied().collect();
        for pair in firsts.windows(2).filter(|pair| pair[1] <= snapshot + 1) {
            queue.ends.remove(&pair[0]);
        }
        Ok(())
    }
}
