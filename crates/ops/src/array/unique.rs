//! `Unique` and its versions: the different elements of a tensor, and which of them each one is.

use smallvec::SmallVec;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::axis_in;
use super::copy::{dims_of, materialize, parallel};
use super::keys::{Keys, group};
use super::rows::{Row, take};
use super::types;
use super::view::View;

const TYPES: &[DType] = &types::join::<14>(types::REAL, &[DType::Bool, DType::String]);
const KERNELS: &[KernelDef] = &[cpu::<Unique>().types("T", TYPES)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Unique",
        inputs: &["x: T"],
        outputs: &["y: T", "idx: out_idx"],
        attrs: &["T: type", "out_idx: {int32, int64} = DT_INT32"],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "UniqueV2",
        inputs: &["x: T", "axis: Taxis"],
        outputs: &["y: T", "idx: out_idx"],
        attrs: &[
            "T: type",
            "Taxis: {int32, int64} = DT_INT64",
            "out_idx: {int32, int64} = DT_INT32",
        ],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "UniqueWithCounts",
        inputs: &["x: T"],
        outputs: &["y: T", "idx: out_idx", "count: out_idx"],
        attrs: &["T: type", "out_idx: {int32, int64} = DT_INT32"],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
    Op {
        name: "UniqueWithCountsV2",
        inputs: &["x: T", "axis: Taxis"],
        outputs: &["y: T", "idx: out_idx", "count: out_idx"],
        attrs: &[
            "T: type",
            "Taxis: {int32, int64} = DT_INT64",
            "out_idx: {int32, int64} = DT_INT32",
        ],
        kernels: KERNELS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct Unique {
    out_idx: DType,
    with_counts: bool,
}

impl Kernel for Unique {
    fn new(attrs: &Attrs<'_>) -> Result<Unique> {
        let with_counts = attrs.outputs().len() == 3;
        Ok(Unique { out_idx: attrs.dtype("out_idx")?, with_counts })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if input.num_elements() > i32::MAX as usize {
            return Err(invalid_argument!(
                "unique does not support input tensors larger than {} elements",
                i32::MAX
            ));
        }
        let axis = if ctx.num_inputs() == 2 { axis(input, ctx.input(1)?)? } else { None };
        let Some(axis) = axis.or((input.rank() == 1).then_some(0)) else {
            return Err(invalid_argument!("unique expects a 1D vector."));
        };
        // Slices along the axis become rows, so that each is compared as a whole.
        let mut order: SmallVec<[usize; 6]> = (0..input.rank()).collect();
        order[..=axis].rotate_right(1);
        let rows = materialize(input, View::of(input.dims()).permuted(&order), parallel(ctx))?;
        let count = rows.dims()[0];
        let len: usize = rows.dims()[1..].iter().product();
        let groups = group(&Keys::of(&rows)?, count, len);

        let mut dims = dims_of(&rows);
        dims[0] = groups.first.len();
        let row = |k: usize| Row::Of { source: 0, row: groups.first[k] };
        let unique = take(&[&rows], Shape::new(&dims)?, len, parallel(ctx), row)?;
        let mut back: SmallVec<[usize; 6]> = (0..input.rank()).collect();
        back[..=axis].rotate_left(1);
        let unique = materialize(&unique, View::of(&dims).permuted(&back), parallel(ctx))?;

        let counts = self.with_counts.then(|| {
            let mut counts = vec![0u32; groups.first.len()];
            groups.of.iter().for_each(|&group| counts[group as usize] += 1);
            counts
        });
        ctx.set_output(0, unique);
        ctx.set_output(1, integers(self.out_idx, &groups.of)?);
        if let Some(counts) = counts {
            ctx.set_output(2, integers(self.out_idx, &counts)?);
        }
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [Value::Tensor(x), ..] => x.num_elements() as u64 * 10,
            _ => 0,
        }
    }
}

/// The axis along which to compare; none means that the tensor must be a vector.
fn axis(input: &Tensor, axis: &Tensor) -> Result<Option<usize>> {
    if axis.rank() != 1 {
        return Err(invalid_argument!("axis expects a 1D vector."));
    }
    match axis.to_i64_vec()?[..] {
        [] => Ok(None),
        [axis] => match axis_in(axis, input.rank()) {
            Some(axis) => Ok(Some(axis)),
            None => Err(invalid_argument!("axis has to be between [0, {})", input.rank())),
        },
        _ => Err(invalid_argument!("axis does not support input tensors larger than 1 elements")),
    }
}

/// Positions as a vector of an integer type.
pub(super) fn integers(dtype: DType, values: &[u32]) -> Result<Tensor> {
    let shape = Shape::vector(values.len());
    if dtype == DType::Int64 {
        return Tensor::build(shape, |out: &mut [i64]| {
            out.iter_mut().zip(values).for_each(|(out, &value)| *out = value.into());
        });
    }
    Tensor::build(shape, |out: &mut [i32]| {
        out.iter_mut().zip(values).for_each(|(out, &value)| *out = value as i32);
    })
}
