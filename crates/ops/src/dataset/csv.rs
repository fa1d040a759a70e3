//! `CSVDataset`: the records of files with comma-separated values.

use std::sync::Arc;

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Op};
use tensorfleet_tensor::{DType, Error, Result, Tensor, invalid_argument};

use super::aside::{FileElements, Source};
use super::dataset::{
    Dataset, DatasetRef, Element, Elements, Inputs, MakeDataset, Signature, dataset,
};
use super::scope::Scope;
use crate::record::{Compression, Stream};
use crate::string::number::{float, integer};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CSVDataset",
        inputs: &[
            "filenames: string",
            "compression_type: string",
            "buffer_size: int64",
            "header: bool",
            "field_delim: string",
            "use_quote_delim: bool",
            "na_value: string",
            "select_cols: int64",
            "record_defaults: output_types",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list({float, double, int32, int64, string}) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<Csv>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CSVDatasetV2",
        inputs: &[
            "filenames: string",
            "compression_type: string",
            "buffer_size: int64",
            "header: bool",
            "field_delim: string",
            "use_quote_delim: bool",
            "na_value: string",
            "select_cols: int64",
            "record_defaults: output_types",
            "exclude_cols: int64",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list({float, double, int32, int64, string}) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<Csv>()],
        ..Op::DEFAULT
    },
    Op {
        name: "ExperimentalCSVDataset",
        inputs: &[
            "filenames: string",
            "compression_type: string",
            "buffer_size: int64",
            "header: bool",
            "field_delim: string",
            "use_quote_delim: bool",
            "na_value: string",
            "select_cols: int64",
            "record_defaults: output_types",
        ],
        outputs: &["handle: variant"],
        attrs: &[
            "output_types: list({float, double, int32, int64, string}) >= 1",
            "output_shapes: list(shape) >= 1",
        ],
        stateful: true,
        kernels: &[dataset::<Csv>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Csv;

impl MakeDataset for Csv {
    fn new(_: &Attrs<'_>) -> Result<Csv> {
        Ok(Csv)
    }

    fn make(&self, inputs: &Inputs<'_, '_>, signature: Signature) -> Result<DatasetRef> {
        let files = inputs.tensor(0)?;
        if files.rank() > 1 {
            return Err(invalid_argument!("`filenames` must be a scalar or a vector."));
        }
        let files = files.strings()?.iter();
        let compression = inputs.string(1, "compression_type")?;
        let compression = Compression::parse(compression).ok_or_else(|| {
            invalid_argument!(
                "Unsupported compression_type: {}.",
                String::from_utf8_lossy(compression)
            )
        })?;
        let buffer = usize::try_from(inputs.scalar::<i64>(2, "buffer_size")?)
            .map_err(|_| invalid_argument!("buffer_size should be positive"))?;
        let &[delimiter] = inputs.string(4, "field_delim")? else {
            return Err(invalid_argument!("field_delim should be only 1 char"));
        };
        let columns = signature.types.len();
        let mut defaults = Vec::with_capacity(columns);
        for (field, default) in inputs.range(8..8 + columns)?.into_iter().enumerate() {
            if default.num_elements() > 1 {
                return Err(invalid_argument!(
                    "There should only be 1 default per field but field {field} has {}",
                    default.num_elements()
                ));
            }
            defaults.push(default);
        }
        let selected = indices(inputs.tensor(7)?, "select_cols")?;
        if !selected.is_empty() && selected.len() != columns {
            return Err(invalid_argument!("select_cols should match output size"));
        }
        let excluded = match inputs.len() - columns {
            9 => indices(inputs.tensor(8 + columns)?, "exclude_cols")?,
            _ => Vec::new(),
        };
        Ok(Arc::new(CsvDataset {
            format: Arc::new(Format {
                files: files.map(|name| String::from_utf8_lossy(name).into_owned()).collect(),
                compression,
                buffer: (buffer > 0).then_some(buffer),
                has_header: inputs.scalar(3, "header")?,
                delimiter,
                quotes: inputs.scalar(5, "use_quote_delim")?,
                missing: Bytes::copy_from_slice(inputs.string(6, "na_value")?),
                selected,
                excluded,
                defaults,
            }),
            signature,
        }))
    }
}

/// Numbers of columns, which must grow.
fn indices(tensor: &Tensor, name: &str) -> Result<Vec<usize>> {
    let mut indices: Vec<usize> = Vec::new();
    for index in tensor.to_i64_vec()? {
        let index = usize::try_from(index)
            .map_err(|_| invalid_argument!("{name} should be non-negative indices"))?;
        if indices.last().is_some_and(|last| *last >= index) {
            return Err(invalid_argument!("{name} should be strictly increasing indices"));
        }
        indices.push(index);
    }
    Ok(indices)
}

#[derive(Debug)]
struct Format {
    files: Vec<String>,
    compression: Compression,
    buffer: Option<usize>,
    has_header: bool,
    delimiter: u8,
    quotes: bool,
    /// Means that there is no value, as an empty field does.
    missing: Bytes,
    /// The columns that are wanted; all if there are none.
    selected: Vec<usize>,
    excluded: Vec<usize>,
    /// A value for each column, or none if the column must have one.
    defaults: Vec<Tensor>,
}

#[derive(Debug)]
struct CsvDataset {
    format: Arc<Format>,
    signature: Signature,
}

impl Dataset for CsvDataset {
    fn kind(&self) -> &str {
        "CSV"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn iterate(&self, scope: &Scope) -> Result<Box<dyn Elements>> {
        let format = Arc::clone(&self.format);
        let records = Records { files: scope.files(), format, next_file: 0, open: None };
        Ok(Box::new(FileElements::new(scope, records)))
    }
}

struct Records {
    files: Arc<dyn FileSystem>,
    format: Arc<Format>,
    next_file: usize,
    open: Option<Stream>,
}

/// What ended a field.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Field,
    Record,
    File,
}

impl Source for Records {
    fn read(&mut self) -> Result<Option<Element>> {
        let format = Arc::clone(&self.format);
        loop {
            let stream = match &mut self.open {
                Some(stream) => stream,
                None => {
                    let Some(name) = format.files.get(self.next_file) else { return Ok(None) };
                    self.next_file += 1;
                    let mut stream =
                        Stream::open(&*self.files, name, format.compression, format.buffer)?;
                    if format.has_header {
                        format.skip_record(&mut stream)?;
                    }
                    self.open.insert(stream)
                }
            };
            if stream.peek()?.is_some() {
                return format.record(stream).map(Some);
            }
            self.open = None;
        }
    }
}

impl Format {
    fn skip_record(&self, stream: &mut Stream) -> Result<()> {
        let mut field = Vec::new();
        while stream.peek()?.is_some() {
            field.clear();
            if self.field(stream, &mut field)?.0 != End::Field {
                break;
            }
        }
        Ok(())
    }

    /// Whether a column is wanted, when `found` of those wanted were there before it.
    fn wants(&self, column: usize, found: usize) -> bool {
        if self.selected.is_empty() {
            self.excluded.binary_search(&column).is_err()
        } else {
            self.selected.get(found) == Some(&column)
        }
    }

    /// Reads a record to its end, also when a field of it is wrong.
    fn record(&self, stream: &mut Stream) -> Result<Element> {
        let mut values = Vec::with_capacity(self.defaults.len());
        let mut failure = None;
        let mut too_many = false;
        let mut text = Vec::new();
        let mut column = 0;
        loop {
            text.clear();
            let (end, wrong) = self.field(stream, &mut text)?;
            if self.wants(column, values.len()) {
                let value = match (wrong, self.defaults.get(values.len())) {
                    (Some(error), _) => Err(error),
                    (None, Some(default)) => self.value(&text, default, values.len()),
                    (None, None) => {
                        too_many = true;
                        Ok(Tensor::scalar(false))
                    }
                };
                match value {
                    _ if failure.is_some() || too_many => {}
                    Ok(value) => values.push(value),
                    Err(error) => failure = Some(error),
                }
            }
            if end != End::Field {
                break;
            }
            column += 1;
        }
        let wanted = self.defaults.len();
        match failure {
            Some(error) => Err(error),
            None if too_many => {
                Err(invalid_argument!("Expect {wanted} fields but have more in record"))
            }
            None if values.len() < wanted => {
                Err(invalid_argument!("Expect {wanted} fields but have {} in record", values.len()))
            }
            None => Ok(values),
        }
    }

    /// Reads a field and what ends it. A field may be wrong and still have an end.
    fn field(&self, stream: &mut Stream, text: &mut Vec<u8>) -> Result<(End, Option<Error>)> {
        if self.quotes && stream.peek()? == Some(b'"') {
            stream.advance();
            return self.quoted(stream, text);
        }
        let mut wrong = None;
        loop {
            if let Some(end) = self.end(stream)? {
                return Ok((end, wrong));
            }
            let Some(byte) = stream.peek()? else { return Ok((End::File, wrong)) };
            stream.advance();
            if self.quotes && byte == b'"' {
                wrong = Some(invalid_argument!("Unquoted fields cannot have quotes inside"));
            }
            text.push(byte);
        }
    }

    /// The rest of a field in quotes, in which two quotes stand for one.
    fn quoted(&self, stream: &mut Stream, text: &mut Vec<u8>) -> Result<(End, Option<Error>)> {
        let mut wrong = None;
        loop {
            let Some(byte) = stream.peek()? else {
                let error =
                    invalid_argument!("Reached end of file without closing quoted field in record");
                return Ok((End::File, Some(error)));
            };
            stream.advance();
            if byte != b'"' {
                text.push(byte);
                continue;
            }
            if let Some(end) = self.end(stream)? {
                return Ok((end, wrong));
            }
            if stream.peek()? == Some(b'"') {
                stream.advance();
                text.push(b'"');
            } else {
                wrong = Some(invalid_argument!(
                    "Quote inside a string has to be escaped by another quote"
                ));
            }
        }
    }

    /// Goes past the end of a field, if it is here.
    fn end(&self, stream: &mut Stream) -> Result<Option<End>> {
        let end = match stream.peek()? {
            None => return Ok(Some(End::File)),
            Some(byte) if byte == self.delimiter => End::Field,
            Some(b'\n') => End::Record,
            Some(b'\r') => {
                stream.advance();
                if stream.peek()? == Some(b'\n') {
                    stream.advance();
                }
                return Ok(Some(End::Record));
            }
            Some(_) => return Ok(None),
        };
        stream.advance();
        Ok(Some(end))
    }

    fn value(&self, text: &[u8], default: &Tensor, field: usize) -> Result<Tensor> {
        if text.is_empty() || *text == self.missing[..] {
            if default.num_elements() == 0 {
                return Err(invalid_argument!("Field {field} is required but missing in record!"));
            }
            return default.reshape(tensorfleet_tensor::Shape::SCALAR);
        }
        let value = match default.dtype() {
            DType::String => Some(Tensor::string(text.to_vec())),
            DType::Float => float::<f32>(text).map(Tensor::scalar),
            DType::Double => float::<f64>(text).map(Tensor::scalar),
            DType::Int32 => integer::<i32>(text).map(Tensor::scalar),
            DType::Int64 => integer::<i64>(text).map(Tensor::scalar),
            other => {
                return Err(invalid_argument!(
                    "csv: data type {other} not supported in field {field}"
                ));
            }
        };
        value.ok_or_else(|| {
            invalid_argument!(
                "Field {field} in record is not a valid {}: {}",
                default.dtype(),
                String::from_utf8_lossy(text)
            )
        })
    }
}
