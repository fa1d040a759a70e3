//! Tables from keys to values.

mod access;
mod dense;
mod from_dataset;
mod initialize;
mod make;
mod table;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[access::OPS, from_dataset::OPS, initialize::OPS, make::OPS];
