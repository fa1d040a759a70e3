//! Input pipelines.
//!
//! A dataset is a value that describes a sequence of elements; ops make datasets of datasets. An
//! iterator is a resource that runs through one, element by element. What iterators do ahead runs
//! on the compute pool and ends with the iterator.

mod batch;
#[allow(clippy::module_inception, reason = "a dataset is the idea of the family")]
mod dataset;
mod iterator;
mod map;
mod optional;
mod parallel;
mod pass_through;
mod prefetch;
mod range;
mod repeat;
mod scope;
mod seed;
mod shuffle;
mod take_skip;
mod task;
mod tensor;
mod wire;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    batch::OPS,
    iterator::HANDLE_OPS,
    iterator::MAKE_OPS,
    iterator::NEXT_OPS,
    iterator::ONE_SHOT_OPS,
    iterator::STATE_OPS,
    map::OPS,
    optional::OPS,
    pass_through::OPS,
    prefetch::OPS,
    range::OPS,
    repeat::OPS,
    seed::OPS,
    shuffle::OPS,
    take_skip::OPS,
    tensor::OPS,
];
