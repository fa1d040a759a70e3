//! Ops that shape the flow of a graph: constants, identities, branches, loops, edges between tasks.

mod constant;
mod flow;
mod identity;
mod select;
mod send_recv;

pub(crate) use identity::through;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] =
    &[constant::OPS, flow::OPS, identity::OPS, select::OPS, send_recv::OPS];
