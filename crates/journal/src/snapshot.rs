//! Files with all that a task keeps at one place of the log.

use std::io;

use bytes::Bytes;
use tensorfleet_tensor::{Result, data_loss};

use crate::capture::Captured;
use crate::disk::{Disk, DiskFile};
use crate::frame::{Header, Kind, padded};
use crate::payload::{Payload, Reader};
use crate::record::{read_with_value, with_value};
use crate::replay::Replay;
use crate::resource::{Described, Happened};
use crate::segment::Frames;
use crate::writer::{OLDEST, VERSION, failure};

/// How names of snapshots begin.
pub(crate) const PREFIX: &str = "snapshot-";
/// The name of a snapshot that is being written.
pub(crate) const NEW_SNAPSHOT: &str = "snapshot.new";

/// The name of the snapshot that has the changes up to this number in it.
pub(crate) fn name(number: u64) -> String {
    format!("{PREFIX}{number:016x}")
}

/// Writes a snapshot, which is none yet: [`publish`] makes it one. Returns its length.
pub(crate) fn write(disk: &dyn Disk, captured: &Captured) -> Result<u64> {
    let file = disk.create(NEW_SNAPSHOT, 0).map_err(|error| failure(&error))?;
    let mut out = Out { file, offset: 0, number: 1, chain: 0 };
    let events: usize = captured.resources.iter().map(|(_, events)| events.len()).sum();
    let count = (captured.variables.len() + captured.resources.len() + events) as u64;
    let head = Payload::default().word(VERSION).long(captured.number).long(captured.numbered);
    out.frame(Kind::Snapshot, head.long(count)).map_err(|error| failure(&error))?;
    for (description, value) in &captured.variables {
        let payload = with_value(description, value.as_ref())?;
        out.frame(Kind::Variable, payload).map_err(|error| failure(&error))?;
    }
    for (described, events) in &captured.resources {
        out.frame(Kind::Described, described.encode()?).map_err(|error| failure(&error))?;
        for event in events {
            let payload = Happened::encode(0, described.number, event, false)?;
            out.frame(Kind::Happened, payload).map_err(|error| failure(&error))?;
        }
    }
    out.frame(Kind::End, Payload::default()).map_err(|error| failure(&error))?;
    out.file.sync().map_err(|error| failure(&error))?;
    Ok(out.offset)
}

/// Gives the snapshot that was written its name, and removes what it stands for.
pub(crate) fn publish(disk: &dyn Disk, number: u64) -> io::Result<()> {
    disk.rename(NEW_SNAPSHOT, &name(number))?;
    let names = disk.list()?;
    let numbers = |prefix| {
        let mut numbers: Vec<u64> =
            names.iter().filter_map(|name| crate::segment::numbered(name, prefix)).collect();
        numbers.sort_unstable();
        numbers
    };
    for old in numbers(PREFIX).into_iter().filter(|&old| old < number) {
        disk.remove(&name(old))?;
    }
    // A file of the log can go when the next one begins with what the snapshot has not.
    for pair in numbers("log-").windows(2).filter(|pair| pair[1] <= number + 1) {
        disk.remove(&crate::writer::segment_name(pair[0]))?;
    }
    Ok(())
}

#[derive(Debug)]
struct Out {
    file: Box<dyn DiskFile>,
    offset: u64,
    number: u64,
    chain: u32,
}

impl Out {
    fn frame(&mut self, kind: Kind, payload: Payload) -> io::Result<()> {
        let payload = payload.finish();
        let len: u64 = payload.iter().map(|chunk| chunk.len() as u64).sum();
        let header = Header {
            kind,
            len,
            number: self.number,
            synced: 0,
            previous: self.chain,
            payload: payload.iter().fold(0, |sum, chunk| crc32c::crc32c_append(sum, chunk)),
        };
        let (bytes, chain) = header.encode();
        let padding = Bytes::from(vec![0; (padded(len) - len) as usize]);
        for piece in [Bytes::copy_from_slice(&bytes)].iter().chain(&payload).chain([&padding]) {
            self.file.write(self.offset, piece)?;
            self.offset += piece.len() as u64;
        }
        (self.number, self.chain) = (self.number + 1, chain);
        Ok(())
    }
}

/// Reads a snapshot.
pub(crate) fn read(disk: &dyn Disk, name: &str, replay: &mut Replay<'_>) -> Result<()> {
    let mut frames = Frames::of_file(disk, name)?;
    let damaged = || data_loss!("it is damaged");
    let (header, head) = frames.next()?.ok_or_else(damaged)?;
    if header.kind != Kind::Snapshot {
        return Err(damaged());
    }
    let mut head = Reader(&head);
    let version = head.word()?;
    if !(OLDEST..=VERSION).contains(&version) {
        return Err(data_loss!("it has version {version}, not {OLDEST} to {VERSION}"));
    }
    let (number, numbered, count) = (head.long()?, head.long()?, head.long()?);
    head.end()?;
    if self::name(number) != name {
        return Err(data_loss!("it is snapshot {number:016x} under another name"));
    }
    for _ in 0..count {
        let (header, payload) = frames.next()?.ok_or_else(damaged)?;
        let reader = Reader(&payload);
        match header.kind {
            Kind::Variable => {
                let (description, value) = read_with_value(reader)?;
                replay.create(description, value)?;
            }
            Kind::Described => replay.describe(Described::decode(reader)?)?,
            Kind::Happened => replay.happen(Happened::decode(reader)?)?,
            _ => return Err(damaged()),
        }
    }
    replay.numbered = replay.numbered.max(numbered);
    frames.check_last()
}
