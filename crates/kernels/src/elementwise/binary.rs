//! Functions of two values, vectorised for every instruction set: powers and gradients of
//! activations. Arithmetic is left to [`super::zip`].

use super::{BLOCK, MIN_CHEAP, MIN_COSTLY};
use crate::Parallel;
use crate::math::{self, Math};
use crate::real::{Real, Wide};
use crate::simd::dispatch;

/// A function of two values, compiled in both precisions.
pub trait Binary: Sync {
    /// Elements below which another thread is not worth waking.
    const MIN_LEN: usize;

    /// `out[i] = f(a[i], b[i])` in single precision.
    fn single(a: &[f32], b: &[f32], out: &mut [f32]);
    /// `out[i] = f(a[i], b[i])` in double precision.
    fn double(a: &[f64], b: &[f64], out: &mut [f64]);
}

/// `out[i] = F(a[i], b[i])`.
///
/// # Panics
/// If the lengths differ.
pub fn binary<F: Binary, T: Real>(par: Parallel, a: &[T], b: &[T], out: &mut [T]) {
    par.for_each((a, b, out), F::MIN_LEN, |_, (a, b, out)| T::apply2::<F>(a, b, out));
}

macro_rules! functions {
    ($min_len:expr; $($(#[$doc:meta])* $name:ident = |$a:ident, $b:ident| $value:expr;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Binary for $name {
            const MIN_LEN: usize = $min_len;

            fn single(a: &[f32], b: &[f32], out: &mut [f32]) {
                dispatch! {
                    fn run[I](a: &[f32], b: &[f32], out: &mut [f32]) {
                        for (out, (&$a, &$b)) in out.iter_mut().zip(a.iter().zip(b)) {
                            *out = $value;
                        }
                    }
                }
                run(a, b, out);
            }

            fn double(a: &[f64], b: &[f64], out: &mut [f64]) {
                dispatch! {
                    fn run[I](a: &[f64], b: &[f64], out: &mut [f64]) {
                        for (out, (&$a, &$b)) in out.iter_mut().zip(a.iter().zip(b)) {
                            *out = $value;
                        }
                    }
                }
                run(a, b, out);
            }
        }
    )+};
}

functions! {
    MIN_CHEAP;
    /// Of `Elu`, from the gradient and the *output*.
    EluGrad = |gradient, output| if output < 0.0 { (output + 1.0) * gradient } else { gradient };
    /// The largest integer not above the quotient.
    FloorDiv = |a, b| (a / b).floor();
    /// Of `1 / x`, from the *output* and the gradient.
    ReciprocalGrad = |output, gradient| -gradient * output * output;
    /// Of `Relu`, from the gradient and the input (or output). A product, as in TensorFlow: a
    /// gradient that is not a number shows, whatever the input.
    ReluGrad = |gradient, x| gradient * if x > 0.0 { 1.0 } else { 0.0 };
    /// Of `Relu6`, from the gradient and the input (or output).
    Relu6Grad = |gradient, x| gradient * if x > 0.0 && x < 6.0 { 1.0 } else { 0.0 };
    /// Of `1 / sqrt(x)`, from the *output* and the gradient.
    RsqrtGrad = |output, gradient| -0.5 * gradient * output * output * output;
    /// Of `Selu`, from the gradient and the *output*.
    SeluGrad = |gradient, output| math::selu_grad(gradient, output);
    /// Of `Sigmoid`, from the *output* and the gradient.
    SigmoidGrad = |output, gradient| gradient * output * (1.0 - output);
    /// Of `Softsign`, from the gradient and the input.
    SoftsignGrad = |gradient, x| {
        let root = 1.0 + x.abs();
        gradient / (root * root)
    };
    /// Of `Sqrt`, from the *output* and the gradient.
    SqrtGrad = |output, gradient| 0.5 * gradient / output;
    /// Of `Tanh`, from the *output* and the gradient.
    TanhGrad = |output, gradient| gradient * (1.0 - output * output);
    /// `x / y`, and zero where `x` is zero, whatever `y`.
    Xdivy = |x, y| if x == 0.0 { 0.0 } else { x / y };
}

functions! {
    MIN_COSTLY;
    /// The angle of a point, from its height and its width.
    Atan2 = |y, x| math::atan2::<I, _>(y, x);
    /// Of `Softplus`, from the gradient and the input.
    SoftplusGrad = |gradient, x| gradient * math::sigmoid::<I, _>(x);
    /// `x ln(1 + y)`, and zero where `x` is zero, whatever `y`.
    Xlog1py = |x, y| {
        let value = x * y.ln1p_::<I>();
        if x == 0.0 { 0.0 } else { value }
    };
    /// `x ln(y)`, and zero where `x` is zero, whatever `y`.
    Xlogy = |x, y| {
        let value = x * y.ln_::<I>();
        if x == 0.0 { 0.0 } else { value }
    };
}

