//! Lists of tensors in variants.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
