//! Updates of variables by optimisers.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
