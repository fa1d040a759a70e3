//! Sparse segments: reducing chosen rows of a tensor by the id of their segment, as embeddings of
//! several words are combined; and the gradients.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, invalid_argument};

use super::number::{Number, REAL_NUMBERS};
use super::segment::{requested_count, segment_count, sorted_targets};
use super::segment_gradient as of;

const FLOATS: &[DType] = &[DType::BFloat16, DType::Half, DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SparseSegmentMean",
        inputs: &["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", FLOATS)],
        gradient: Some(of::sparse_mean),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentMeanGrad",
        inputs: &["grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentMeanGradV2",
        inputs: &[
            "grad: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "dense_output_dim0: int32",
        ],
        outputs: &["output: T", "sorted_unique_indices: Tidx"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentMeanWithNumSegments",
        inputs: &[
            "data: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "num_segments: Tnumsegments",
        ],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tnumsegments: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", FLOATS)],
        gradient: Some(of::sparse_mean),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSqrtN",
        inputs: &["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", FLOATS)],
        gradient: Some(of::sparse_sqrt_n),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSqrtNGrad",
        inputs: &["grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSqrtNGradV2",
        inputs: &[
            "grad: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "dense_output_dim0: int32",
        ],
        outputs: &["output: T", "sorted_unique_indices: Tidx"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSqrtNWithNumSegments",
        inputs: &[
            "data: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "num_segments: Tnumsegments",
        ],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tnumsegments: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", FLOATS)],
        gradient: Some(of::sparse_sqrt_n),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSum",
        inputs: &["data: T", "indices: Tidx", "segment_ids: Tsegmentids"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", REAL_NUMBERS)],
        gradient: Some(of::sparse_sum),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSumGrad",
        inputs: &["grad: T", "indices: Tidx", "segment_ids: Tsegmentids", "output_dim0: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSumGradV2",
        inputs: &[
            "grad: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "dense_output_dim0: int32",
        ],
        outputs: &["output: T", "sorted_unique_indices: Tidx"],
        attrs: &[
            "T: {bfloat16, half, float, double}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Gradient>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSegmentSumWithNumSegments",
        inputs: &[
            "data: T",
            "indices: Tidx",
            "segment_ids: Tsegmentids",
            "num_segments: Tnumsegments",
        ],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tidx: {int32, int64} = DT_INT32",
            "Tnumsegments: {int32, int64} = DT_INT32",
            "Tsegmentids: {int32, int64} = DT_INT32",
            "sparse_gradient: bool = false",
        ],
        kernels: &[cpu::<Reduce>().types("T", REAL_NUMBERS)],
        gradient: Some(of::sparse_sum),
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug)]
enum Combiner {
    Sum,
    Mean,
    SqrtN,
}

impl Combiner {
    fn of(op: &str) -> Combiner {
        match op {
            _ if op.contains("Mean") => Combiner::Mean,
            _ if op.contains("SqrtN") => Combiner::SqrtN,
            _ => Combiner::Sum,
        }
    }

    /// By what the sum of `count` rows is multiplied.
    fn scale(self, count: usize) -> f64 {
        match self {
            Combiner::Sum => 1.0,
            Combiner::Mean => 1.0 / count.max(1) as f64,
            Combiner::SqrtN => 1.0 / (count.max(1) as f64).sqrt(),
        }
    }
}

/// An element with the type in which many of them are added up.
trait Addend: Element {
    type Sum: Number;

    fn widen(self) -> Self::Sum;
    fn narrow(sum: Self::Sum) -> Self;
    fn scaled(sum: Self::Sum, scale: f64) -> Self::Sum;
}

macro_rules! addends {
    ($($type:ty, $sum:ty, $widen:expr, $narrow:expr, $scaled:expr;)*) => {
        $(
            impl Addend for $type {
                type Sum = $sum;

                fn widen(self) -> $sum {
                    let widen: fn($type) -> $sum = $widen;
                    widen(self)
                }

                fn narrow(sum: $sum) -> $type {
                    let narrow: fn($sum) -> $type = $narrow;
                    narrow(sum)
                }

                fn scaled(sum: $sum, scale: f64) -> $sum {
                    let scaled: fn($sum, f64) -> $sum = $scaled;
                    scaled(sum, scale)
                }
            }
        )*
    };
}

addends! {
    f32, f32, |v| v, |v| v, |v, s| v * s as f32;
    f64, f64, |v| v, |v| v, |v, s| v * s;
    f16, f32, f16::to_f32, f16::from_f32, |v, s| v * s as f32;
    bf16, f32, bf16::to_f32, bf16::from_f32, |v, s| v * s as f32;
    i8, i8, |v| v, |v| v, |v, _| v;
    i16, i16, |v| v, |v| v, |v, _| v;
    i32, i32, |v| v, |v| v, |v, _| v;
    i64, i64, |v| v, |v| v, |v, _| v;
    u8, u8, |v| v, |v| v, |v, _| v;
    u16, u16, |v| v, |v| v, |v, _| v;
    u32, u32, |v| v, |v| v, |v, _| v;
    u64, u64, |v| v, |v| v, |v, _| v;
}

/// One row that goes into a sum.
#[derive(Clone, Copy)]
struct Term {
    from: usize,
    to: usize,
    scale: f64,
}

/// Elements below which another thread is not worth waking.
const MIN_ELEMENTS: usize = 16 * 1024;

/// Adds scaled rows of `data` up. `terms` come in the order of their targets; those with the same one
/// are added in a wider type where the element's is narrow; `after` scales each finished sum.
fn accumulate<T: Addend>(
    par: Parallel,
    data: &Tensor,
    shape: Shape,
    width: usize,
    terms: &[Term],
    after: impl Fn(usize) -> f64 + Sync,
) -> Result<Tensor> {
    let data = data.values::<T>()?;
    let targets = shape.dims()[0];
    let row = |term: &Term| &data[term.from * width..(term.from + 1) * width];
    // Work lies in the terms, which most targets have as many of.
    let terms_each = (terms.len() / targets.max(1)).max(1);
    let least = 1 + MIN_ELEMENTS / (terms_each * width).max(1);
    Tensor::build(shape, |out: &mut [T]| {
        par.for_each(rows_mut(out, targets), least, |range, rows| {
            let before = |target: usize| terms.partition_point(|term| term.to < target);
            rows.data.fill(T::default());
            let mut sum = vec![T::Sum::default(); width];
            let terms = &terms[before(range.start)..before(range.end)];
            for group in terms.chunk_by(|a, b| a.to == b.to) {
                for (place, term) in group.iter().enumerate() {
                    let row = row(term);
                    match (place, term.scale == 1.0) {
                        (0, true) => {
                            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum = v.widen());
                        }
                        (_, true) => {
                            sum.iter_mut().zip(row).for_each(|(sum, v)| *sum = sum.plus(v.widen()))
                        }
                        (0, false) => sum
                            .iter_mut()
                            .zip(row)
                            .for_each(|(sum, v)| *sum = T::scaled(v.widen(), term.scale)),
                        (_, false) => sum.iter_mut().zip(row).for_each(|(sum, v)| {
                            *sum = sum.plus(T::scaled(v.widen(), term.scale));
                        }),
                    }
                }
                let scale = after(group.len());
                let out = &mut rows.data[(group[0].to - range.start) * width..][..width];
                if scale == 1.0 {
                    out.iter_mut().zip(&sum).for_each(|(out, &sum)| *out = T::narrow(sum));
                } else {
                    let scaled = |sum| T::narrow(T::scaled(sum, scale));
                    out.iter_mut().zip(&sum).for_each(|(out, &sum)| *out = scaled(sum));
                }
            }
        });
    })
}

fn dispatch(
    par: Parallel,
    data: &Tensor,
    shape: Shape,
    width: usize,
    terms: &[Term],
    after: impl Fn(usize) -> f64 + Sync,
) -> Result<Tensor> {
    let dtype = data.dtype();
    tensorfleet_tensor::dispatch!(
        dtype,
        [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
        T => accumulate::<T>(par, data, shape, width, terms, after),
        else => Err(tensorfleet_tensor::unimplemented_error!("no sparse segments of type {dtype}"))
    )
}

/// Reads the indices and the segment ids.
fn indices_and_ids(ctx: &KernelContext<'_>) -> Result<(Vec<i64>, Vec<i64>)> {
    let (indices, ids) = (ctx.input(1)?, ctx.input(2)?);
    if indices.rank() != 1 {
        return Err(invalid_argument!("indices should be a vector."));
    }
    if ids.rank() != 1 {
        return Err(invalid_argument!("segment_ids should be a vector."));
    }
    if indices.num_elements() != ids.num_elements() {
        return Err(invalid_argument!("segment_ids and indices should have same size."));
    }
    Ok((indices.to_i64_vec()?, ids.to_i64_vec()?))
}

#[derive(Debug)]
struct Reduce {
    combiner: Combiner,
}

impl Kernel for Reduce {
    fn new(attrs: &Attrs<'_>) -> Result<Reduce> {
        Ok(Reduce { combiner: Combiner::of(attrs.op()) })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let requested = match ctx.num_inputs() {
            4 if ctx.input(3)?.to_i64_vec()?.first().is_some_and(|&count| count < 0) => {
                return Err(invalid_argument!("segment ids must be >= 0"));
            }
            4 => Some(requested_count(ctx, 3)?),
            _ => None,
        };
        let (indices, ids) = indices_and_ids(ctx)?;
        let data = ctx.input(0)?;
        if data.rank() == 0 {
            return Err(invalid_argument!("input must be at least rank 1"));
        }
        let least = segment_count(&ids)?;
        if requested.is_some_and(|requested| requested < least) {
            return Err(invalid_argument!("segment ids must be < num_segments"));
        }
        let segments = requested.unwrap_or(least);
        let targets = sorted_targets(&ids, segments)?;
        let mut terms = Vec::with_capacity(ids.len());
        for (at, (&index, to)) in indices.iter().zip(targets).enumerate() {
            let rows = data.dims()[0];
            let Some(from) = usize::try_from(index).ok().filter(|&from| from < rows) else {
                return Err(invalid_argument!(
                    "Bad: indices[{at}] == {index} out of range [0, {rows})"
                ));
            };
            terms.push(Term { from, to, scale: 1.0 });
        }
        let mut dims = data.dims().to_vec();
        dims[0] = segments;
        let width = dims[1..].iter().product();
        let par = Parallel::new(ctx.parallelism());
        let shape = Shape::new(&dims)?;
        let output = dispatch(par, data, shape, width, &terms, |count| self.combiner.scale(count))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Spreads the gradient of each segment over the rows that made it.
#[derive(Debug)]
struct Gradient {
    combiner: Combiner,
    /// Whether the output has only the rows that are not zero.
    compact: bool,
}

impl Kernel for Gradient {
    fn new(attrs: &Attrs<'_>) -> Result<Gradient> {
        let compact = attrs.op().ends_with("V2");
        Ok(Gradient { combiner: Combiner::of(attrs.op()), compact })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (indices, ids) = indices_and_ids(ctx)?;
        let (grad, rows) = (ctx.input(0)?, ctx.input(3)?);
        if !rows.shape().is_scalar() {
            return Err(invalid_argument!("output_dim0 should be a scalar."));
        }
        let rows = usize::try_from(rows.scalar_value::<i32>()?)
            .map_err(|_| invalid_argument!("output_dim0 must not be negative"))?;
        if grad.rank() == 0 {
            return Err(invalid_argument!("input must be at least rank 1"));
        }
        let segments = grad.dims()[0];
        let mut counts = vec![0usize; segments];
        let mut terms = Vec::with_capacity(ids.len());
        for (&index, &id) in indices.iter().zip(&ids) {
            let Some(from) = usize::try_from(id).ok().filter(|&from| from < segments) else {
                return Err(invalid_argument!("Segment id {id} out of range [0, {segments})."));
            };
            let Some(to) = usize::try_from(index).ok().filter(|&to| to < rows) else {
                return Err(invalid_argument!("Index {index} out of range [0, {rows})."));
            };
            counts[from] += 1;
            terms.push(Term { from, to, scale: 1.0 });
        }
        for term in &mut terms {
            term.scale = self.combiner.scale(counts[term.from]);
        }
        // A stable sort: rows with several addends add them in the order in which they came.
        terms.sort_by_key(|term| term.to);
        let mut dims = grad.dims().to_vec();
        let width = dims[1..].iter().product();
        dims[0] = rows;
        let mut unique = Vec::new();
        if self.compact {
            for term in &mut terms {
                if unique.last() != Some(&(term.to as i64)) {
                    unique.push(term.to as i64);
                }
                term.to = unique.len() - 1;
            }
            dims[0] = unique.len();
        }
        let par = Parallel::new(ctx.parallelism());
        let output = dispatch(par, grad, Shape::new(&dims)?, width, &terms, |_| 1.0)?;
        if self.compact {
            let unique = match ctx.input(1)?.dtype() {
                DType::Int32 => {
                    Tensor::vector(&unique.iter().map(|&index| index as i32).collect::<Vec<_>>())?
                }
                _ => Tensor::vector(&unique)?,
            };
            ctx.set_output(1, unique);
        }
        ctx.set_output(0, output);
        Ok(())
    }
}
