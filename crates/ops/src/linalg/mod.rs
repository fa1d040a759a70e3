//! Linear algebra and Fourier transforms.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
