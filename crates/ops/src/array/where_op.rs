//! `Where`: the coordinates of all elements that are not zero.

use std::ops::Range;

use half::bf16;
use num_complex::Complex;
use smallvec::SmallVec;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Result, Shape, Tensor, dispatch, internal, invalid_argument,
    unimplemented_error,
};

use super::types;

/// TensorFlow has no kernel for tensors of more axes.
const MOST_AXES: usize = 8;

pub(super) const OPS: &[Op] = &[Op {
    name: "Where",
    inputs: &["input: T"],
    outputs: &["index: int64"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, \
         bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = DT_BOOL",
    ],
    kernels: &[cpu::<Where>().types("T", types::PLAIN)],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct Where;

impl Kernel for Where {
    fn new(_: &Attrs<'_>) -> Result<Where> {
        Ok(Where)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        if input.dtype() == DType::Half {
            return Err(unimplemented_error!(
                "No WhereOp available for float16/half type on CPU; dying in CPU WhereOp to avoid \
                 silently creating costly copies from device."
            ));
        }
        if !(1..=MOST_AXES).contains(&input.rank()) {
            return Err(invalid_argument!(
                "WhereOp : Unhandled input dimensions: {}",
                input.rank()
            ));
        }
        let index = dispatch!(
            input.dtype(),
            [
                bool, f32, f64, bf16, i8, i16, i32, i64, u8, u16, u32, u64,
                Complex<f32>, Complex<f64>
            ],
            T => coordinates::<T>(par, input)?,
            else => return Err(internal!("Where of type {}", input.dtype()))
        );
        ctx.set_output(0, index);
        Ok(())
    }
}

/// Elements below which another thread is not worth waking.
const MIN_ELEMENTS: usize = 16 * 1024;

/// Lines are counted first, several at a time, so that each knows where its finds belong.
fn coordinates<T: Element>(par: Parallel, input: &Tensor) -> Result<Tensor> {
    let values = input.values::<T>()?;
    let rank = input.rank();
    let (outer, width) = (&input.dims()[..rank - 1], input.dims()[rank - 1]);
    let lines = values.len().checked_div(width).unwrap_or(0);
    let count = |lines: Range<usize>| {
        let values = &values[lines.start * width..lines.end * width];
        (lines, values.iter().filter(|value| **value != T::default()).count())
    };
    let pieces = par.map_ranges(lines, 1 + MIN_ELEMENTS / width.max(1), count);
    let total = pieces.iter().map(|(_, count)| count).sum();
    Tensor::build(Shape::matrix(total, rank), |out: &mut [i64]| {
        let mut rest = out;
        let mut items = Vec::with_capacity(pieces.len());
        for (lines, count) in pieces {
            let (piece, after) = rest.split_at_mut(count * rank);
            rest = after;
            items.push((lines, piece));
        }
        par.for_each_item(items, |(lines, out)| {
            let mut found = vec![0; width];
            let mut out = out.chunks_exact_mut(rank);
            for line in lines {
                let columns = set_columns(&values[line * width..(line + 1) * width], &mut found);
                let row = coordinates_of(line, outer);
                for (&column, out) in columns.iter().zip(&mut out) {
                    out[..rank - 1].copy_from_slice(&row);
                    out[rank - 1] = column as i64;
                }
            }
        });
    })
}

/// The places of what is not zero. Every place is written, and counts only if something was there,
/// which needs no guess about it.
fn set_columns<'f, T: Element>(line: &[T], found: &'f mut [usize]) -> &'f [usize] {
    let mut count = 0;
    for (column, value) in line.iter().enumerate() {
        found[count] = column;
        count += usize::from(*value != T::default());
    }
    &found[..count]
}

/// Where the line with this number lies in the outer axes.
fn coordinates_of(mut line: usize, outer: &[usize]) -> SmallVec<[i64; 8]> {
    let mut row: SmallVec<[i64; 8]> = smallvec::smallvec![0; outer.len()];
    for (coordinate, &dim) in row.iter_mut().zip(outer).rev() {
        *coordinate = (line % dim) as i64;
        line /= dim;
    }
    row
}
