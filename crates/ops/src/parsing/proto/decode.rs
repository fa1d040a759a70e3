//! `DecodeProtoV2`: fields out of messages.

use bytes::Bytes;
use prost_reflect::{Cardinality, DynamicMessage, MessageDescriptor, ReflectMessage, Value};
use tensorfleet_framework::{Attrs, Kernel, KernelContext};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, data_loss, invalid_argument, try_repeat,
};

use super::descriptor::{Field, find, is_in_file};
use super::kind::{Kind, Scalar, Wire};
use super::wire::encoded;
use crate::late::ReadsWhenMade;
use crate::parsing::fields::{Malformed, array, skip, varint};

#[derive(Debug)]
pub(super) struct Decode {
    message: MessageDescriptor,
    fields: Vec<(Field, DType)>,
    form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Binary,
    /// Binary, and parsed as a whole first.
    Checked,
    Text,
}

impl ReadsWhenMade for Decode {
    fn reads(attrs: &Attrs<'_>) -> Result<bool> {
        is_in_file(attrs)
    }
}

impl Kernel for Decode {
    fn new(attrs: &Attrs<'_>) -> Result<Decode> {
        let (message, fields) = find(attrs, true)?;
        let dtypes = attrs.dtypes("output_types")?;
        if fields.len() != dtypes.len() {
            return Err(invalid_argument!(
                "field_names and output_types attributes must have the same length"
            ));
        }
        let fields: Vec<_> = fields.into_iter().zip(dtypes.iter().copied()).collect();
        for (field, dtype) in &fields {
            if !field.kind.dtypes().contains(dtype) {
                return Err(invalid_argument!(
                    "Unexpected output type for {}: {} to DT_{}",
                    field.full_name,
                    field.kind.cpp_name(),
                    dtype.name().to_uppercase()
                ));
            }
        }
        let form = match attrs.string("message_format")?.as_ref() {
            "binary" if attrs.bool("sanitize")? => Form::Checked,
            "binary" => Form::Binary,
            "text" => Form::Text,
            _ => return Err(invalid_argument!("format must be one of binary or text")),
        };
        Ok(Decode { message, fields, form })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let messages = input.strings()?;
        if messages.is_empty() {
            return Err(invalid_argument!("Bufs argument must contain at least one value"));
        }
        let prefix = input.dims().to_vec();
        let mut columns: Vec<Column> = self.fields.iter().map(|_| Column::default()).collect();
        let mut sizes = Vec::with_capacity(messages.len() * self.fields.len());
        for message in messages {
            let binary = self.binary(message)?;
            self.collect(&binary, &mut columns)?;
            sizes.extend(columns.iter_mut().map(Column::end));
        }
        let outputs = self.fields.iter().zip(columns);
        let outputs = outputs
            .map(|((field, dtype), column)| column.into_tensor(field, *dtype, &prefix))
            .collect::<Result<Vec<_>>>()?;
        let shape = Shape::new(&[&prefix[..], &[self.fields.len()]].concat())?;
        ctx.set_output(0, Tensor::from_vec(shape, sizes)?);
        for (index, output) in outputs.into_iter().enumerate() {
            ctx.set_output(index + 1, output);
        }
        Ok(())
    }
}

impl Decode {
    /// The message as it is on the wire.
    fn binary(&self, message: &Bytes) -> Result<Bytes> {
        let parsed = match self.form {
            Form::Binary => return Ok(message.clone()),
            Form::Checked => DynamicMessage::decode(self.message.clone(), message.clone())
                .ok()
                .filter(is_complete)
                .ok_or_else(|| data_loss!("Unable to parse binary protobuf")),
            Form::Text => str::from_utf8(message)
                .ok()
                .and_then(|text| DynamicMessage::parse_text_format(self.message.clone(), text).ok())
                .filter(is_complete)
                .ok_or_else(|| data_loss!("Unable to parse text protobuf")),
        };
        Ok(encoded(&parsed?))
    }

    fn collect(&self, message: &Bytes, columns: &mut [Column]) -> Result<()> {
        let mut rest = &message[..];
        while !rest.is_empty() {
            let whole = rest;
            let (number, wire) = match varint(&mut rest) {
                // The end of a group that did not begin.
                Ok(tag) if tag & 7 != 4 && tag >> 3 != 0 && tag <= u64::from(u32::MAX) => {
                    ((tag >> 3) as u32, (tag & 7) as u8)
                }
                _ => return Err(data_loss!("CountFields: Failed to consume entire buffer")),
            };
            let wanted = self.fields.iter().position(|(field, _)| field.number == number);
            let Some(index) = wanted else {
                skip(&mut rest, number, wire)
                    .map_err(|_| data_loss!("Failed skipping unrequested field"))?;
                continue;
            };
            let (field, dtype) = &self.fields[index];
            let own = field.kind.wire();
            if wire == Wire::Bytes as u8 && own != Wire::Bytes {
                columns[index].take_packed(&mut rest, field, *dtype)?;
            } else if wire != own as u8 {
                skip(&mut rest, number, wire)
                    .map_err(|_| data_loss!("CollectField: Failed skipping malformed field"))?;
            } else {
                let value = value(&mut rest, whole, message, field, *dtype)
                    .map_err(|_| data_loss!("ReadValue: Failed skipping field when counting"))?;
                columns[index].take(value, field.repeated);
            }
        }
        Ok(())
    }
}

/// Whether a message and those inside of it have all fields that they need.
fn is_complete(message: &DynamicMessage) -> bool {
    let required =
        |field: &prost_reflect::FieldDescriptor| field.cardinality() == Cardinality::Required;
    message.descriptor().fields().filter(required).all(|field| message.has_field(&field))
        && message.fields().all(|(_, value)| is_whole(value))
        && message.extensions().all(|(_, value)| is_whole(value))
}

