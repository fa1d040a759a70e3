//! Neural networks: activations, convolutions, pooling, normalisation, losses.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
