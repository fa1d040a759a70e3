//! Writing a table.

use tensorfleet_tensor::{Result, internal};

use super::block::BlockBuilder;
use super::{FOOTER_LEN, Handle, MAGIC, UNCOMPRESSED};
use crate::coding::mask;
use tensorfleet_files::WriteFile;

/// Blocks are closed when they reach this size.
const BLOCK_LEN: usize = 256 << 10;

/// Writes records in the order of their keys.
#[derive(Debug)]
pub(crate) struct TableBuilder {
    file: Box<dyn WriteFile>,
    offset: u64,
    block: BlockBuilder,
    index: BlockBuilder,
    /// The last closed block, whose index entry waits for the next key.
    closed: Option<(Vec<u8>, Handle)>,
    last_key: Option<Vec<u8>>,
}

impl TableBuilder {
    pub(crate) fn new(file: Box<dyn WriteFile>) -> Self {
        Self {
            file,
            offset: 0,
            block: BlockBuilder::data(),
            index: BlockBuilder::index(),
            closed: None,
            last_key: None,
        }
    }

    /// Appends a record; its key must be larger than the one before.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        if self.last_key.as_deref().is_some_and(|last| last >= key) {
            return Err(internal!("records of a table must be added in the order of their keys"));
        }
        if let Some((last, handle)) = self.closed.take() {
            self.add_to_index(&separator(&last, key), handle);
        }
        self.block.add(key, value);
        self.last_key = Some(key.to_vec());
        if self.block.len() >= BLOCK_LEN { self.close_block() } else { Ok(()) }
    }

    /// Writes what is left and makes the file durable.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.close_block()?;
        let meta = self.write_block(BlockBuilder::data())?;
        if let Some((last, handle)) = self.closed.take() {
            self.add_to_index(&successor(&last), handle);
        }
        let index = std::mem::replace(&mut self.index, BlockBuilder::index());
        let index = self.write_block(index)?;
        let mut footer = Vec::with_capacity(FOOTER_LEN);
        meta.put(&mut footer);
        index.put(&mut footer);
        footer.resize(FOOTER_LEN - 8, 0);
        footer.extend_from_slice(&MAGIC.to_le_bytes());
        self.file.append(&footer)?;
        self.file.finish()
    }

    fn close_block(&mut self) -> Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::replace(&mut self.block, BlockBuilder::data());
        let last_key = block.last_key().to_vec();
        let handle = self.write_block(block)?;
        self.closed = Some((last_key, handle));
        Ok(())
    }

    fn write_block(&mut self, block: BlockBuilder) -> Result<Handle> {
        let bytes = block.finish();
        let crc = crc32c::crc32c_append(crc32c::crc32c(&bytes), &[UNCOMPRESSED]);
        let handle = Handle { offset: self.offset, len: bytes.len() as u64 };
        let mut trailer = vec![UNCOMPRESSED];
        trailer.extend_from_slice(&mask(crc).to_le_bytes());
        self.file.append(&bytes)?;
        self.file.append(&trailer)?;
        self.offset += (bytes.len() + trailer.len()) as u64;
        Ok(handle)
    }

    fn add_to_index(&mut self, key: &[u8], handle: Handle) {
        let mut value = Vec::new();
        handle.put(&mut value);
        self.index.add(key, &value);
    }
}

/// A short key that is at least `last` and less than `next`.
fn separator(last: &[u8], next: &[u8]) -> Vec<u8> {
    let mut key = last.to_vec();
    let shared = last.iter().zip(next).take_while(|(a, b)| a == b).count();
    if let (Some(&low), Some(&high)) = (last.get(shared), next.get(shared))
        && low < u8::MAX
        && low + 1 < high
    {
        key.truncate(shared + 1);
        key[shared] += 1;
    }
    key
}

/// A short key that is at least `last`.
fn successor(last: &[u8]) -> Vec<u8> {
    let mut key = last.to_vec();
    if let Some(position) = key.iter().position(|&byte| byte != u8::MAX) {
        key.truncate(position + 1);
        key[position] += 1;
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn index_keys_are_short() {
        assert_eq!(separator(b"abcd", b"abzz"), b"abd");
        assert_eq!(separator(b"abc", b"abd"), b"abc");
        assert_eq!(separator(b"ab", b"abc"), b"ab");
        assert_eq!(successor(b"abc"), b"b");
        assert_eq!(successor(b"\xff\xffa"), b"\xff\xffb");
        assert_eq!(successor(b"\xff"), b"\xff");
    }
}
