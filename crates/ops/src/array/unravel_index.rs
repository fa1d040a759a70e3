//! `UnravelIndex`: positions in a flattened tensor as coordinates.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[Op {
    name: "UnravelIndex",
    inputs: &["indices: Tidx", "dims: Tidx"],
    outputs: &["output: Tidx"],
    attrs: &["Tidx: {int32, int64} = DT_INT32"],
    kernels: &[cpu::<UnravelIndex>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct UnravelIndex;

impl Kernel for UnravelIndex {
    fn new(_: &Attrs<'_>) -> Result<UnravelIndex> {
        Ok(UnravelIndex)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, dims) = (ctx.input(0)?, ctx.input(1)?);
        if indices.num_elements() == 0 {
            return Err(invalid_argument!(
                "received empty tensor indices: Tensor<type: {} shape: {} values: >",
                indices.dtype(),
                indices.shape()
            ));
        }
        if indices.rank() > 1 {
            return Err(invalid_argument!(
                "The indices can only be scalar or vector, got \"{}\"",
                indices.shape()
            ));
        }
        if dims.rank() != 1 {
            return Err(invalid_argument!("The indices can only be 1-D, got \"{}\"", dims.shape()));
        }
        let strides = strides(dims)?;
        let positions = indices.to_i64_vec()?;
        if positions.iter().any(|&position| position >= strides[0]) {
            return Err(invalid_argument!("index is out of bound as with dims"));
        }
        // A negative position keeps its sign, as in TensorFlow.
        let coordinates: Vec<i64> = strides
            .windows(2)
            .flat_map(|pair| positions.iter().map(|position| position % pair[0] / pair[1]))
            .collect();
        let rank = dims.num_elements();
        let shape = match indices.rank() {
            0 => Shape::vector(rank),
            _ => Shape::matrix(rank, positions.len()),
        };
        let output = if indices.dtype() == DType::Int64 {
            Tensor::from_slice(shape, &coordinates)?
        } else {
            Tensor::build(shape, |out: &mut [i32]| {
                out.iter_mut().zip(&coordinates).for_each(|(out, &value)| *out = value as i32);
            })?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The number of elements below each axis, after the number of all.
fn strides(tensor: &Tensor) -> Result<Vec<i64>> {
    let dims = tensor.to_i64_vec()?;
    for (i, &dim) in dims.iter().enumerate() {
        if dim == 0 {
            return Err(invalid_argument!(
                "Input dims cannot contain a dim of zero, but dims contains zero at index {i}"
            ));
        }
        if dim < 0 {
            return Err(invalid_argument!(
                "Input dims cannot be negative. Got dim = {dim} at index {i}"
            ));
        }
    }
    let limit = if tensor.dtype() == DType::Int32 { i32::MAX.into() } else { i64::MAX };
    let mut strides = vec![1i64];
    for &dim in dims.iter().rev() {
        let last = strides[strides.len() - 1];
        let Some(next) = last.checked_mul(dim).filter(|&product| product <= limit) else {
            let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
            return Err(invalid_argument!(
                "Input dims product is causing integer overflow: ({})",
                dims.join(" ")
            ));
        };
        strides.push(next);
    }
    strides.reverse();
    Ok(strides)
}
