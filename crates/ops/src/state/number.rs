//! The types that variables count and accumulate in.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_tensor::{DType, Element};

/// TensorFlow's attribute for the type of an updated variable.
pub(crate) const T: &str = "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, \
    quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}";

/// The types that CPU kernels do arithmetic on.
pub(super) const NUMBERS: &[DType] = &[
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

/// Runs a generic expression for the Rust type of a number; other types are an internal error,
/// because a kernel is not made for them.
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
            else => Err(tensorfleet_tensor::internal!("no arithmetic on type {dtype}"))
        )
    }};
}
pub(super) use for_number;

/// A number as variables hold it: integers wrap around.
pub(super) trait Number: Element {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
}

macro_rules! integers {
    ($($type:ty)*) => {
        $(
            impl Number for $type {
                fn add(self, other: Self) -> Self {
                    self.wrapping_add(other)
                }

                fn sub(self, other: Self) -> Self {
                    self.wrapping_sub(other)
                }
            }
        )*
    };
}

integers! { i8 i16 i32 i64 u8 u16 u32 u64 }

macro_rules! floats {
    ($($type:ty)*) => {
        $(
            impl Number for $type {
                fn add(self, other: Self) -> Self {
                    self + other
                }

                fn sub(self, other: Self) -> Self {
                    self - other
                }
            }
        )*
    };
}

floats! { f32 f64 f16 bf16 Complex<f32> Complex<f64> }
