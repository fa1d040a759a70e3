//! Datasets of what files contain: lines, records of a fixed length, and TensorFlow's records.

use std::sync::Arc;

use tensorfleet_checkpoint::FileSystem;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{
    DType, PartialShape, Result, Tensor, data_loss, invalid_argument, out_of_range,
};

use super::aside::{FileElements, Source};
use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::scope::Scope;
use crate::record::{Compression, RecordReader, Stream};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FixedLengthRecordDataset",
        inputs: &[
            "filenames: string",
            "header_bytes: int64",
            "record_bytes: int64",
            "footer_bytes: int64",
            "buffer_size: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &["metadata: string = ''"],
        stateful: true,
        kernels: &[dataset::<FixedLength>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FixedLengthRecordDatasetV2",
        inputs: &[
            "filenames: string",
            "header_bytes: int64",
            "record_bytes: int64",
            "footer_bytes: int64",
            "buffer_size: int64",
            "compression_type: string",
        ],
        outputs: &["handle: variant"],
        attrs: &["metadata: string = ''"],
        stateful: true,
        kernels: &[dataset::<FixedLength>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TFRecordDataset",
        inputs: &["filenames: string", "compression_type: string", "buffer_size: int64"],
        outputs: &["handle: variant"],
        attrs: &["metadata: string = ''"],
        stateful: true,
        kernels: &[dataset::<TfRecord>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TFRecordDatasetV2",
        inputs: &[
            "filenames: string",
            "compression_type: string",
            "buffer_size: int64",
            "byte_offsets: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &["metadata: string = ''"],
        stateful: true,
        kernels: &[dataset::<TfRecord>()],
        ..Op::DEFAULT
    },
    Op {
        name: "TextLineDataset",
        inputs: &["filenames: string", "compression_type: string", "buffer_size: int64"],
        outputs: &["handle: variant"],
        attrs: &["metadata: string = ''"],
        stateful: true,
        kernels: &[dataset::<TextLine>()],
        ..Op::DEFAULT
    },
];

/// Elements are one string each.
fn one_string() -> Signature {
    Signature { types: vec![DType::String], shapes: vec![PartialShape::scalar()] }
}

fn filenames(inputs: &Inputs<'_, '_>) -> Result<Arc<[String]>> {
    let names = inputs.tensor(0)?;
    if names.rank() > 1 {
        return Err(invalid_argument!("`filenames` must be a scalar or a vector."));
    }
    Ok(names.strings()?.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

fn buffer_size(inputs: &Inputs<'_, '_>, index: usize) -> Result<Option<usize>> {
    let size = inputs.scalar::<i64>(index, "buffer_size")?;
    buffer_bytes(size)
}

/// How many bytes to read at once; absent for the usual number.
fn buffer_bytes(size: i64) -> Result<Option<usize>> {
    let size = usize::try_from(size)
        .map_err(|_| invalid_argument!("`buffer_size` must be >= 0 (0 == no buffering)"))?;
    Ok((size > 0).then_some(size))
}

fn compression(inputs: &Inputs<'_, '_>, index: usize) -> Result<Compression> {
    Compression::parse(inputs.string(index, "compression_type")?)
        .ok_or_else(|| invalid_argument!("Unsupported compression_type."))
}

/// A buffer size that nobody chose.
const UNSPECIFIED: i64 = -1;

/// How the contents of a file are cut into elements.
#[derive(Clone, Debug)]
enum Format {
    Lines,
    /// Bytes of the header, a record and the footer.
    Fixed {
        header: u64,
        record: u64,
        footer: u64,
    },
    /// Where to begin in each file, if not at its start.
    Records {
        offsets: Arc<[u64]>,
    },
}

#[derive(Debug)]
struct TextLine;

impl MakeDataset for TextLine {
    fn new(_: &Attrs<'_>) -> Result<TextLine> {
        Ok(TextLine)
    }

    fn signature(_: &Attrs<'_>) -> Result<Signature> {
        Ok(one_string())
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        Ok(Arc::new(FileDataset {
            files: filenames(inputs)?,
            compression: compression(inputs, 1)?,
            buffer: buffer_size(inputs, 2)?,
            format: Format::Lines,
            signature,
        }))
    }
}

#[derive(Debug)]
struct FixedLength;

impl MakeDataset for FixedLength {
    fn new(_: &Attrs<'_>) -> Result<FixedLength> {
        Ok(FixedLength)
    }

    fn signature(_: &Attrs<'_>) -> Result<Signature> {
        Ok(one_string())
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let files = filenames(inputs)?;
        let size = |index, name: &str| {
            u64::try_from(inputs.scalar::<i64>(index, name)?)
                .map_err(|_| invalid_argument!("`{name}` must be >= 0"))
        };
        let header = size(1, "header_bytes")?;
        let record = inputs.scalar::<i64>(2, "record_bytes")?;
        let record = u64::try_from(record)
            .ok()
            .filter(|record| *record > 0)
            .ok_or_else(|| invalid_argument!("`record_bytes` must be > 0"))?;
        let footer = size(3, "footer_bytes")?;
        let buffer = buffer_size(inputs, 4)?;
        let compression =
            if inputs.len() > 5 { compression(inputs, 5)? } else { Compression::None };
        let format = Format::Fixed { header, record, footer };
        Ok(Arc::new(FileDataset { files, compression, buffer, format, signature }))
    }
}

#[derive(Debug)]
struct TfRecord;

impl MakeDataset for TfRecord {
    fn new(_: &Attrs<'_>) -> Result<TfRecord> {
        Ok(TfRecord)
    }

    fn signature(_: &Attrs<'_>) -> Result<Signature> {
        Ok(one_string())
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let files = filenames(inputs)?;
        // An unknown compression counts as none here, unlike elsewhere.
        let compression =
            Compression::parse(inputs.string(1, "compression_type")?).unwrap_or(Compression::None);
        let buffer = match inputs.scalar::<i64>(2, "buffer_size")? {
            UNSPECIFIED => None,
            size => buffer_bytes(size)?,
        };
        let offsets: Arc<[u64]> = if inputs.len() > 3 {
            inputs.tensor(3)?.to_i64_vec()?.into_iter().map(|at| at.max(0) as u64).collect()
        } else {
            Arc::default()
        };
        if !offsets.is_empty() && offsets.len() != files.len() {
            return Err(invalid_argument!("`byte_offsets` must be of same size as `filenames`"));
        }
        let format = Format::Records { offsets };
        Ok(Arc::new(FileDataset { files, compression, buffer, format, signature }))
    }
}

#[derive(Debug)]
struct FileDataset {
    files: Arc<[String]>,
    compression: Compression,
    buffer: Option<usize>,
    format: Format,
    signature: Signature,
}

impl Dataset for FileDataset {
    fn kind(&self) -> &str {
        match self.format {
            Format::Lines => "TextLine",
            Format::Fixed { .. } => "FixedLengthRecordV2",
            Format::Records { .. } => "TFRecord",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let contents = Contents {
            system: scope.files(),
            files: Arc::clone(&self.files),
            compression: self.compression,
            buffer: self.buffer,
            format: self.format.clone(),
            next_file: 0,
            open: None,
        };
        Ok(Box::new(FileElements::new(scope, contents)))
    }
}

struct Contents {
    system: Arc<dyn FileSystem>,
    files: Arc<[String]>,
    compression: Compression,
    buffer: Option<usize>,
    format: Format,
    next_file: usize,
    open: Option<Open>,
}

/// A file that is being read.
enum Open {
    Lines(Stream),
    /// How many records are left, if that is known.
    Fixed {
        stream: Stream,
        left: Option<u64>,
        ahead: Vec<u8>,
    },
    Records(RecordReader),
}

impl Source for Contents {
    fn read(&mut self) -> Result<Option<Element>> {
        loop {
            if self.open.is_none() {
                let Some(name) = self.files.get(self.next_file) else { return Ok(None) };
                let index = self.next_file;
                // A file that cannot be opened is passed over by whoever asks again: TensorFlow tries
                // it again for ever, in which `ignore_errors` hangs.
                self.next_file += 1;
                self.open = Some(self.open_file(name, index)?);
            }
            let Some(open) = &mut self.open else { return Ok(None) };
            let read = match open {
                Open::Lines(stream) => stream.line(),
                Open::Records(reader) => reader.read(),
                Open::Fixed { stream, left, ahead } => {
                    let name = self.files.get(self.next_file - 1).map_or("", String::as_str);
                    fixed(stream, left, ahead, &self.format, name)
                }
            };
            match read {
                Ok(Some(record)) => return Ok(Some(vec![Tensor::string(record)])),
                Ok(None) => self.open = None,
                Err(error) => {
                    self.open = None;
                    return Err(error);
                }
            }
        }
    }
}

impl Contents {
    fn open_file(&self, name: &str, index: usize) -> Result<Open> {
        let mut stream = Stream::open(&*self.system, name, self.compression, self.buffer)?;
        match &self.format {
            Format::Lines => Ok(Open::Lines(stream)),
            Format::Records { offsets } => {
                let mut reader = RecordReader::new(stream);
                if let Some(&offset) = offsets.get(index)
                    && !reader.seek(offset)?
                {
                    return Err(out_of_range!("{name} ends before byte {offset}"));
                }
                Ok(Open::Records(reader))
            }
            &Format::Fixed { header, record, footer } => {
                let left = match self.compression {
                    Compression::None => {
                        let len = self.system.open(name)?.len();
                        let body = len.wrapping_sub(header).wrapping_sub(footer);
                        if body % record != 0 || header.saturating_add(footer) > len {
                            return Err(invalid_argument!("{}", uneven(&self.format, name, body)));
                        }
                        Some(body / record)
                    }
                    // How long it is shows only at its end.
                    _ => None,
                };
                if stream.skip(header)? < header {
                    return Err(out_of_range!("{}", stream.end_text()));
                }
                Ok(Open::Fixed { stream, left, ahead: Vec::new() })
            }
        }
    }
}

fn uneven(format: &Format, name: &str, body: u64) -> String {
    let &Format::Fixed { header, record, footer } = format else { return String::new() };
    format!(
        "Excluding the header ({header} bytes) and footer ({footer} bytes), input file \"{name}\" \
         has body length {body} bytes, which is not an exact multiple of the record length \
         ({record} bytes)."
    )
}

/// The next record of a fixed length.
fn fixed(
    stream: &mut Stream,
    left: &mut Option<u64>,
    ahead: &mut Vec<u8>,
    format: &Format,
    name: &str,
) -> Result<Option<Vec<u8>>> {
    let &Format::Fixed { header, record, footer } = format else { return Ok(None) };
    if let Some(left) = left {
        if *left == 0 {
            return Ok(None);
        }
        *left -= 1;
        let mut bytes = Vec::new();
        if stream.read(record, &mut bytes)? < record {
            return Err(out_of_range!("{}", stream.end_text()));
        }
        return Ok(Some(bytes));
    }
    // A record is one only if the footer still follows it.
    let wanted = record.saturating_add(footer).saturating_sub(ahead.len() as u64);
    if stream.read(wanted, ahead)? < wanted {
        if ahead.len() as u64 != footer {
            let body = stream.position().wrapping_sub(header).wrapping_sub(footer);
            return Err(data_loss!("{}", uneven(format, name, body)));
        }
        return Ok(None);
    }
    let rest = ahead.split_off(record as usize);
    Ok(Some(std::mem::replace(ahead, rest)))
}
