//! Lists of tensors in variants.

mod access;
mod assemble;
mod make;
pub(crate) mod tensor_list;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[access::OPS, assemble::OPS, make::OPS];
