//! `AvgPool` and `AvgPool3D`, and their gradients.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, ShapeContext, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::pool;
use tensorfleet_tensor::{Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::layout::{channels_last, from_channels_last};
use super::super::window::{Layout, windowed};
use super::super::{FLOATS, unsupported};
use super::VOLUME_TYPES;
use super::spec::Spec;
use tensorfleet_framework::gradient::only;
use tensorfleet_tensor::PartialShape;

const POOL: &[KernelDef] = &[cpu::<AvgPool>().types("T", FLOATS)];
const GRAD: &[KernelDef] = &[cpu::<AvgPoolGrad>().types("T", FLOATS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AvgPool",
        inputs: &["value: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {half, bfloat16, float, double}",
        ],
        kernels: POOL,
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "AvgPool3D",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 5",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "T: {half, bfloat16, float, double}",
        ],
        kernels: &[cpu::<AvgPool>().types("T", VOLUME_TYPES)],
        gradient: Some(volume_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "AvgPool3DGrad",
        inputs: &["orig_input_shape: int32", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 5",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "T: {half, bfloat16, float, double}",
        ],
        kernels: &[cpu::<AvgPoolGrad>().types("T", VOLUME_TYPES)],
        gradient: Some(second_volume_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "AvgPoolGrad",
        inputs: &["orig_input_shape: int32", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {half, bfloat16, float, double}",
        ],
        kernels: GRAD,
        gradient: Some(second_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct AvgPool(Spec);

impl Kernel for AvgPool {
    fn new(attrs: &Attrs<'_>) -> Result<AvgPool> {
        Spec::new(attrs).map(AvgPool)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let pool = self.0.pool(&*self.0.windows(ctx, 1)?, input.dims())?;
        let input = channels_last(par, input, self.0.layout)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(self.0.last(&pool, false)?, |out| {
                    pool::avg_pool(par, &pool, values, out);
                })
            },
            else => Err(unsupported(input.dtype()))
        )?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

#[derive(Debug)]
struct AvgPoolGrad(Spec);

impl Kernel for AvgPoolGrad {
    fn new(attrs: &Attrs<'_>) -> Result<AvgPoolGrad> {
        Spec::new(attrs).map(AvgPoolGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (sizes, gradient) = (ctx.input(0)?, ctx.input(1)?);
        let rank = self.0.layout.rank();
        if *sizes.dims() != [rank] {
            let name = if rank == 4 { "out_backprop" } else { "tensor_in" };
            return Err(invalid_argument!("{name} must be 1-dimensional and {rank} elements"));
        }
        if gradient.rank() != rank {
            return Err(invalid_argument!("out_backprop must be {rank}-dimensional"));
        }
        let sizes = sizes.to_i64_vec()?;
        if let Some(size) = sizes.iter().find(|&&size| size < 0) {
            return Err(invalid_argument!("Expected a non-negative size, got {size}"));
        }
        let input = Shape::from_signed(&sizes)?;
        let pool = self.0.pool(&*self.0.windows(ctx, 2)?, input.dims())?;
        self.0.check_outputs(&pool, &[("grad", gradient)])?;
        let gradient = channels_last(par, gradient, self.0.layout)?;
        let result = dispatch!(
            gradient.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = gradient.values::<T>()?;
                Tensor::build(self.0.last(&pool, true)?, |out| {
                    pool::avg_pool_grad(par, &pool, values, out);
                })
            },
            else => Err(unsupported(gradient.dtype()))
        )?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

fn shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let attrs = c.attrs();
    let layout = Layout::new(&attrs, 2)?;
    let (sizes, strides) = (attrs.ints("ksize")?, attrs.ints("strides")?);
    let space = layout.space()..layout.space() + 2;
    let windows: Option<Vec<Option<usize>>> = sizes
        .get(space)
        .map(|sizes| sizes.iter().map(|&size| usize::try_from(size).ok()).collect());
    let axis = layout.channel_axis();
    if sizes.get(axis) != Some(&1) {
        return Ok(vec![PartialShape::of_rank(layout.rank())]);
    }
    let channels = c.input(0).dims.as_ref().and_then(|dims| dims.get(axis).copied()?);
    Ok(vec![windowed(c, layout, &windows.unwrap_or_default(), strides, &[], channels)?])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("AvgPoolGrad", [g.shape_tensor(g.input(0))?, g.grad(0)?])?)
}

fn volume_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("AvgPool3DGrad", [g.shape_tensor(g.input(0))?, g.grad(0)?])?)
}

/// Spreading a gradient over windows is linear, and its own gradient the mean over them.
fn second_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![None, Some(g.call_with_attrs("AvgPool", [g.grad(0)?])?.into())])
}

fn second_volume_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![None, Some(g.call_with_attrs("AvgPool3D", [g.grad(0)?])?.into())])
}
