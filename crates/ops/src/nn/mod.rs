//! Neural networks: activations, convolutions, pooling, normalisation, losses.

mod activation;
mod bias_add;
mod relu;

use tensorfleet_framework::Op;
use tensorfleet_tensor::{DType, Error, internal};

pub(super) const OPS: &[&[Op]] = &[activation::OPS, bias_add::OPS, relu::OPS];

/// The types of networks' values.
const FLOATS: &[DType] = &[DType::Half, DType::BFloat16, DType::Float, DType::Double];

/// The integers that TensorFlow counts as real numbers.
const INTEGERS: &[DType] = &[
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

/// The error for a type that no kernel is registered for, so that it cannot come this far.
fn unsupported(dtype: DType) -> Error {
    internal!("a kernel was given {dtype}, a type that it is not registered for")
}
