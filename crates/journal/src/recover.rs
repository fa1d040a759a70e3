//! Reads a data directory: the newest snapshot, and what the log says after it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;
use tensorfleet_framework::{Registry, Resources};
use tensorfleet_tensor::{Context, Result, data_loss};

use crate::disk::Disk;
use crate::frame::Kind;
use crate::outcome::{Outcomes, ToldCalls};
use crate::payload::Reader;
use crate::record::read_number;
use crate::replay::Replay;
use crate::segment::{numbered, segments};
use crate::snapshot;
use crate::writer::End;

/// A recovery that takes longer tells how far it is, and so on.
const TELL: Duration = Duration::from_secs(2);

/// What a journal goes on from.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) end: End,
    /// How many variables and other resources have got a number.
    pub(crate) numbered: u64,
    /// How many variables have values.
    pub(crate) variables: usize,
    /// How many other resources there are.
    pub(crate) resources: usize,
    /// How many changes were made again.
    pub(crate) changes: u64,
    /// Units that had not ended: none of their changes was made.
    pub(crate) undone: usize,
    /// The length of all files of the log.
    pub(crate) logged: u64,
    /// By the first record of each file, where it ends.
    pub(crate) ends: BTreeMap<u64, u64>,
    /// What became of calls of masters.
    pub(crate) outcomes: Outcomes,
}

/// Reads what a disk has and hands it to the devices.
///
/// Steps that had not ended are left out. One of them stays as far as it went if a step that has ended
/// cannot be made again without it, as when it gave a variable its first value: what was acknowledged
/// comes first.
pub(crate) fn recover(
    disk: &dyn Disk,
    registry: &Registry,
    devices: &[Arc<Resources>],
) -> Result<Recovered> {
    let names = disk.list().map_err(|error| data_loss!("cannot be listed: {error}"))?;
    let snapshot = names.iter().filter_map(|name| numbered(name, snapshot::PREFIX)).max();
    let mut log = read_log(disk, &names, snapshot.unwrap_or(0))?;
    loop {
        let mut replay = Replay::new(registry);
        match make_again(disk, &names, snapshot, &log, &mut replay) {
            Ok(changes) => {
                let (end, logged, ends) = (log.end, log.len, log.ends);
                let undone = log.begun.difference(&log.ended).count();
                let numbered = replay.numbered;
                let (variables, resources) = replay.install(devices)?;
                let outcomes = log.calls.stand(&log.ended);
                return Ok(Recovered {
                    end,
                    numbered,
                    variables,
                    resources,
                    changes,
                    undone,
                    logged,
                    ends,
                    outcomes,
                });
            }
            Err(error) if replay.needed.is_empty() => return Err(error),
            Err(_) => log.ended.extend(replay.needed),
        }
    }
}

/// Reads the snapshot, and makes the changes after it again. Returns their number.
fn make_again(
    disk: &dyn Disk,
    names: &[String],
    snapshot: Option<u64>,
    log: &Log,
    replay: &mut Replay<'_>,
) -> Result<u64> {
    if let Some(number) = snapshot {
        let name = snapshot::name(number);
        snapshot::read(disk, &name, replay).context(|| format!("snapshot {name}"))?;
    }
    let (mut changes, mut told) = (0, Instant::now());
    for mut segment in segments(disk, names)? {
        while let Some((header, payload)) = segment.next()? {
            if told.elapsed() > TELL {
                told = Instant::now();
                tracing::info!("recovery: record {} of {}", header.number, log.end.next - 1);
            }
            if header.number > snapshot.unwrap_or(0) {
                changes += u64::from(matches!(header.kind, Kind::Changed | Kind::Happened));
                replay.apply(header.kind, &payload, &log.ended).context(|| {
                    format!("record {} of {} cannot be replayed", header.number, segment.name)
                })?;
            }
        }
    }
    Ok(changes)
}

struct Log {
    end: End,
    /// Units that have ended.
    ended: FxHashSet<u64>,
    /// Units that have changed something.
    begun: FxHashSet<u64>,
    /// The length of all files.
    len: u64,
    /// By the first record of each file, where it ends.
    ends: BTreeMap<u64, u64>,
    calls: ToldCalls,
}

/// Reads all of a log once: whether it is whole, where it ends, and which units have ended.
fn read_log(disk: &dyn Disk, names: &[String], snapshot: u64) -> Result<Log> {
    let mut segments = segments(disk, names)?.into_iter().peekable();
    match segments.peek() {
        None if snapshot == 0 => {
            let end = End { next: 1, chain: 0 };
            let (ended, begun) = (FxHashSet::default(), FxHashSet::default());
            let calls = ToldCalls::default();
            return Ok(Log { end, ended, begun, len: 0, ends: BTreeMap::new(), calls });
        }
        None => return Err(data_loss!("there is a snapshot, but no log")),
        Some(first) if first.end.next > snapshot + 1 => {
            let next = first.end.next;
            return Err(data_loss!("records {} to {} are missing", snapshot + 1, next - 1));
        }
        Some(_) => {}
    }
    let (mut ended, mut begun) = (FxHashSet::default(), FxHashSet::default());
    let (mut end, mut len, mut ends) = (End { next: 1, chain: 0 }, 0, BTreeMap::new());
    let mut calls = ToldCalls::default();
    while let Some(mut segment) = segments.next() {
        let first = segment.end.next;
        while let Some((header, payload)) = segment.next()? {
            match header.kind {
                Kind::Ended => {
                    ended.insert(read_number(Reader(&payload))?);
                }
                Kind::Changed | Kind::Happened | Kind::Deleted => {
                    begun.insert(Reader(&payload).long()?);
                }
                Kind::Begun => calls.begun(Reader(&payload))?,
                Kind::Outcome => calls.outcome(Reader(&payload))?,
                _ => {}
            }
        }
        end = segment.end;
        len += segment.len;
        ends.insert(first, segment.offset);
        match segments.peek() {
            None => segment.check_end()?,
            Some(next) if next.end.next == end.next && next.end.chain == end.chain => {}
            Some(_) => {
                let name = segment.name;
                return Err(data_loss!("{name} is damaged: record {} cannot be read", end.next));
            }
        }
    }
    if end.next <= snapshot {
        return Err(data_loss!("the log ends at record {} before the snapshot", end.next - 1));
    }
    Ok(Log { end, ended, begun, len, ends, calls })
}
