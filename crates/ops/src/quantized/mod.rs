//! Numbers stored as small integers.

mod activation;
mod arithmetic;
mod bias_add;
mod concat;
pub(crate) mod convert;
mod dequantize;
mod matmul;
mod norm;
mod per_channel;
mod quantize;
pub(crate) mod range;
mod requantize;
mod uniform;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    activation::OPS,
    arithmetic::OPS,
    bias_add::OPS,
    concat::OPS,
    dequantize::OPS,
    matmul::OPS,
    norm::OPS,
    per_channel::OPS,
    quantize::OPS,
    requantize::OPS,
    uniform::CONVERT,
    uniform::CONVOLUTION,
    uniform::DOT,
    uniform::ELEMENTWISE,
];
