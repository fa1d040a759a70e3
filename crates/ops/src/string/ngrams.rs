//! `StringNGrams`: neighbouring strings of ragged rows, joined.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, resource_exhausted};

pub(super) const OPS: &[Op] = &[Op {
    name: "StringNGrams",
    inputs: &["data: string", "data_splits: Tsplits"],
    outputs: &["ngrams: string", "ngrams_splits: Tsplits"],
    attrs: &[
        "separator: string",
        "ngram_widths: list(int) >= 0",
        "left_pad: string",
        "right_pad: string",
        "pad_width: int",
        "preserve_short_sequences: bool",
        "Tsplits: {int32, int64} = DT_INT64",
    ],
    kernels: &[cpu::<StringNGrams>()],
    ..Op::DEFAULT
}];

/// So many strings may be put into all n-grams together.
const MOST_PIECES: usize = 1 << 32;

#[derive(Debug)]
struct StringNGrams {
    separator: Bytes,
    left_pad: Bytes,
    right_pad: Bytes,
    widths: Vec<usize>,
    /// Padding on either side; none means as much as each width can use.
    pad_width: Option<usize>,
    preserve_short: bool,
}

impl Kernel for StringNGrams {
    fn new(attrs: &Attrs<'_>) -> Result<StringNGrams> {
        let widths = attrs
            .ints("ngram_widths")?
            .iter()
            .map(|&width| usize::try_from(width).ok().filter(|&width| width > 0))
            .collect::<Option<_>>()
            .ok_or_else(|| invalid_argument!("ngram_widths must contain positive values"))?;
        Ok(StringNGrams {
            separator: attrs.bytes("separator")?.clone(),
            left_pad: attrs.bytes("left_pad")?.clone(),
            right_pad: attrs.bytes("right_pad")?.clone(),
            widths,
            pad_width: usize::try_from(attrs.int("pad_width")?).ok(),
            preserve_short: attrs.bool("preserve_short_sequences")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (data, splits) = (ctx.input(0)?, ctx.input(1)?);
        let texts = data.strings()?;
        let bounds = splits.to_i64_vec()?;
        check(&bounds, texts.len())?;
        if texts.is_empty() || bounds.is_empty() {
            let ngrams = Tensor::zeros(DType::String, data.shape().clone())?;
            let splits = Tensor::zeros(splits.dtype(), splits.shape().clone())?;
            ctx.set_output(0, ngrams);
            ctx.set_output(1, splits);
            return Ok(());
        }
        let (mut ngrams, mut ends) = (Vec::new(), vec![0i64]);
        let mut pieces = 0;
        for row in bounds.windows(2) {
            self.row(&texts[row[0] as usize..row[1] as usize], &mut ngrams, &mut pieces)?;
            ends.push(ngrams.len() as i64);
        }
        let ngrams = Tensor::from_strings(Shape::vector(ngrams.len()), ngrams)?;
        let ends = split_tensor(splits.dtype(), &ends)?.into_shape(splits.shape().clone())?;
        ctx.set_output(0, ngrams);
        ctx.set_output(1, ends);
        Ok(())
    }
}

/// Row splits of the type that was asked for.
pub(super) fn split_tensor(dtype: DType, splits: &[i64]) -> Result<Tensor> {
    match dtype {
        DType::Int32 => Tensor::vector(&splits.iter().map(|&end| end as i32).collect::<Vec<_>>()),
        _ => Tensor::vector(splits),
    }
}

fn check(bounds: &[i64], size: usize) -> Result<()> {
    let (Some(&first), Some(&last)) = (bounds.first(), bounds.last()) else { return Ok(()) };
    if first != 0 {
        return Err(invalid_argument!("First split value must be 0, got {first}"));
    }
    for pair in bounds.windows(2) {
        if pair[1] < pair[0] || pair[1] > size as i64 {
            return Err(invalid_argument!(
                "Invalid split value {}, must be in [{}, {size}]",
                pair[1],
                pair[0]
            ));
        }
    }
    if last != size as i64 {
        return Err(invalid_argument!(
            "Last split value must be data size. Expected {size}, got {last}"
        ));
    }
    Ok(())
}

impl StringNGrams {
    fn pad(&self, width: usize) -> usize {
        self.pad_width.map_or(width - 1, |pad| pad.min(width - 1))
    }

    fn row(&self, texts: &[Bytes], ngrams: &mut Vec<Bytes>, pieces: &mut usize) -> Result<()> {
        let before = ngrams.len();
        let mut add = |width: usize, pad: usize, ngrams: &mut Vec<Bytes>| {
            let total = texts.len() as u128 + 2 * pad as u128;
            let count = (total + 1).saturating_sub(width as u128);
            let added = count * width as u128;
            *pieces = pieces.saturating_add(usize::try_from(added).unwrap_or(usize::MAX));
            if *pieces > MOST_PIECES {
                return Err(resource_exhausted!("n-grams of width {width} need too much memory"));
            }
            ngrams.extend((0..count as usize).map(|start| self.join(texts, pad, start, width)));
            Ok(())
        };
        for &width in &self.widths {
            add(width, self.pad(width), ngrams)?;
        }
        if self.preserve_short && ngrams.len() == before && !texts.is_empty() {
            let pad = self.pad_width.unwrap_or(0);
            add(texts.len().saturating_add(pad.saturating_mul(2)), pad, ngrams)?;
        }
        Ok(())
    }

    fn join(&self, texts: &[Bytes], pad: usize, start: usize, width: usize) -> Bytes {
        let piece = |place: usize| match place.checked_sub(pad) {
            None => &self.left_pad,
            Some(index) => texts.get(index).unwrap_or(&self.right_pad),
        };
        let len = (start..start + width).map(|place| piece(place).len() + self.separator.len());
        let mut joined = Vec::with_capacity(len.sum());
        for place in start..start + width {
            if place > start {
                joined.extend_from_slice(&self.separator);
            }
            joined.extend_from_slice(piece(place));
        }
        joined.into()
    }
}
