//! Random numbers: those of TensorFlow's CPU kernels, from the same seeds.

mod distribution;
mod generator;
mod index_shuffle;
mod parameters;
mod shuffle;
mod stateful;
mod stateless;
mod stochastic_cast;

use tensorfleet_framework::Op;

pub(crate) use index_shuffle::shuffled;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[&[Op]] = &[
    generator::OPS,
    index_shuffle::OPS,
    parameters::OPS,
    shuffle::OPS,
    stateful::OPS,
    stateless::OPS,
    stochastic_cast::OPS,
];

/// Types of the continuous distributions.
const FLOATS: &[DType] = &[DType::Half, DType::BFloat16, DType::Float, DType::Double];

/// The shape that an integer vector asks for.
fn shape_of(tensor: &Tensor) -> Result<Shape> {
    if tensor.rank() != 1 {
        return Err(invalid_argument!(
            "shape must be a vector of {{int32,int64}}, got shape {}",
            tensor.shape()
        ));
    }
    Shape::from_signed(&tensor.to_i64_vec()?)
}
