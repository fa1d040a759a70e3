//! Ops that look at the shape of tensors and move their elements.

mod arguments;
mod concat;
mod copy;
mod dynamic_stitch;
mod fill;
mod gather;
mod keys;
mod pack;
mod reshape;
mod reverse;
mod rows;
mod shape;
mod slice;
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
    concat::OPS,
    dynamic_stitch::OPS,
    fill::OPS,
    gather::OPS,
    pack::OPS,
    reshape::OPS,
    reverse::OPS,
    shape::OPS,
    slice::OPS,
    split::OPS,
    strided_slice::OPS,
    tile::OPS,
    transpose::OPS,
    unique::OPS,
    where_op::OPS,
];
