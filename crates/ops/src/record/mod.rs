//! Files that are read from front to back: plain or compressed, in lines or in records.
//!
//! [`Stream`] is a file's contents after decompression. [`RecordReader`] and [`RecordWriter`] know
//! TensorFlow's record format, in which `TFRecord` files and event files are written.

mod compression;
mod sink;
pub(crate) mod snappy;
mod stream;
mod tfrecord;

pub use compression::{Compression, Encoder};
pub(crate) use sink::{RecordFile, Sink, known};
pub use stream::Stream;
pub use tfrecord::{RecordReader, RecordWriter};
