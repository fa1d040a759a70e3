//! `DecodeRaw` and `DecodePaddedRaw`: the bytes of strings as numbers.

use bytes::Bytes;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DecodePaddedRaw",
        inputs: &["input_bytes: string", "fixed_length: int32"],
        outputs: &["output: out_type"],
        attrs: &[
            "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, bfloat16}",
            "little_endian: bool = true",
        ],
        kernels: &[cpu::<DecodePaddedRaw>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DecodeRaw",
        inputs: &["bytes: string"],
        outputs: &["output: out_type"],
        attrs: &[
            "out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, complex128, bool, bfloat16}",
            "little_endian: bool = true",
        ],
        kernels: &[cpu::<DecodeRaw>()],
        ..Op::DEFAULT
    },
];

/// How numbers are stored.
#[derive(Clone, Copy, Debug)]
struct Format {
    dtype: DType,
    little_endian: bool,
}

impl Format {
    fn new(attrs: &Attrs<'_>) -> Result<Format> {
        Ok(Format { dtype: attrs.dtype("out_type")?, little_endian: attrs.bool("little_endian")? })
    }

    /// Rows of numbers, each from one string that is as long as a row or shorter.
    fn build(self, texts: &[Bytes], shape: Shape, row: usize) -> Result<Tensor> {
        Tensor::build_raw(self.dtype, shape, |out| {
            for (out, text) in out.chunks_exact_mut(row.max(1)).zip(texts) {
                let (head, tail) = out.split_at_mut(text.len().min(row));
                head.copy_from_slice(&text[..head.len()]);
                tail.fill(0);
            }
            if !self.little_endian {
                let parts = if self.dtype.is_complex() { 2 } else { 1 };
                out.chunks_exact_mut(self.dtype.size() / parts).for_each(<[u8]>::reverse);
            }
            Ok(())
        })
    }
}

fn with_row(shape: &Shape, row: usize) -> Result<Shape> {
    Shape::new(&[shape.dims(), &[row]].concat())
}

#[derive(Debug)]
struct DecodeRaw(Format);

impl Kernel for DecodeRaw {
    fn new(attrs: &Attrs<'_>) -> Result<DecodeRaw> {
        Ok(DecodeRaw(Format::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        let (texts, dtype) = (input.strings()?, self.0.dtype);
        let length = texts.first().map_or(0, Bytes::len);
        for (index, text) in texts.iter().enumerate() {
            if text.len() != length {
                return Err(invalid_argument!(
                    "DecodeRaw requires input strings to all be the same size, but element {index} \
                     has size {length} != {}",
                    text.len()
                ));
            }
        }
        if !length.is_multiple_of(dtype.size()) {
            return Err(invalid_argument!(
                "Input to DecodeRaw has length {length} that is not a multiple of {}, the size of \
                 {dtype}",
                dtype.size()
            ));
        }
        let shape = with_row(input.shape(), length / dtype.size())?;
        let output = self.0.build(texts, shape, length)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct DecodePaddedRaw(Format);

impl Kernel for DecodePaddedRaw {
    fn new(attrs: &Attrs<'_>) -> Result<DecodePaddedRaw> {
        Ok(DecodePaddedRaw(Format::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, length) = (ctx.input(0)?, ctx.input(1)?);
        if length.rank() != 0 {
            return Err(invalid_argument!("k must be scalar, got shape {}", length.shape()));
        }
        let length = length.scalar_value::<i32>()?;
        let row = usize::try_from(length).ok().filter(|row| *row > 0).ok_or_else(|| {
            invalid_argument!("fixed_length ({length}) must be greater than zero.")
        })?;
        let size = self.0.dtype.size();
        if !row.is_multiple_of(size) {
            return Err(invalid_argument!(
                "fixed_length ({row}) must be a multiple of the size of out_type ({size})"
            ));
        }
        let shape = with_row(input.shape(), row / size)?;
        let output = self.0.build(input.strings()?, shape, row)?;
        ctx.set_output(0, output);
        Ok(())
    }
}
