//! Decoding of records.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
