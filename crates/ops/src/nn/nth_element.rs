//! `NthElement`: the n-th smallest (or largest) value of each row.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows;
use tensorfleet_tensor::{Element, Result, Shape, Tensor, dispatch, invalid_argument};

use super::REAL_NUMBERS;

pub(super) const OPS: &[Op] = &[Op {
    name: "NthElement",
    inputs: &["input: T", "n: int32"],
    outputs: &["values: T"],
    attrs: &[
        "reverse: bool = false",
        "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, \
         uint64}",
    ],
    kernels: &[cpu::<NthElement>().types("T", REAL_NUMBERS)],
    gradient: Some(gradient),
    ..Op::DEFAULT
}];

/// Elements below which another thread is not worth waking.
const MIN_WORK: usize = 8 * 1024;

#[derive(Debug)]
struct NthElement {
    reverse: bool,
}

impl Kernel for NthElement {
    fn new(attrs: &Attrs<'_>) -> Result<NthElement> {
        Ok(NthElement { reverse: attrs.bool("reverse")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, n) = (ctx.input(0)?, ctx.input(1)?);
        if !n.shape().is_scalar() {
            return Err(invalid_argument!("N must be scalar but has rank {}", n.rank()));
        }
        let n: i32 = n.scalar_value()?;
        let n = usize::try_from(n)
            .map_err(|_| invalid_argument!("n must be non-negative but is {n}"))?;
        let Some((&columns, outer)) = input.dims().split_last() else {
            return Err(invalid_argument!("Input must be at least rank 1 but is rank 0"));
        };
        if columns <= n {
            return Err(invalid_argument!("Input must have last dimension > n = {n}"));
        }
        let n = if self.reverse { columns - 1 - n } else { n };
        let shape = Shape::new(outer)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64],
            T => select::<T>(par, input, columns, n, shape),
            else => Err(super::unsupported(input.dtype()))
        )?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn select<T: Element + PartialOrd>(
    par: Parallel,
    input: &Tensor,
    columns: usize,
    n: usize,
    shape: Shape,
) -> Result<Tensor> {
    let count = shape.num_elements();
    let input = rows(input.values::<T>()?, count);
    Tensor::build(shape, |out: &mut [T]| {
        par.for_each((input, out), MIN_WORK.div_ceil(columns), |_, (input, out)| {
            let mut copy = Vec::with_capacity(columns);
            for (row, out) in input.data.chunks_exact(columns).zip(out) {
                copy.clear();
                copy.extend_from_slice(row);
                let (_, nth, _) = copy.select_nth_unstable_by(n, super::nan_last);
                *out = *nth;
            }
        });
    })
}

/// Elements that equal the result share its gradient.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (input, last) = (g.input(0), g.scalar(-1i32)?);
    let value = g.call("ExpandDims", [g.output(0), last])?;
    let chosen = g.cast(g.call("Equal", [value, input])?, g.dtype(input))?;
    let count = NewNode::new("Sum").input(chosen).input(g.vector(&[-1i32])?);
    let count = g.out(count.attr("keep_dims", true))?;
    let share = g.div(g.call("ExpandDims", [g.grad(0)?, last])?, count)?;
    Ok(vec![Some(g.mul(chosen, share)?.into()), None])
}
