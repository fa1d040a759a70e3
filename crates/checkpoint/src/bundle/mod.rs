//! The current checkpoint format, which TensorFlow calls V2 and its files tensor bundles.
//!
//! A checkpoint is known by a prefix. `prefix.index` is a sorted table: under the empty key a
//! header, under each tensor's name its type, shape and place. `prefix.data-00000-of-00002` and its
//! like, the shards, hold the elements one tensor after the other. A tensor stored in slices has,
//! besides the entry under its name, one for each slice under a key that encodes it. Every task of a
//! cluster writes a bundle of its own; [`merge()`] then joins them by renaming the data files and
//! writing one index.

mod aside;
mod entry;
mod merge;
mod reader;
mod strings;
mod variants;
mod writer;

pub use merge::{MergeOptions, merge};
pub use reader::Reader;
pub use writer::Writer;

use tensorfleet_proto::tensorflow as pb;

#[cfg(all(test, feature = "object_store"))]
mod objects;
#[cfg(test)]
mod tests;

/// The key of the header, which sorts before all others.
const HEADER_KEY: &[u8] = b"";

/// The version of the format written here and the newest understood.
const VERSION: i32 = 1;

/// The path of a bundle's index.
pub fn index_path(prefix: &str) -> String {
    format!("{prefix}.index")
}

/// The path of one of a bundle's data files.
pub fn data_path(prefix: &str, shard: usize, shards: usize) -> String {
    format!("{prefix}.data-{shard:05}-of-{shards:05}")
}

fn header(shards: usize) -> pb::BundleHeaderProto {
    pb::BundleHeaderProto {
        num_shards: shards as i32,
        endianness: pb::bundle_header_proto::Endianness::Little as i32,
        version: Some(pb::VersionDef { producer: VERSION, ..Default::default() }),
    }
}
