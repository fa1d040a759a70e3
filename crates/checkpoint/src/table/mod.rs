//! Sorted tables of byte strings: LevelDB's table format, in which TensorFlow keeps its indices.
//!
//! A file is a row of blocks: data blocks with the records, an empty meta block, an index block
//! that names the last key of every data block, and a footer that finds the last two. A key is
//! stored as what it adds to the key before it, except at restart points. Each block has a
//! checksum. Tables are written uncompressed, as TensorFlow does; compressed ones are read.

mod block;
mod builder;
mod reader;

pub(crate) use builder::TableBuilder;
pub(crate) use reader::Table;

use crate::coding::{put_varint, take_varint};

const FOOTER_LEN: usize = 48;
const MAGIC: u64 = 0xdb47_7524_8b80_fb57;

/// The byte of the compression and the checksum that follow each block.
const TRAILER_LEN: usize = 5;

const UNCOMPRESSED: u8 = 0;
const SNAPPY: u8 = 1;

/// Where a block is, without its trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Handle {
    offset: u64,
    len: u64,
}

impl Handle {
    fn put(self, out: &mut Vec<u8>) {
        put_varint(out, self.offset);
        put_varint(out, self.len);
    }

    fn take(input: &mut &[u8]) -> Option<Self> {
        Some(Self { offset: take_varint(input)?, len: take_varint(input)? })
    }
}
