//! Filling tables that are filled once, from tensors or from the lines of a file.

use bytes::Bytes;
use tensorfleet_files::FileSystem;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, out_of_range};

use super::access::table_of;
use super::table::{Cells, Kind, Table};
use crate::data_flow::named::{check_signature, input_words};
use crate::record::{Compression, Stream};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "InitializeTable",
        inputs: &["table_handle: Ref(string)", "keys: Tkey", "values: Tval"],
        attrs: &["Tkey: type", "Tval: type"],
        kernels: &[cpu::<Initialize>()],
        ..Op::DEFAULT
    },
    Op {
        name: "InitializeTableFromTextFile",
        inputs: &["table_handle: Ref(string)", "filename: string"],
        attrs: &[
            "key_index: int >= -2",
            "value_index: int >= -2",
            "vocab_size: int >= -1 = -1",
            "delimiter: string = '\t'",
            "offset: int = 0",
        ],
        kernels: &[cpu::<InitializeFromTextFile>()],
        ..Op::DEFAULT
    },
    Op {
        name: "InitializeTableFromTextFileV2",
        inputs: &["table_handle: resource", "filename: string"],
        attrs: &[
            "key_index: int >= -2",
            "value_index: int >= -2",
            "vocab_size: int >= -1 = -1",
            "delimiter: string = '\t'",
            "offset: int = 0",
        ],
        stateful: true,
        kernels: &[cpu::<InitializeFromTextFile>()],
        ..Op::DEFAULT
    },
    Op {
        name: "InitializeTableV2",
        inputs: &["table_handle: resource", "keys: Tkey", "values: Tval"],
        attrs: &["Tkey: type", "Tval: type"],
        stateful: true,
        kernels: &[cpu::<Initialize>()],
        ..Op::DEFAULT
    },
];

pub(super) fn check_initializable(table: &Table) -> Result<()> {
    if table.signature.kind != Kind::Immutable {
        return Err(invalid_argument!("Table {} is not initializable", table.name));
    }
    Ok(())
}

#[derive(Debug)]
struct Initialize {
    by_reference: bool,
}

impl Kernel for Initialize {
    fn new(attrs: &Attrs<'_>) -> Result<Initialize> {
        let by_reference = attrs.inputs().first().is_some_and(|input| input.is_ref);
        Ok(Initialize { by_reference })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        check_initializable(&table)?;
        let (keys, values) = (ctx.input(1)?, ctx.input(2)?);
        let words = |key, value| input_words(self.by_reference, &[key, value]);
        let signature = &table.signature;
        check_signature(
            (&words(keys.dtype(), values.dtype()), &[]),
            (&words(signature.key_dtype, signature.value_dtype), &[]),
        )?;
        for (tensor, what) in [(keys, "Keys"), (values, "Values")] {
            if tensor.rank() != 1 {
                return Err(invalid_argument!(
                    "{what} must be a vector, but received shape{}",
                    tensor.shape()
                ));
            }
        }
        if keys.num_elements() != values.num_elements() {
            return Err(invalid_argument!(
                "Keys and values must have the same size {} vs {}",
                keys.num_elements(),
                values.num_elements()
            ));
        }
        if keys.num_elements() == 0 {
            return Err(invalid_argument!("keys and values cannot be empty tensors."));
        }
        let (keys, values) =
            (Cells::new(keys, &Shape::SCALAR)?, Cells::new(values, &Shape::SCALAR)?);
        table.initialize(ctx.step().unit.as_deref(), keys, values)
    }
}

/// What a column of the table is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    WholeLine,
    LineNumber,
    Field(usize),
}

impl Source {
    fn new(index: i64) -> Result<Source> {
        match index {
            -2 => Ok(Source::WholeLine),
            -1 => Ok(Source::LineNumber),
            _ => usize::try_from(index)
                .map(Source::Field)
                .map_err(|_| invalid_argument!("Invalid column index {index}")),
        }
    }

    /// How many fields a line must have.
    fn fields(self) -> usize {
        match self {
            Source::Field(index) => index.saturating_add(1),
            _ => 0,
        }
    }

