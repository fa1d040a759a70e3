//! Files, checkpoints and readers.

mod file;
mod filename;
mod lmdb;
mod reader;
mod reader_make;
mod reader_ops;
mod reader_source;
mod record_input;
mod remap;
mod restore;
mod save;

pub(crate) use file::write_file;

use std::borrow::Cow;

use tensorfleet_framework::Op;
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

pub(super) const OPS: &[&[Op]] = &[
    file::OPS,
    filename::OPS,
    lmdb::OPS,
    reader_make::OPS,
    reader_ops::OPS,
    record_input::OPS,
    remap::OPS,
    restore::OPS,
    save::OPS,
];

/// A scalar string as text.
fn text<'a>(tensor: &'a Tensor, what: &str) -> Result<Cow<'a, str>> {
    match tensor.strings()? {
        [value] => Ok(String::from_utf8_lossy(value)),
        _ => Err(invalid_argument!(
            "{what} tensor must be scalar, but had shape: {}",
            tensor.shape()
        )),
    }
}
