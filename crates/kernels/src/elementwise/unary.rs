//! Functions of one value, vectorised for every instruction set.

use super::{BLOCK, MIN_CHEAP, MIN_COSTLY};
use crate::Parallel;
use crate::math::{self, Math};
use crate::real::Real;
use crate::simd::dispatch;

/// A function of one value, compiled in both precisions.
pub trait Unary: Sync {
    /// Elements below which another thread is not worth waking.
    const MIN_LEN: usize;

    /// `out[i] = f(x[i])` in single precision.
    fn single(x: &[f32], out: &mut [f32]);
    /// `out[i] = f(x[i])` in double precision.
    fn double(x: &[f64], out: &mut [f64]);
}

/// `out[i] = F(x[i])`.
///
/// # Panics
/// If the lengths differ.
pub fn unary<F: Unary, T: Real>(par: Parallel, x: &[T], out: &mut [T]) {
    par.for_each((x, out), F::MIN_LEN, |_, (x, out)| T::apply::<F>(x, out));
}

/// `x[i] = F(x[i])`.
pub fn unary_in_place<F: Unary, T: Real>(par: Parallel, x: &mut [T]) {
    par.for_each(x, F::MIN_LEN, |_, x| {
        // The vector loops need input and output apart; the copy never leaves the nearest cache.
        let mut copy = [T::narrow(T::Wide::default()); BLOCK];
        for x in x.chunks_mut(BLOCK) {
            let copy = &mut copy[..x.len()];
            copy.copy_from_slice(x);
            T::apply::<F>(copy, x);
        }
    });
}

macro_rules! functions {
    ($min_len:expr; $($(#[$doc:meta])* $name:ident = |$x:ident| $value:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Unary for $name {
            const MIN_LEN: usize = $min_len;

            fn single(x: &[f32], out: &mut [f32]) {
                dispatch! {
                    fn run[I](x: &[f32], out: &mut [f32]) {
                        for (out, &$x) in out.iter_mut().zip(x) {
                            *out = $value;
                        }
                    }
                }
                run(x, out);
            }

            fn double(x: &[f64], out: &mut [f64]) {
                dispatch! {
                    fn run[I](x: &[f64], out: &mut [f64]) {
                        for (out, &$x) in out.iter_mut().zip(x) {
                            *out = $value;
                        }
                    }
                }
                run(x, out);
            }
        }
    )+};
}

functions! {
    MIN_CHEAP;
    /// The size without the sign.
    Abs = |x| x.abs();
    /// The smallest integer not below.
    Ceil = |x| x.ceil();
    /// The largest integer not above.
    Floor = |x| x.floor();
    /// `-x`.
    Neg = |x| -x;
    /// `1 / x`.
    Reciprocal = |x| 1.0 / x;
    /// `max(x, 0)`.
    Relu = |x| if x <= 0.0 { 0.0 } else { x };
    /// `min(max(x, 0), 6)`.
    Relu6 = |x| {
        let x = if x <= 0.0 { 0.0 } else { x };
        if x > 6.0 { 6.0 } else { x }
    };
    /// The nearest integer, ties to even.
    Rint = |x| x.round_ties_even();
    /// `1 / sqrt(x)`.
    Rsqrt = |x| 1.0 / x.sqrt();
    /// One with the sign of the argument; zero for zeros of both signs.
    Sign = |x| {
        let above = if x > 0.0 { 1.0 } else { 0.0 };
        let below = if x < 0.0 { 1.0 } else { 0.0 };
        if x.is_nan() { x } else { above - below }
    };
    /// `x / (1 + |x|)`.
    Softsign = |x| x / (1.0 + x.abs());
    /// The square root.
    Sqrt = |x| x.sqrt();
    /// `x^2`.
    Square = |x| x * x;
}

