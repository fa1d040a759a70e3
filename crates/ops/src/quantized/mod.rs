//! Numbers stored as small integers.

mod dequantize;
mod quantize;
mod range;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[dequantize::OPS, quantize::OPS];
