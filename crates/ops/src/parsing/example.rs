//! Examples: their features are found in the encoded message and go straight into columns.

use bytes::Bytes;
use rustc_hash::FxHashMap;
use tensorfleet_tensor::{Error, Result, invalid_argument};

use super::column::{Column, Place};
use super::feature::Feature;
use super::fields::{Field, Fields, Malformed, bytes, nested, varint};

/// Batches with more bytes are parsed by several threads.
const PARALLEL: usize = 256 << 10;

/// Which columns want a feature, by its key.
#[derive(Clone, Debug)]
pub(super) struct Keys {
    columns: FxHashMap<Bytes, Vec<usize>>,
}

impl Keys {
    pub(super) fn new<'a>(keys: impl IntoIterator<Item = &'a Bytes>) -> Keys {
        let mut columns: FxHashMap<Bytes, Vec<usize>> = FxHashMap::default();
        for (column, key) in keys.into_iter().enumerate() {
            columns.entry(key.clone()).or_default().push(column);
        }
        Keys { columns }
    }

    /// Finds the features in a `Features` or `FeatureLists` message: `found` gets one for each
    /// column. Of features with the same key the last one counts.
    pub(super) fn find<'a>(
        &self,
        message: &'a [u8],
        found: &mut [Option<&'a [u8]>],
    ) -> Result<(), Malformed> {
        let mut entries = Fields::new(message);
        while let Some((number, entry)) = entries.next()? {
            let (1, Field::Bytes(entry)) = (number, entry) else { continue };
            let (mut key, mut value) = (&[][..], &[][..]);
            let mut fields = Fields::new(entry);
            while let Some(field) = fields.next()? {
                match field {
                    (1, Field::Bytes(bytes)) => key = bytes,
                    (2, Field::Bytes(bytes)) => value = bytes,
                    _ => {}
                }
            }
            if let Some(columns) = self.columns.get(key) {
                for &column in columns {
                    found[column] = Some(value);
                }
            }
        }
        Ok(())
    }

    fn find_in_example<'a>(
        &self,
        example: &'a [u8],
        found: &mut [Option<&'a [u8]>],
    ) -> Result<(), Broken> {
        found.fill(None);
        let mut rest = example;
        let mut is_supported = true;
        while let Some(&tag) = rest.first() {
            if tag != NESTED {
                skip(&mut rest)?;
                continue;
            }
            rest = &rest[1..];
            let mut features = nested(&mut rest)?;
            while let [tag, tail @ ..] = features {
                features = tail;
                if *tag != NESTED {
                    return Err(Broken::Message);
                }
                let (key, value) = entry(nested(&mut features)?)?;
                for &column in self.columns.get(key).into_iter().flatten() {
                    is_supported &= Feature::kind(value).is_ok();
                    found[column] = Some(value);
                }
            }
        }
        if is_supported { Ok(()) } else { Err(Broken::Feature) }
    }
}

/// The tag of the first field when that is a message, as it is at every level of an example.
const NESTED: u8 = 1 << 3 | 2;

/// What is wrong with an example.
#[derive(Clone, Copy, Debug)]
enum Broken {
    /// It is none.
    Message,
    /// A feature that is wanted holds something else than a list of values.
    Feature,
}

impl From<Malformed> for Broken {
    fn from(_: Malformed) -> Broken {
        Broken::Message
    }
}

impl Broken {
    fn explain(self, record: &Bytes) -> Error {
        match self {
            Broken::Message => broken(record),
            Broken::Feature => invalid_argument!("Unsupported datatype."),
        }
    }
}

/// The key and the value of an entry, which has exactly these two fields.
fn entry(mut rest: &[u8]) -> Result<(&[u8], &[u8]), Malformed> {
    let (mut key, mut value) = (&[][..], &[][..]);
    for _ in 0..2 {
        match varint(&mut rest)? {
            0x0a => key = bytes(&mut rest)?,
            0x12 => value = bytes(&mut rest)?,
            _ => return Err(Malformed),
        }
    }
    if rest.is_empty() { Ok((key, value)) } else { Err(Malformed) }
}

/// Passes over a field that an example does not have.
fn skip(rest: &mut &[u8]) -> Result<(), Malformed> {
    match varint(rest)? & 7 {
        0 => drop(varint(rest)?),
        1 => *rest = rest.get(8..).ok_or(Malformed)?,
        2 => drop(nested(rest)?),
        5 => *rest = rest.get(4..).ok_or(Malformed)?,
        _ => return Err(Malformed),
    }
    Ok(())
}

/// TensorFlow's complaint about a message that is none.
pub(super) fn broken(record: &Bytes) -> Error {
    invalid_argument!("Could not parse example input, value: '{}'", record.escape_ascii())
}

/// Adds one example to columns.
pub(super) fn parse_single(keys: &Keys, record: &Bytes, columns: &mut [Column]) -> Result<()> {
    let mut found = vec![None; columns.len()];
    keys.find_in_example(record, &mut found).map_err(|error| error.explain(record))?;
    for (column, feature) in columns.iter_mut().zip(&found) {
        column.add(*feature, record, Place::Single)?;
    }
    Ok(())
}

/// Adds the examples of a batch to columns. There may be a name for each.
pub(super) fn parse_batch(
    keys: &Keys,
    records: &[Bytes],
    names: &[Bytes],
    columns: &mut [Column],
    threads: usize,
) -> Result<()> {
    let size: usize = records.iter().map(Bytes::len).sum();
    if threads < 2 || size < PARALLEL {
        return parse_rows(keys, records, names, 0, columns);
    }
    let rows = records.len().div_ceil(threads).max(1);
    let empty: Vec<Column> = columns.iter().map(Column::like).collect();
    let outcomes: Vec<Result<Vec<Column>>> = std::thread::scope(|scope| {
        let parts: Vec<_> = records
            .chunks(rows)
            .enumerate()
            .map(|(part, records)| {
                let mut columns = empty.clone();
                scope.spawn(move || {
                    parse_rows(keys, records, names, part * rows, &mut columns)?;
                    Ok(columns)
                })
            })
            .collect();
        parts
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    for outcome in outcomes {
        for (column, later) in columns.iter_mut().zip(outcome?) {
            column.append(later);
        }
    }
    Ok(())
}

/// Parses records of which the first is number `first` of the batch.
fn parse_rows(
    keys: &Keys,
    records: &[Bytes],
    names: &[Bytes],
    first: usize,
    columns: &mut [Column],
) -> Result<()> {
    let mut found = vec![None; columns.len()];
    for (row, record) in (first..).zip(records) {
        keys.find_in_example(record, &mut found).map_err(|error| error.explain(record))?;
        let place = Place::Row { row, name: names.get(row) };
        for (column, feature) in columns.iter_mut().zip(&found) {
            column.add(*feature, record, place)?;
        }
    }
    Ok(())
}
