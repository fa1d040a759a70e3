//! Real element types and the precision they are computed in.
//!
//! [`Real`] is what tensors hold: `f16`, `bf16`, `f32` and `f64`. [`Wide`] is what loops compute in:
//! `f32` and `f64`. Half-precision tensors are widened block by block, so that a kernel exists in two
//! precisions only.

use std::borrow::Cow;

use half::{bf16, f16};

use crate::conv::Tiled;
use crate::convert;
use crate::elementwise::{self, Binary, Unary};
use crate::simd::Isa;

/// A real element type of a tensor.
pub trait Real: Copy + Send + Sync + PartialOrd + PartialEq + std::fmt::Debug + 'static {
    /// The type it is computed in.
    type Wide: Tiled;
    /// Whether the type is computed in as it is.
    const IS_WIDE: bool;

    /// Converts to the wide type, exactly.
    fn widen(self) -> Self::Wide;
    /// Rounds to the nearest value of this type, ties to even.
    fn narrow(wide: Self::Wide) -> Self;
    /// Converts a slice to the wide type.
    fn widen_slice(x: &[Self], out: &mut [Self::Wide]);
    /// The slice itself, if this is a wide type.
    fn as_wide(x: &[Self]) -> Option<&[Self::Wide]>;
    /// As [`Real::as_wide`], writable.
    fn as_wide_mut(x: &mut [Self]) -> Option<&mut [Self::Wide]>;
    /// Rounds a slice of the wide type.
    fn narrow_slice(x: &[Self::Wide], out: &mut [Self]);
    /// `out[i] = F(x[i])`, on this thread.
    fn apply<F: Unary>(x: &[Self], out: &mut [Self]);
    /// `out[i] = F(a[i], b[i])`, on this thread.
    fn apply2<F: Binary>(a: &[Self], b: &[Self], out: &mut [Self]);
}

/// A type that loops compute in.
pub trait Wide: Real<Wide = Self> + num_traits::Float + num_traits::FloatConst + Default {
    /// `self * b + c`, fused where the instruction set can.
    fn fma<I: Isa>(self, b: Self, c: Self) -> Self;
    /// Rounds a literal.
    fn of(value: f64) -> Self;
    /// The value, or zero. Unlike a branch it never keeps a loop from being vectorised.
    fn keep_if(self, keep: bool) -> Self;
    /// The larger value, or NaN if either is one; as TensorFlow's reductions and `Maximum` do.
    #[inline(always)]
    fn nan_max(self, other: Self) -> Self {
        if self > other || self.is_nan() { self } else { other }
    }
    /// The smaller value, or NaN if either is one.
    #[inline(always)]
    fn nan_min(self, other: Self) -> Self {
        if self < other || self.is_nan() { self } else { other }
    }
}

macro_rules! wide {
    ($type:ty, $bits:ty, $fma:ident, $precision:ident) => {
        impl Real for $type {
            type Wide = Self;
            const IS_WIDE: bool = true;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }

            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }

            fn widen_slice(x: &[Self], out: &mut [Self]) {
                out.copy_from_slice(x);
            }

            fn as_wide(x: &[Self]) -> Option<&[Self]> {
                Some(x)
            }

            fn as_wide_mut(x: &mut [Self]) -> Option<&mut [Self]> {
                Some(x)
            }

            fn narrow_slice(x: &[Self], out: &mut [Self]) {
                out.copy_from_slice(x);
            }

            fn apply<F: Unary>(x: &[Self], out: &mut [Self]) {
                F::$precision(x, out);
            }

            fn apply2<F: Binary>(a: &[Self], b: &[Self], out: &mut [Self]) {
                F::$precision(a, b, out);
            }
        }

        impl Wide for $type {
            #[inline(always)]
            fn fma<I: Isa>(self, b: Self, c: Self) -> Self {
                I::$fma(self, b, c)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, reason = "rounding is the purpose")]
            fn of(value: f64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn keep_if(self, keep: bool) -> Self {
                Self::from_bits(self.to_bits() & <$bits>::from(keep).wrapping_neg())
            }
        }
    };
}

wide!(f32, u32, fma32, single);
wide!(f64, u64, fma64, double);

macro_rules! half {
    ($type:ty, $widen:path, $narrow:path) => {
        impl Real for $type {
            type Wide = f32;
            const IS_WIDE: bool = false;

            #[inline]
            fn widen(self) -> f32 {
                self.to_f32()
            }

            #[inline]
            fn narrow(wide: f32) -> Self {
                Self::from_f32(wide)
            }

            fn widen_slice(x: &[Self], out: &mut [f32]) {
                $widen(x, out);
            }

            fn as_wide(_: &[Self]) -> Option<&[f32]> {
                None
            }

            fn as_wide_mut(_: &mut [Self]) -> Option<&mut [f32]> {
                None
            }

            fn narrow_slice(x: &[f32], out: &mut [Self]) {
                $narrow(x, out);
            }

            fn apply<F: Unary>(x: &[Self], out: &mut [Self]) {
                elementwise::unary_in_blocks(x, out, F::single);
            }

            fn apply2<F: Binary>(a: &[Self], b: &[Self], out: &mut [Self]) {
                elementwise::binary_in_blocks(a, b, out, F::single);
            }
        }
    };
}

half!(f16, convert::f16_to_f32, convert::f32_to_f16);
half!(bf16, convert::bf16_to_f32, convert::f32_to_bf16);

/// The slice in the wide type: itself, or a converted copy.
pub(crate) fn widened<T: Real>(x: &[T]) -> Cow<'_, [T::Wide]> {
    match T::as_wide(x) {
        Some(wide) => Cow::Borrowed(wide),
        None => {
            let mut wide = vec![T::Wide::default(); x.len()];
            T::widen_slice(x, &mut wide);
            Cow::Owned(wide)
        }
    }
}
