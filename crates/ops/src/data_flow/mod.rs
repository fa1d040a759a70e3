//! Tensor arrays, stacks, queues and accumulators.

mod accumulator;
mod accumulator_ops;
pub(crate) mod join;
pub(crate) mod named;
mod queue;
mod queue_make;
pub(crate) mod queue_ops;
mod stack;
mod tensor_array;
mod tensor_array_ops;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] =
    &[accumulator_ops::OPS, queue_make::OPS, queue_ops::OPS, stack::OPS, tensor_array_ops::OPS];