functions! {
    MIN_COSTLY;
    /// The angle of a cosine.
    Acos = |x| math::acos::<I, _>(x);
    /// The inverse of the hyperbolic cosine.
    Acosh = |x| math::acosh::<I, _>(x);
    /// The angle of a sine.
    Asin = |x| math::asin::<I, _>(x);
    /// The inverse of the hyperbolic sine.
    Asinh = |x| math::asinh::<I, _>(x);
    /// The angle of a tangent.
    Atan = |x| math::atan::<I, _>(x);
    /// The inverse of the hyperbolic tangent.
    Atanh = |x| math::atanh::<I, _>(x);
    /// The hyperbolic cosine.
    Cosh = |x| math::cosh::<I, _>(x);
    /// `x`, or `e^x - 1` below zero.
    Elu = |x| math::elu::<I, _>(x);
    /// The error function.
    Erf = |x| x.erf_::<I>();
    /// `1 - erf(x)`.
    Erfc = |x| x.erfc_::<I>();
    /// `e^x`.
    Exp = |x| x.exp_::<I>();
    /// `e^x - 1`.
    Expm1 = |x| x.expm1_::<I>();
    /// The natural logarithm.
    Log = |x| x.ln_::<I>();
    /// `ln(1 + x)`.
    Log1p = |x| x.ln1p_::<I>();
    /// The logarithm of the sigmoid.
    LogSigmoid = |x| math::log_sigmoid::<I, _>(x);
    /// The scaled exponential linear unit.
    Selu = |x| math::selu::<I, _>(x);
    /// `1 / (1 + e^-x)`.
    Sigmoid = |x| math::sigmoid::<I, _>(x);
    /// The hyperbolic sine.
    Sinh = |x| math::sinh::<I, _>(x);
    /// `ln(1 + e^x)`.
    Softplus = |x| math::softplus::<I, _>(x);
    /// The hyperbolic tangent.
    Tanh = |x| math::tanh::<I, _>(x);
}

/// Functions of angles: arguments too large for the vector code are done again one at a time, and
/// all of them in double precision.
macro_rules! circular {
    ($($(#[$doc:meta])* $name:ident = $vector:ident, $accurate:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Unary for $name {
            const MIN_LEN: usize = MIN_COSTLY;

            fn single(x: &[f32], out: &mut [f32]) {
                dispatch! {
                    fn run[I](x: &[f32], out: &mut [f32]) {
                        for (out, &x) in out.iter_mut().zip(x) {
                            *out = x.$vector::<I>();
                        }
                    }
                }
                run(x, out);
                repair(x, out, Math::$accurate);
            }

            fn double(x: &[f64], out: &mut [f64]) {
                out.iter_mut().zip(x).for_each(|(out, x)| *out = x.$accurate());
            }
        }
    )+};
}

circular! {
    /// The cosine.
    Cos = cos_, cos_any;
    /// The sine.
    Sin = sin_, sin_any;
    /// The tangent.
    Tan = tan_, tan_any;
}

/// Functions that have vector loops for single precision only.
macro_rules! single {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        dispatch! {
            $(#[$doc])*
            pub fn $name[I](x: &[f32], out: &mut [f32]) {
                for (out, &x) in out.iter_mut().zip(x) {
                    *out = math::$name::<I>(x);
                }
            }
        }
    )+};
}

single! {
    /// The inverse of the error function, on this thread.
    erfinv;
    /// `ln |gamma(x)|`, on this thread.
    lgamma;
    /// The quantiles of the normal distribution, on this thread.
    ndtri;
}

/// Replaces the values of arguments too large for the vector code; hardly ever any.
fn repair(x: &[f32], out: &mut [f32], accurate: impl Fn(f32) -> f32) {
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let large = x.iter().fold(false, |any, x| any | (x.abs() > f32::TRIG_LIMIT));
        if large {
            for (x, out) in x.iter().zip(out).filter(|(x, _)| x.abs() > f32::TRIG_LIMIT) {
                *out = accurate(*x);
            }
        }
    }
}

/// Applies a function in the precision of a type, or for narrow types block by block in `f32`.
pub(crate) fn in_blocks<T: Real<Wide = f32>>(
    x: &[T],
    out: &mut [T],
    f: impl Fn(&[f32], &mut [f32]),
) {
    let mut wide = [0.0; BLOCK];
    let mut result = [0.0; BLOCK];
    for (x, out) in x.chunks(BLOCK).zip(out.chunks_mut(BLOCK)) {
        let (wide, result) = (&mut wide[..x.len()], &mut result[..x.len()]);
        T::widen_slice(x, wide);
        f(wide, result);
        T::narrow_slice(result, out);
    }
}

#[cfg(test)]
mod tests {
    use half::{bf16, f16};

    use super::*;

