//! Records without the frames around them, whose checksums keep strangers out, for who tries what the
//! readers make of bad ones.

use rustc_hash::FxHashSet;
use tensorfleet_framework::Registry;
use tensorfleet_tensor::{Result, data_loss};

use crate::disk::Disk;
use crate::frame::Kind;
use crate::payload::Reader;
use crate::record::{Changed, read_with_value};
use crate::replay::Replay;
use crate::segment::segments;

/// Reads records, each a byte for its kind, four for its length and that many more, and lets happen what
/// they say of resources. Ops are read and not run: they may be any, and do anything.
pub fn replay_bytes(bytes: &[u8], registry: &Registry) -> Result<()> {
    let (mut reader, mut replay) = (Reader(bytes), Replay::new(registry));
    while !reader.0.is_empty() {
        let (kind, len) = (reader.byte()?, reader.word()? as usize);
        let Some((payload, rest)) = reader.0.split_at_checked(len) else {
            return Err(data_loss!("a record is cut"));
        };
        reader = Reader(rest);
        match Kind::from_number(kind).ok_or_else(|| data_loss!("{kind} is no kind of record"))? {
            Kind::Op => {}
            Kind::Changed => drop(Changed::decode(Reader(payload))?),
            Kind::Variable => {
                let (description, value) = read_with_value(Reader(payload))?;
                replay.create(description, value)?;
            }
            kind => {
                let unit = Reader(payload).long().unwrap_or_default();
                replay.apply(kind, payload, &FxHashSet::from_iter([unit]))?;
            }
        }
    }
    Ok(())
}

/// The records of a log in this form.
pub fn records(disk: &dyn Disk) -> Result<Vec<u8>> {
    let names = disk.list().map_err(|error| data_loss!("cannot be listed: {error}"))?;
    let mut records = Vec::new();
    for mut segment in segments(disk, &names)? {
        while let Some((header, payload)) = segment.next()? {
            records.push(header.kind as u8);
            records.extend((payload.len() as u32).to_le_bytes());
            records.extend(payload);
        }
    }
    Ok(records)
}
