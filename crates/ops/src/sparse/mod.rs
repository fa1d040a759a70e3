//! Segments and sparse tensors.

pub(crate) mod number;
mod segment;
mod sparse_segment;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[segment::OPS, sparse_segment::OPS];
