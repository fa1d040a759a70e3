//! Tensors of any real type as numbers.

use half::{bf16, f16};
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, invalid_argument};

/// The elements of a tensor of any real type.
pub(super) fn numbers(tensor: &Tensor) -> Result<Vec<f64>> {
    match tensor.dtype() {
        DType::Double => Ok(tensor.values::<f64>()?.to_vec()),
        DType::Half => Ok(tensor.values::<f16>()?.iter().map(|value| value.to_f64()).collect()),
        DType::BFloat16 => {
            Ok(tensor.values::<bf16>()?.iter().map(|value| value.to_f64()).collect())
        }
        DType::Bool => {
            Ok(tensor.values::<bool>()?.iter().map(|&value| f64::from(u8::from(value))).collect())
        }
        dtype => dispatch!(
            dtype,
            [f32, i8, i16, i32, i64, u8, u16, u32, u64],
            T => Ok(tensor.values::<T>()?.iter().map(|&value| value as f64).collect()),
            else => Err(invalid_argument!("a {dtype} tensor has no numbers"))
        ),
    }
}
