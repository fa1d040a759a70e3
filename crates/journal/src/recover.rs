//! Reads a data directory: the newest snapshot, and what the log says after it.

use std::sync::Arc;

use rustc_hash::FxHashSet;
use tensorfleet_framework::{Registry, Resources};
use tensorfleet_tensor::{Context, Result, data_loss};

use crate::disk::Disk;
use crate::frame::Kind;
use crate::payload::Reader;
use crate::record::read_number;
use crate::replay::Replay;
use crate::segment::{numbered, segments};
use crate::snapshot;
use crate::writer::End;

/// What a journal goes on from.
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) end: End,
    /// How many variables have got a number.
    pub(crate) numbered: u64,
    /// How many variables have values.
    pub(crate) variables: usize,
    /// How many changes were made again.
    pub(crate) changes: u64,
    /// Units that had not ended: none of their changes was made.
    pub(crate) undone: usize,
    /// The length of all files of the log.
    pub(crate) logged: u64,
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
                let (end, logged) = (log.end, log.len);
                let undone = log.begun.difference(&log.ended).count();
                let numbered = replay.numbered;
                let variables = replay.install(devices)?;
                return Ok(Recovered { end, numbered, variables, changes, undone, logged });
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
    let mut changes = 0;
    for mut segment in segments(disk, names)? {
        while let Some((header, payload)) = segment.next()? {
            if header.number > snapshot.unwrap_or(0) {
                changes += u64::from(header.kind == Kind::Changed);
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
}

/// Reads all of a log once: whether it is whole, where it ends, and which units have ended.
fn read_log(disk: &dyn Disk, names: &[String], snapshot: u64) -> Result<Log> {
    let mut segments = segments(disk, names)?.into_iter().peekable();
    match segments.peek() {
        None if snapshot == 0 => {
            let end = End { next: 1, chain: 0 };
            let (ended, begun) = (FxHashSet::default(), FxHashSet::default());
            return Ok(Log { end, ended, begun, len: 0 });
        }
        None => return Err(data_loss!("there is a snapshot, but no log")),
        Some(first) if first.end.next > snapshot + 1 => {
            let next = first.end.next;
            return Err(data_loss!("records {} to {} are missing", snapshot + 1, next - 1));
        }
        Some(_) => {}
    }
    let (mut ended, mut begun) = (FxHashSet::default(), FxHashSet::default());
    let (mut end, mut len) = (End { next: 1, chain: 0 }, 0);
    while let Some(mut segment) = segments.next() {
        while let Some((header, payload)) = segment.next()? {
            match header.kind {
                Kind::Ended => {
                    ended.insert(read_number(Reader(&payload))?);
                }
                Kind::Changed | Kind::Deleted => {
                    begun.insert(Reader(&payload).long()?);
                }
                _ => {}
            }
        }
        end = segment.end;
        len += segment.len;
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
    Ok(Log { end, ended, begun, len })
}
