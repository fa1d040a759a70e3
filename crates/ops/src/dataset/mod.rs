//! Input pipelines.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
