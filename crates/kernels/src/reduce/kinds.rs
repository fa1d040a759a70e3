//! The reductions, for the types they exist for.

use std::marker::PhantomData;

use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::arg::Ordered;
use super::pass::simd;
use super::{Axes, Reduction, reduce};
use crate::Parallel;
use crate::elementwise::BLOCK;
use crate::real::{Real, Wide};

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
    )+};
}

kinds! {
    /// The sum; integers wrap.
    Sum
    /// The sum divided by the count; integers are summed in 64 bits and truncate.
    Mean
    /// The product; integers wrap.
    Prod
    /// The largest value; NaN if there is one.
    Max
    /// The smallest value; NaN if there is one.
    Min
    /// Whether all are true.
    All
    /// Whether any is true.
    Any
    /// Half the sum of squares.
    HalfSquares
}

/// Half the sum of the squares of `x`.
pub fn l2_loss<T: Real>(par: Parallel, x: &[T]) -> T
where
    HalfSquares: Reduction<T>,
{
    let mut out = [T::narrow(T::Wide::default())];
    reduce::<HalfSquares, T>(par, x, &Axes::all(x.len()), &mut out);
    out[0]
}

/// Implements a reduction for `f32`, `f64` and, in `f32`, the half-precision types.
macro_rules! real {
    ($kind:ident: $empty:expr, |$x:ident| $lift:expr, |$a:ident, $b:ident| $combine:expr,
     |$acc:ident, $count:ident| $finish:expr) => {
        real!(@wide f32, $kind: $empty, |$x| $lift, |$a, $b| $combine, |$acc, $count| $finish);
        real!(@wide f64, $kind: $empty, |$x| $lift, |$a, $b| $combine, |$acc, $count| $finish);
        real!(@half f16, $kind);
        real!(@half bf16, $kind);
    };
    (@wide $type:ident, $kind:ident: $empty:expr, |$x:ident| $lift:expr,
     |$a:ident, $b:ident| $combine:expr, |$acc:ident, $count:ident| $finish:expr) => {
        impl Reduction<$type> for $kind {
            type Acc = $type;

            #[inline(always)]
            fn empty() -> $type {
                $empty
            }

            #[inline(always)]
            fn lift($x: $type) -> $type {
                $lift
            }

            #[inline(always)]
            fn combine($a: $type, $b: $type) -> $type {
                $combine
            }

            #[inline(always)]
            fn finish($acc: $type, $count: usize) -> $type {
                $finish
            }

            fn fold(x: &[$type]) -> $type {
                simd::fold(PhantomData::<Self>, x)
            }

            fn fold_into(accs: &mut [$type], x: &[$type]) {
                simd::fold_into(PhantomData::<Self>, accs, x);
            }
        }
    };
    (@half $type:ident, $kind:ident) => {
        impl Reduction<$type> for $kind {
            type Acc = f32;

            fn empty() -> f32 {
                <$kind as Reduction<f32>>::empty()
            }

            fn lift(x: $type) -> f32 {
                <$kind as Reduction<f32>>::lift(x.to_f32())
            }

            fn combine(a: f32, b: f32) -> f32 {
                <$kind as Reduction<f32>>::combine(a, b)
            }

            fn finish(acc: f32, count: usize) -> $type {
                $type::from_f32(<$kind as Reduction<f32>>::finish(acc, count))
            }

            fn fold(x: &[$type]) -> f32 {
                let mut wide = [0.0; BLOCK];
                x.chunks(BLOCK).fold(<$kind as Reduction<f32>>::empty(), |acc, x| {
                    let wide = &mut wide[..x.len()];
                    <$type>::widen_slice(x, wide);
                    <$kind as Reduction<f32>>::combine(acc, <$kind as Reduction<f32>>::fold(wide))
                })
            }

            fn fold_into(accs: &mut [f32], x: &[$type]) {
                let mut wide = [0.0; BLOCK];
                for (accs, x) in accs.chunks_mut(BLOCK).zip(x.chunks(BLOCK)) {
                    let wide = &mut wide[..x.len()];
                    <$type>::widen_slice(x, wide);
                    <$kind as Reduction<f32>>::fold_into(accs, wide);
                }
            }
        }
    };
}

real!(Sum: 0.0, |x| x, |a, b| a + b, |acc, _count| acc);
real!(Mean: 0.0, |x| x, |a, b| a + b, |acc, count| share(acc, count));
real!(Prod: 1.0, |x| x, |a, b| a * b, |acc, _count| acc);
real!(Max: Ordered::LOWEST, |x| x, |a, b| a.nan_max(b), |acc, _count| acc);
real!(Min: Ordered::HIGHEST, |x| x, |a, b| a.nan_min(b), |acc, _count| acc);
real!(HalfSquares: 0.0, |x| x * x, |a, b| a + b, |acc, _count| acc * 0.5);

fn share<T: Wide>(sum: T, count: usize) -> T {
    sum / T::of(count as f64)
}

/// Implements a reduction gathered in `$acc_type` for other types.
macro_rules! plain {
    ($kind:ident for $($type:ty as $acc_type:ty),+: $empty:expr, |$x:ident| $lift:expr,
     |$a:ident, $b:ident| $combine:expr, |$acc:ident, $count:ident| $finish:expr) => {$(
        impl Reduction<$type> for $kind {
            type Acc = $acc_type;

            #[inline(always)]
            fn empty() -> $acc_type {
                $empty
            }

            #[inline(always)]
            fn lift($x: $type) -> $acc_type {
                $lift
            }

            #[inline(always)]
            fn combine($a: $acc_type, $b: $acc_type) -> $acc_type {
                $combine
            }

            #[inline(always)]
            fn finish($acc: $acc_type, $count: usize) -> $type {
                $finish
            }
        }
    )+};
}

macro_rules! integers {
    ($($type:ident as $long:ident),+) => {
        plain!(Sum for $($type as $type),+:
            0, |x| x, |a, b| a.wrapping_add(b), |acc, _count| acc);
        plain!(Prod for $($type as $type),+:
            1, |x| x, |a, b| a.wrapping_mul(b), |acc, _count| acc);
        plain!(Max for $($type as $type),+:
            Ordered::LOWEST, |x| x, |a, b| a.max(b), |acc, _count| acc);
        plain!(Min for $($type as $type),+:
            Ordered::HIGHEST, |x| x, |a, b| a.min(b), |acc, _count| acc);
        $(plain!(Mean for $type as $long:
            0, |x| $long::from(x), |a, b| a.wrapping_add(b),
            |acc, count| if count == 0 { 0 } else { acc.wrapping_div(count as $long) as $type });)+
    };
}

integers!(
    i8 as i64, i16 as i64, i32 as i64, i64 as i64, u8 as u64, u16 as u64, u32 as u64, u64 as u64
);

macro_rules! complex {
    ($($type:ident),+) => {
        plain!(Sum for $($type as $type),+:
            Default::default(), |x| x, |a, b| a + b, |acc, _count| acc);
        plain!(Mean for $($type as $type),+:
            Default::default(), |x| x, |a, b| a + b,
            // Unlike the mean of no reals, that of no complex numbers is zero.
            |acc, count| if count == 0 { acc } else { acc.unscale(count as _) });
        plain!(Prod for $($type as $type),+:
            num_traits::One::one(), |x| x, |a, b| a * b, |acc, _count| acc);
    };
}

complex!(Complex32, Complex64);

plain!(All for bool as bool: true, |x| x, |a, b| a & b, |acc, _count| acc);
plain!(Any for bool as bool: false, |x| x, |a, b| a | b, |acc, _count| acc);
