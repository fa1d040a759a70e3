//! Collective ops: devices of one or several tasks compute together.
//!
//! The algorithms, the cutting into chunks and the names of the buffers are those of TensorFlow's
//! CPU devices, because its tasks may be members of a group, too.

mod all_to_all;
mod assign_group;
mod communicator;
mod defs;
mod join;
mod keyed;
mod params;
mod ring;
mod tree;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[assign_group::OPS, communicator::OPS, defs::OPS];
