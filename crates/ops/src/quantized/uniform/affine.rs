//! Scales and zero points, and how integers of one scale become integers of another.

use tensorfleet_framework::{Attrs, KernelContext};
use tensorfleet_tensor::{QInt32, Result, Shape, invalid_argument};

use super::super::range::Quantized;

/// An integer `q` stands for `(q - zero) * scale`.
#[derive(Clone, Debug)]
pub(super) struct Affine {
    /// Along which every position has its own; one for all without it.
    pub(super) axis: Option<usize>,
    pub(super) scales: Vec<f32>,
    pub(super) zeros: Vec<i32>,
}

impl Affine {
    /// Reads scales from input `index` and zero points from the one after it, for a tensor of `shape`.
    pub(super) fn of(
        ctx: &KernelContext<'_>,
        index: usize,
        shape: &Shape,
        axis: i64,
    ) -> Result<Affine> {
        let (scales, zeros) = (ctx.input(index)?, ctx.input(index + 1)?);
        if scales.shape() != zeros.shape() {
            return Err(invalid_argument!(
                "scales and zero_points shape must be same, but given scales shape {} and \
                 zero_points shape {}",
                scales.shape(),
                zeros.shape()
            ));
        }
        let place = match usize::try_from(axis) {
            Ok(place) if place < shape.rank() => Some(place),
            _ if axis == -1 => None,
            _ => {
                return Err(invalid_argument!(
                    "quantization_axis must be -1 or in range [0, input.rank), but given {axis}"
                ));
            }
        };
        match place {
            None if scales.rank() != 0 => Err(invalid_argument!(
                "If quantization_axis is -1, scales and zero_points must be scalar tensors, but \
                 given scales shape {} and zero_points shape {}",
                scales.shape(),
                zeros.shape()
            )),
            Some(place) if *scales.dims() != [shape.dims()[place]] => Err(invalid_argument!(
                "If quantization_axis is not -1, scales and zero_points must be a tensor of rank 1 \
                 and the size must be equal to the input.dim_size(quantization_axis), but given \
                 quantization_axis {axis}, scales shape {} and zero_points shape {}",
                scales.shape(),
                zeros.shape()
            )),
            _ => Ok(Affine {
                axis: place,
                scales: scales.values()?.to_vec(),
                zeros: zeros.values()?.to_vec(),
            }),
        }
    }

    /// As many scales as there are.
    pub(super) fn count(&self) -> usize {
        self.scales.len()
    }

    /// The scale of a position along the axis, or the only one.
    pub(super) fn scale(&self, position: usize) -> f32 {
        self.scales[if self.axis.is_some() { position } else { 0 }]
    }

    pub(super) fn zero(&self, position: usize) -> i32 {
        self.zeros[if self.axis.is_some() { position } else { 0 }]
    }
}

/// An integer as TensorFlow reads it, through a float that does not hold every one.
pub(super) fn rounded<T: Quantized>(value: T) -> i32 {
    QInt32::from_f32(value.to_f32()).0
}

/// Refuses scales of input `index` that are not positive.
pub(super) fn check_positive(ctx: &KernelContext<'_>, index: usize, what: &str) -> Result<()> {
    let scales = ctx.input(index)?.values::<f32>()?;
    if scales.iter().all(|&scale| scale > 0.0) {
        return Ok(());
    }
    Err(invalid_argument!("{what} scales elements must be all positive."))
}

/// The least and the greatest integer that an op may return.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    low: i32,
    high: i32,
}

impl Bounds {
    /// Reads the attributes that begin with `prefix`.
    pub(super) fn new(attrs: &Attrs<'_>, prefix: &str) -> Result<Bounds> {
        let bound = |end: &str| {
            let value = attrs.int(&format!("{prefix}quantization_{end}_val"))?;
            i32::try_from(value).map_err(|_| {
                invalid_argument!(
                    "Attr {prefix}quantization_{end}_val has value {value} out of range for an int32"
                )
            })
        };
        Ok(Bounds { low: bound("min")?, high: bound("max")? })
    }

    pub(super) fn clip(self, value: i32) -> i32 {
        value.min(self.high).max(self.low)
    }
}

/// A positive factor in fixed point: `factor * 2^(shift - 31)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Multiplier {
    factor: i32,
    shift: i32,
}

impl Multiplier {
    pub(super) fn new(value: f64) -> Result<Multiplier> {
        if !value.is_finite() || value <= 0.0 {
            return Err(invalid_argument!(
                "double_multiplier must be a poisitive finite number. Given {value}"
            ));
        }
        // What makes it at least a half and less than one.
        let mut shift = value.log2().floor() as i32 + 1;
        let part = |shift: i32| value / 2f64.powi(shift);
        if part(shift) >= 1.0 {
            shift += 1;
        } else if part(shift) < 0.5 {
            shift -= 1;
        }
        let factor = (part(shift) * 2f64.powi(31)).round() as i64;
        let (factor, shift) =
            if factor == 1 << 31 { (1 << 30, shift + 1) } else { (factor, shift) };
        Ok(match shift {
            ..-31 => Multiplier { factor: 0, shift: 0 },
            31.. => Multiplier { factor: i32::MAX, shift: 30 },
            _ => Multiplier { factor: factor as i32, shift },
        })
    }

    pub(super) fn apply(self, value: i32) -> i32 {
        let shift = 31 - self.shift;
        let product = i64::from(value) * i64::from(self.factor) + (1 << (shift - 1));
        (product >> shift).clamp(i32::MIN.into(), i32::MAX.into()) as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiplier_rounds_once() {
        let half = Multiplier::new(0.5).unwrap();
        assert_eq!([-3, -1, 0, 1, 3].map(|value| half.apply(value)), [-1, 0, 0, 1, 2]);
        assert_eq!(Multiplier::new(3.0).unwrap().apply(7), 21);
        assert_eq!(Multiplier::new(1e12).unwrap().apply(9), i32::MAX);
        assert_eq!(Multiplier::new(1e-12).unwrap().apply(i32::MAX), 0);
        assert!(Multiplier::new(0.0).is_err());
        assert!(Multiplier::new(f64::INFINITY).is_err());
    }

    #[test]
    fn factors_close_to_a_power_of_two_are_right() {
        for value in [1.0 - f64::EPSILON, 1.0, 1.0 + f64::EPSILON, 8.0 - 1e-15] {
            let got = Multiplier::new(value).unwrap().apply(1 << 20);
            assert_eq!(got, (f64::from(1 << 20) * value).round() as i32, "{value}");
        }
    }
}
