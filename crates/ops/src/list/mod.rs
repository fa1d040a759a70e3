//! Lists of tensors in variants.

mod access;
pub(crate) mod arithmetic;
mod assemble;
mod composite;
mod gradient;
mod make;
pub(crate) mod tensor_list;
mod tensor_map;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] =
    &[access::OPS, assemble::OPS, composite::OPS, make::OPS, tensor_map::OPS];
