//! The integers of quantised types, and the parts of a tensor that share a range of values.

use tensorfleet_tensor::{DType, Element, QInt8, QInt16, QInt32, QUInt8, QUInt16, Tensor};

/// A quantised integer.
pub(super) trait Quantized: Element {
    const LOWEST: f64;
    const HIGHEST: f64;

    /// Half of the number of values for signed types, 0 for others: what makes them unsigned.
    const HALF: f64 =
        if Self::LOWEST < 0.0 { (Self::HIGHEST - Self::LOWEST + 1.0) / 2.0 } else { 0.0 };

    fn to_f32(self) -> f32;
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

                fn from_f32(value: f32) -> $name {
                    let whole = if value >= 2147483648.0 { i32::MIN } else { value as i32 };
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

/// The number of runs of elements with ranges of their own, in turn, and the length of a run.
pub(super) fn slices(tensor: &Tensor, axis: Option<usize>) -> (usize, usize) {
    match axis {
        None => (1, tensor.num_elements()),
        Some(axis) => (tensor.dims()[axis], tensor.dims()[axis + 1..].iter().product()),
    }
}
