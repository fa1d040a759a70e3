//! Calls of functions: branches and loops whose bodies are functions.

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[];
