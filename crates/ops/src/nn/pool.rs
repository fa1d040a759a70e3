//! Poolings: windows that slide over images and volumes, and what is kept of each.

mod argmax;
mod average;
mod fractional;
mod gradient;
mod maximum;
mod places;
mod quantized;
mod spec;

use tensorfleet_framework::Op;
use tensorfleet_tensor::DType;

pub(super) const ARGMAX: &[Op] = argmax::OPS;
pub(super) const AVERAGE: &[Op] = average::OPS;
pub(super) const FRACTIONAL: &[Op] = fractional::OPS;
pub(super) const GRADIENT: &[Op] = gradient::OPS;
pub(super) const MAXIMUM: &[Op] = maximum::OPS;
pub(super) const QUANTIZED: &[Op] = quantized::OPS;

/// The types of volumes.
const VOLUME_TYPES: &[DType] = &[DType::BFloat16, DType::Float];
