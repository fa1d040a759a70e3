//! Arithmetic, comparisons, reductions and matrix products.

mod add_n;
mod arg;
mod binary;
mod bincount;
mod broadcast_args;
mod bucketize;
mod cast;
mod check_numerics;
mod clip;
mod cross;
mod dtypes;
mod einsum;
mod fact;
mod histogram;
mod matmul;
mod norm;
mod range;
mod reduce;
mod reduce_gradient;
mod scan;
mod select;
mod sobol;
mod special;
mod unary;

pub(crate) use binary::arithmetic::merged;
pub(crate) use binary::division::divided;
pub(crate) use cast::cast;
pub(crate) use matmul::batch::reduce_batch;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[
    add_n::OPS,
    arg::OPS,
    binary::arithmetic::ADD,
    binary::arithmetic::OPS,
    binary::bitwise::OPS,
    binary::comparison::OPS,
    binary::comparison::ORDER,
    binary::complex::OPS,
    binary::division::OPS,
    binary::gradients::OPS,
    binary::logical::OPS,
    bincount::OPS,
    broadcast_args::OPS,
    bucketize::OPS,
    cast::OPS,
    check_numerics::OPS,
    clip::OPS,
    cross::OPS,
    einsum::OPS,
    fact::OPS,
    histogram::OPS,
    matmul::batch::OPS,
    matmul::fused::OPS,
    matmul::plain::OPS,
    matmul::sparse::OPS,
    range::OPS,
    reduce::OPS,
    scan::OPS,
    select::OPS,
    sobol::OPS,
    special::BINARY,
    special::OPS,
    special::UNARY,
    unary::composition::OPS,
    unary::elementary::OPS,
    unary::parts::OPS,
    unary::predicates::OPS,
    unary::signs::OPS,
];
