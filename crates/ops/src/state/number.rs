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

/// [`NUMBERS`] and Booleans.
pub(super) const NUMBERS_AND_BOOL: &[DType] = &[
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::Complex64,
    DType::Int64,
    DType::Bool,
    DType::BFloat16,
    DType::UInt16,
    DType::Complex128,
    DType::Half,
    DType::UInt32,
    DType::UInt64,
];

/// [`NUMBERS`] with an order.
pub(super) const REAL_NUMBERS: &[DType] = &[
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

/// Runs a generic expression for the Rust type of a number or Boolean; other types are an internal
/// error, because a kernel is not made for them.
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
                bool,
                Complex<f32>,
                Complex<f64>
            ],
            $T => $body,
            else => Err(tensorfleet_tensor::internal!("no arithmetic on type {dtype}"))
        )
    }};
}

/// As [`for_number`], for numbers with an order.
macro_rules! for_real_number {
    ($dtype:expr, $T:ident => $body:expr) => {{
        use half::{bf16, f16};
        let dtype = $dtype;
        tensorfleet_tensor::dispatch!(
            dtype,
            [f32, f64, i32, i64, u8, u16, u32, u64, i8, i16, f16, bf16],
            $T => $body,
            else => Err(tensorfleet_tensor::internal!("no order on type {dtype}"))
        )
    }};
}
pub(super) use {for_number, for_real_number};

/// A number as variables hold it: integers wrap around, and a Boolean is a bit.
pub(super) trait Number: Element {
    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    /// The quotient; `None` for an integer divided by zero.
    fn div(self, other: Self) -> Option<Self>;
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

                fn mul(self, other: Self) -> Self {
                    self.wrapping_mul(other)
                }

                fn div(self, other: Self) -> Option<Self> {
                    (other != 0).then(|| self.wrapping_div(other))
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

                fn mul(self, other: Self) -> Self {
                    self * other
                }

                fn div(self, other: Self) -> Option<Self> {
                    Some(self / other)
                }
            }
        )*
    };
}

floats! { f32 f64 f16 bf16 Complex<f32> Complex<f64> }

impl Number for bool {
    fn add(self, other: Self) -> Self {
        self | other
    }

    fn sub(self, other: Self) -> Self {
        self ^ other
    }

    fn mul(self, other: Self) -> Self {
        self & other
    }

    fn div(self, other: Self) -> Option<Self> {
        other.then_some(self)
    }
}
