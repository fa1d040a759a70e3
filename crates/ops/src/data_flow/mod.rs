//! Queues, accumulators, tensor arrays, stacks and other containers of tensors.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
