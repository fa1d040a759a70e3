//! Summaries: what TensorBoard shows, encoded as messages in strings.

mod audio;
mod debug;
mod debug_numbers;
mod histogram;
mod image;
mod merge;
mod numbers;
mod scalar;
mod tensor;
mod wire;
mod writer;
mod writer_ops;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    audio::OPS,
    debug::OPS,
    debug_numbers::OPS,
    histogram::OPS,
    image::OPS,
    merge::OPS,
    scalar::OPS,
    tensor::OPS,
    writer_ops::OPS,
];