fn is_whole(value: &Value) -> bool {
    match value {
        Value::Message(message) => is_complete(message),
        Value::List(values) => values.iter().all(is_whole),
        Value::Map(values) => values.values().all(is_whole),
        _ => true,
    }
}

/// Takes one value; `whole` begins with its tag, which belongs to a group.
fn value(
    rest: &mut &[u8],
    whole: &[u8],
    message: &Bytes,
    field: &Field,
    dtype: DType,
) -> Result<Scalar, Malformed> {
    let bytes = match field.kind.wire() {
        Wire::Bytes => {
            // Only the lower half of a length counts.
            let len = varint(rest)? as u32 as usize;
            let (head, tail) = rest.split_at_checked(len).ok_or(Malformed)?;
            *rest = tail;
            head
        }
        Wire::Group => {
            skip(rest, field.number, Wire::Group as u8)?;
            &whole[..whole.len() - rest.len()]
        }
        Wire::Varint | Wire::Fixed64 | Wire::Fixed32 => {
            return Ok(Scalar::Bits(number(rest, field.kind, dtype)?));
        }
    };
    Ok(Scalar::Bytes(message.slice_ref(bytes)))
}

fn number(rest: &mut &[u8], kind: Kind, dtype: DType) -> Result<u64, Malformed> {
    let bits = match kind.wire() {
        Wire::Fixed64 => u64::from_le_bytes(array(rest)?),
        Wire::Fixed32 => u32::from_le_bytes(array(rest)?).into(),
        _ => varint(rest)?,
    };
    Ok(kind.read(bits, dtype))
}

/// The values of one field in all messages.
#[derive(Debug, Default)]
struct Column {
    values: Vec<Scalar>,
    /// Where those of each message end.
    ends: Vec<usize>,
    /// An optional field was written as if it were repeated: it is there, without a value.
    ghost: bool,
}

impl Column {
    fn start(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    fn take(&mut self, value: Scalar, repeated: bool) {
        if !repeated {
            self.values.truncate(self.start());
        }
        self.values.push(value);
    }

    fn take_packed(&mut self, rest: &mut &[u8], field: &Field, dtype: DType) -> Result<()> {
        let len = varint(rest).ok().filter(|&len| len <= i32::MAX as u64);
        let len =
            len.ok_or_else(|| data_loss!("CollectField: Failed reading packed size"))? as usize;
        if len == 0 {
            return Ok(());
        }
        let Some((mut packed, tail)) = rest.split_at_checked(len) else {
            return Err(data_loss!("ReadPackedValues: Skipping packed field failed"));
        };
        *rest = tail;
        let width = match field.kind.wire() {
            Wire::Group => return Err(data_loss!("TYPE_GROUP encountered as packed")),
            Wire::Fixed64 => 8,
            Wire::Fixed32 => 4,
            Wire::Varint | Wire::Bytes => 1,
        };
        if !len.is_multiple_of(width) {
            return Err(data_loss!("Illegal data length for packed fixed-size type: {len}"));
        }
        let corrupt = |_| -> Error { data_loss!("Corrupt packed varint") };
        let before = self.values.len();
        while !packed.is_empty() {
            let bits = number(&mut packed, field.kind, dtype).map_err(corrupt)?;
            self.values.push(Scalar::Bits(bits));
        }
        if !field.repeated {
            self.values.truncate(before);
            if before > self.start() {
                return Err(data_loss!(
                    "ReadPackedValues: Tried to write more entries than allowed.  Field tag: {}, \
                     Max entries allowed: 1",
                    field.number
                ));
            }
            self.ghost = true;
        }
        Ok(())
    }

    /// Ends a message; returns how many values it had.
    fn end(&mut self) -> i32 {
        let count = self.values.len() - self.start();
        let ghost = usize::from(std::mem::take(&mut self.ghost));
        self.ends.push(self.values.len());
        count.max(ghost) as i32
    }

    fn into_tensor(self, field: &Field, dtype: DType, prefix: &[usize]) -> Result<Tensor> {
        let mut start = 0;
        let rows: Vec<&[Scalar]> = self
            .ends
            .iter()
            .map(|&end| &self.values[std::mem::replace(&mut start, end)..end])
            .collect();
        let width = rows.iter().map(|row| row.len()).max().unwrap_or(0).max(1);
        let shape = Shape::new(&[prefix, &[width]].concat())?;
        if dtype == DType::String {
            let default = text(&field.default);
            let mut texts = try_repeat(default, shape.num_elements())?;
            for (out, row) in texts.chunks_mut(width).zip(&rows) {
                out.iter_mut().zip(*row).for_each(|(out, value)| *out = text(value));
            }
            return Tensor::from_strings(shape, texts);
        }
        let default = field.kind.read(bits(&field.default), dtype);
        let size = dtype.size();
        Tensor::build_raw(dtype, shape, |out| {
            for (out, row) in out.chunks_mut(width * size).zip(&rows) {
                let values = row.iter().map(bits).chain(std::iter::repeat(default));
                for (out, value) in out.chunks_mut(size).zip(values) {
                    out.copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
            Ok(())
        })
    }
}

fn bits(value: &Scalar) -> u64 {
    match value {
        Scalar::Bits(bits) => *bits,
        Scalar::Bytes(_) => 0,
    }
}

fn text(value: &Scalar) -> Bytes {
    match value {
        Scalar::Bytes(bytes) => bytes.clone(),
        Scalar::Bits(_) => Bytes::new(),
    }
}
