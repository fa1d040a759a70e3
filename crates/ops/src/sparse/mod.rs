//! Sparse tensors, segments and sets.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
