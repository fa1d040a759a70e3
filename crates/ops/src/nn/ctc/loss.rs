//! `CTCLoss`: the negative logarithm of a label sequence's probability, summed over all ways to
//! align it with the input, and its gradient.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::{Parallel, Wide};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, dispatch, invalid_argument};

use super::add_logs;
use super::labels::sequences;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CTCLoss",
        inputs: &[
            "inputs: T",
            "labels_indices: int64",
            "labels_values: int32",
            "sequence_length: int32",
        ],
        outputs: &["loss: T", "gradient: T"],
        attrs: &[
            "preprocess_collapse_repeated: bool = false",
            "ctc_merge_repeated: bool = true",
            "ignore_longer_outputs_than_inputs: bool = false",
            "T: {float, double} = DT_FLOAT",
        ],
        kernels: &[cpu::<CtcLoss>().types("T", &[DType::Float, DType::Double])],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    // Only other devices have kernels of it; functions that choose by device mention it.
    Op {
        name: "CTCLossV2",
        inputs: &[
            "inputs: float",
            "labels_indices: int64",
            "labels_values: int32",
            "sequence_length: int32",
        ],
        outputs: &["loss: float", "gradient: float"],
        attrs: &[
            "preprocess_collapse_repeated: bool = false",
            "ctc_merge_repeated: bool = true",
            "ignore_longer_outputs_than_inputs: bool = false",
        ],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct CtcLoss {
    collapse_repeated: bool,
    merge_repeated: bool,
    ignore_longer: bool,
}

impl Kernel for CtcLoss {
    fn new(attrs: &Attrs<'_>) -> Result<CtcLoss> {
        Ok(CtcLoss {
            collapse_repeated: attrs.bool("preprocess_collapse_repeated")?,
            merge_repeated: attrs.bool("ctc_merge_repeated")?,
            ignore_longer: attrs.bool("ignore_longer_outputs_than_inputs")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (inputs, lengths) = (ctx.input(0)?, ctx.input(3)?);
        let &[time, batch, classes] = inputs.dims() else {
            return Err(invalid_argument!("inputs is not a 3-Tensor"));
        };
        if lengths.rank() != 1 {
            return Err(invalid_argument!("sequence_length is not a vector"));
        }
        if lengths.num_elements() != batch {
            return Err(invalid_argument!(
                "len(sequence_length) != batch_size.  len(sequence_length):  {} batch_size: \
                 {batch}",
                lengths.num_elements()
            ));
        }
        if batch == 0 {
            return Err(invalid_argument!("batch_size must not be 0"));
        }
        if classes == 0 {
            return Err(invalid_argument!("there must be a class for the blank"));
        }
        let labels = sequences(ctx.input(1)?, ctx.input(2)?, batch)?;
        let lengths = lengths.values::<i32>()?;
        let jobs = self.jobs(lengths, &labels, time, classes)?;
        let (loss, gradient) = dispatch!(
            inputs.dtype(),
            [f32, f64],
            T => self.run::<T>(par, inputs, &jobs),
            else => Err(super::super::unsupported(inputs.dtype()))
        )?;
        ctx.set_output(0, loss);
        ctx.set_output(1, gradient);
        Ok(())
    }
}

/// An element of the batch: how long its input is, and its labels with blanks between.
struct Job {
    time: usize,
    path: Vec<usize>,
}

impl CtcLoss {
    /// Checks lengths and labels. An element whose loss is zero by definition has no job.
    fn jobs(
        &self,
        lengths: &[i32],
        labels: &[Vec<i32>],
        max_time: usize,
        classes: usize,
    ) -> Result<Vec<Option<Job>>> {
        for (b, &length) in lengths.iter().enumerate() {
            if length < 0 {
                return Err(invalid_argument!("seq_len({b}) < 0"));
            }
            if length as usize > max_time {
                return Err(invalid_argument!("sequence_length({b}) <= {max_time}"));
            }
        }
        let mut jobs = Vec::with_capacity(labels.len());
        for (b, (labels, &time)) in labels.iter().zip(lengths).enumerate() {
            let time = time as usize;
            if labels.is_empty() {
                return Err(invalid_argument!("Labels length is zero in batch {b}"));
            }
            let wanted = self.wanted(b, labels, classes)?;
            if labels.len() > time && !self.ignore_longer {
                return Err(invalid_argument!(
                    "Not enough time for target transition sequence (required: {}, available: \
                     {time}){b}You can turn this error into a warning by using the flag \
                     ignore_longer_outputs_than_inputs",
                    labels.len()
                ));
            }
            let blank = classes - 1;
            let mut path = vec![blank; 2 * wanted.len() + 1];
            path.iter_mut().skip(1).step_by(2).zip(wanted).for_each(|(slot, label)| *slot = label);
            jobs.push((time > 0 && labels.len() <= time).then_some(Job { time, path }));
        }
        Ok(jobs)
    }

    /// The labels that are to be found; classes from the blank on only end a sequence.
    fn wanted(&self, b: usize, labels: &[i32], classes: usize) -> Result<Vec<usize>> {
        let mut wanted = Vec::new();
        let mut ended = false;
        for (i, &label) in labels.iter().enumerate() {
            if i > 0 && self.collapse_repeated && label == labels[i - 1] {
                continue;
            }
            match usize::try_from(label) {
                Ok(label) if label + 1 >= classes => ended = true,
                _ if ended => {
                    return Err(invalid_argument!(
                        "Saw a non-null label (index >= num_classes - 1) following a null label, \
                         batch: {b} num_classes: {classes} labels: {} labels seen so far: {}",
                        joined(labels),
                        joined(&wanted)
                    ));
                }
                Ok(label) => wanted.push(label),
                Err(_) => {
                    return Err(invalid_argument!(
                        "All labels must be nonnegative integers, batch: {b} labels: {}",
                        joined(labels)
                    ));
                }
            }
        }
        Ok(wanted)
    }

    fn run<T: Wide + Element>(
        &self,
        par: Parallel,
        inputs: &Tensor,
        jobs: &[Option<Job>],
    ) -> Result<(Tensor, Tensor)> {
        let (batch, classes) = (inputs.dims()[1], inputs.dims()[2]);
        let values = inputs.values::<T>()?;
        let results = par.map_ranges(batch, 1, |range| {
            let one = |b: usize| {
                let job = jobs[b].as_ref()?;
                let row = |t: usize| &values[(t * batch + b) * classes..][..classes];
                Some(Trellis::new(job, row, classes, self.merge_repeated).solve())
            };
            range.map(one).collect::<Vec<_>>()
        });
        let mut loss = vec![T::zero(); batch];
        let gradient = Tensor::build(inputs.shape().clone(), |out: &mut [T]| {
            out.fill(T::zero());
            for (b, result) in results.into_iter().flatten().enumerate() {
                let Some((own, gradient)) = result else { continue };
                loss[b] = own;
                for (t, row) in gradient.chunks_exact(classes).enumerate() {
                    out[(t * batch + b) * classes..][..classes].copy_from_slice(row);
                }
            }
        })?;
        Ok((Tensor::from_slice(Shape::vector(batch), &loss)?, gradient))
    }
}

fn joined<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// All alignments of one path of labels and blanks with one input.
struct Trellis<'a, T> {
    time: usize,
    classes: usize,
    path: &'a [usize],
    merge_repeated: bool,
    /// The probability of each class at each time.
    shares: Vec<T>,
}

impl<'a, T: Wide> Trellis<'a, T> {
    fn new<'v>(
        job: &'a Job,
        row: impl Fn(usize) -> &'v [T],
        classes: usize,
        merge_repeated: bool,
    ) -> Trellis<'a, T> {
        let mut shares = Vec::with_capacity(job.time * classes);
        for t in 0..job.time {
            let row = row(t);
            let max = row.iter().fold(T::neg_infinity(), |a, &b| if b > a { b } else { a });
            let start = shares.len();
            shares.extend(row.iter().map(|&x| (x - max).exp()));
            let total = shares[start..].iter().fold(T::zero(), |a, &b| a + b);
            shares[start..].iter_mut().for_each(|share| *share = *share / total);
        }
        Trellis { time: job.time, classes, path: &job.path, merge_repeated, shares }
    }

    fn log_share(&self, t: usize, u: usize) -> T {
        self.shares[t * self.classes + self.path[u]].ln()
    }

    /// The positions of the path that can be reached by time `t` and leave time for the rest.
    fn reachable(&self, t: usize) -> std::ops::Range<usize> {
        let len = self.path.len();
        len.saturating_sub(2 * (self.time - t))..len.min(2 * (t + 1))
    }

    fn is_blank(&self, u: usize) -> bool {
        self.path[u] == self.classes - 1
    }

    /// Whether a step from `u` to `u + 2` passes over the blank between two labels.
    fn skips(&self, u: usize) -> bool {
        let is_same = self.path[u] == self.path[u + 2];
        !(self.is_blank(u) || (self.merge_repeated && is_same))
    }

    /// Whether a path may stay at `u`.
    fn stays(&self, u: usize) -> bool {
        self.merge_repeated || self.is_blank(u)
    }

    /// Logarithms of the probabilities to be at `u` at time `t`, having begun at the start.
    fn forward(&self) -> Vec<T> {
        let len = self.path.len();
        let mut alpha = vec![T::neg_infinity(); self.time * len];
        for (u, alpha) in alpha[..len].iter_mut().enumerate().take(2) {
            *alpha = self.log_share(0, u);
        }
        for t in 1..self.time {
            let (past, now) = alpha.split_at_mut(t * len);
            let past = &past[(t - 1) * len..];
            for u in self.reachable(t) {
                let mut sum = if self.stays(u) { past[u] } else { T::neg_infinity() };
                if u > 0 {
                    sum = add_logs(sum, past[u - 1]);
                }
                if u > 1 && self.skips(u - 2) {
                    sum = add_logs(sum, past[u - 2]);
                }
                now[u] = self.log_share(t, u) + sum;
            }
        }
        alpha
    }

    /// Logarithms of the probabilities to get from `u` at time `t` to the end.
    fn backward(&self) -> Vec<T> {
        let len = self.path.len();
        let mut beta = vec![T::neg_infinity(); self.time * len];
        beta[(self.time - 1) * len..][len.saturating_sub(2)..len].fill(T::zero());
        for t in (0..self.time - 1).rev() {
            let (now, next) = beta.split_at_mut((t + 1) * len);
            let now = &mut now[t * len..];
            for u in self.reachable(t) {
                let mut sum = now[u];
                if self.stays(u) {
                    sum = add_logs(sum, next[u] + self.log_share(t + 1, u));
                }
                if u + 1 < len {
                    sum = add_logs(sum, next[u + 1] + self.log_share(t + 1, u + 1));
                }
                if u + 2 < len && self.skips(u) {
                    sum = add_logs(sum, next[u + 2] + self.log_share(t + 1, u + 2));
                }
                now[u] = sum;
            }
        }
        beta
    }

    /// The loss, and its gradient by the input.
    fn solve(self) -> (T, Vec<T>) {
        let (alpha, beta) = (self.forward(), self.backward());
        let len = self.path.len();
        let log_p = (0..len).fold(T::neg_infinity(), |sum, u| add_logs(sum, alpha[u] + beta[u]));
        let Trellis { classes, path, mut shares, .. } = self;
        // Without a valid path nothing is subtracted.
        if log_p != T::neg_infinity() {
            let mut sums = vec![T::neg_infinity(); classes];
            for (t, shares) in shares.chunks_exact_mut(classes).enumerate() {
                sums.fill(T::neg_infinity());
                for (u, &label) in path.iter().enumerate() {
                    let at = t * len + u;
                    sums[label] = add_logs(sums[label], alpha[at] + beta[at]);
                }
                for (share, &sum) in shares.iter_mut().zip(&sums) {
                    let occupied = (sum - log_p).to_f32().unwrap_or(f32::NAN).exp();
                    *share = *share - T::of(occupied.into());
                }
            }
        }
        (-log_p, shares)
    }
}

/// The op computes the gradient of its loss too; it is scaled by that of each entry of the batch.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    // Time comes first, then the batch.
    let scale = g.call("ExpandDims", [g.grad(0)?, g.scalar(-1i32)?])?;
    Ok(vec![Some(g.mul(g.output(1), scale)?.into()), None, None, None])
}
