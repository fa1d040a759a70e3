//! Summaries: what TensorBoard shows, encoded as messages in strings.

mod histogram;
mod image;
mod merge;
mod numbers;
mod scalar;
mod tensor;
mod wire;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] =
    &[histogram::OPS, image::OPS, merge::OPS, scalar::OPS, tensor::OPS];
