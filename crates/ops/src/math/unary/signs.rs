//! Signs, squares, rounding and bits: functions that integers have too.

use num_complex::Complex;
use tensorfleet_framework::{Op, cpu, no_gradient};
use tensorfleet_kernels::{Parallel, elementwise as fast};
use tensorfleet_tensor::{DType, Result, Tensor};

use super::super::dtypes::{
    INTEGERS, NUMBERS, REALS, SIGNED, SIGNED_REALS, T_INTEGER, T_REAL, T_SIGNED,
};
use super::{gradient, table};

const T_ABS: &str = "T: {bfloat16, half, float, double, int8, int16, int32, int64}";
const T_SQUARE: &str = "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, \
     uint16, uint32, uint64, complex64, complex128}";
const ROUNDED: &[DType] =
    &[DType::BFloat16, DType::Half, DType::Float, DType::Double, DType::Int32, DType::Int64];

table! {
    Abs: T_ABS, SIGNED_REALS => { real(fast::Abs) signed(|x| x.wrapping_abs()) } gradient::abs;
    Ceil: T_REAL, REALS => { real(fast::Ceil) } no_gradient;
    Floor: T_REAL, REALS => { real(fast::Floor) } no_gradient;
    Invert: T_INTEGER, INTEGERS => { signed(|x| !x) unsigned(|x| !x) } no_gradient;
    Neg: T_SIGNED, SIGNED => { real(fast::Neg) signed(|x| x.wrapping_neg()) complex(|z| -z) } gradient::neg;
    /// To the nearest integer, ties to even.
    Round: T_SIGNED, ROUNDED => { real(fast::Rint) signed(|x| x) } no_gradient;
    Sign: T_SIGNED, SIGNED => { real(fast::Sign) signed(|x| x.signum()) complex(complex_sign) } gradient::sign;
    Square: T_SQUARE, NUMBERS => {
        real(fast::Square)
        signed(|x| x.wrapping_mul(x))
        unsigned(|x| x.wrapping_mul(x))
        complex(|z| z * z)
    } gradient::square;
}

/// `z / |z|`, or zero.
fn complex_sign(z: Complex<f64>) -> Complex<f64> {
    if z == Complex::ZERO { z } else { z / z.norm() }
}
