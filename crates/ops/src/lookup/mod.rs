//! Tables from keys to values.

mod access;
mod initialize;
mod make;
mod table;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[access::OPS, initialize::OPS, make::OPS];
