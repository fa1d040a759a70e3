//! `TopK` and `TopKV2`: the largest values of each row, and where they are.

use std::cmp::Ordering;

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::{rows, rows_mut};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, dispatch, invalid_argument};

use self::heap::Heap;
use super::{REAL_NUMBERS, is_nan};

mod approx;
mod heap;

pub(super) use approx::OPS as APPROX_OPS;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "TopK",
        inputs: &["input: T"],
        outputs: &["values: T", "indices: int32"],
        attrs: &[
            "k: int >= 0",
            "sorted: bool = true",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64}",
        ],
        kernels: &[cpu::<TopK>().types("T", REAL_NUMBERS)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TopKV2",
        inputs: &["input: T", "k: Tk"],
        outputs: &["values: T", "indices: index_type"],
        attrs: &[
            "sorted: bool = true",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64}",
            "Tk: {int16, int32, int64} = DT_INT32",
            "index_type: {int16, int32, int64} = DT_INT32",
        ],
        kernels: &[cpu::<TopK>().types("T", REAL_NUMBERS)],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

/// Elements below which another thread is not worth waking.
const MIN_WORK: usize = 8 * 1024;

#[derive(Debug)]
struct TopK {
    /// As an attribute; otherwise it is an input.
    k: Option<i64>,
    sorted: bool,
    index_type: DType,
}

impl Kernel for TopK {
    fn new(attrs: &Attrs<'_>) -> Result<TopK> {
        let takes_k = attrs.op() == "TopKV2";
        Ok(TopK {
            k: if takes_k { None } else { Some(attrs.int("k")?) },
            sorted: attrs.bool("sorted")?,
            index_type: if takes_k { attrs.dtype("index_type")? } else { DType::Int32 },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let k = match self.k {
            Some(k) => k,
            None => k_of(ctx.input(1)?)?,
        };
        let k = usize::try_from(k).map_err(|_| invalid_argument!("Need k >= 0, got {k}"))?;
        let input = ctx.input(0)?;
        let Some((&columns, outer)) = input.dims().split_last() else {
            return Err(invalid_argument!("input must be >= 1-D, got shape {}", input.shape()));
        };
        if columns < k {
            return Err(invalid_argument!(
                "input must have at least k columns. Had {columns}, needed {k}"
            ));
        }
        let shape = Shape::new(&[outer, &[k]].concat())?;
        let (values, indices) = dispatch!(
            self.index_type,
            [i16, i32, i64],
            I => {
                if I::try_from(columns).is_err() {
                    return Err(invalid_argument!(
                        "Second dimension of flattened input must be <= {}, got {columns}",
                        I::MAX
                    ));
                }
                let job = Job { par, input, k, sorted: self.sorted, shape };
                job.run_any(|index| index as I)
            },
            else => Err(super::unsupported(self.index_type))
        )?;
        ctx.set_output(0, values);
        ctx.set_output(1, indices);
        Ok(())
    }
}

fn k_of(k: &Tensor) -> Result<i64> {
    if !k.shape().is_scalar() {
        return Err(invalid_argument!("k must be scalar, got shape {}", k.shape()));
    }
    Ok(k.to_i64_vec()?[0])
}

/// One run: checked, with the shape of its outputs.
struct Job<'a> {
    par: Parallel,
    input: &'a Tensor,
    k: usize,
    sorted: bool,
    shape: Shape,
}

impl Job<'_> {
    fn run_any<I: Element>(self, index: impl Fn(usize) -> I + Sync) -> Result<(Tensor, Tensor)> {
        dispatch!(
            self.input.dtype(),
            [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
            T => self.run::<T, I>(index),
            else => Err(super::unsupported(self.input.dtype()))
        )
    }

    fn run<T, I>(self, index: impl Fn(usize) -> I + Sync) -> Result<(Tensor, Tensor)>
    where
        T: Element + PartialOrd,
        I: Element,
    {
        let Job { par, input, k, sorted, shape } = self;
        let mut values = Tensor::for_overwrite::<T>(shape.clone())?;
        let mut indices = Tensor::for_overwrite::<I>(shape)?;
        if values.num_elements() > 0 {
            let count = values.num_elements() / k;
            let columns = input.num_elements() / count;
            let work = (
                rows(input.values::<T>()?, count),
                rows_mut(values.values_mut::<T>()?, count),
                rows_mut(indices.values_mut::<I>()?, count),
            );
            par.for_each(work, MIN_WORK.div_ceil(columns), |_, (input, values, indices)| {
                let mut picked = Vec::new();
                let outputs = values.data.chunks_exact_mut(k).zip(indices.data.chunks_exact_mut(k));
                for (row, (values, indices)) in input.data.chunks_exact(columns).zip(outputs) {
                    pick(row, k, sorted, &mut picked);
                    for ((value, out), &at) in values.iter_mut().zip(indices).zip(&picked) {
                        *value = row[at];
                        *out = index(at);
                    }
                }
            });
        }
        Ok((values, indices))
    }
}

/// Fills `picked` with the positions of the `k` largest values of a row; the earlier of equals.
fn pick<T: PartialOrd + Copy>(row: &[T], k: usize, sorted: bool, picked: &mut Vec<usize>) {
    picked.clear();
    if k == 1 {
        picked.push(first_largest(row));
    } else if k == row.len() {
        picked.extend(0..k);
        picked.sort_unstable_by(|&a, &b| largest_first(&row[a], &row[b]).then(a.cmp(&b)));
    } else {
        let mut heap = Heap::new(picked, k, |a: usize, b: usize| {
            match row[a].partial_cmp(&row[b]) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Less) => false,
                // The earlier of equals; NaN equals everything.
                _ => a < b,
            }
        });
        (0..row.len()).for_each(|at| heap.offer(at));
        if sorted {
            heap.sort();
        }
    }
}

