//! Files that are read from front to back: plain or compressed, in lines or in records.
//!
//! [`Stream`] is a file's contents after decompression. [`RecordReader`] and [`RecordWriter`] know
//! TensorFlow's record format, in which `TFRecord` files and event files are written.

mod compression;
mod stream;
mod tfrecord;

pub(crate) use compression::Compression;
pub(crate) use stream::Stream;
pub(crate) use tfrecord::{RecordReader, RecordWriter};
