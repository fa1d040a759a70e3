//! Ops that look at the shape of tensors and move their elements.

pub(crate) mod arguments;
mod band_part;
mod concat;
mod copy;
mod diag;
mod dynamic_partition;
mod dynamic_stitch;
mod fill;
pub(crate) mod gather;
pub(crate) mod gather_nd;
mod keys;
mod one_hot;
mod pack;
mod pad;
mod reshape;
mod reverse;
mod rows;
mod scatter_nd;
mod shape;
mod slice;
mod space_batch;
mod space_depth;
mod split;
mod strided;
mod strided_slice;
mod strided_spec;
mod tile;
mod transpose;
mod types;
mod unique;
mod view;
mod where_op;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    band_part::OPS,
    concat::OPS,
    diag::OPS,
    dynamic_partition::OPS,
    dynamic_stitch::OPS,
    fill::OPS,
    gather::OPS,
    gather_nd::OPS,
    one_hot::OPS,
    pack::OPS,
    pad::OPS,
    reshape::OPS,
    reverse::OPS,
    scatter_nd::OPS,
    shape::OPS,
    slice::OPS,
    space_batch::OPS,
    space_depth::OPS,
    split::OPS,
    strided_slice::OPS,
    tile::OPS,
    transpose::OPS,
    unique::OPS,
    where_op::OPS,
];