    fn inputs() -> Vec<f64> {
        (0..2000).map(|i| f64::from(i - 1000) * 0.037).collect()
    }

    /// Every type, length and way of calling gives the function's value.
    fn check<F: Unary>(exact: impl Fn(f64) -> f64) {
        fn agree<F: Unary, T: Real>(
            exact: impl Fn(f64) -> f64,
            from: fn(f64) -> T,
            to: fn(T) -> f64,
            eps: f64,
        ) {
            let x: Vec<T> = inputs().into_iter().map(from).collect();
            for len in [0, 1, 7, 600, x.len()] {
                let mut out = x[..len].to_vec();
                unary::<F, T>(Parallel::SERIAL, &x[..len], &mut out);
                for (&x, &out) in x.iter().zip(&out) {
                    let (exact, found) = (exact(to(x)), to(out));
                    let same = found == exact || found.is_nan() && exact.is_nan();
                    assert!(
                        same || (found - exact).abs() <= eps * exact.abs().max(1e-3)
                            || to(from(exact)) == found,
                        "{} at {x:?}: {found} for {exact}",
                        std::any::type_name::<F>()
                    );
                }
                let mut in_place = x[..len].to_vec();
                unary_in_place::<F, T>(Parallel::SERIAL, &mut in_place);
                assert!(in_place.iter().zip(&out).all(|(a, b)| a == b || to(*a).is_nan()));
            }
        }
        agree::<F, f32>(&exact, |x| x as f32, f64::from, 4e-7);
        agree::<F, f64>(&exact, |x| x, |x| x, 1e-15);
        agree::<F, f16>(&exact, f16::from_f64, f16::to_f64, 1e-3);
        agree::<F, bf16>(&exact, bf16::from_f64, bf16::to_f64, 8e-3);
    }

    #[test]
    fn functions_agree_with_the_standard_library() {
        check::<Abs>(f64::abs);
        check::<Acos>(f64::acos);
        check::<Acosh>(f64::acosh);
        check::<Asin>(f64::asin);
        check::<Asinh>(f64::asinh);
        check::<Atan>(f64::atan);
        // The standard library loses digits near one.
        check::<Atanh>(|x| {
            let size = x.abs();
            (0.5 * (2.0 * size / (1.0 - size)).ln_1p()).copysign(x)
        });
        check::<Ceil>(f64::ceil);
        check::<Cos>(f64::cos);
        check::<Cosh>(f64::cosh);
        check::<Elu>(|x| if x < 0.0 { x.exp_m1() } else { x });
        check::<Exp>(f64::exp);
        check::<Expm1>(f64::exp_m1);
        check::<Floor>(f64::floor);
        check::<Log>(f64::ln);
        check::<Log1p>(f64::ln_1p);
        check::<LogSigmoid>(|x| x.min(0.0) - (-x.abs()).exp().ln_1p());
        check::<Neg>(|x| -x);
        check::<Reciprocal>(f64::recip);
        check::<Relu>(|x| x.max(0.0));
        check::<Relu6>(|x| x.clamp(0.0, 6.0));
        check::<Rint>(f64::round_ties_even);
        check::<Rsqrt>(|x| x.sqrt().recip());
        check::<Sigmoid>(|x| {
            if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }
        });
        check::<Sign>(|x| if x == 0.0 { 0.0 } else { x.signum() });
        check::<Sin>(f64::sin);
        check::<Sinh>(f64::sinh);
        check::<Softplus>(|x| x.max(0.0) + (-x.abs()).exp().ln_1p());
        check::<Softsign>(|x| x / (1.0 + x.abs()));
        check::<Sqrt>(f64::sqrt);
        check::<Square>(|x| x * x);
        check::<Tanh>(f64::tanh);
    }

    #[test]
    fn huge_angles_are_reduced_accurately() {
        let x = [1.0f32, 3e6, -7.5e8, 1e20, f32::MAX, f32::INFINITY, f32::NAN, 2.0];
        let mut out = [0.0; 8];
        unary::<Sin, f32>(Parallel::SERIAL, &x, &mut out);
        for (x, out) in x.iter().zip(out) {
            let exact = f64::from(*x).sin();
            assert!((f64::from(out) - exact).abs() < 1e-6 || out.is_nan() && exact.is_nan());
        }
    }
}
