//! `MaxPool` and `AvgPool` of images, and their gradients.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::pool::{self, Pool, Ties};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, dispatch, invalid_argument, unimplemented_error,
};

use super::layout::{channels_last, from_channels_last};
use super::window::{Layout, Padding, Window};
use super::{FLOATS, unsupported};

const MAX_TYPES: &[DType] = &[
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
        kernels: &[cpu::<AvgPool>().types("T", FLOATS)],
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
        kernels: &[cpu::<AvgPoolGrad>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPool",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8} \
             = DT_FLOAT",
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW', 'NCHW_VECT_C'} = 'NHWC'",
        ],
        kernels: &[cpu::<MaxPool>().types("T", MAX_TYPES)],
        ..Op::DEFAULT
    },
    Op {
        name: "MaxPoolGrad",
        inputs: &["orig_input: T", "orig_output: T", "grad: T"],
        outputs: &["output: T"],
        attrs: &[
            "ksize: list(int) >= 4",
            "strides: list(int) >= 4",
            "padding: {'SAME', 'VALID', 'EXPLICIT'}",
            "explicit_paddings: list(int) = []",
            "data_format: {'NHWC', 'NCHW'} = 'NHWC'",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, \
             uint32, uint64} = DT_FLOAT",
        ],
        kernels: &[cpu::<MaxPoolGrad>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
];

/// The attributes of these ops.
#[derive(Debug)]
struct Spec {
    layout: Layout,
    padding: Padding,
    ksize: [usize; 2],
    strides: [i64; 2],
}

impl Spec {
    fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        let layout = Layout::new(attrs, 2)?;
        let (ksize, strides) = (attrs.ints("ksize")?, attrs.ints("strides")?);
        for (values, what) in [(ksize, "ksize"), (strides, "stride")] {
            if values.len() != 4 {
                return Err(invalid_argument!(
                    "Sliding window {what} field must specify 4 dimensions"
                ));
            }
            if values[0] != 1 {
                return Err(unimplemented_error!(
                    "Pooling is not yet supported on the batch dimension."
                ));
            }
            if values[layout.channel_axis()] != 1 {
                return Err(unimplemented_error!("pooling over the depth is not implemented"));
            }
        }
        let size = |index: usize| {
            let size = ksize[layout.space() + index];
            match usize::try_from(size) {
                Ok(size) if size > 0 => Ok(size),
                _ => Err(invalid_argument!(
                    "Sliding window ksize must be positive. The specified or inferred ksize is: \
                     {},{},{},{}",
                    ksize[0],
                    ksize[1],
                    ksize[2],
                    ksize[3]
                )),
            }
        };
        Ok(Spec {
            layout,
            padding: Padding::new(attrs, layout)?,
            ksize: [size(0)?, size(1)?],
            strides: [strides[layout.space()], strides[layout.space() + 1]],
        })
    }

    fn pool(&self, input: &[usize]) -> Result<Pool> {
        if input.len() != 4 {
            return Err(invalid_argument!(
                "tensor_in_shape must have 2 spatial dimensions. {} 0",
                input.len()
            ));
        }
        let axis = |index: usize| {
            let dimension = self.layout.space() + index;
            let window =
                Window { size: self.ksize[index], stride: self.strides[index], dilation: 1 };
            let axis = self.padding.axis(dimension, input[dimension], window)?;
            if axis.pad >= axis.filter {
                return Err(invalid_argument!(
                    "padding {} needs to be smaller than the window size {}",
                    axis.pad,
                    axis.filter
                ));
            }
            Ok(axis)
        };
        let channels = input[self.layout.channel_axis()];
        Ok(Pool::images(input[0], [axis(0)?, axis(1)?], channels))
    }

    /// The sizes of the output in the layout.
    fn output(&self, pool: &Pool) -> Result<Shape> {
        let [_, height, width] = pool.axes.map(|axis| axis.output);
        Shape::new(&self.layout.dims(pool.batch, &[height, width], pool.channels))
    }
}

/// The sizes of the input or the output with channels last.
fn last(pool: &Pool, input: bool) -> Result<Shape> {
    let [_, height, width] = pool.axes.map(|axis| if input { axis.input } else { axis.output });
    Shape::new(&[pool.batch, height, width, pool.channels])
}

#[derive(Debug)]
struct MaxPool(Spec);

impl Kernel for MaxPool {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPool> {
        Spec::new(attrs).map(MaxPool)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let pool = self.0.pool(input.dims())?;
        let input = channels_last(par, input, self.0.layout)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16, i32, i64, u8, i16, i8, u16],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(last(&pool, false)?, |out| pool::max_pool(par, &pool, values, out))
            },
            else => Err(unsupported(input.dtype()))
        )?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

#[derive(Debug)]
struct AvgPool(Spec);

impl Kernel for AvgPool {
    fn new(attrs: &Attrs<'_>) -> Result<AvgPool> {
        Spec::new(attrs).map(AvgPool)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let input = ctx.input(0)?;
        let pool = self.0.pool(input.dims())?;
        let input = channels_last(par, input, self.0.layout)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = input.values::<T>()?;
                Tensor::build(last(&pool, false)?, |out| pool::avg_pool(par, &pool, values, out))
            },
            else => Err(unsupported(input.dtype()))
        )?;
        let result = from_channels_last(par, result, self.0.layout)?;
        ctx.set_output(0, result);
        Ok(())
    }
}

#[derive(Debug)]
struct MaxPoolGrad(Spec);

impl Kernel for MaxPoolGrad {
    fn new(attrs: &Attrs<'_>) -> Result<MaxPoolGrad> {
        Spec::new(attrs).map(MaxPoolGrad)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (input, output, gradient) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        for (name, tensor) in
            [("tensor_in", input), ("tensor_out", output), ("out_backprop", gradient)]
        {
            if tensor.rank() != 4 {
                return Err(invalid_argument!("{name} must be 4-dimensional"));
            }
        }
        let pool = self.0.pool(input.dims())?;
        let wanted = self.0.output(&pool)?;
        for (name, tensor) in [("orig_output", output), ("grad", gradient)] {
            if *tensor.shape() != wanted {
                return Err(invalid_argument!(
                    "Expected {name} shape to be {wanted}, but got {}",
                    tensor.shape()
                ));
            }
        }
        let input = channels_last(par, input, self.0.layout)?;
        let gradient = channels_last(par, gradient, self.0.layout)?;
        let result = dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let (values, gradient) = (input.values::<T>()?, gradient.values::<T>()?);
                Tensor::build(last(&pool, true)?, |out| {
                    pool::max_pool_grad(par, &pool, Ties::First, values, gradient, out);
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
        if *sizes.dims() != [4] {
            return Err(invalid_argument!("out_backprop must be 1-dimensional and 4 elements"));
        }
        if gradient.rank() != 4 {
            return Err(invalid_argument!("out_backprop must be 4-dimensional"));
        }
        let input = Shape::from_signed(&sizes.to_i64_vec()?)?;
        let pool = self.0.pool(input.dims())?;
        let wanted = self.0.output(&pool)?;
        if *gradient.shape() != wanted {
            return Err(invalid_argument!(
                "Expected grad shape to be {wanted}, but got {}",
                gradient.shape()
            ));
        }
        let gradient = channels_last(par, gradient, self.0.layout)?;
        let result = dispatch!(
            gradient.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = gradient.values::<T>()?;
                Tensor::build(last(&pool, true)?, |out| {
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
