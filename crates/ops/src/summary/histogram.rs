//! `HistogramSummary`: how values are distributed, in buckets that grow by a tenth.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::numbers::numbers;
use super::wire::{self, Content, Entry, Histogram};

pub(super) const OPS: &[Op] = &[Op {
    name: "HistogramSummary",
    inputs: &["tag: string", "values: T"],
    outputs: &["summary: string"],
    attrs: &[
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64} = DT_FLOAT",
    ],
    kernels: &[cpu::<HistogramSummary>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct HistogramSummary {
    limits: Vec<f64>,
}

impl Kernel for HistogramSummary {
    fn new(_: &Attrs<'_>) -> Result<HistogramSummary> {
        Ok(HistogramSummary { limits: bucket_limits() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let tags = ctx.input(0)?;
        let ([tag], true) = (tags.strings()?, tags.shape().is_scalar()) else {
            return Err(invalid_argument!("tags must be scalar"));
        };
        let tag = String::from_utf8_lossy(tag).into_owned();
        let content = content(&self.limits, ctx.input(1)?, ctx.node_name())?;
        let summary = wire::encode(vec![Entry { tag, content }])?;
        ctx.set_output(0, summary);
        Ok(())
    }
}

/// The distribution of a tensor's values. Errors are about `name`.
pub(super) fn content(limits: &[f64], values: &Tensor, name: &str) -> Result<Content> {
    let values = numbers(values)?;
    if values.iter().any(|value| value.is_nan()) {
        return Err(invalid_argument!("Nan in summary histogram for: {name}"));
    }
    if values.iter().any(|value| value.is_infinite()) {
        return Err(invalid_argument!("Infinity in Histogram for: {name}"));
    }
    Ok(Content::Histogram(histogram(limits, &values)))
}

/// Upper limits of the buckets: powers of 1.1 on both sides of zero.
pub(super) fn bucket_limits() -> Vec<f64> {
    let mut positive = Vec::new();
    let mut limit = 1e-12;
    while limit < 1e20 {
        positive.push(limit);
        limit *= 1.1;
    }
    positive.push(f64::MAX);
    let negative = positive.iter().rev().map(|limit| -limit);
    negative.chain([0.0]).chain(positive.iter().copied()).collect()
}

fn histogram(limits: &[f64], values: &[f64]) -> Histogram {
    let mut counts = vec![0.0; limits.len()];
    let mut result = Histogram {
        min: f64::MAX,
        max: -f64::MAX,
        count: values.len() as f64,
        sum: 0.0,
        sum_squares: 0.0,
        buckets: Vec::new(),
    };
    for &value in values {
        let bucket = limits.partition_point(|limit| *limit <= value).min(limits.len() - 1);
        counts[bucket] += 1.0;
        result.min = result.min.min(value);
        result.max = result.max.max(value);
        result.sum += value;
        result.sum_squares += value * value;
    }
    // Of a run of empty buckets only the last is written.
    let mut i = 0;
    while i < limits.len() {
        let (mut end, count) = (limits[i], counts[i]);
        i += 1;
        if count <= 0.0 {
            while i < limits.len() && counts[i] <= 0.0 {
                end = limits[i];
                i += 1;
            }
        }
        result.buckets.push((end, count));
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_those_of_tensorflow() {
        let buckets = histogram(&bucket_limits(), &[1.0, 2.0, 3.0, -1.5, 0.0]).buckets;
        let limits: Vec<f64> = buckets.iter().map(|(limit, _)| *limit).collect();
        let counts: Vec<f64> = buckets.iter().map(|(_, count)| *count).collect();
        assert_eq!(counts, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0]);
        assert_eq!(limits[..4], [-1.624_957_930_213_695, -1.47723448201245, 0.0, 1e-12]);
        assert_eq!(histogram(&bucket_limits(), &[]).buckets, [(f64::MAX, 0.0)]);
    }
}
