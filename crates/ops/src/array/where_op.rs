//! `Where`: the coordinates of all elements that are not zero.

use half::bf16;
use num_complex::Complex;
use smallvec::SmallVec;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
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
            T => coordinates::<T>(input)?,
            else => return Err(internal!("Where of type {}", input.dtype()))
        );
        ctx.set_output(0, index);
        Ok(())
    }
}

fn coordinates<T: Element>(input: &Tensor) -> Result<Tensor> {
    let values = input.values::<T>()?;
    let is_set = |value: &&T| **value != T::default();
    let count = values.iter().filter(is_set).count();
    let (outer, columns) = input.dims().split_at(input.rank() - 1);
    Tensor::build(Shape::matrix(count, input.rank()), |out: &mut [i64]| {
        if count == 0 {
            return;
        }
        let mut found = out.chunks_exact_mut(input.rank());
        let mut row: SmallVec<[i64; 8]> = smallvec::smallvec![0; outer.len()];
        for line in values.chunks_exact(columns[0]) {
            for (column, value) in line.iter().enumerate() {
                if is_set(&value)
                    && let Some((last, rest)) = found.next().and_then(|f| f.split_last_mut())
                {
                    rest.copy_from_slice(&row);
                    *last = column as i64;
                }
            }
            for (coordinate, &dim) in row.iter_mut().zip(outer).rev() {
                *coordinate += 1;
                if *coordinate < dim as i64 {
                    break;
                }
                *coordinate = 0;
            }
        }
    })
}
