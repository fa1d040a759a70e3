//! Lists of element types that several ops share: as text for definitions, as types for kernels.

use tensorfleet_tensor::DType;
use tensorfleet_tensor::DType::{
    BFloat16, Complex64, Complex128, Double, Float, Half, Int8, Int16, Int32, Int64, UInt8, UInt16,
    UInt32, UInt64,
};

/// The attribute `T` of functions of real numbers.
pub(super) const T_REAL: &str = "T: {bfloat16, half, float, double}";
/// The attribute `T` of functions of real and complex numbers.
pub(super) const T_FIELD: &str = "T: {bfloat16, half, float, double, complex64, complex128}";
/// The attribute `T` of functions of anything with a sign.
pub(super) const T_SIGNED: &str =
    "T: {bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}";
/// The attribute `T` of functions of bits.
pub(super) const T_INTEGER: &str = "T: {int8, int16, int32, int64, uint8, uint16, uint32, uint64}";
/// The attribute `T` of ops on any numbers.
pub(super) const T_NUMBER: &str = "T: {float, double, int32, uint8, int16, int8, complex64, \
     int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, \
     uint64}";
/// The attribute `T` of ops on numbers that have an order.
pub(super) const T_ORDERED: &str = "T: {float, double, int32, uint8, int16, int8, int64, \
     bfloat16, uint16, half, uint32, uint64}";

pub(super) const WIDE_REALS: &[DType] = &[Float, Double];
/// Where TensorFlow left `bfloat16` out.
pub(super) const OLD_REALS: &[DType] = &[Half, Float, Double];
pub(super) const REALS: &[DType] = &[BFloat16, Half, Float, Double];
pub(super) const COMPLEX: &[DType] = &[Complex64, Complex128];
/// Real and complex numbers.
pub(super) const FIELDS: &[DType] = &[BFloat16, Half, Float, Double, Complex64, Complex128];
pub(super) const INTEGERS: &[DType] = &[Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
/// Real numbers and signed integers.
pub(super) const SIGNED_REALS: &[DType] =
    &[BFloat16, Half, Float, Double, Int8, Int16, Int32, Int64];
/// Anything with a sign.
pub(super) const SIGNED: &[DType] =
    &[BFloat16, Half, Float, Double, Int8, Int16, Int32, Int64, Complex64, Complex128];
/// Real numbers and integers: what has an order.
pub(super) const ORDERED: &[DType] =
    &[BFloat16, Half, Float, Double, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64];
/// All numbers that are not quantised.
pub(super) const NUMBERS: &[DType] = &[
    BFloat16, Half, Float, Double, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64,
    Complex64, Complex128,
];
pub(super) const INDICES: &[DType] = &[Int32, Int64];
