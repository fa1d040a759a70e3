//! Arithmetic, comparisons, reductions and matrix products.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
