//! Segments and sparse tensors.

mod add;
mod concat;
mod count;
mod cross;
mod cwise;
mod dense;
mod many;
pub(crate) mod number;
mod parts;
pub(crate) mod ragged;
mod rearrange;
mod reduce;
mod segment;
mod segment_gradient;
pub(crate) mod serialize;
mod set;
mod slice;
mod sparse_segment;
mod tensors_map;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    add::OPS,
    concat::OPS,
    count::OPS,
    cross::OPS,
    cwise::OPS,
    dense::OPS,
    ragged::FILL,
    ragged::GATHER,
    ragged::RANGE,
    ragged::TO_SPARSE,
    ragged::TO_TENSOR,
    ragged::VARIANT,
    rearrange::OPS,
    reduce::OPS,
    segment::OPS,
    serialize::OPS,
    set::OPS,
    slice::OPS,
    sparse_segment::OPS,
    tensors_map::OPS,
];
