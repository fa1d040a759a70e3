//! Shapes, slices, gathers, joins and splits of tensors.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
