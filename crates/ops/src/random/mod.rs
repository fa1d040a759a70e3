//! Random numbers.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
