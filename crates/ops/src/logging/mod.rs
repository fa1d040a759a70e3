//! Assertions and printing.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
