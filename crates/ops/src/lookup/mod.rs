//! Tables from keys to values.

mod access;
mod dense;
mod from_dataset;
mod initialize;
mod kept;
mod make;
mod table;

pub(super) use kept::TABLES;
use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[access::OPS, from_dataset::OPS, initialize::OPS, make::OPS];
