//! Conversions to fewer bits that cut the others off.

use half::{bf16, f16};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, Tensor};

use super::super::unary::map_to;

/// Clears the bits of the significand that the target lacks, then converts; nothing for pairs of
/// types that TensorFlow rounds all the same.
pub(super) fn cast(par: Parallel, x: &Tensor, to: DType) -> Option<Result<Tensor>> {
    Some(match (x.dtype(), to) {
        (DType::Double, DType::Float) => map_to(par, x, |x: f64| clear_double(x, 29) as f32),
        (DType::Double, DType::Half) => {
            map_to(par, x, |x: f64| f16::from_f32(clear_double(x, 42) as f32))
        }
        (DType::Float, DType::Half) => map_to(par, x, |x: f32| f16::from_f32(clear_single(x, 13))),
        (DType::Float, DType::BFloat16) => {
            map_to(par, x, |x: f32| bf16::from_f32(clear_single(x, 16)))
        }
        _ => return None,
    })
}

fn clear_double(x: f64, bits: u32) -> f64 {
    if x.is_nan() { x } else { f64::from_bits(x.to_bits() & (u64::MAX << bits)) }
}

fn clear_single(x: f32, bits: u32) -> f32 {
    if x.is_nan() { x } else { f32::from_bits(x.to_bits() & (u32::MAX << bits)) }
}
