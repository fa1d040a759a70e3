//! Ops that check and tell: assertions, printing, the time.

mod assert;
mod print;
pub(crate) mod summarize;
mod timestamp;

use tensorfleet_framework::Op;

pub(super) const OPS: &[&[Op]] = &[assert::OPS, print::OPS, timestamp::OPS];
