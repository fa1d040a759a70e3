//! The records of one block.

use tensorfleet_tensor::{Result, data_loss};

use crate::coding::{put_varint, take, take_varint_usize};

/// A block being written.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    /// How many keys share a restart point.
    restart_interval: usize,
    bytes: Vec<u8>,
    restarts: Vec<u32>,
    since_restart: usize,
    last_key: Vec<u8>,
}

impl BlockBuilder {
    pub(super) fn data() -> Self {
        Self::new(16)
    }

    /// Index blocks are searched more often than read through.
    pub(super) fn index() -> Self {
        Self::new(1)
    }

    fn new(restart_interval: usize) -> Self {
        Self {
            restart_interval,
            bytes: Vec::new(),
            restarts: vec![0],
            since_restart: 0,
            last_key: Vec::new(),
        }
    }

    /// Appends a record. Keys must grow.
    pub(super) fn add(&mut self, key: &[u8], value: &[u8]) {
        let mut shared = 0;
        if self.since_restart < self.restart_interval {
            shared = common_prefix(&self.last_key, key);
        } else {
            self.restarts.push(self.bytes.len() as u32);
            self.since_restart = 0;
        }
        put_varint(&mut self.bytes, shared as u64);
        put_varint(&mut self.bytes, (key.len() - shared) as u64);
        put_varint(&mut self.bytes, value.len() as u64);
        self.bytes.extend_from_slice(&key[shared..]);
        self.bytes.extend_from_slice(value);
        self.last_key.truncate(shared);
        self.last_key.extend_from_slice(&key[shared..]);
        self.since_restart += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The size the finished block would have.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() + 4 * self.restarts.len() + 4
    }

    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        for restart in &self.restarts {
            self.bytes.extend_from_slice(&restart.to_le_bytes());
        }
        self.bytes.extend_from_slice(&(self.restarts.len() as u32).to_le_bytes());
        self.bytes
    }
}

fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Calls `each` with the records of a block for as long as it returns true.
pub(super) fn visit(
    block: &[u8],
    mut each: impl FnMut(&[u8], &[u8]) -> Result<bool>,
) -> Result<()> {
    let bad = || data_loss!("bad block contents");
    let mut rest = records(block).ok_or_else(bad)?;
    let mut key = Vec::new();
    while !rest.is_empty() {
        let value = take_record(&mut rest, &mut key).ok_or_else(bad)?;
        if !each(&key, value)? {
            break;
        }
    }
    Ok(())
}

/// A block without its restart points; `None` if it has no room for them.
fn records(block: &[u8]) -> Option<&[u8]> {
    let (body, count) = block.split_last_chunk::<4>()?;
    let restarts = usize::try_from(u32::from_le_bytes(*count)).ok()?.checked_mul(4)?;
    body.get(..body.len().checked_sub(restarts)?)
}

/// Takes a record off the front of `rest`: changes the last key into its key, returns its value.
fn take_record<'a>(rest: &mut &'a [u8], key: &mut Vec<u8>) -> Option<&'a [u8]> {
    let shared = take_varint_usize(rest)?;
    let added = take_varint_usize(rest)?;
    let value_len = take_varint_usize(rest)?;
    if shared > key.len() {
        return None;
    }
    key.truncate(shared);
    key.extend_from_slice(take(rest, added)?);
    take(rest, value_len)
}
