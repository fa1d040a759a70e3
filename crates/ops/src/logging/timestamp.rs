//! `Timestamp`: the time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, internal};

pub(super) const OPS: &[Op] = &[Op {
    name: "Timestamp",
    outputs: &["ts: double"],
    stateful: true,
    kernels: &[cpu::<Timestamp>()],
    ..Op::DEFAULT
}];

/// Seconds since 1970 in UTC.
#[derive(Debug)]
struct Timestamp;

impl Kernel for Timestamp {
    fn new(_: &Attrs<'_>) -> Result<Timestamp> {
        Ok(Timestamp)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_err(|_| internal!("the clock shows a time before 1970"))?;
        ctx.set_output(0, Tensor::scalar(now.as_secs_f64()));
        Ok(())
    }
}