/// `x^y`, as C's `pow`.
#[derive(Clone, Copy, Debug)]
pub struct Pow;

impl Binary for Pow {
    const MIN_LEN: usize = MIN_COSTLY;

    fn single(x: &[f32], y: &[f32], out: &mut [f32]) {
        dispatch! {
            fn run[I](x: &[f32], y: &[f32], out: &mut [f32]) {
                for (out, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
                    let size = x.abs().pow_::<I>(y);
                    // A negative number has powers for whole exponents only.
                    let whole = y == y.round_ties_even();
                    let odd = whole & (y * 0.5 != (y * 0.5).round_ties_even());
                    let of_negative = if odd { -size } else { size };
                    let of_negative = if whole { of_negative } else { f32::NAN };
                    *out = if x < 0.0 { of_negative } else { size };
                }
            }
        }
        let simple = |x: f32, y: f32| {
            let is_finite = (x.abs() < f32::INFINITY) & (y.abs() < f32::INFINITY);
            (x != 0.0) & is_finite & (y != 2.0) & (y != 3.0)
        };
        for (out, (x, y)) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK).zip(y.chunks(BLOCK))) {
            if all_few_factors(x, y, out) {
                continue;
            }
            run(x, y, out);
            if x.iter().zip(y).fold(true, |all, (&x, &y)| all & simple(x, y)) {
                continue;
            }
            for (out, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
                if !simple(x, y) {
                    *out = few_factors(x, y).unwrap_or_else(|| x.powf(y));
                }
            }
        }
    }

    fn double(x: &[f64], y: &[f64], out: &mut [f64]) {
        for (out, (x, y)) in out.chunks_mut(BLOCK).zip(x.chunks(BLOCK).zip(y.chunks(BLOCK))) {
            if all_few_factors(x, y, out) {
                continue;
            }
            for (out, (&x, &y)) in out.iter_mut().zip(x.iter().zip(y)) {
                *out = few_factors(x, y).unwrap_or_else(|| x.powf(y));
            }
        }
    }
}

/// A square or a cube, if the power is one.
#[inline(always)]
fn few_factors<W: Wide>(x: W, y: W) -> Option<W> {
    if y == W::of(2.0) {
        Some(x * x)
    } else if y == W::of(3.0) {
        Some(x * x * x)
    } else {
        None
    }
}

/// Computes squares or cubes, if all exponents are the same such; most powers in programs are.
fn all_few_factors<W: Wide>(x: &[W], y: &[W], out: &mut [W]) -> bool {
    let Some(&power) = y.first().filter(|power| few_factors(W::zero(), **power).is_some()) else {
        return false;
    };
    if y.iter().any(|y| *y != power) {
        return false;
    }
    for (out, &x) in out.iter_mut().zip(x) {
        *out = few_factors(x, power).unwrap_or(x);
    }
    true
}