/// The first position of the largest value; the first of all when the largest is NaN.
fn first_largest<T: PartialOrd + Copy>(row: &[T]) -> usize {
    let mut best = 0;
    for (at, &value) in row.iter().enumerate() {
        if is_nan(&value) {
            return 0;
        }
        if value > row[best] {
            best = at;
        }
    }
    best
}

/// NaN goes last: sorting needs an order of all values.
fn largest_first<T: PartialOrd>(a: &T, b: &T) -> Ordering {
    b.partial_cmp(a).unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
}

/// The gradient goes back to where the values were found.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, indices, grad) = (g.input(0), g.output(1), g.grad(0)?);
    let shape = g.shape_tensor(input)?;
    let column = g.vector(&[-1i32, 1])?;
    let last = |shape| {
        let (at, axis) = (g.scalar(-1i32)?, g.scalar(0i32)?);
        let rank = g.call("Size", [shape])?;
        g.call("GatherV2", [shape, g.add2(rank, at)?, axis])
    };
    // Rows of a matrix, and from each the numbers of its elements in a flat tensor.
    let (row_length, taken) = (last(shape)?, last(g.call("Shape", [indices])?)?);
    let rows = g.call("FloorDiv", [g.size_tensor(input)?, row_length])?;
    let starts = g.call("Range", [g.scalar(0i32)?, rows, g.scalar(1i32)?])?;
    let starts = g.reshape(g.mul(starts, row_length)?, column)?;
    let table = g.out(NewNode::new("Pack").list(&[rows, taken]))?;
    let flat = g.add2(g.reshape(indices, table)?, starts)?;
    let flat = g.reshape(flat, column)?;
    let values = g.reshape(grad, g.vector(&[-1i32])?)?;
    let size = g.reshape(g.size_tensor(input)?, g.vector(&[1i32])?)?;
    let spread = g.call("ScatterNd", [flat, values, size])?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(g.reshape(spread, shape)?.into());
    Ok(gradients)
}
