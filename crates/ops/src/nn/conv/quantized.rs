//! `QuantizedConv2D`: convolution of bytes.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::Conv;
use tensorfleet_tensor::{DType, QUInt8, Result, Shape, Tensor, invalid_argument};

use super::super::window::{Layout, Padding};
use super::Spec;
use crate::quantized::convert::centred;
use crate::quantized::range::Range;

pub(super) const OPS: &[Op] = &[Op {
    name: "QuantizedConv2D",
    inputs: &[
        "input: Tinput",
        "filter: Tfilter",
        "min_input: float",
        "max_input: float",
        "min_filter: float",
        "max_filter: float",
    ],
    outputs: &["output: out_type", "min_output: float", "max_output: float"],
    attrs: &[
        "Tinput: {qint8, quint8, qint32, qint16, quint16}",
        "Tfilter: {qint8, quint8, qint32, qint16, quint16}",
        "out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QINT32",
        "strides: list(int)",
        "padding: {'SAME', 'VALID'}",
        "dilations: list(int) = [1, 1, 1, 1]",
    ],
    kernels: &[cpu::<QuantizedConv2D>()
        .types("Tinput", &[DType::QUInt8])
        .types("Tfilter", &[DType::QUInt8])
        .types("out_type", &[DType::QInt32])],
    differs: "Filters of signed bytes, which only oneDNN has, are missing.",
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct QuantizedConv2D {
    spec: Spec,
}

impl Kernel for QuantizedConv2D {
    fn new(attrs: &Attrs<'_>) -> Result<QuantizedConv2D> {
        let layout = Layout { spatial: 2, channels_first: false };
        let steps = |name: &str| match *attrs.ints(name)? {
            [1, height, width, 1] => Ok(vec![height, width]),
            [_, _, _, _] => Err(invalid_argument!(
                "Current implementation does not yet support {name} in the batch and depth \
                 dimensions."
            )),
            _ => Err(invalid_argument!("Sliding window {name} field must specify 4 dimensions")),
        };
        let strides = steps("strides")?;
        if strides[0] != strides[1] {
            return Err(invalid_argument!(
                "Current implementation only supports equal length strides in the row and column \
                 dimensions."
            ));
        }
        let dilations = steps("dilations")?;
        if dilations != [1, 1] {
            return Err(invalid_argument!(
                "Current implementation only supports dilated rate as 1 in the row and column \
                 dimensions."
            ));
        }
        let padding = Padding::new(attrs, layout)?;
        Ok(QuantizedConv2D { spec: Spec { layout, padding, strides, dilations } })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, filter) = (ctx.input(0)?, ctx.input(1)?);
        for (tensor, name) in [(input, "input"), (filter, "filter")] {
            if tensor.rank() != 4 {
                return Err(invalid_argument!(
                    "{name} must be rank 4 but is rank {}",
                    tensor.rank()
                ));
            }
        }
        let of_input = Range::of(ctx, 2, ["min_input", "max_input"])?;
        let of_filter = Range::of(ctx, 4, ["min_filter", "max_filter"])?;
        let in_channels = input.dims()[3];
        if in_channels != filter.dims()[2] {
            return Err(invalid_argument!(
                "input and filter must have the same depth: {in_channels} vs {}",
                filter.dims()[2]
            ));
        }
        let mut axes = self.spec.axes(input.dims(), &filter.dims()[..2])?;
        let mut skipped = [0; 2];
        for (axis, skipped) in axes[1..].iter_mut().zip(&mut skipped) {
            // Windows that leave out positions at the end are moved to the middle.
            let reach = axis.output.saturating_sub(1) * axis.stride + axis.filter;
            let rounding = usize::from(self.spec.padding == Padding::Valid);
            *skipped = axis.input.saturating_sub(reach + rounding) / 2;
            axis.input -= *skipped;
        }
        let shape = Conv {
            batch: input.dims()[0],
            in_channels,
            out_channels: filter.dims()[3],
            groups: 1,
            axes,
        };
        let par = Parallel::new(ctx.parallelism());
        let values = without_border(centred::<QUInt8>(input, of_input)?, skipped)?;
        let weights = centred::<QUInt8>(filter, of_filter)?;
        let sums = self.spec.convolve(par, &shape, &values, &weights)?;
        ctx.set_output(0, sums.reinterpret(DType::QInt32, sums.shape().clone())?);
        Range::of_products::<QUInt8, QUInt8>(of_input, of_filter).output(ctx, 1);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::cost(inputs.first(), inputs.get(1))
    }
}

/// Images without so many of their first rows and columns.
fn without_border(images: Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
    let &[batch, height, width, channels] = images.dims() else { return Ok(images) };
    if (rows, columns) == (0, 0) || images.num_elements() == 0 {
        return Ok(images);
    }
    let shape = Shape::new(&[batch, height - rows, width - columns, channels])?;
    let mut kept = Vec::with_capacity(shape.num_elements());
    for image in images.values::<i32>()?.chunks_exact(height * width * channels) {
        for row in image.chunks_exact(width * channels).skip(rows) {
            kept.extend_from_slice(&row[columns * channels..]);
        }
    }
    Tensor::from_vec(shape, kept)
}
