//! `StringSplit` and `StringSplitV2`: strings cut into the values of a sparse matrix.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "StringSplit",
        inputs: &["input: string", "delimiter: string"],
        outputs: &["indices: int64", "values: string", "shape: int64"],
        attrs: &["skip_empty: bool = true"],
        kernels: &[cpu::<StringSplit>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StringSplitV2",
        inputs: &["input: string", "sep: string"],
        outputs: &["indices: int64", "values: string", "shape: int64"],
        attrs: &["maxsplit: int = -1"],
        kernels: &[cpu::<StringSplitV2>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct StringSplit {
    skip_empty: bool,
}

impl Kernel for StringSplit {
    fn new(attrs: &Attrs<'_>) -> Result<StringSplit> {
        Ok(StringSplit { skip_empty: attrs.bool("skip_empty")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let delimiters = separator(ctx.input(1)?, "delimiter")?;
        split_rows(ctx, |text, parts| {
            if text.is_empty() {
                return;
            }
            if delimiters.is_empty() {
                parts.extend(text.chunks(1).map(|byte| text.slice_ref(byte)));
                return;
            }
            let pieces = text.split(|byte| delimiters.contains(byte));
            let wanted = pieces.filter(|piece| !self.skip_empty || !piece.is_empty());
            parts.extend(wanted.map(|piece| text.slice_ref(piece)));
        })
    }
}

#[derive(Debug)]
struct StringSplitV2 {
    /// How often a string is cut at most.
    limit: Option<usize>,
}

impl Kernel for StringSplitV2 {
    fn new(attrs: &Attrs<'_>) -> Result<StringSplitV2> {
        Ok(StringSplitV2 { limit: usize::try_from(attrs.int("maxsplit")?).ok() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let separator = separator(ctx.input(1)?, "sep")?;
        split_rows(ctx, |text, parts| {
            if self.limit == Some(0) {
                parts.push(text.clone());
            } else if separator.is_empty() {
                at_white_space(text, self.limit, parts);
            } else {
                at_separator(text, &separator, self.limit, parts);
            }
        })
    }
}

fn separator(tensor: &Tensor, what: &str) -> Result<Bytes> {
    match tensor.strings()? {
        [separator] if tensor.rank() == 0 => Ok(separator.clone()),
        _ => Err(invalid_argument!("{what} must be a scalar, got shape: {}", tensor.shape())),
    }
}

/// Cuts every string of a vector; the parts become the rows of a sparse matrix.
fn split_rows(
    ctx: &mut KernelContext<'_>,
    mut split: impl FnMut(&Bytes, &mut Vec<Bytes>),
) -> Result<()> {
    let input = ctx.input(0)?;
    if input.rank() != 1 {
        return Err(invalid_argument!("input must be a vector, got shape: {}", input.shape()));
    }
    let texts = input.strings()?;
    let mut parts = Vec::with_capacity(texts.len());
    let mut ends = Vec::with_capacity(texts.len());
    for text in texts {
        split(text, &mut parts);
        ends.push(parts.len());
    }
    let (mut start, mut most) = (0, 0);
    let indices = Tensor::build(Shape::matrix(parts.len(), 2), |out: &mut [i64]| {
        let mut rows = out.chunks_exact_mut(2);
        for (row, &end) in ends.iter().enumerate() {
            for (column, index) in rows.by_ref().take(end - start).enumerate() {
                index.copy_from_slice(&[row as i64, column as i64]);
            }
            most = most.max(end - start);
            start = end;
        }
    })?;
    let shape = Tensor::vector(&[texts.len() as i64, most as i64])?;
    ctx.set_output(0, indices);
    ctx.set_output(1, Tensor::from_strings(Shape::vector(parts.len()), parts)?);
    ctx.set_output(2, shape);
    Ok(())
}

fn is_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Once a string was cut as often as allowed, what is left is a part too, even if that is nothing.
fn at_white_space(text: &Bytes, limit: Option<usize>, parts: &mut Vec<Bytes>) {
    let skip = |rest| <[u8]>::iter(rest).position(|byte| !is_space(byte)).unwrap_or(rest.len());
    let mut rest: &[u8] = text;
    rest = &rest[skip(rest)..];
    let mut cuts = 0;
    while !rest.is_empty() && limit != Some(cuts) {
        let end = rest.iter().position(is_space).unwrap_or(rest.len());
        parts.push(text.slice_ref(&rest[..end]));
        rest = &rest[end..];
        rest = &rest[skip(rest)..];
        cuts += 1;
    }
    if limit == Some(cuts) {
        parts.push(text.slice_ref(rest));
    }
}

fn at_separator(text: &Bytes, separator: &[u8], limit: Option<usize>, parts: &mut Vec<Bytes>) {
    let mut rest: &[u8] = text;
    let mut cuts = 0;
    while limit != Some(cuts)
        && let Some(at) = find(rest, separator)
    {
        parts.push(text.slice_ref(&rest[..at]));
        rest = &rest[at + separator.len()..];
        cuts += 1;
    }
    parts.push(text.slice_ref(rest));
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    match part {
        [byte] => text.iter().position(|b| b == byte),
        _ => text.windows(part.len()).position(|window| window == part),
    }
}
