//! Tensors filled from a distribution, whatever generator feeds it.

use half::{bf16, f16};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{
    FullInt, Normal, Philox, TruncatedNormal, Uniform, UniformInt, fill,
};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

/// The continuous distributions without parameters.
#[derive(Clone, Copy, Debug)]
pub(super) enum Continuous {
    Uniform,
    Normal,
    Truncated,
}

/// Fills a tensor of a floating-point type.
pub(super) fn continuous(
    kind: Continuous,
    dtype: DType,
    shape: Shape,
    philox: Philox,
    threads: usize,
) -> Result<Tensor> {
    let parallel = Parallel::new(threads);
    dispatch!(
        dtype,
        [f32, f64, f16, bf16],
        T => Tensor::build(shape, |out: &mut [T]| match kind {
            Continuous::Uniform => fill(parallel, &Uniform::<T>::new(), philox, out),
            Continuous::Normal => fill(parallel, &Normal::<T>::new(), philox, out),
            Continuous::Truncated => fill(parallel, &TruncatedNormal::<T>::new(), philox, out),
        }),
        else => Err(invalid_argument!("no random numbers of type {dtype}"))
    )
}

/// Fills a tensor with integers from `low` to below `high`, both scalars of its type.
pub(super) fn integers(
    low: &Tensor,
    high: &Tensor,
    shape: Shape,
    philox: Philox,
    threads: usize,
) -> Result<Tensor> {
    for (bound, name) in [(low, "minval"), (high, "maxval")] {
        if !bound.shape().is_scalar() {
            return Err(invalid_argument!("{name} must be 0-D, got shape {}", bound.shape()));
        }
    }
    if shape.num_elements() == 0 {
        return Tensor::zeros(low.dtype(), shape);
    }
    let parallel = Parallel::new(threads);
    dispatch!(
        low.dtype(),
        [i32, i64],
        T => {
            let (low, high) = (low.scalar_value::<T>()?, high.scalar_value::<T>()?);
            let distribution = UniformInt::<T>::new(low, high).ok_or_else(|| {
                invalid_argument!("Need minval < maxval, got {low} >= {high}")
            })?;
            Tensor::build(shape, |out: &mut [T]| fill(parallel, &distribution, philox, out))
        },
        else => Err(invalid_argument!("no random integers of type {}", low.dtype()))
    )
}

/// Fills a tensor with integers of their type's whole range.
pub(super) fn full_integers(
    dtype: DType,
    shape: Shape,
    philox: Philox,
    threads: usize,
) -> Result<Tensor> {
    let parallel = Parallel::new(threads);
    dispatch!(
        dtype,
        [i32, i64, u32, u64],
        T => Tensor::build(shape, |out: &mut [T]| fill(parallel, &FullInt::<T>::new(), philox, out)),
        else => Err(invalid_argument!("no random integers of type {dtype}"))
    )
}
