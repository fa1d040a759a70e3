//! Numbers of less than a byte's worth of the usual types: eight-bit reals and four-bit integers.
//!
//! Each is converted through a type that holds all its values exactly, so a number is rounded once.

use tensorfleet_tensor::{DType, Result, Tensor};

/// Whether a type is one of the eight-bit reals that numbers can be converted to.
pub(super) fn is_float8(dtype: DType) -> bool {
    layout(dtype).is_some()
}

/// Whether a type is an integer of four bits, of which a tensor stores one in each byte.
pub(super) fn is_nibble(dtype: DType) -> bool {
    matches!(dtype, DType::Int4 | DType::UInt4)
}

/// The type through which numbers of `from` become ones of `to`.
pub(super) fn wide(from: DType, to: DType) -> DType {
    match to {
        // What is no number of 32 bits is the smallest one with a sign.
        DType::UInt32 if is_float8(from) => DType::Int32,
        _ if is_float8(to) => DType::Double,
        _ if is_nibble(to) => DType::Int8,
        other => other,
    }
}

/// A narrow tensor as one of a type that holds its values exactly; any other as it is.
pub(super) fn widen(x: &Tensor) -> Result<Tensor> {
    let bytes = |f: fn(u8) -> i8| -> Result<Tensor> {
        let values = x.shared_bytes();
        Tensor::build(x.shape().clone(), |out: &mut [i8]| {
            out.iter_mut().zip(values.iter()).for_each(|(out, &byte)| *out = f(byte));
        })
    };
    match x.dtype() {
        DType::Int4 => bytes(signed_nibble),
        DType::UInt4 => bytes(|byte| (byte & 15).cast_signed()),
        dtype => match layout(dtype) {
            None => Ok(x.clone()),
            Some(layout) => {
                let values = x.shared_bytes();
                Tensor::build(x.shape().clone(), |out: &mut [f32]| {
                    out.iter_mut().zip(values.iter()).for_each(|(out, &b)| *out = layout.decode(b));
                })
            }
        },
    }
}

/// A tensor of the [`wide`] type as the one it stands for.
pub(super) fn narrow(x: Tensor, to: DType) -> Result<Tensor> {
    let bytes: Vec<u8> = match layout(to) {
        Some(layout) => x.values::<f64>()?.iter().map(|&value| layout.encode(value)).collect(),
        None if is_nibble(to) => {
            x.values::<i8>()?.iter().map(|value| value.cast_unsigned() & 15).collect()
        }
        None if x.dtype() != to => return x.reinterpret(to, x.shape().clone()),
        None => return Ok(x),
    };
    Tensor::from_bytes(to, x.shape().clone(), &bytes)
}

/// The low four bits as a number in two's complement.
fn signed_nibble(byte: u8) -> i8 {
    (byte << 4).cast_signed() >> 4
}

/// How eight bits are a real number.
#[derive(Clone, Copy, Debug)]
struct Layout {
    mantissa_bits: i32,
    bias: i32,
    largest: u8,
    /// What stands for everything larger.
    beyond: u8,
    nan: u8,
}

fn layout(dtype: DType) -> Option<Layout> {
    match dtype {
        DType::Float8E5M2 => {
            Some(Layout { mantissa_bits: 2, bias: 15, largest: 0x7b, beyond: 0x7c, nan: 0x7e })
        }
        // Without infinity: what is too large is not a number.
        DType::Float8E4M3FN => {
            Some(Layout { mantissa_bits: 3, bias: 7, largest: 0x7e, beyond: 0x7f, nan: 0x7f })
        }
        _ => None,
    }
}

impl Layout {
    fn decode(self, byte: u8) -> f32 {
        let magnitude = i32::from(byte & 0x7f);
        let value = if magnitude > i32::from(self.largest) {
            if byte & 0x7f == self.beyond && self.beyond != self.nan {
                f32::INFINITY
            } else {
                f32::NAN
            }
        } else {
            let (exponent, mantissa) =
                (magnitude >> self.mantissa_bits, magnitude & ((1 << self.mantissa_bits) - 1));
            let (exponent, mantissa) = match exponent {
                0 => (1, mantissa),
                exponent => (exponent, mantissa | 1 << self.mantissa_bits),
            };
            mantissa as f32 * 2f32.powi(exponent - self.bias - self.mantissa_bits)
        };
        if byte & 0x80 == 0 { value } else { -value }
    }

    /// Rounds to the nearest, ties to even.
    fn encode(self, value: f64) -> u8 {
        let sign = if value.is_sign_negative() { 0x80 } else { 0 };
        if value.is_nan() {
            return sign | self.nan;
        }
        let magnitude = value.abs();
        let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(1 - self.bias);
        let steps = magnitude * 2f64.powi(self.mantissa_bits - exponent);
        let code =
            ((exponent + self.bias - 1) << self.mantissa_bits) as f64 + steps.round_ties_even();
        sign | if code > f64::from(self.largest) { self.beyond } else { code as u8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_eight_bit_real_comes_back() {
        for dtype in [DType::Float8E5M2, DType::Float8E4M3FN] {
            let layout = layout(dtype).unwrap();
            for byte in 0..=u8::MAX {
                let value = layout.decode(byte);
                let again = layout.encode(value.into());
                assert!(again == byte || value.is_nan(), "{dtype} {byte:x} {value} {again:x}");
            }
        }
    }

    #[test]
    fn rounding_is_to_even_and_overflow_is_marked() {
        let (e5m2, e4m3) =
            (layout(DType::Float8E5M2).unwrap(), layout(DType::Float8E4M3FN).unwrap());
        for (value, low, high) in [
            (464.0, 0x5f, 0x7e),
            (465.0, 0x5f, 0x7f),
            (61439.0, 0x7b, 0x7f),
            (61440.0, 0x7c, 0x7f),
            (f64::INFINITY, 0x7c, 0x7f),
            (0.0009765625, 0x14, 0x00),
            (-1e-300, 0x80, 0x80),
        ] {
            assert_eq!((e5m2.encode(value), e4m3.encode(value)), (low, high), "{value}");
        }
    }
}
