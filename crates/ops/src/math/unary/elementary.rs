//! Powers, exponentials, logarithms, circular and hyperbolic functions.

use num_complex::{Complex, ComplexFloat};
use tensorfleet_framework::{Op, cpu, no_gradient};
use tensorfleet_kernels::{Parallel, elementwise as fast};
use tensorfleet_tensor::{Result, Tensor};

use super::super::binary::division::quotient;
use super::super::dtypes::{FIELDS, REALS, T_FIELD, T_REAL, T_SIGNED, WIDE_REALS};
use super::{gradient, table};

table! {
    Acos: T_FIELD, FIELDS => { real(fast::Acos) complex(|z| z.acos()) } gradient::acos;
    Acosh: T_FIELD, FIELDS => { real(fast::Acosh) complex(|z| z.acosh()) } gradient::acosh;
    Asin: T_FIELD, FIELDS => { real(fast::Asin) complex(|z| z.asin()) } gradient::asin;
    Asinh: T_FIELD, FIELDS => { real(fast::Asinh) complex(|z| z.asinh()) } gradient::asinh;
    Atan: T_FIELD, FIELDS => { real(fast::Atan) complex(|z| z.atan()) } gradient::atan;
    Atanh: T_FIELD, FIELDS => { real(fast::Atanh) complex(|z| z.atanh()) } gradient::atanh;
    Cos: T_FIELD, FIELDS => { real(fast::Cos) complex(|z| z.cos()) } gradient::cos;
    Cosh: T_FIELD, FIELDS => { real(fast::Cosh) complex(|z| z.cosh()) } gradient::cosh;
    Erf: T_REAL, REALS => { real(fast::Erf) } gradient::erf;
    Erfc: T_REAL, REALS => { real(fast::Erfc) } gradient::erfc;
    Exp: T_FIELD, FIELDS => { real(fast::Exp) complex(|z| z.exp()) } gradient::exp;
    Expm1: T_FIELD, FIELDS => { real(fast::Expm1) complex(expm1) } gradient::expm1;
    Inv: T_SIGNED, FIELDS => { real(fast::Reciprocal) complex(|z| quotient(Complex::ONE, z)) } gradient::reciprocal;
    Log: T_FIELD, FIELDS => { real(fast::Log) complex(|z| z.ln()) } gradient::log;
    Log1p: T_FIELD, FIELDS => { real(fast::Log1p) complex(log1p) } gradient::log1p;
    Reciprocal: T_SIGNED, FIELDS => { real(fast::Reciprocal) complex(|z| quotient(Complex::ONE, z)) } gradient::reciprocal;
    Rint: T_REAL, WIDE_REALS => { real(fast::Rint) } no_gradient;
    Rsqrt: T_FIELD, FIELDS => { real(fast::Rsqrt) complex(|z| z.sqrt().recip()) } gradient::rsqrt;
    Sigmoid: T_FIELD, FIELDS => { real(fast::Sigmoid) complex(|z| (1.0 + (-z).exp()).recip()) } gradient::sigmoid;
    Sin: T_FIELD, FIELDS => { real(fast::Sin) complex(|z| z.sin()) } gradient::sin;
    Sinh: T_FIELD, FIELDS => { real(fast::Sinh) complex(|z| z.sinh()) } gradient::sinh;
    Sqrt: T_FIELD, FIELDS => { real(fast::Sqrt) complex(|z| z.sqrt()) } gradient::sqrt;
    Tan: T_FIELD, FIELDS => { real(fast::Tan) complex(|z| z.tan()) } gradient::tan;
    Tanh: T_FIELD, FIELDS => { real(fast::Tanh) complex(|z| z.tanh()) } gradient::tanh;
}

/// `e^z - 1`, exact near zero too.
fn expm1(z: Complex<f64>) -> Complex<f64> {
    // e^x cos(y) - 1 = (e^x - 1) cos(y) - 2 sin(y / 2)^2
    let half_sine = (0.5 * z.im).sin();
    Complex::new(z.re.exp_m1() * z.im.cos() - 2.0 * half_sine * half_sine, z.re.exp() * z.im.sin())
}

/// `ln(1 + z)`, exact near zero too.
fn log1p(z: Complex<f64>) -> Complex<f64> {
    // |1 + z|^2 = 1 + (2 x + x^2 + y^2)
    let size = if z.norm() < 0.5 {
        0.5 * (2.0 * z.re + z.norm_sqr()).ln_1p()
    } else {
        (1.0 + z).norm().ln()
    };
    Complex::new(size, (1.0 + z).arg())
}
