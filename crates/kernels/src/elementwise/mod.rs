//! One value from each position: unary and binary functions over slices.
//!
//! [`map`], [`zip`] and their in-place forms run any closure on any element types, compiled for the
//! build's baseline: arithmetic is bound by memory there already. Functions worth wider vectors
//! (exponentials and the like) are named types run by [`unary()`] and [`binary()`], on all real types.
//! [`Broadcast`] lines up operands of different shapes.

mod binary;
mod broadcast;
mod unary;

pub use binary::{
    Atan2, Binary, EluGrad, FloorDiv, Pow, ReciprocalGrad, Relu6Grad, ReluGrad, RsqrtGrad,
    SeluGrad, SigmoidGrad, SoftplusGrad, SoftsignGrad, SqrtGrad, TanhGrad, Xdivy, Xlog1py, Xlogy,
    binary,
};
pub use broadcast::{Broadcast, zip_broadcast, zip3_broadcast};
pub use unary::{
    Abs, Acos, Acosh, Asin, Asinh, Atan, Atanh, Ceil, Cos, Cosh, Elu, Erf, Erfc, Exp, Expm1, Floor,
    Log, Log1p, LogSigmoid, Neg, Reciprocal, Relu, Relu6, Rint, Rsqrt, Selu, Sigmoid, Sign, Sin,
    Sinh, Softplus, Softsign, Sqrt, Square, Tan, Tanh, Unary, erfinv, lgamma, ndtri, unary,
    unary_in_place,
};

use crate::Parallel;
pub(crate) use binary::in_blocks as binary_in_blocks;
pub(crate) use unary::in_blocks as unary_in_blocks;

/// Elements below which a cheap loop is not worth another thread.
pub const MIN_CHEAP: usize = 32 * 1024;
/// Elements below which a loop of elementary functions is not worth another thread.
pub const MIN_COSTLY: usize = 16 * 1024;
/// Elements handled at a time where a copy in the first-level cache is needed.
pub(crate) const BLOCK: usize = 512;

/// `out[i] = f(x[i])`.
pub fn map<T, U>(par: Parallel, x: &[T], out: &mut [U], f: impl Fn(T) -> U + Sync)
where
    T: Copy + Sync,
    U: Send,
{
    par.for_each((x, out), MIN_CHEAP, |_, (x, out)| {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = f(x);
        }
    });
}

/// `x[i] = f(x[i])`.
pub fn map_in_place<T: Copy + Send>(par: Parallel, x: &mut [T], f: impl Fn(T) -> T + Sync) {
    par.for_each(x, MIN_CHEAP, |_, x| x.iter_mut().for_each(|x| *x = f(*x)));
}

/// `out[i] = f(a[i], b[i])`.
pub fn zip<A, B, U>(par: Parallel, a: &[A], b: &[B], out: &mut [U], f: impl Fn(A, B) -> U + Sync)
where
    A: Copy + Sync,
    B: Copy + Sync,
    U: Send,
{
    par.for_each((a, b, out), MIN_CHEAP, |_, (a, b, out)| {
        for (out, (&a, &b)) in out.iter_mut().zip(a.iter().zip(b)) {
            *out = f(a, b);
        }
    });
}

/// `a[i] = f(a[i], b[i])`.
pub fn zip_in_place<A, B>(par: Parallel, a: &mut [A], b: &[B], f: impl Fn(A, B) -> A + Sync)
where
    A: Copy + Send,
    B: Copy + Sync,
{
    par.for_each((a, b), MIN_CHEAP, |_, (a, b)| {
        for (a, &b) in a.iter_mut().zip(b) {
            *a = f(*a, b);
        }
    });
}

/// `out[i] = f(a[i], b[i], c[i])`.
pub fn zip3<A, B, C, U>(
    par: Parallel,
    (a, b, c): (&[A], &[B], &[C]),
    out: &mut [U],
    f: impl Fn(A, B, C) -> U + Sync,
) where
    A: Copy + Sync,
    B: Copy + Sync,
    C: Copy + Sync,
    U: Send,
{
    par.for_each((a, b, c, out), MIN_CHEAP, |_, (a, b, c, out)| {
        for (out, ((&a, &b), &c)) in out.iter_mut().zip(a.iter().zip(b).zip(c)) {
            *out = f(a, b, c);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closures_see_every_position() {
        let len = 3 * MIN_CHEAP + 5;
        let a: Vec<i64> = (0..len as i64).collect();
        let b: Vec<i32> = (0..len as i32).rev().collect();
        for par in [Parallel::SERIAL, Parallel::new(3)] {
            let mut out = vec![0; len];
            map(par, &a, &mut out, |a| a + 1);
            zip_in_place(par, &mut out, &b, |out, b| out + i64::from(b));
            map_in_place(par, &mut out, |out| out * 2);
            assert!(out.iter().all(|&out| out == 2 * len as i64));
            zip(par, &a, &b, &mut out, |a, b| a - i64::from(b));
            let mut same = vec![false; len];
            zip3(par, (&a, &b, &out), &mut same, |a, b, out| a - i64::from(b) == out);
            assert!(same.into_iter().all(|same| same));
        }
    }
}
