//! Where the records of a reader come from: the ways to cut a file into records.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_tensor::{Result, resource_exhausted};

use crate::record::{Compression, RecordReader, Stream};

/// A record, named by its file and its place in it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) key: Bytes,
    pub(super) value: Bytes,
}

/// What a reader knows of its work: usually the name of a file.
pub(super) trait Source: fmt::Debug + Send {
    /// Starts with new work.
    fn start(&mut self, work: &Bytes) -> Result<()>;

    /// The next record of the work; `None` at its end.
    fn next(&mut self) -> Result<Option<Record>>;

    /// Whether the work ended with the record that was just read.
    fn is_finished(&self) -> bool {
        false
    }

    /// Forgets everything.
    fn reset(&mut self);
}

fn path(work: &Bytes) -> String {
    String::from_utf8_lossy(work).into_owned()
}

fn open(files: &dyn FileSystem, work: &Bytes, compression: Compression) -> Result<Stream> {
    Stream::open(files, &path(work), compression, None)
}

fn place(work: &Bytes, place: impl fmt::Display) -> Bytes {
    let mut key = work.to_vec();
    key.extend_from_slice(format!(":{place}").as_bytes());
    key.into()
}

/// The work itself is the record.
#[derive(Debug, Default)]
pub(super) struct Identity {
    work: Option<Bytes>,
}

impl Source for Identity {
    fn start(&mut self, work: &Bytes) -> Result<()> {
        self.work = Some(work.clone());
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record>> {
        Ok(self.work.take().map(|work| Record { key: work.clone(), value: work }))
    }

    fn is_finished(&self) -> bool {
        self.work.is_none()
    }

    fn reset(&mut self) {
        self.work = None;
    }
}

/// A file is one record.
#[derive(Debug)]
pub(super) struct WholeFile {
    files: Arc<dyn FileSystem>,
    work: Option<Bytes>,
}

impl WholeFile {
    pub(super) fn new(files: Arc<dyn FileSystem>) -> WholeFile {
        WholeFile { files, work: None }
    }
}

impl Source for WholeFile {
    fn start(&mut self, work: &Bytes) -> Result<()> {
        self.work = Some(work.clone());
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let Some(work) = self.work.as_ref() else { return Ok(None) };
        let path = path(work);
        let file = self.files.open(&path)?;
        let len = usize::try_from(file.len())
            .map_err(|_| resource_exhausted!("{path} does not fit into memory"))?;
        let mut contents = vec![0; len];
        file.read_at(0, &mut contents)?;
        let record = Record { key: work.clone(), value: contents.into() };
        self.work = None;
        Ok(Some(record))
    }

    fn is_finished(&self) -> bool {
        self.work.is_none()
    }

    fn reset(&mut self) {
        self.work = None;
    }
}

/// Lines, counted from one.
#[derive(Debug)]
pub(super) struct TextLines {
    files: Arc<dyn FileSystem>,
    skip: u64,
    open: Option<(Bytes, Stream)>,
    line: u64,
}

impl TextLines {
    pub(super) fn new(files: Arc<dyn FileSystem>, skip: u64) -> TextLines {
        TextLines { files, skip, open: None, line: 0 }
    }
}

impl Source for TextLines {
    fn start(&mut self, work: &Bytes) -> Result<()> {
        self.line = 0;
        let mut stream = open(&*self.files, work, Compression::None)?;
        while self.line < self.skip && stream.line()?.is_some() {
            self.line += 1;
        }
        self.open = Some((work.clone(), stream));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let Some((work, stream)) = &mut self.open else { return Ok(None) };
        let Some(line) = stream.line()? else {
            self.open = None;
            return Ok(None);
        };
        self.line += 1;
        Ok(Some(Record { key: place(work, self.line), value: line.into() }))
    }

    fn reset(&mut self) {
        self.open = None;
    }
}

/// Records of a `TFRecord` file, named by their offsets.
#[derive(Debug)]
pub(super) struct TfRecords {
    files: Arc<dyn FileSystem>,
    compression: Compression,
    open: Option<(Bytes, RecordReader)>,
}

impl TfRecords {
    pub(super) fn new(files: Arc<dyn FileSystem>, compression: Compression) -> TfRecords {
        TfRecords { files, compression, open: None }
    }
}

impl Source for TfRecords {
    fn start(&mut self, work: &Bytes) -> Result<()> {
        let stream = open(&*self.files, work, self.compression)?;
        self.open = Some((work.clone(), RecordReader::new(stream)));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let Some((work, reader)) = &mut self.open else { return Ok(None) };
        let key = place(work, reader.offset());
        match reader.read()? {
            Some(value) => Ok(Some(Record { key, value: value.into() })),
            None => {
                self.open = None;
                Ok(None)
            }
        }
    }

    fn reset(&mut self) {
        self.open = None;
    }
}

/// How a file of records of one size is laid out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub(super) header: u64,
    pub(super) record: u64,
    pub(super) footer: u64,
    /// From the start of a record to that of the next.
    pub(super) hop: u64,
    pub(super) compression: Compression,
}

/// Records of one size, counted from zero.
#[derive(Debug)]
pub(super) struct FixedLength {
    files: Arc<dyn FileSystem>,
    layout: Layout,
    open: Option<(Bytes, Stream)>,
    /// What was read ahead: a record is one only if the footer still fits behind it.
    ahead: Vec<u8>,
    count: u64,
}

impl FixedLength {
    pub(super) fn new(files: Arc<dyn FileSystem>, layout: Layout) -> FixedLength {
        FixedLength { files, layout, open: None, ahead: Vec::new(), count: 0 }
    }
}

impl Source for FixedLength {
    fn start(&mut self, work: &Bytes) -> Result<()> {
        let mut stream = open(&*self.files, work, self.layout.compression)?;
        self.ahead.clear();
        self.count = 0;
        stream.skip(self.layout.header)?;
        self.open = Some((work.clone(), stream));
        Ok(())
    }

    fn next(&mut self) -> Result<Option<Record>> {
        let Some((work, stream)) = &mut self.open else { return Ok(None) };
        let Layout { record, footer, hop, .. } = self.layout;
        if self.count > 0 {
            let drained = self.ahead.len().min(usize::try_from(hop).unwrap_or(usize::MAX));
            self.ahead.drain(..drained);
            stream.skip(hop - drained as u64)?;
        }
        let wanted = record.saturating_add(footer);
        let missing = wanted.saturating_sub(self.ahead.len() as u64);
        if stream.read(missing, &mut self.ahead)? < missing {
            self.open = None;
            return Ok(None);
        }
        let value = Bytes::copy_from_slice(&self.ahead[..record as usize]);
        let key = place(work, self.count);
        self.count += 1;
        Ok(Some(Record { key, value }))
    }

    fn reset(&mut self) {
        self.open = None;
    }
}
