//! `MaxPool` and `MaxPool3D`, with windows from attributes or from inputs.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, KernelDef, Op, ShapeContext, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::pool;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

use super::super::layout::{channels_last, from_channels_last};
use super::super::unsupported;
use super::super::window::{Layout, windowed};
use super::VOLUME_TYPES;
use super::spec::{Spec, Windows};
use crate::sparse::number::{Real, for_real};
use tensorfleet_framework::gradient::only;
use tensorfleet_tensor::PartialShape;

const TYPES: &[DType] = &[
    DType::Half,
    DType::BFloat16,
    DType::Float,
    DType::Double,
    DType::Int32,
    DType::Int64,
    DType::UInt8,
    DType::Int16,
    DType::Int8,
    DType::UInt16,
];
const POOL: &[KernelDef] = &[cpu::<MaxPool>().types("T", TYPES)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "MaxPool",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT",
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        ],
        kernels: POOL,
        shape: Some(shape),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPool3D",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 5",
            "strides: list(int) >= 5",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NDHWC', 'NCDHW'} = 'NDHWC'",
            "T: {half, bfloat16, float}",
        ],
        kernels: &[cpu::<MaxPool>().types("T", VOLUME_TYPES)],
        gradient: Some(volume_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolV2",
        inputs: &["input: T", "ksize: int32", "strides: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} = DT_FLOAT",
            "padding: {'SAME', 'VALID'}",
            "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        ],
        kernels: POOL,
        gradient: Some(v2_gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct MaxPool(Spec);

impl Kernel for MaxPool {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPool> {
        Spec::new(attrs).map(MaxPool)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let windows = self.0.windows(ctx, 1)?;
        let input = ctx.input(0)?;
        if windows.depth[0] != 1 {
            let result = over_channels(&self.0, &windows, input)?;
            ctx.set_output(0, result);
            return Ok(());
        }
        let pool = self.0.pool(&windows, input.dims())?;
        let input = channels_last(par, input, self.0.layout)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16, i32, i64, u8, i16, i8, u16],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(self.0.last(&pool, false)?, |out| {
                    pool::max_pool(par, &pool, values, out);
                })
            },
            else => Err(unsupported(input.dtype()))
        )?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

/// The largest of each so many channels.
fn over_channels(spec: &Spec, windows: &Windows, input: &Tensor) -> Result<Tensor> {
    spec.check_rank(input.rank())?;
    if spec.layout.channels_first {
        return Err(invalid_argument!(
            "Default MaxPoolingOp only supports NHWC on device type CPU"
        ));
    }
    let channels = input.dims()[3];
    windows.check_depth(channels)?;
    let size = windows.depth[0] as usize;
    let mut dims = input.dims().to_vec();
    dims[3] = channels / size;
    for_real!(input.dtype(), T => {
        let values = input.values::<T>()?;
        Tensor::build(Shape::new(&dims)?, |out: &mut [T]| {
            for (out, group) in out.iter_mut().zip(values.chunks_exact(size)) {
                *out = group.iter().fold(T::LOWEST, |best, &x| if x > best { x } else { best });
            }
        })
    })
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
    only(g.call_with_attrs("MaxPoolGrad", [g.input(0), g.output(0), g.grad(0)?])?)
}

fn volume_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("MaxPool3DGrad", [g.input(0), g.output(0), g.grad(0)?])?)
}

fn v2_gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.input(0), g.output(0), g.grad(0)?, g.input(1), g.input(2)];
    Ok(vec![Some(g.call_with_attrs("MaxPoolGradV2", inputs)?.into()), None, None])
}
