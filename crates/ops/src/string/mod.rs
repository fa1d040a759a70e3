//! Strings.

mod join;
mod regex;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[join::OPS, regex::OPS];
