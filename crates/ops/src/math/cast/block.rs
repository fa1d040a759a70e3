//! Conversions between any two types, through blocks of a wide one.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal};

/// Elements converted at a time.
const BLOCK: usize = 512;
/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 16 * 1024;

/// A type that holds every value of some source types exactly.
pub(super) trait Wide: Copy + Default {
    fn to<D: Target>(self) -> D;
}

/// A type that can be converted from.
pub(super) trait Source: Element {
    type Wide: Wide;

    fn widen(self) -> Self::Wide;

    #[inline(always)]
    fn to<D: Target>(self) -> D {
        self.widen().to()
    }
}

/// A type that can be converted to.
pub(super) trait Target: Element {
    fn from_signed(value: i64) -> Self;
    fn from_unsigned(value: u64) -> Self;
    fn from_real(value: f64) -> Self;
    fn from_complex(value: Complex<f64>) -> Self {
        Self::from_real(value.re)
    }
}

/// Whether tensors of a type hold numbers (or Booleans).
pub(super) fn is_number(dtype: DType) -> bool {
    dtype.is_floating() || dtype.is_complex() || dtype.is_integer() || dtype == DType::Bool
}

/// Converts between any two types.
pub(super) fn cast(par: Parallel, x: &Tensor, to: DType) -> Result<Tensor> {
    dispatch!(
        x.dtype(),
        [
            bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>,
            Complex<f64>,
        ],
        S => {
            let values = x.values::<S>()?;
            convert(par, x, to, &|start, block: &mut [<S as Source>::Wide]| {
                for (wide, value) in block.iter_mut().zip(&values[start..]) {
                    *wide = Source::widen(*value);
                }
            })
        },
        else => Err(internal!("Cast was given a {} tensor", x.dtype()))
    )
}

/// Converts values that `read` fetches from a position on.
fn convert<W: Wide>(
    par: Parallel,
    x: &Tensor,
    to: DType,
    read: &(dyn Fn(usize, &mut [W]) + Sync),
) -> Result<Tensor> {
    dispatch!(
        to,
        [
            bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex<f32>,
            Complex<f64>,
        ],
        D => Tensor::build(x.shape().clone(), |out: &mut [D]| {
            par.for_each(out, MIN_PIECE, |range, out| {
                let mut block = [W::default(); BLOCK];
                for (i, out) in out.chunks_mut(BLOCK).enumerate() {
                    let block = &mut block[..out.len()];
                    read(range.start + i * BLOCK, block);
                    out.iter_mut().zip(block).for_each(|(out, wide)| *out = wide.to());
                }
            });
        }),
        else => Err(internal!("Cast was asked for a {to} tensor"))
    )
}

impl Wide for i64 {
    #[inline(always)]
    fn to<D: Target>(self) -> D {
        D::from_signed(self)
    }
}

impl Wide for u64 {
    #[inline(always)]
    fn to<D: Target>(self) -> D {
        D::from_unsigned(self)
    }
}

impl Wide for f64 {
    #[inline(always)]
    fn to<D: Target>(self) -> D {
        D::from_real(self)
    }
}

impl Wide for Complex<f64> {
    #[inline(always)]
    fn to<D: Target>(self) -> D {
        D::from_complex(self)
    }
}

macro_rules! sources {
    ($($type:ty as $wide:ty = $widen:expr;)+) => {$(
        impl Source for $type {
            type Wide = $wide;

            #[inline(always)]
            fn widen(self) -> $wide {
                let widen: fn($type) -> $wide = $widen;
                widen(self)
            }
        }
    )+};
}

sources! {
    bool as i64 = i64::from;
    i8 as i64 = i64::from;
    i16 as i64 = i64::from;
    i32 as i64 = i64::from;
    i64 as i64 = |x| x;
    u8 as i64 = i64::from;
    u16 as i64 = i64::from;
    u32 as i64 = i64::from;
    u64 as u64 = |x| x;
    f16 as f64 = f64::from;
    bf16 as f64 = f64::from;
    f32 as f64 = f64::from;
    f64 as f64 = |x| x;
    Complex<f32> as Complex<f64> = |z| Complex::new(z.re.into(), z.im.into());
    Complex<f64> as Complex<f64> = |z| z;
}

/// Towards zero; the smallest integer for everything out of range.
#[inline(always)]
fn to_i32(value: f64) -> i32 {
    // `as` already gives the smallest integer for what is below.
    if value < 2_147_483_648.0 { value as i32 } else { i32::MIN }
}

/// Towards zero; the smallest integer for everything out of range.
#[inline(always)]
fn to_i64(value: f64) -> i64 {
    if value < 9_223_372_036_854_775_808.0 { value as i64 } else { i64::MIN }
}

/// As the compilers of x86 do with signed conversions only: negative numbers wrap.
#[inline(always)]
fn to_u64(value: f64) -> u64 {
    const HALF: f64 = 9_223_372_036_854_775_808.0;
    let low = to_i64(value);
    let high = to_i64(value - HALF);
    (low | (high & (low >> 63))).cast_unsigned()
}

macro_rules! integers {
    ($($type:ty: $from_real:expr;)+) => {$(
        impl Target for $type {
            #[inline(always)]
            fn from_signed(value: i64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn from_unsigned(value: u64) -> Self {
                value as $type
            }

            #[inline(always)]
            fn from_real(value: f64) -> Self {
                let from_real: fn(f64) -> $type = $from_real;
                from_real(value)
            }
        }
    )+};
}

integers! {
    i8: |x| to_i32(x) as i8;
    i16: |x| to_i32(x) as i16;
    i32: to_i32;
    i64: to_i64;
    u8: |x| to_i32(x) as u8;
    u16: |x| to_i32(x) as u16;
    u32: |x| to_i64(x) as u32;
    u64: to_u64;
}

impl Target for bool {
    fn from_signed(value: i64) -> bool {
        value != 0
    }

    fn from_unsigned(value: u64) -> bool {
        value != 0
    }

    fn from_real(value: f64) -> bool {
        value != 0.0
    }
}

macro_rules! reals {
    ($($type:ty: $from_single:expr;)+) => {$(
        impl Target for $type {
            #[inline(always)]
            fn from_signed(value: i64) -> Self {
                $from_single(value as f32)
            }

            #[inline(always)]
            fn from_unsigned(value: u64) -> Self {
                $from_single(value as f32)
            }

            #[inline(always)]
            fn from_real(value: f64) -> Self {
                $from_single(value as f32)
            }
        }
    )+};
}

// TensorFlow rounds to single precision on the way to half.
reals! {
    f16: f16::from_f32;
    bf16: bf16::from_f32;
    f32: |x| x;
}

impl Target for f64 {
    #[inline(always)]
    fn from_signed(value: i64) -> f64 {
        value as f64
    }

    #[inline(always)]
    fn from_unsigned(value: u64) -> f64 {
        value as f64
    }

    #[inline(always)]
    fn from_real(value: f64) -> f64 {
        value
    }
}

macro_rules! complex {
    ($($part:ty)+) => {$(
        impl Target for Complex<$part> {
            fn from_signed(value: i64) -> Self {
                Complex::new(value as $part, 0.0)
            }

            fn from_unsigned(value: u64) -> Self {
                Complex::new(value as $part, 0.0)
            }

            fn from_real(value: f64) -> Self {
                Complex::new(value as $part, 0.0)
            }

            fn from_complex(value: Complex<f64>) -> Self {
                Complex::new(value.re as $part, value.im as $part)
            }
        }
    )+};
}

complex!(f32 f64);
