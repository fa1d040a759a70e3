//! A file as the standard library writes.

use std::io::{self, Write};

use tensorfleet_files::{FileSystem, WriteFile};
use tensorfleet_tensor::{Error, Result, unknown_error};

use super::{Compression, Encoder, RecordWriter};

/// A file being written.
#[derive(Debug)]
pub(crate) struct Sink {
    file: Box<dyn WriteFile>,
    written: u64,
}

impl Sink {
    /// Creates a file.
    pub(crate) fn create(files: &dyn FileSystem, path: &str) -> Result<Sink> {
        Ok(Sink { file: files.create(path)?, written: 0 })
    }

    /// How many bytes were written.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Makes what was written durable and closes the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.file.finish()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.append(bytes).map_err(io::Error::other)?;
        self.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(io::Error::other)
    }
}

/// A file of records being written.
#[derive(Debug)]
pub(crate) struct RecordFile(RecordWriter<Encoder<Sink>>);

impl RecordFile {
    /// Creates a file.
    pub(crate) fn create(
        files: &dyn FileSystem,
        path: &str,
        compression: Compression,
    ) -> Result<RecordFile> {
        Ok(RecordFile(RecordWriter::new(compression.encoder(Sink::create(files, path)?))))
    }

    /// Appends a record.
    pub(crate) fn write(&mut self, record: &[u8]) -> Result<()> {
        self.0.write(record).map_err(known)
    }

    /// Makes what was written durable and closes the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.0.into_inner().finish().map_err(known)?.finish()
    }
}

/// The error behind an error of the standard library.
pub(crate) fn known(error: io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        Some(known) => known.clone(),
        None => unknown_error!("{error}"),
    }
}
