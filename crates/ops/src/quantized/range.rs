//! The integers of quantised types, the ranges of values that they stand for, and the parts of a
//! tensor that share one.

use tensorfleet_framework::KernelContext;
use tensorfleet_tensor::{
    DType, Element, QInt8, QInt16, QInt32, QUInt8, QUInt16, Result, Tensor, invalid_argument,
};

/// A quantised integer.
pub(crate) trait Quantized: Element + Ord {
    const LOWEST: f64;
    const HIGHEST: f64;

    /// Half of the number of values for signed types, 0 for others: what makes them unsigned.
    const HALF: f64 =
        if Self::LOWEST < 0.0 { (Self::HIGHEST - Self::LOWEST + 1.0) / 2.0 } else { 0.0 };

    fn to_f32(self) -> f32;
    fn to_i64(self) -> i64;
    /// The nearest integer of the type.
    fn clamped(value: i64) -> Self;
    /// The integer that processors make of a whole number: out of 32 bits there is only the least.
    fn from_f32(value: f32) -> Self;
}

macro_rules! quantized {
    ($($name:ident($inner:ty);)*) => {
        $(
            impl Quantized for $name {
                const LOWEST: f64 = <$inner>::MIN as f64;
                const HIGHEST: f64 = <$inner>::MAX as f64;

                fn to_f32(self) -> f32 {
                    self.0 as f32
                }

                fn to_i64(self) -> i64 {
                    self.0.into()
                }

                fn clamped(value: i64) -> $name {
                    $name(value.clamp(<$inner>::MIN.into(), <$inner>::MAX.into()) as $inner)
                }

                fn from_f32(value: f32) -> $name {
                    let whole = if value < 2147483648.0 { value as i32 } else { i32::MIN };
                    $name(whole as $inner)
                }
            }
        )*
    };
}

quantized! {
    QInt8(i8);
    QUInt8(u8);
    QInt16(i16);
    QUInt16(u16);
    QInt32(i32);
}

/// The types that have arithmetic here.
pub(super) const TYPES: &[DType] =
    &[DType::QInt8, DType::QUInt8, DType::QInt32, DType::QInt16, DType::QUInt16];

/// How ranges of values are mapped to integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mode {
    MinCombined,
    MinFirst,
    Scaled,
}

impl Mode {
    pub(super) fn named(name: &str) -> Mode {
        match name {
            "MIN_FIRST" => Mode::MinFirst,
            "SCALED" => Mode::Scaled,
            _ => Mode::MinCombined,
        }
    }
}

/// The lowest and the highest value that the integers of a tensor stand for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range {
    pub(crate) low: f32,
    pub(crate) high: f32,
}

impl Range {
    /// The range that two scalar inputs state; the first is input `index`. Errors call them by
    /// their `names`.
    pub(crate) fn of(ctx: &KernelContext<'_>, index: usize, names: [&str; 2]) -> Result<Range> {
        let end = |index, name: &str| {
            let end = ctx.input(index)?;
            match end.rank() {
                0 => end.scalar_value(),
                rank => Err(invalid_argument!("{name} must be rank 0 but is rank {rank}")),
            }
        };
        Ok(Range { low: end(index, names[0])?, high: end(index + 1, names[1])? })
    }

    /// Refuses a range without width, in these words.
    pub(crate) fn check(self, words: &str) -> Result<()> {
        if self.high > self.low { Ok(()) } else { Err(invalid_argument!("{words}")) }
    }

    /// Sets two scalar outputs, of which the first is output `index`.
    pub(crate) fn output(self, ctx: &mut KernelContext<'_>, index: usize) {
        ctx.set_output(index, Tensor::scalar(self.low));
        ctx.set_output(index + 1, Tensor::scalar(self.high));
    }

    /// What one step from integer to integer stands for.
    fn level<T: Quantized>(self) -> f32 {
        (self.high - self.low) / (T::HIGHEST - T::LOWEST) as f32
    }

    /// The range of 32-bit sums of products of integers with these two ranges.
    pub(crate) fn of_products<A: Quantized, B: Quantized>(a: Range, b: Range) -> Range {
        let level = a.level::<A>() * b.level::<B>();
        Range { low: level * i32::MIN as f32, high: level * i32::MAX as f32 }
    }
}

/// The number of runs of elements with ranges of their own, in turn, and the length of a run.
pub(super) fn slices(tensor: &Tensor, axis: Option<usize>) -> (usize, usize) {
    match axis {
        None => (1, tensor.num_elements()),
        Some(axis) => (tensor.dims()[axis], tensor.dims()[axis + 1..].iter().product()),
    }
}