/// Applies a function of two narrow operands block by block in `f32`.
pub(crate) fn in_blocks<T: Real<Wide = f32>>(
    a: &[T],
    b: &[T],
    out: &mut [T],
    f: impl Fn(&[f32], &[f32], &mut [f32]),
) {
    let mut wide = [[0.0; BLOCK]; 3];
    for (out, (a, b)) in out.chunks_mut(BLOCK).zip(a.chunks(BLOCK).zip(b.chunks(BLOCK))) {
        let [wide_a, wide_b, result] = &mut wide;
        let len = out.len();
        T::widen_slice(a, &mut wide_a[..len]);
        T::widen_slice(b, &mut wide_b[..len]);
        f(&wide_a[..len], &wide_b[..len], &mut result[..len]);
        T::narrow_slice(&result[..len], out);
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::*;
    use crate::elementwise::{
        Elu, Reciprocal, Rsqrt, Selu, Sigmoid, Softplus, Softsign, Sqrt, Tanh, Unary,
    };
    use crate::testing::Rng;

    #[test]
    fn gradients_are_derivatives() {
        fn check<F: Unary, G: Binary>(gradient_first: bool, uses_output: bool, positive: bool) {
            let x: Vec<f64> = (1..200)
                .map(|i| f64::from(if positive { i } else { i - 100 }) * 0.031 + 1e-3)
                .collect();
            let value = |shift: f64| {
                let moved: Vec<f64> = x.iter().map(|x| x + shift).collect();
                let mut out = x.clone();
                F::double(&moved, &mut out);
                out
            };
            let (low, mid, high) = (value(-1e-5), value(0.0), value(1e-5));
            let gradient = vec![3.0; x.len()];
            let known = if uses_output { &mid } else { &x };
            let mut found = x.clone();
            if gradient_first {
                binary::<G, f64>(Parallel::SERIAL, &gradient, known, &mut found);
            } else {
                binary::<G, f64>(Parallel::SERIAL, known, &gradient, &mut found);
            }
            for i in 0..x.len() {
                let slope = 3.0 * (high[i] - low[i]) / 2e-5;
                assert!(
                    (found[i] - slope).abs() < 1e-4 * slope.abs().max(1.0),
                    "{}",
                    std::any::type_name::<G>()
                );
            }
        }
        check::<Elu, EluGrad>(true, true, false);
        check::<Selu, SeluGrad>(true, true, false);
        check::<Softplus, SoftplusGrad>(true, false, false);
        check::<Softsign, SoftsignGrad>(true, false, false);
        check::<Sigmoid, SigmoidGrad>(false, true, false);
        check::<Tanh, TanhGrad>(false, true, false);
        check::<Sqrt, SqrtGrad>(false, true, true);
        check::<Rsqrt, RsqrtGrad>(false, true, true);
        check::<Reciprocal, ReciprocalGrad>(false, true, true);
    }

    #[test]
    fn rectifiers_pass_gradients_inside_only() {
        let x = [f32::NAN, -1.0, 0.0, 3.0, 6.0, f32::INFINITY];
        let mut out = [9.0; 6];
        binary::<ReluGrad, f32>(Parallel::SERIAL, &[2.0; 6], &x, &mut out);
        assert_eq!(out, [0.0, 0.0, 0.0, 2.0, 2.0, 2.0]);
        binary::<Relu6Grad, f32>(Parallel::SERIAL, &[2.0; 6], &x, &mut out);
        assert_eq!(out, [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]);
        binary::<ReluGrad, f32>(Parallel::SERIAL, &[f32::NAN; 6], &x, &mut out);
        assert!(out.iter().all(|out| out.is_nan()));
    }

    #[test]
    fn powers_follow_the_standard_library() {
        let special = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            2.0,
            -2.0,
            0.5,
            3.0,
            -3.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            1e-40,
            f32::MAX,
        ];
        let rng = &mut Rng::new(1);
        let mut x: Vec<f32> = (0..3000).map(|_| rng.uniform(0.0, 20.0) as f32).collect();
        let mut y: Vec<f32> = (0..3000).map(|_| rng.uniform(-9.0, 9.0) as f32).collect();
        for a in special {
            x.extend(special.map(|_| a));
            y.extend(special);
        }
        // Negative bases with exponents of both kinds, and blocks of squares and cubes.
        x.extend((0..1000).map(|_| rng.uniform(-20.0, 0.0) as f32));
        y.extend((0..1000).map(|i| if i % 2 == 0 { (i % 7) as f32 } else { i as f32 * 0.01 }));
        for power in [2.0, 3.0] {
            x.extend((0..3 * BLOCK).map(|_| rng.uniform(-20.0, 20.0) as f32).chain(special));
            y.extend([power; 3 * BLOCK + 14]);
        }
        let mut out = vec![0.0; x.len()];
        binary::<Pow, f32>(Parallel::SERIAL, &x, &y, &mut out);
        for i in 0..x.len() {
            let exact = f64::from(x[i]).powf(f64::from(y[i])) as f32;
            let close = (out[i] - exact).abs() <= exact.abs() * 1.2e-7;
            assert!(
                close || out[i] == exact || out[i].is_nan() && exact.is_nan(),
                "{}^{}: {}",
                x[i],
                y[i],
                out[i]
            );
        }
    }

    #[test]
    fn zero_times_anything_is_zero() {
        let x = [0.0f32, 0.0, 0.0, 2.0].map(bf16::from_f32);
        let y = [f32::NAN, 0.0, -1.0, 1.0].map(bf16::from_f32);
        let mut out = [bf16::ONE; 4];
        binary::<Xlogy, bf16>(Parallel::SERIAL, &x, &y, &mut out);
        assert_eq!(out.map(bf16::to_f32), [0.0; 4]);
        binary::<Xdivy, bf16>(Parallel::SERIAL, &x, &y, &mut out);
        assert_eq!(out.map(bf16::to_f32), [0.0, 0.0, 0.0, 2.0]);
        binary::<Xlog1py, bf16>(Parallel::SERIAL, &x, &y, &mut out);
        assert_eq!(out.map(bf16::to_f32)[..3], [0.0; 3]);
    }
}
