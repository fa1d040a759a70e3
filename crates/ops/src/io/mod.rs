//! Files, checkpoints and readers.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
