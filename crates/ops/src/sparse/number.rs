//! The types that sums of rows are made of.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_tensor::{DType, Element, Result, Tensor, invalid_argument};

/// The types that CPU kernels do arithmetic on.
pub(crate) const NUMBERS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::Complex64,
    DType::Int64,
    DType::BFloat16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::UInt32,
    DType::UInt64,
];

/// Those of them that have an order.
pub(crate) const REAL_NUMBERS: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::Int64,
    DType::BFloat16,
    DType::UInt16,
    DType::Half,
    DType::UInt32,
    DType::UInt64,
];

/// Runs a generic expression for the Rust type of a number with an order.
macro_rules! for_real {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use half::{bf16, f16};
        let dtype = $dtype;
        tensorfleet_tensor::dispatch!(
            dtype,
            [f32, f64, i32, i64, u8, u16, u32, u64, i8, i16, f16, bf16],
            $T => $body,
            else => Err(tensorfleet_tensor::unimplemented_error!("no order on type {dtype}"))
        )
    }};
}
pub(crate) use for_real;

/// Runs a generic expression for the Rust type of a number.
macro_rules! for_number {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use half::{bf16, f16};
        use num_complex::Complex;
        let dtype = $dtype;
        tensorfleet_tensor::dispatch!(
            dtype,
            [
                f32,
                f64,
                i32,
                i64,
                u8,
                u16,
                u32,
                u64,
                i8,
                i16,
                f16,
                bf16,
                Complex<f32>,
                Complex<f64>
            ],
            $T => $body,
            else => Err(tensorfleet_tensor::unimplemented_error!("no arithmetic on type {dtype}"))
        )
    }};
}
pub(crate) use for_number;

/// A number; integers wrap around.
pub(crate) trait Number: Element {
    const ONE: Self;

    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;

    /// The quotient by a count, rounded as TensorFlow's means are. The count is not zero.
    fn over(self, count: usize) -> Self;
}

/// A number with an order.
pub(crate) trait Real: Number + PartialOrd {
    const LOWEST: Self;
    const HIGHEST: Self;
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(
            impl Number for $type {
                const ONE: Self = 1;

                fn plus(self, other: Self) -> Self {
                    self.wrapping_add(other)
                }

                fn times(self, other: Self) -> Self {
                    self.wrapping_mul(other)
                }

                fn over(self, count: usize) -> Self {
                    self.checked_div(count as $type).unwrap_or_default()
                }
            }

            impl Real for $type {
                const LOWEST: Self = <$type>::MIN;
                const HIGHEST: Self = <$type>::MAX;
            }
        )*
    };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ty, $one:expr, $count:expr;)*) => {
        $(
            impl Number for $type {
                const ONE: Self = $one;

                fn plus(self, other: Self) -> Self {
                    self + other
                }

                fn times(self, other: Self) -> Self {
                    self * other
                }

                fn over(self, count: usize) -> Self {
                    let convert: fn(usize) -> $type = $count;
                    self / convert(count)
                }
            }
        )*
    };
}

floats! {
    f32, 1.0, |n| n as f32;
    f64, 1.0, |n| n as f64;
    f16, f16::ONE, |n| f16::from_f64(n as f64);
    bf16, bf16::ONE, |n| bf16::from_f64(n as f64);
    Complex<f32>, Complex { re: 1.0, im: 0.0 }, |n| Complex::from(n as f32);
    Complex<f64>, Complex { re: 1.0, im: 0.0 }, |n| Complex::from(n as f64);
}

macro_rules! extremes {
    ($($type:ty)*) => {
        $(
            impl Real for $type {
                const LOWEST: Self = <$type>::MIN;
                const HIGHEST: Self = <$type>::MAX;
            }
        )*
    };
}

extremes! { f32 f64 f16 bf16 }

/// Adds a tensor of the same type and shape to another, element by element.
pub(crate) fn add_tensors(sum: &mut Tensor, value: &Tensor) -> Result<()> {
    if sum.shape() != value.shape() || sum.dtype() != value.dtype() {
        return Err(invalid_argument!(
            "cannot add a {} tensor of shape {} to a {} tensor of shape {}",
            value.dtype(),
            value.shape(),
            sum.dtype(),
            sum.shape()
        ));
    }
    for_number!(sum.dtype(), T => {
        let value = value.values::<T>()?;
        for (sum, &value) in sum.values_mut::<T>()?.iter_mut().zip(value) {
            *sum = sum.plus(value);
        }
        Ok(())
    })
}

/// Divides all elements of a tensor by a count that is not zero.
pub(crate) fn divide_tensor(tensor: &mut Tensor, count: usize) -> Result<()> {
    for_number!(tensor.dtype(), T => {
        tensor.values_mut::<T>()?.iter_mut().for_each(|value| *value = value.over(count));
        Ok(())
    })
}
