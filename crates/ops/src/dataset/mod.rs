//! Input pipelines.
//!
//! A dataset is a value that describes a sequence of elements; ops make datasets of datasets. An
//! iterator is a resource that runs through one, element by element. What iterators do ahead runs
//! on the compute pool and ends with the iterator.

mod aside;
mod auto_shard;
mod batch;
mod cache;
mod checkpoint;
mod choose_fastest;
mod combine;
mod compress;
mod consume;
mod csv;
#[allow(clippy::module_inception, reason = "a dataset is the idea of the family")]
mod dataset;
mod dense_to_sparse;
mod directed_interleave;
mod dummy;
mod external_state;
mod files;
mod filter;
mod from_graph;
mod generator;
mod global_shuffle;
mod group;
mod guard;
mod index;
mod index_flat_map;
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
mod origin;
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
mod sleep;
mod sliding_window;
mod snapshot;
mod sparse_slice;
mod sql;
mod take_skip;
mod task;
mod tensor;
#[cfg(test)]
mod tests;
mod to_graph;
mod unbatch;
mod unique;
mod variant;
mod weighted_flat_map;
mod window;
mod wire;

use tensorfleet_framework::Op;

pub(crate) use batch::stack;
pub(crate) use dataset::{compatible, from_tensor};
pub(crate) use scope::Scope;

pub(super) const OPS: &[&[Op]] = &[
    auto_shard::OPS,
    batch::OPS,
    cache::OPS,
    choose_fastest::OPS,
    combine::OPS,
    compress::OPS,
    consume::OPS,
    csv::OPS,
    dense_to_sparse::OPS,
    directed_interleave::OPS,
    dummy::OPS,
    files::OPS,
    filter::OPS,
    from_graph::OPS,
    generator::OPS,
    global_shuffle::OPS,
    group::OPS,
    guard::OPS,
    index_flat_map::OPS,
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
    sleep::OPS,
    sliding_window::OPS,
    snapshot::FIRST_OPS,
    snapshot::LOAD_OPS,
    snapshot::REUSE_OPS,
    snapshot::SAVE_OPS,
    sparse_slice::OPS,
    sql::OPS,
    take_skip::OPS,
    tensor::OPS,
    to_graph::OPS,
    unbatch::OPS,
    unique::OPS,
    variant::OPS,
    weighted_flat_map::OPS,
    window::OPS,
];
