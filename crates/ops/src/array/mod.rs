//! Ops that look at the shape of tensors and move their elements.

pub(crate) mod arguments;
mod band_part;
mod bitcast;
mod bounds;
pub(crate) mod concat;
mod copy;
mod diag;
mod diagonals;
mod dynamic_partition;
mod dynamic_stitch;
mod edit_distance;
mod fake_quant;
mod fill;
pub(crate) mod gather;
pub(crate) mod gather_nd;
mod inplace;
mod keys;
mod list_diff;
mod matrix_diag;
pub(crate) mod mirror_pad;
mod one_hot;
mod pack;
mod pad;
mod parallel_concat;
mod pass_through;
mod patches;
mod quantize_and_dequantize;
pub(crate) mod reshape;
mod reverse;
mod roll;
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
mod unravel_index;
mod view;
mod where_op;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    band_part::OPS,
    bitcast::OPS,
    bounds::OPS,
    concat::OPS,
    diag::OPS,
    dynamic_partition::OPS,
    dynamic_stitch::OPS,
    edit_distance::OPS,
    fake_quant::OPS,
    fill::OPS,
    gather::OPS,
    gather_nd::OPS,
    inplace::OPS,
    list_diff::OPS,
    matrix_diag::OPS,
    mirror_pad::OPS,
    one_hot::OPS,
    pack::OPS,
    pad::OPS,
    parallel_concat::OPS,
    pass_through::OPS,
    patches::OPS,
    quantize_and_dequantize::OPS,
    reshape::OPS,
    reverse::OPS,
    roll::OPS,
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
    unravel_index::OPS,
    where_op::OPS,
];
