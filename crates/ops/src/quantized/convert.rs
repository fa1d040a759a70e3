//! Integers of one range of values as numbers, and as integers of another range.
//!
//! There are two ways, which round differently: exactly, in double precision, for single values; and
//! for whole tensors in single precision, by a scale and an offset found before.

use tensorfleet_tensor::{QInt32, QUInt8, Result, Tensor};

use super::range::{Quantized, Range};

/// The integer that stands for a number, as if the type had no bounds.
pub(crate) fn unclamped<T: Quantized>(value: f32, range: Range) -> i64 {
    let lowest = T::LOWEST as i64;
    if range.low == range.high {
        return lowest;
    }
    let scale = steps::<T>() / width::<T>(range);
    let from_low = (f64::from(value) * scale).round() - (f64::from(range.low) * scale).round();
    (from_low as i64).saturating_add(lowest)
}

/// The integer that stands for a number, or the nearest there is.
pub(crate) fn quantized<T: Quantized>(value: f32, range: Range) -> T {
    T::clamped(unclamped::<T>(value, range))
}

/// The number that an integer stands for.
pub(crate) fn number<T: Quantized>(value: T, range: Range) -> f32 {
    if range.low == range.high {
        return range.low;
    }
    let scale = width::<T>(range) / steps::<T>();
    let single = scale as f32;
    let low = f64::from((range.low / single).round() * single);
    (low + (value.to_i64() as f64 - T::LOWEST) * scale) as f32
}

/// Integers less the one that stands for zero, so that products of them are products of numbers.
pub(crate) fn centred<T: Quantized>(tensor: &Tensor, range: Range) -> Result<Tensor> {
    let zero = unclamped::<T>(0.0, range) as i32;
    let values = tensor.values::<T>()?;
    Tensor::build(tensor.shape().clone(), |out: &mut [i32]| {
        for (out, value) in out.iter_mut().zip(values) {
            *out = (value.to_i64() as i32).wrapping_sub(zero);
        }
    })
}

fn steps<T: Quantized>() -> f64 {
    T::HIGHEST - T::LOWEST + 1.0
}

/// The width of a range, its last step included.
fn width<T: Quantized>(range: Range) -> f64 {
    f64::from(range.high - range.low) * (steps::<T>() / (steps::<T>() - 1.0))
}

/// Integers of one range as numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToNumber {
    scale: f32,
    offset: f32,
}

impl ToNumber {
    pub(super) fn new<T: Quantized>(range: Range) -> ToNumber {
        let scale = (f64::from(range.high - range.low) / (steps::<T>() - 1.0)) as f32;
        let low =
            if range.low == range.high { range.low } else { (range.low / scale).round() * scale };
        ToNumber { scale, offset: low - T::LOWEST as f32 * scale }
    }

    pub(super) fn apply<T: Quantized>(self, value: T) -> f32 {
        self.offset + value.to_f32() * self.scale
    }
}

/// Numbers as integers of one range.
#[derive(Clone, Copy, Debug)]
pub(super) struct FromNumber {
    scale: f32,
    offset: f32,
    lowest: f32,
    /// The highest integer, or the greatest float below it: not every integer is a float.
    highest: f32,
}

impl FromNumber {
    pub(super) fn new<T: Quantized>(range: Range) -> FromNumber {
        let width = f64::from(range.high - range.low);
        let scale = if width == 0.0 { 0.0 } else { ((steps::<T>() - 1.0) / width) as f32 };
        let (lowest, highest) = (T::LOWEST as f32, T::HIGHEST as f32);
        let highest = if f64::from(highest) > T::HIGHEST { highest.next_down() } else { highest };
        FromNumber { scale, offset: (range.low * scale).round() - lowest, lowest, highest }
    }

    pub(super) fn apply<T: Quantized>(self, value: f32) -> T {
        let whole = (value * self.scale).round() - self.offset;
        // NaN stays, and becomes the integer that processors make of it.
        let whole = if whole < self.lowest { self.lowest } else { whole };
        T::from_f32(if whole > self.highest { self.highest } else { whole })
    }
}

/// Sums of products as bytes of another range, in fixed point.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToByte {
    scale: i64,
    offset: i64,
}

impl ToByte {
    const POINT: u32 = 16;

    pub(super) fn new(from: Range, to: Range) -> ToByte {
        let one = f64::from(1 << ToByte::POINT);
        let (from_width, to_width) = (from.high - from.low, to.high - to.low);
        if to_width == 0.0 {
            return ToByte { scale: 0, offset: 1 << (ToByte::POINT - 1) };
        }
        let middle = (f64::from(from.low + from.high) / 2.0) as f32;
        let levels = (255.0 / f64::from(to_width)) as f32;
        let scale = 255.0 * one * f64::from(from_width) / f64::from(to_width);
        let from_offset = middle * levels * one as f32;
        let to_offset = one * (f64::from(to.low) * 255.0) / f64::from(to_width);
        let offset = (from_offset as i64).wrapping_sub(to_offset as i64);
        ToByte { scale: scale as i64, offset: offset.wrapping_add(1 << (ToByte::POINT - 1)) }
    }

    pub(super) fn apply(self, value: QInt32) -> QUInt8 {
        let scaled = value.to_i64().wrapping_mul(self.scale) >> 32;
        QUInt8::clamped(scaled.wrapping_add(self.offset) >> ToByte::POINT)
    }
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::QInt8;

    use super::*;

    #[test]
    fn ends_of_a_range_are_the_ends_of_the_integers() {
        let range = Range { low: -1.0, high: 3.0 };
        assert_eq!(quantized::<QUInt8>(-1.0, range), QUInt8(0));
        assert_eq!(quantized::<QUInt8>(3.0, range), QUInt8(255));
        assert_eq!(quantized::<QInt8>(9.0, range), QInt8(127));
        assert_eq!(unclamped::<QInt8>(9.0, range), 510);
    }

    #[test]
    fn a_range_without_width_has_one_value() {
        let range = Range { low: 2.0, high: 2.0 };
        assert_eq!(quantized::<QUInt8>(5.0, range), QUInt8(0));
        assert_eq!(number(QUInt8(7), range), 2.0);
        assert_eq!(FromNumber::new::<QInt8>(range).apply::<QInt8>(5.0), QInt8(-128));
        assert_eq!(ToByte::new(range, range).apply(QInt32(12)), QUInt8(0));
    }

    #[test]
    fn values_that_no_integer_holds_stay_at_the_ends() {
        let range = Range { low: -1.0, high: 1.0 };
        assert_eq!(quantized::<QInt32>(f32::INFINITY, range), QInt32(i32::MAX));
        assert_eq!(quantized::<QInt32>(f32::NEG_INFINITY, range), QInt32(i32::MIN));
        assert_eq!(FromNumber::new::<QInt32>(range).apply::<QInt32>(9.0).0, 2147483520);
    }
}