    fn check(self, what: &str, dtype: DType) -> Result<()> {
        if self == Source::LineNumber && dtype != DType::Int64 {
            return Err(invalid_argument!(
                "{what} index for line number requires table {} dtype of int64, got {dtype}",
                what.to_lowercase()
            ));
        }
        if self == Source::WholeLine && what == "Value" && dtype.is_floating() {
            return Err(invalid_argument!(
                "Value index for whole line requires table value dtype of integer or string, got \
                 {dtype}"
            ));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct InitializeFromTextFile {
    key: Source,
    value: Source,
    vocab_size: i64,
    delimiter: u8,
    offset: i64,
}

/// A column of the table as it is read.
enum Column {
    Strings(Vec<Bytes>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
}

impl Column {
    fn new(dtype: DType) -> Result<Column> {
        Ok(match dtype {
            DType::String => Column::Strings(Vec::new()),
            DType::Int32 => Column::Int32(Vec::new()),
            DType::Int64 => Column::Int64(Vec::new()),
            DType::Float => Column::Float(Vec::new()),
            DType::Double => Column::Double(Vec::new()),
            _ => return Err(invalid_argument!("Data type {dtype} not supported.")),
        })
    }

    fn push(&mut self, field: &[u8], line: i64) -> Result<()> {
        fn parse<T: std::str::FromStr>(field: &[u8], line: i64, name: &str) -> Result<T> {
            let text = String::from_utf8_lossy(field);
            text.trim().parse().map_err(|_| {
                invalid_argument!("Field {text} in line {line} is not a valid {name}.")
            })
        }
        match self {
            Column::Strings(values) => values.push(Bytes::copy_from_slice(field)),
            Column::Int32(values) => values.push(parse(field, line, "int32")?),
            Column::Int64(values) => values.push(parse(field, line, "int64")?),
            Column::Float(values) => values.push(parse(field, line, "float")?),
            Column::Double(values) => values.push(parse(field, line, "double")?),
        }
        Ok(())
    }

    fn into_tensor(self) -> Result<Tensor> {
        match self {
            Column::Strings(values) => Tensor::from_strings(Shape::vector(values.len()), values),
            Column::Int32(values) => Tensor::vector(&values),
            Column::Int64(values) => Tensor::vector(&values),
            Column::Float(values) => Tensor::vector(&values),
            Column::Double(values) => Tensor::vector(&values),
        }
    }
}

impl InitializeFromTextFile {
    fn read(&self, files: &dyn FileSystem, name: &str, table: &Table) -> Result<(Tensor, Tensor)> {
        let signature = &table.signature;
        self.key.check("Key", signature.key_dtype)?;
        self.value.check("Value", signature.value_dtype)?;
        let mut keys = Column::new(signature.key_dtype)?;
        let mut values = Column::new(signature.value_dtype)?;
        let mut file = Stream::open(files, name, Compression::None, None)?;
        let fields = self.key.fields().max(self.value.fields());
        let mut count = 0i64;
        if self.vocab_size == 0 {
            return Err(out_of_range!("Finished reading 0 of lines from {name}"));
        }
        while self.vocab_size < 0 || count < self.vocab_size {
            let Some(line) = file.line()? else { break };
            if line.is_empty() {
                return Err(invalid_argument!(
                    "Invalid content in {name}: empty line found at position {}.",
                    file.position()
                ));
            }
            let parts: Vec<&[u8]> = match fields {
                0 => Vec::new(),
                _ => line.split(|&byte| byte == self.delimiter).collect(),
            };
            if parts.len() < fields {
                return Err(invalid_argument!(
                    "Invalid number of columns in {name} line {count} ({}) : expected at least \
                     {fields} got {}",
                    String::from_utf8_lossy(&line),
                    parts.len()
                ));
            }
            for (source, column) in [(self.key, &mut keys), (self.value, &mut values)] {
                match source {
                    Source::WholeLine => column.push(&line, count)?,
                    Source::Field(index) => column.push(parts[index], count)?,
                    Source::LineNumber => {
                        let number = count.wrapping_add(self.offset).to_string();
                        column.push(number.as_bytes(), count)?;
                    }
                }
            }
            count += 1;
        }
        if self.vocab_size < 0 && count == 0 {
            return Err(out_of_range!("Read less bytes than requested"));
        }
        if self.vocab_size >= 0 && count != self.vocab_size {
            return Err(invalid_argument!(
                "Invalid vocab_size in {name}: expected {} but got {count}",
                self.vocab_size
            ));
        }
        Ok((keys.into_tensor()?, values.into_tensor()?))
    }
}

impl Kernel for InitializeFromTextFile {
    fn new(attrs: &Attrs<'_>) -> Result<InitializeFromTextFile> {
        let delimiter = attrs.bytes("delimiter")?;
        let [delimiter] = delimiter[..] else {
            return Err(invalid_argument!("delimiter should be only 1 char"));
        };
        Ok(InitializeFromTextFile {
            key: Source::new(attrs.int("key_index")?)?,
            value: Source::new(attrs.int("value_index")?)?,
            vocab_size: attrs.int("vocab_size")?,
            delimiter,
            offset: attrs.int("offset")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let table = table_of(ctx)?;
        check_initializable(&table)?;
        let name = ctx.input(1)?;
        let [name] = name.strings()? else {
            return Err(invalid_argument!(
                "filename should be a single string, but got {}",
                name.shape()
            ));
        };
        let (keys, values) =
            self.read(&*ctx.step().files(), &String::from_utf8_lossy(name), &table)?;
        let (keys, values) =
            (Cells::new(&keys, &Shape::SCALAR)?, Cells::new(&values, &Shape::SCALAR)?);
        table.initialize(ctx.step().unit.as_deref(), keys, values)
    }

    fn blocks(&self) -> bool {
        true
    }
}
