//! The first checkpoint format: tables that hold the tensors themselves.
//!
//! A file is a sorted table of `SavedTensorSlices` messages. The one under the empty key lists the
//! tensors and their slices; every other, under the key of a slice, holds its elements as the typed
//! list of a `TensorProto`. Several files, found by a pattern, make one checkpoint.

mod elements;
mod reader;
mod writer;

pub use reader::Reader;
pub use writer::Writer;

#[cfg(test)]
mod tests;

/// The key of the message that lists all tensors.
const META_KEY: &[u8] = b"";

/// The version of the format written here and the newest understood.
const VERSION: i32 = 1;
