//! `EncodeProto`: messages out of fields.

use tensorfleet_framework::{Attrs, Kernel, KernelContext};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::descriptor::{Field, find, is_in_file};
use super::kind::{Kind, Wire};
use crate::late::ReadsWhenMade;
use crate::parsing::fields::put_varint;

#[derive(Debug)]
pub(super) struct Encode {
    fields: Vec<Field>,
    /// The fields in the order of their numbers, in which they are written.
    order: Vec<usize>,
}

impl ReadsWhenMade for Encode {
    fn reads(attrs: &Attrs<'_>) -> Result<bool> {
        is_in_file(attrs)
    }
}

impl Kernel for Encode {
    fn new(attrs: &Attrs<'_>) -> Result<Encode> {
        let (_, fields) = find(attrs, false)?;
        let mut order: Vec<usize> = (0..fields.len()).collect();
        order.sort_by_key(|&index| fields[index].number);
        Ok(Encode { fields, order })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let sizes = ctx.input(0)?;
        let values = ctx.input_list(1..ctx.num_inputs())?;
        let prefix = self.check(sizes, &values)?;
        let sizes = sizes.values::<i32>()?;
        let count = prefix.num_elements();
        let mut messages = vec![Vec::new(); count];
        for &index in &self.order {
            let (field, value) = (&self.fields[index], values[index]);
            let width = value.dims().last().copied().unwrap_or(0);
            for (row, message) in messages.iter_mut().enumerate() {
                // A number below zero asks for nothing.
                let size = usize::try_from(sizes[row * self.fields.len() + index]).unwrap_or(0);
                write(message, field, value, row * width..row * width + size)?;
            }
        }
        let messages = messages.into_iter().map(Into::into).collect();
        ctx.set_output(0, Tensor::from_strings(prefix, messages)?);
        Ok(())
    }
}

impl Encode {
    /// Checks that types and shapes fit; returns the shape of the messages.
    fn check(&self, sizes: &Tensor, values: &[&Tensor]) -> Result<Shape> {
        if self.fields.len() != values.len() {
            return Err(invalid_argument!("Length of inputs list must match field_names"));
        }
        let mut prefix: Option<&[usize]> = None;
        for (field, value) in self.fields.iter().zip(values) {
            if !field.kind.dtypes().contains(&value.dtype()) {
                return Err(invalid_argument!(
                    "Incompatible type for field {}.  Saw dtype: {} but field type is: {}",
                    field.name,
                    value.dtype(),
                    field.kind.name()
                ));
            }
            let dims = match value.dims() {
                [dims @ .., _] if !dims.is_empty() => dims,
                _ => {
                    return Err(invalid_argument!(
                        "Invalid shape for field {}.  Saw shape {} but it should be at least a matrix.",
                        field.name,
                        value.shape()
                    ));
                }
            };
            if *prefix.get_or_insert(dims) != dims {
                return Err(invalid_argument!("Values must match up to the last dimension"));
            }
        }
        let prefix = prefix.unwrap_or_default();
        let expected = Shape::new(&[prefix, &[self.fields.len()]].concat())?;
        if *sizes.shape() != expected {
            return Err(invalid_argument!(
                "sizes should be batch_size + [len(field_names)].  Saw: {} but expected: {expected}",
                sizes.shape()
            ));
        }
        let sizes = sizes.values::<i32>()?;
        for (index, value) in values.iter().enumerate() {
            let most = value.dims().last().copied().unwrap_or(0);
            for (row, sizes) in sizes.chunks(self.fields.len()).enumerate() {
                if i64::from(sizes[index]) > most as i64 {
                    return Err(invalid_argument!(
                        "Size to write must not be larger than value tensor; but saw: {} > {most} at message \
                         {row} field {index}",
                        sizes[index]
                    ));
                }
            }
        }
        Shape::new(prefix)
    }
}

fn tag(out: &mut Vec<u8>, number: u32, wire: u8) {
    put_varint(out, u64::from(number) << 3 | u64::from(wire));
}

/// Appends some values of a field.
fn write(
    out: &mut Vec<u8>,
    field: &Field,
    values: &Tensor,
    range: std::ops::Range<usize>,
) -> Result<()> {
    if range.is_empty() {
        return Ok(());
    }
    let (number, wire) = (field.number, field.kind.wire());
    match wire {
        Wire::Bytes | Wire::Group => {
            for text in &values.strings()?[range] {
                tag(out, number, wire as u8);
                if wire == Wire::Bytes {
                    put_varint(out, text.len() as u64);
                }
                out.extend_from_slice(text);
                if wire == Wire::Group {
                    tag(out, number, END_GROUP);
                }
            }
        }
        Wire::Varint | Wire::Fixed64 | Wire::Fixed32 => {
            let (dtype, size) = (values.dtype(), values.dtype().size());
            let raw = &values.raw()[range.start * size..range.end * size];
            let bits = raw.chunks(size).map(|element| {
                let mut word = [0; 8];
                word[..size].copy_from_slice(element);
                field.kind.write(u64::from_le_bytes(word), dtype)
            });
            if field.packed {
                let mut packed = Vec::new();
                bits.for_each(|bits| put(&mut packed, field.kind, bits));
                tag(out, number, Wire::Bytes as u8);
                put_varint(out, packed.len() as u64);
                out.extend_from_slice(&packed);
            } else {
                for bits in bits {
                    tag(out, number, wire as u8);
                    put(out, field.kind, bits);
                }
            }
        }
    }
    Ok(())
}

/// The wire type that ends a group.
const END_GROUP: u8 = 4;

fn put(out: &mut Vec<u8>, kind: Kind, bits: u64) {
    match kind.wire() {
        Wire::Fixed64 => out.extend_from_slice(&bits.to_le_bytes()),
        Wire::Fixed32 => out.extend_from_slice(&(bits as u32).to_le_bytes()),
        _ => put_varint(out, bits),
    }
}
