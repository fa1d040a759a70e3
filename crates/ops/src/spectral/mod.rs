//! Fourier transforms.

mod axes;
mod fft;
mod plan;
mod rfft;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[fft::OPS, rfft::OPS];
