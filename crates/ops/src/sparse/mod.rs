//! Segments and sparse tensors.

mod dense;
pub(crate) mod number;
mod rearrange;
mod segment;
mod sparse_segment;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[dense::OPS, rearrange::OPS, segment::OPS, sparse_segment::OPS];
