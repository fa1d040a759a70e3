//! Segments: reducing the rows of a tensor that have the same id.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, ShapeContext, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{PartialShape, Result, Shape, Tensor, invalid_argument, try_repeat};

use super::number::{NUMBERS, Number, REAL_NUMBERS, Real, for_number, for_real};
use super::segment_gradient as gradient;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SegmentMax",
        inputs: &["data: T", "segment_ids: Tindices"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<Sorted>().types("T", REAL_NUMBERS)],
        gradient: Some(gradient::extreme),
        ..Op::DEFAULT
    },
    Op {
        name: "SegmentMean",
        inputs: &["data: T", "segment_ids: Tindices"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<Sorted>().types("T", NUMBERS)],
        gradient: Some(gradient::mean),
        ..Op::DEFAULT
    },
    Op {
        name: "SegmentMin",
        inputs: &["data: T", "segment_ids: Tindices"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<Sorted>().types("T", REAL_NUMBERS)],
        gradient: Some(gradient::extreme),
        ..Op::DEFAULT
    },
    Op {
        name: "SegmentProd",
        inputs: &["data: T", "segment_ids: Tindices"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<Sorted>().types("T", NUMBERS)],
        gradient: Some(gradient::product),
        ..Op::DEFAULT
    },
    Op {
        name: "SegmentSum",
        inputs: &["data: T", "segment_ids: Tindices"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int32, int64}",
        ],
        kernels: &[cpu::<Sorted>().types("T", NUMBERS)],
        gradient: Some(gradient::sum),
        ..Op::DEFAULT
    },
    Op {
        name: "UnsortedSegmentMax",
        inputs: &["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tindices: {int32, int64}",
            "Tnumsegments: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Unsorted>().types("T", REAL_NUMBERS)],
        shape: Some(unsorted_shape),
        gradient: Some(gradient::unsorted_extreme),
        ..Op::DEFAULT
    },
    Op {
        name: "UnsortedSegmentMin",
        inputs: &["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tindices: {int32, int64}",
            "Tnumsegments: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Unsorted>().types("T", REAL_NUMBERS)],
        shape: Some(unsorted_shape),
        gradient: Some(gradient::unsorted_extreme),
        ..Op::DEFAULT
    },
    Op {
        name: "UnsortedSegmentProd",
        inputs: &["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int32, int64}",
            "Tnumsegments: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Unsorted>().types("T", NUMBERS)],
        shape: Some(unsorted_shape),
        gradient: Some(gradient::unsorted_product),
        ..Op::DEFAULT
    },
    Op {
        name: "UnsortedSegmentSum",
        inputs: &["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64}",
            "Tindices: {int16, int32, int64}",
            "Tnumsegments: {int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<Unsorted>().types("T", NUMBERS)],
        shape: Some(unsorted_shape),
        gradient: Some(gradient::unsorted_sum),
        ..Op::DEFAULT
    },
];

#[derive(Clone, Copy, Debug)]
enum Reduction {
    Sum,
    Mean,
    Prod,
    Max,
    Min,
}

impl Reduction {
    fn of(op: &str) -> Result<Reduction> {
        Ok(match op.trim_start_matches("Unsorted") {
            "SegmentSum" => Reduction::Sum,
            "SegmentMean" => Reduction::Mean,
            "SegmentProd" => Reduction::Prod,
            "SegmentMax" => Reduction::Max,
            "SegmentMin" => Reduction::Min,
            _ => return Err(tensorfleet_tensor::internal!("no reduction of segments: {op}")),
        })
    }
}

/// Which output row each input row goes to.
struct Rows {
    /// Absent for rows that are left out.
    targets: Vec<Option<usize>>,
    /// The shape of the output.
    shape: Shape,
    /// The number of elements of a row.
    width: usize,
}

/// What a reduction is made of; the function is a type, so that loops are made for it.
struct Reducer<T, F> {
    /// What a segment starts with.
    start: T,
    /// What a segment without rows is.
    empty: T,
    combine: F,
}

/// Elements below which another thread is not worth waking.
const MIN_ELEMENTS: usize = 16 * 1024;

fn reduce<T: Number>(
    par: Parallel,
    data: &Tensor,
    rows: &Rows,
    reducer: &Reducer<T, impl Fn(T, T) -> T + Sync>,
    mean: bool,
) -> Result<Tensor> {
    let data = data.values::<T>()?;
    let (width, segments) = (rows.width, rows.shape.dims().first().copied().unwrap_or(0));
    let mut counts = try_repeat(0usize, segments)?;
    for target in rows.targets.iter().flatten() {
        counts[*target] += 1;
    }
    // Each thread looks at all rows and takes those of its segments.
    let is_small = data.len() < 2 * MIN_ELEMENTS;
    let share = if is_small { segments } else { segments.div_ceil(par.threads()) };
    Tensor::build(rows.shape.clone(), |out: &mut [T]| {
        if width == 0 {
            return;
        }
        par.for_each((rows_mut(out, segments), &counts[..]), share, |range, (out, counts)| {
            for (row, &count) in out.data.chunks_exact_mut(width).zip(counts) {
                row.fill(if count == 0 { reducer.empty } else { reducer.start });
            }
            for (from, target) in data.chunks_exact(width).zip(&rows.targets) {
                let Some(target) = target.filter(|target| range.contains(target)) else { continue };
                let to = &mut out.data[(target - range.start) * width..][..width];
                for (to, &from) in to.iter_mut().zip(from) {
                    *to = (reducer.combine)(*to, from);
                }
            }
            if mean {
                for (row, &count) in out.data.chunks_exact_mut(width).zip(counts) {
                    if count > 1 {
                        row.iter_mut().for_each(|value| *value = value.over(count));
                    }
                }
            }
        });
    })
}

fn run(
    par: Parallel,
    data: &Tensor,
    rows: &Rows,
    reduction: Reduction,
    sorted: bool,
) -> Result<Tensor> {
    match reduction {
        Reduction::Sum | Reduction::Mean => for_number!(data.dtype(), T => {
            let mean = matches!(reduction, Reduction::Mean);
            let zero = T::default();
            reduce::<T>(par, data, rows, &Reducer { start: zero, empty: zero, combine: T::plus }, mean)
        }),
        Reduction::Prod => for_number!(data.dtype(), T => {
            let one = T::ONE;
            reduce::<T>(par, data, rows, &Reducer { start: one, empty: one, combine: T::times }, false)
        }),
        Reduction::Max => for_real!(data.dtype(), T => {
            let start = T::LOWEST;
            let empty = if sorted { T::default() } else { start };
            let combine = |a: T, b: T| if a < b { b } else { a };
            reduce::<T>(par, data, rows, &Reducer { start, empty, combine }, false)
        }),
        Reduction::Min => for_real!(data.dtype(), T => {
            let start = T::HIGHEST;
            let empty = if sorted { T::default() } else { start };
            let combine = |a: T, b: T| if b < a { b } else { a };
            reduce::<T>(par, data, rows, &Reducer { start, empty, combine }, false)
        }),
    }
}

/// Segments whose ids stand in increasing order.
#[derive(Debug)]
struct Sorted {
    reduction: Reduction,
}

impl Kernel for Sorted {
    fn new(attrs: &Attrs<'_>) -> Result<Sorted> {
        Ok(Sorted { reduction: Reduction::of(attrs.op())? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (data, ids) = (ctx.input(0)?, ctx.input(1)?);
        if data.rank() == 0 {
            return Err(invalid_argument!("input must be at least rank 1"));
        }
        if ids.rank() != 1 {
            return Err(invalid_argument!("segment_ids should be a vector."));
        }
        if ids.num_elements() != data.dims()[0] {
            return Err(invalid_argument!(
                "segment_ids should be the same size as dimension 0 of input."
            ));
        }
        let ids = ids.to_i64_vec()?;
        let mut dims = data.dims().to_vec();
        dims[0] = segment_count(&ids)?;
        let rows = Rows {
            targets: sorted_targets(&ids, dims[0])?.into_iter().map(Some).collect(),
            width: dims[1..].iter().product(),
            shape: Shape::new(&dims)?,
        };
        let par = Parallel::new(ctx.parallelism());
        let output = run(par, data, &rows, self.reduction, true)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The number of segments when the last id is the highest.
pub(super) fn segment_count(ids: &[i64]) -> Result<usize> {
    let Some(&last) = ids.last() else { return Ok(0) };
    last.checked_add(1)
        .and_then(|count| usize::try_from(count).ok())
        .ok_or_else(|| invalid_argument!("segment ids must be >= 0"))
}

/// Checks that ids are in range and in order.
pub(super) fn sorted_targets(ids: &[i64], segments: usize) -> Result<Vec<usize>> {
    let mut targets = Vec::with_capacity(ids.len());
    let mut segment = ids.chunk_by(|a, b| a == b).peekable();
    while let Some(run) = segment.next() {
        // That the next segment comes later is what TensorFlow looks at first.
        if segment.peek().is_some_and(|next| next[0] < run[0]) {
            return Err(invalid_argument!("segment ids are not increasing"));
        }
        let target = usize::try_from(run[0]).ok().filter(|&target| target < segments);
        let target = target.ok_or_else(|| {
            invalid_argument!(
                "Segment id {} out of range [0, {segments}), possibly because 'segment_ids' input \
                 is not sorted.",
                run[0]
            )
        })?;
        targets.resize(targets.len() + run.len(), target);
    }
    Ok(targets)
}

/// Reads the number of segments that an input asks for.
pub(super) fn requested_count(ctx: &KernelContext<'_>, index: usize) -> Result<usize> {
    let count = ctx.input(index)?;
    if !count.shape().is_scalar() {
        return Err(invalid_argument!(
            "num_segments should be a scalar, not shape {}",
            count.shape()
        ));
    }
    let count = count.to_i64_vec()?[0];
    usize::try_from(count)
        .map_err(|_| invalid_argument!("Input num_segments == {count} must not be negative."))
}

/// Segments in any order; rows with a negative id are left out.
#[derive(Debug)]
struct Unsorted {
    reduction: Reduction,
}

impl Kernel for Unsorted {
    fn new(attrs: &Attrs<'_>) -> Result<Unsorted> {
        Ok(Unsorted { reduction: Reduction::of(attrs.op())? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let segments = requested_count(ctx, 2)?;
        let (data, ids) = (ctx.input(0)?, ctx.input(1)?);
        if !data.dims().starts_with(ids.dims()) {
            return Err(invalid_argument!(
                "data.shape = {} does not start with segment_ids.shape = {}",
                data.shape(),
                ids.shape()
            ));
        }
        let inner = &data.dims()[ids.rank()..];
        let targets = ids
            .to_i64_vec()?
            .into_iter()
            .enumerate()
            .map(|(at, id)| match usize::try_from(id) {
                Err(_) => Ok(None),
                Ok(target) if target < segments => Ok(Some(target)),
                Ok(_) => Err(invalid_argument!(
                    "segment_ids{} = {id} is out of range [0, {segments})",
                    position(ids.shape(), at)
                )),
            })
            .collect::<Result<Vec<_>>>()?;
        let rows = Rows {
            targets,
            width: inner.iter().product(),
            shape: Shape::new(&[&[segments], inner].concat())?,
        };
        let par = Parallel::new(ctx.parallelism());
        let output = run(par, data, &rows, self.reduction, false)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Where a flat index lies, as `[1,2]`; nothing in a scalar.
fn position(shape: &Shape, mut flat: usize) -> String {
    if shape.is_scalar() {
        return String::new();
    }
    let mut indices = vec![0; shape.rank()];
    for (index, &dim) in indices.iter_mut().zip(shape.dims()).rev() {
        *index = flat % dim;
        flat /= dim;
    }
    let words: Vec<String> = indices.iter().map(usize::to_string).collect();
    format!("[{}]", words.join(","))
}

fn unsorted_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let (Some(data), Some(ids)) = (&c.input(0).dims, &c.input(1).dims) else {
        return Ok(vec![PartialShape::UNKNOWN]);
    };
    let count = c.constant_int(2).and_then(|count| usize::try_from(count).ok());
    let rest = data.get(ids.len()..).unwrap_or_default();
    Ok(vec![PartialShape::known([count].into_iter().chain(rest.iter().copied()))])
}
