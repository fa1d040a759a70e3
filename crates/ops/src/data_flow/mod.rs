//! Tensor arrays, stacks, queues, accumulators, barriers and staging areas.

mod accumulator;
mod accumulator_kept;
mod accumulator_ops;
mod barrier;
mod barrier_kept;
mod barrier_ops;
pub(crate) mod join;
mod map_stage;
pub(crate) mod named;
mod null_session;
mod queue;
mod queue_kept;
mod queue_make;
pub(crate) mod queue_ops;
mod queue_store;
mod stack;
mod stage;
mod tensor_array;
mod tensor_array_defs;
mod tensor_array_gradient;
mod tensor_array_ops;
mod watched;

pub(super) use accumulator_kept::ACCUMULATORS;
pub(super) use barrier_kept::BARRIERS;
pub(super) use queue_kept::QUEUES;
use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    accumulator_ops::OPS,
    barrier_ops::OPS,
    map_stage::OPS,
    null_session::OPS,
    queue_make::OPS,
    queue_ops::OPS,
    stack::OPS,
    stage::OPS,
    tensor_array_defs::OPS,
];
