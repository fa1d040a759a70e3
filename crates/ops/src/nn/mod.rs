//! Neural networks: activations, convolutions, pooling, normalisation, losses.

mod activation;
mod activation_gradient;
mod batch_norm;
mod bias_add;
mod candidate_sampler;
mod clustering;
mod conv;
mod cross_entropy;
mod ctc;
mod data_format;
mod dilation;
mod global_norm;
mod in_top_k;
mod isotonic;
mod l2_loss;
mod layout;
mod lrn;
mod nth_element;
mod pool;
mod recurrent;
mod relu;
mod softmax;
mod top_k;
mod window;

use std::cmp::Ordering;

use tensorfleet_framework::Op;
use tensorfleet_tensor::{DType, Error, internal};

pub(super) const OPS: &[&[Op]] = &[
    activation::OPS,
    batch_norm::OPS,
    bias_add::OPS,
    candidate_sampler::OPS,
    clustering::OPS,
    conv::CONV2D,
    conv::CONV3D,
    conv::DEPTHWISE,
    conv::FUSED,
    conv::GENERIC,
    conv::PADDED,
    conv::QUANTIZED,
    cross_entropy::OPS,
    ctc::DECODERS,
    ctc::LOSS,
    data_format::OPS,
    dilation::OPS,
    global_norm::OPS,
    in_top_k::OPS,
    isotonic::OPS,
    l2_loss::OPS,
    lrn::OPS,
    nth_element::OPS,
    pool::ARGMAX,
    pool::AVERAGE,
    pool::FRACTIONAL,
    pool::GRADIENT,
    pool::MAXIMUM,
    pool::QUANTIZED,
    recurrent::GRU,
    recurrent::LSTM,
    relu::OPS,
    softmax::OPS,
    top_k::APPROX_OPS,
    top_k::OPS,
];

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

/// All types with an order.
const REAL_NUMBERS: &[DType] = &[
    DType::Half,
    DType::BFloat16,
    DType::Float,
    DType::Double,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
];

/// Compares numbers, with NaN after all others: sorting needs an order of all values.
fn nan_last<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    a.partial_cmp(b).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

#[expect(clippy::eq_op, reason = "only NaN differs from itself")]
fn is_nan<T: PartialOrd>(value: &T) -> bool {
    value != value
}

/// The error for a type that no kernel is registered for, so that it cannot come this far.
fn unsupported(dtype: DType) -> Error {
    internal!("a kernel was given {dtype}, a type that it is not registered for")
}
