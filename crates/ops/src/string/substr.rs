//! `Substr`: parts of strings, counted in bytes or characters.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, unimplemented_error};

use super::is_trail;

pub(super) const OPS: &[Op] = &[Op {
    name: "Substr",
    inputs: &["input: string", "pos: T", "len: T"],
    outputs: &["output: string"],
    attrs: &["T: {int32, int64}", "unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'"],
    kernels: &[cpu::<Substr>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Substr {
    characters: bool,
}

impl Kernel for Substr {
    fn new(attrs: &Attrs<'_>) -> Result<Substr> {
        Ok(Substr { characters: attrs.string("unit")? == "UTF8_CHAR" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, pos, len) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        if pos.shape() != len.shape() {
            return Err(invalid_argument!(
                "pos and len should have the same shape, got: {} vs. {}",
                pos.shape(),
                len.shape()
            ));
        }
        let (texts, from, count) = (input.strings()?, pos.to_i64_vec()?, len.to_i64_vec()?);
        let same = input.shape() == pos.shape();
        if same || pos.rank() == 0 {
            let parts = texts.iter().enumerate().map(|(i, text)| {
                let given = if same { i } else { 0 };
                self.part(text, from[given], count[given], || i.to_string())
            });
            let parts = parts.collect::<Result<_>>()?;
            let output = Tensor::from_strings(input.shape().clone(), parts)?;
            ctx.set_output(0, output);
            return Ok(());
        }
        let shape = broadcast(input.shape(), pos.shape())?;
        let (rows, columns) = match *shape.dims() {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => {
                return Err(unimplemented_error!(
                    "Substr broadcast not implemented for {} dimensions",
                    shape.rank()
                ));
            }
        };
        let (text_at, pos_at) = (place(input.dims()), place(pos.dims()));
        let mut parts = Vec::new();
        for row in 0..rows {
            for column in 0..columns {
                let given = pos_at(row, column);
                let text = &texts[text_at(row, column)];
                parts.push(self.part(text, from[given], count[given], || match shape.rank() {
                    1 => column.to_string(),
                    _ => format!("({row}, {column})"),
                })?);
            }
        }
        let output = Tensor::from_strings(shape.clone(), parts)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Where the element for a row and a column of the result stands in a smaller tensor.
fn place(dims: &[usize]) -> impl Fn(usize, usize) -> usize + use<> {
    let (rows, columns) = match *dims {
        [] => (1, 1),
        [columns] => (1, columns),
        [rows, columns, ..] => (rows, columns),
    };
    move |row, column| {
        let row = if rows == 1 { 0 } else { row };
        let column = if columns == 1 { 0 } else { column };
        row * columns + column
    }
}

fn broadcast(a: &Shape, b: &Shape) -> Result<Shape> {
    let rank = a.rank().max(b.rank());
    let size = |shape: &Shape, axis: usize| {
        (axis + shape.rank()).checked_sub(rank).map_or(1, |axis| shape.dims()[axis])
    };
    let mut dims = Vec::with_capacity(rank);
    for axis in 0..rank {
        dims.push(match (size(a, axis), size(b, axis)) {
            (1, other) | (other, 1) => other,
            (one, other) if one == other => one,
            _ => return Err(invalid_argument!("Incompatible shapes: {a} vs. {b}")),
        });
    }
    Shape::new(&dims)
}

impl Substr {
    fn part(
        &self,
        text: &Bytes,
        pos: i64,
        len: i64,
        index: impl FnOnce() -> String,
    ) -> Result<Bytes> {
        if self.characters {
            let start = character(text, pos).ok_or_else(|| {
                invalid_argument!("pos {pos} out of range for string at index {}", index())
            })?;
            let end = start + forward(&text[start..], u64::try_from(len).unwrap_or(0)).0;
            return Ok(text.slice(start..end));
        }
        let size = text.len();
        let start = match usize::try_from(pos) {
            Ok(start) => Some(start).filter(|&start| start <= size),
            Err(_) => size.checked_sub(usize::try_from(pos.unsigned_abs()).unwrap_or(usize::MAX)),
        };
        let start = start.ok_or_else(|| {
            invalid_argument!(
                "pos {pos} out of range for string b'{}' at index {}",
                String::from_utf8_lossy(text),
                index()
            )
        })?;
        // A negative length means all the rest.
        let len = usize::try_from(len).unwrap_or(usize::MAX).min(size - start);
        Ok(text.slice(start..start + len))
    }
}

/// Where character number `pos` begins, from the end if it is negative.
fn character(text: &[u8], pos: i64) -> Option<usize> {
    let wanted = pos.unsigned_abs();
    if pos >= 0 {
        let (at, counted) = forward(text, wanted);
        return (counted == wanted).then_some(at);
    }
    let (mut at, mut counted) = (text.len(), 0);
    while at > 0 && counted < wanted {
        at -= 1;
        while at > 0 && is_trail(text[at]) {
            at -= 1;
        }
        counted += 1;
    }
    (counted == wanted).then_some(at)
}

/// Goes over at most `wanted` characters: how many bytes these are, and how many were there.
fn forward(text: &[u8], wanted: u64) -> (usize, u64) {
    let (mut at, mut counted) = (0, 0);
    while at < text.len() && counted < wanted {
        at += 1;
        while at < text.len() && is_trail(text[at]) {
            at += 1;
        }
        counted += 1;
    }
    (at, counted)
}
