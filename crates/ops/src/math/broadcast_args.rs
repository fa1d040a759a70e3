//! `BroadcastArgs` and `BroadcastGradientArgs`: broadcasting computed on shapes.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Error, Result, Tensor, invalid_argument};

use super::dtypes::INDICES;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "BroadcastArgs",
        inputs: &["s0: T", "s1: T"],
        outputs: &["r0: T"],
        attrs: &["T: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<BroadcastArgs>().types("T", INDICES)],
        ..Op::DEFAULT
    },
    Op {
        name: "BroadcastGradientArgs",
        inputs: &["s0: T", "s1: T"],
        outputs: &["r0: T", "r1: T"],
        attrs: &["T: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<BroadcastGradientArgs>().types("T", INDICES)],
        ..Op::DEFAULT
    },
];

/// The two shapes, aligned to equal ranks by ones in front.
fn aligned_shapes(ctx: &KernelContext<'_>) -> Result<[Vec<i64>; 2]> {
    let mut shapes = [Vec::new(), Vec::new()];
    for (number, shape) in shapes.iter_mut().enumerate() {
        let input = ctx.input(number)?;
        if input.rank() != 1 {
            return Err(invalid_argument!("In[{number}] must be a vector.{}", input.shape()));
        }
        *shape = input.to_i64_vec()?;
    }
    let [x, y] = shapes;
    let rank = x.len().max(y.len());
    let align = |shape: &[i64]| {
        let mut aligned = vec![1; rank - shape.len()];
        aligned.extend(shape);
        aligned
    };
    let aligned = [align(&x), align(&y)];
    let fits = |(&a, &b): (&i64, &i64)| a == b || a == 1 || b == 1;
    if !aligned[0].iter().zip(&aligned[1]).all(fits) {
        return Err(incompatible(&x, &y));
    }
    Ok(aligned)
}

fn incompatible(x: &[i64], y: &[i64]) -> Error {
    let text = |shape: &[i64]| {
        let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
        format!("[{}]", sizes.join(","))
    };
    invalid_argument!("Incompatible shapes: {} vs. {}", text(x), text(y))
}

fn indices(dtype: DType, values: &[i64]) -> Result<Tensor> {
    if dtype == DType::Int64 {
        return Tensor::vector(values);
    }
    // They come from `int32` tensors or count dimensions, so they fit.
    Tensor::vector(&values.iter().map(|&value| value as i32).collect::<Vec<_>>())
}

/// The shape that two shapes are broadcast to.
#[derive(Debug)]
struct BroadcastArgs;

impl Kernel for BroadcastArgs {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let [x, y] = aligned_shapes(ctx)?;
        let common: Vec<i64> =
            x.iter().zip(&y).map(|(&a, &b)| if a == 1 { b } else { a }).collect();
        let common = indices(ctx.input(0)?.dtype(), &common)?;
        ctx.set_output(0, common);
        Ok(())
    }
}

/// For each of two shapes, the dimensions over which its gradient must be summed.
#[derive(Debug)]
struct BroadcastGradientArgs;

impl Kernel for BroadcastGradientArgs {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Self)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let dtype = ctx.input(0)?.dtype();
        let shapes = aligned_shapes(ctx)?;
        let same = ctx.input(0)?.raw() == ctx.input(1)?.raw();
        for (number, shape) in shapes.iter().enumerate() {
            // Between different shapes even a one against a one counts as broadcast.
            let summed = |&axis: &i64| !same && shape[axis as usize] == 1;
            let axes: Vec<i64> = (0..shape.len() as i64).filter(summed).collect();
            ctx.set_output(number, indices(dtype, &axes)?);
        }
        Ok(())
    }
}
