//! `DecodeCSV`: lines of text as columns.

use std::borrow::Cow;

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{Element, Error, Result, Shape, Tensor, invalid_argument};

use crate::string::number::{float, integer};

pub(super) const OPS: &[Op] = &[Op {
    name: "DecodeCSV",
    inputs: &["records: string", "record_defaults: OUT_TYPE"],
    outputs: &["output: OUT_TYPE"],
    attrs: &[
        "OUT_TYPE: list({float, double, int32, int64, string}) >= 1",
        "field_delim: string = ','",
        "use_quote_delim: bool = true",
        "na_value: string = ''",
        "select_cols: list(int) = []",
    ],
    kernels: &[cpu::<DecodeCsv>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct DecodeCsv {
    delimiter: u8,
    quotes: bool,
    /// Means that there is no value, as an empty field does.
    missing: Bytes,
    /// The fields that are wanted, in order; all if there are none.
    selected: Vec<usize>,
}

impl Kernel for DecodeCsv {
    fn new(attrs: &Attrs<'_>) -> Result<DecodeCsv> {
        let &[delimiter] = &attrs.bytes("field_delim")?[..] else {
            return Err(invalid_argument!("field_delim should be only 1 char"));
        };
        let mut selected = Vec::new();
        for &column in attrs.ints("select_cols")? {
            let column = usize::try_from(column)
                .map_err(|_| invalid_argument!("select_cols should be non-negative indices"))?;
            if selected.last().is_some_and(|last| *last >= column) {
                return Err(invalid_argument!("select_cols should be strictly increasing indices"));
            }
            selected.push(column);
        }
        if !selected.is_empty() && selected.len() != attrs.dtypes("OUT_TYPE")?.len() {
            return Err(invalid_argument!("select_cols should match output size"));
        }
        Ok(DecodeCsv {
            delimiter,
            quotes: attrs.bool("use_quote_delim")?,
            missing: attrs.bytes("na_value")?.clone(),
            selected,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let records = ctx.input(0)?;
        let shape = records.shape().clone();
        let mut columns = Vec::with_capacity(ctx.num_outputs());
        for (field, default) in ctx.input_list(1..ctx.num_inputs())?.into_iter().enumerate() {
            if default.rank() > 1 {
                return Err(invalid_argument!("Each record default should be at most rank 1"));
            }
            if default.num_elements() > 1 {
                return Err(invalid_argument!(
                    "There should only be 1 default per field but field {field} has {}",
                    default.num_elements()
                ));
            }
            columns.push(Column::new(field, default, shape.num_elements())?);
        }
        let mut fields = Vec::new();
        for (row, record) in records.strings()?.iter().enumerate() {
            fields.clear();
            self.split(record, &mut fields)?;
            if fields.len() != columns.len() {
                return Err(invalid_argument!(
                    "Expect {} fields but have {} in record {row}",
                    columns.len(),
                    fields.len()
                ));
            }
            for (column, field) in columns.iter_mut().zip(&fields) {
                let is_missing = field.is_empty() || **field == self.missing[..];
                column.push(row, record, (!is_missing).then_some(field))?;
            }
        }
        for (index, column) in columns.into_iter().enumerate() {
            ctx.set_output(index, column.values.into_tensor(shape.clone())?);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs.first() {
            Some(Value::Tensor(records)) => records.byte_len() as u64 * 4,
            _ => 0,
        }
    }
}

impl DecodeCsv {
    /// Cuts a record into its fields, of which it keeps those that are wanted.
    fn split<'a>(&self, record: &'a [u8], fields: &mut Vec<Cow<'a, [u8]>>) -> Result<()> {
        let mut wanted = self.selected.iter().peekable();
        let mut number = 0;
        let mut keep = |field: Cow<'a, [u8]>| {
            if self.selected.is_empty() || wanted.next_if(|next| **next == number).is_some() {
                fields.push(field);
            }
            number += 1;
        };
        let mut rest = record;
        while let [first, ..] = rest {
            match first {
                b'\n' | b'\r' => rest = &rest[1..],
                b'"' if self.quotes => {
                    let (field, tail) = self.quoted(rest)?;
                    keep(Cow::Owned(field));
                    rest = tail;
                }
                _ => {
                    let end = rest.iter().position(|byte| *byte == self.delimiter);
                    let end = end.unwrap_or(rest.len());
                    let field = &rest[..end];
                    if field
                        .iter()
                        .any(|byte| matches!(byte, b'\n' | b'\r') || (self.quotes && *byte == b'"'))
                    {
                        return Err(invalid_argument!(
                            "Unquoted fields cannot have quotes/CRLFs inside"
                        ));
                    }
                    keep(Cow::Borrowed(field));
                    rest = rest.get(end + 1..).unwrap_or(&[]);
                }
            }
        }
        if record.last() == Some(&self.delimiter) {
            keep(Cow::Borrowed(&[]));
        }
        Ok(())
    }

    /// A field in quotes, in which two quotes stand for one, and what follows its delimiter.
    fn quoted<'a>(&self, text: &'a [u8]) -> Result<(Vec<u8>, &'a [u8])> {
        let mut field = Vec::new();
        let mut at = 1;
        loop {
            match (text.get(at), text.get(at + 1)) {
                (Some(b'"'), None) => return Ok((field, &[])),
                (Some(b'"'), Some(next)) if *next == self.delimiter => {
                    return Ok((field, &text[at + 2..]));
                }
                (Some(b'"'), Some(b'"')) => {
                    field.push(b'"');
                    at += 2;
                }
                (Some(b'"'), Some(_)) => {
                    return Err(invalid_argument!(
                        "Quote inside a string has to be escaped by another quote"
                    ));
                }
                (Some(byte), Some(_)) => {
                    field.push(*byte);
                    at += 1;
                }
                _ => {
                    return Err(invalid_argument!(
                        "Quoted field has to end with quote followed by delim or end"
                    ));
                }
            }
        }
    }
}

/// One field of all records.
struct Column {
    field: usize,
    default: Option<Tensor>,
    values: Values,
}

enum Values {
    Float(Vec<f32>),
    Double(Vec<f64>),
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Strings(Vec<Bytes>),
}

impl Column {
    fn new(field: usize, default: &Tensor, rows: usize) -> Result<Column> {
        use tensorfleet_tensor::DType;
        let values = match default.dtype() {
            DType::Float => Values::Float(Vec::with_capacity(rows)),
            DType::Double => Values::Double(Vec::with_capacity(rows)),
            DType::Int32 => Values::Int32(Vec::with_capacity(rows)),
            DType::Int64 => Values::Int64(Vec::with_capacity(rows)),
            DType::String => Values::Strings(Vec::with_capacity(rows)),
            other => {
                return Err(invalid_argument!(
                    "csv: data type {other} not supported in field {field}"
                ));
            }
        };
        let given = default.num_elements() == 1;
        Ok(Column { field, default: given.then(|| default.clone()), values })
    }

    fn push(&mut self, row: usize, record: &Bytes, field: Option<&Cow<'_, [u8]>>) -> Result<()> {
        let number = self.field;
        let default = |default: Option<&Tensor>| {
            default.cloned().ok_or_else(|| {
                invalid_argument!("Field {number} is required but missing in record {row}!")
            })
        };
        let wrong = |what: &str, text: &[u8]| -> Error {
            invalid_argument!(
                "Field {number} in record {row} is not a valid {what}: {}",
                String::from_utf8_lossy(text)
            )
        };
        macro_rules! number {
            ($values:expr, $read:expr, $name:literal) => {
                $values.push(match field {
                    Some(text) => $read(text).ok_or_else(|| wrong($name, text))?,
                    None => default(self.default.as_ref())?.scalar_value()?,
                })
            };
        }
        match &mut self.values {
            Values::Float(values) => number!(values, float, "float"),
            Values::Double(values) => number!(values, float, "double"),
            Values::Int32(values) => number!(values, integer, "int32"),
            Values::Int64(values) => number!(values, integer, "int64"),
            Values::Strings(values) => values.push(match field {
                Some(Cow::Borrowed(text)) => record.slice_ref(text),
                Some(Cow::Owned(text)) => Bytes::copy_from_slice(text),
                None => match default(self.default.as_ref())?.strings()? {
                    [text] => text.clone(),
                    _ => Bytes::new(),
                },
            }),
        }
        Ok(())
    }
}

impl Values {
    fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        fn plain<T: Element>(shape: Shape, values: &[T]) -> Result<Tensor> {
            Tensor::from_slice(shape, values)
        }
        match self {
            Values::Float(values) => plain(shape, &values),
            Values::Double(values) => plain(shape, &values),
            Values::Int32(values) => plain(shape, &values),
            Values::Int64(values) => plain(shape, &values),
            Values::Strings(values) => Tensor::from_strings(shape, values),
        }
    }
}
