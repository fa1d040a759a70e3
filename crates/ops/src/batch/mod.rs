//! Batching: calls of several steps are gathered and computed as one.

mod batcher;
mod gather;
mod settings;
mod unbatch;
mod unbatch_grad;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[gather::OPS, unbatch::OPS, unbatch_grad::OPS];
