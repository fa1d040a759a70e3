//! Input pipelines.
//!
//! A dataset is a value that describes a sequence of elements; ops make datasets of datasets. An
//! iterator is a resource that runs through one, element by element. What iterators do ahead runs
//! on the compute pool and ends with the iterator.

mod batch;
mod cache;
mod combine;
mod compress;
mod consume;
mod csv;
#[allow(clippy::module_inception, reason = "a dataset is the idea of the family")]
mod dataset;
mod dense_to_sparse;
mod directed_interleave;
mod dummy;
mod files;
mod filter;
mod generator;
mod group;
mod guard;
mod interleave;
mod iterator;
mod list;
mod map;
mod map_and_batch;
mod map_defun;
mod matching_files;
mod memory;
mod multi_device;
pub(crate) mod optional;
mod padded_batch;
mod parallel;
mod parse_example;
mod pass_through;
mod prefetch;
mod random;
mod range;
mod rebatch;
mod repeat;
mod sampling;
mod scan;
mod scope;
mod seed;
mod shard;
mod shuffle;
mod sliding_window;
mod snapshot;
mod sparse_slice;
mod take_skip;
mod task;
mod tensor;
#[cfg(test)]
mod tests;
mod unbatch;
mod unique;
mod variant;
mod window;
mod wire;

use tensorfleet_framework::Op;

pub(crate) use batch::stack;
pub(crate) use dataset::{compatible, from_tensor};
pub(crate) use scope::Scope;

pub(super) const OPS: &[&[Op]] = &[
    batch::OPS,
    cache::OPS,
    combine::OPS,
    compress::OPS,
    consume::OPS,
    csv::OPS,
    dense_to_sparse::OPS,
    directed_interleave::OPS,
    dummy::OPS,
    files::OPS,
    filter::OPS,
    generator::OPS,
    group::OPS,
    guard::OPS,
    interleave::OPS,
    iterator::HANDLE_OPS,
    iterator::MAKE_OPS,
    iterator::NEXT_OPS,
    iterator::ONE_SHOT_OPS,
    iterator::STATE_OPS,
    list::OPS,
    map::OPS,
    map_and_batch::OPS,
    map_defun::OPS,
    matching_files::OPS,
    multi_device::OPS,
    optional::OPS,
    padded_batch::OPS,
    parse_example::OPS,
    pass_through::OPS,
    prefetch::OPS,
    random::OPS,
    range::OPS,
    rebatch::OPS,
    repeat::OPS,
    sampling::OPS,
    scan::OPS,
    seed::OPS,
    shard::OPS,
    shuffle::OPS,
    sliding_window::OPS,
    snapshot::LOAD_OPS,
    snapshot::REUSE_OPS,
    snapshot::SAVE_OPS,
    sparse_slice::OPS,
    take_skip::OPS,
    tensor::OPS,
    unbatch::OPS,
    unique::OPS,
    variant::OPS,
    window::OPS,
];
