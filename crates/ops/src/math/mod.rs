//! Arithmetic, comparisons, reductions and matrix products.

mod add_n;
mod arg;
mod binary;
mod broadcast_args;
mod cast;
mod check_numerics;
mod dtypes;
mod matmul;
mod norm;
mod range;
mod reduce;
mod select;
mod unary;

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
    broadcast_args::OPS,
    cast::OPS,
    check_numerics::OPS,
    matmul::batch::OPS,
    matmul::fused::OPS,
    matmul::plain::OPS,
    matmul::sparse::OPS,
    range::OPS,
    reduce::OPS,
    select::OPS,
    unary::composition::OPS,
    unary::elementary::OPS,
    unary::parts::OPS,
    unary::predicates::OPS,
    unary::signs::OPS,
];
