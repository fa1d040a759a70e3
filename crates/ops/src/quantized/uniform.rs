//! `Uniform…`: quantisation by a scale and a zero point, one for a tensor or one for each position
//! along an axis.

mod affine;
mod convert;
mod convolution;
mod dot;
mod elementwise;
mod layout;

use tensorfleet_framework::Op;

pub(super) const CONVERT: &[Op] = convert::OPS;
pub(super) const CONVOLUTION: &[Op] = convolution::OPS;
pub(super) const DOT: &[Op] = dot::OPS;
pub(super) const ELEMENTWISE: &[Op] = elementwise::OPS;
