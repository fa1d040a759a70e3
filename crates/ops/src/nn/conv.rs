//! Convolutions of images and volumes, and their gradients.
//!
//! Kernels compute with channels last; tensors with channels first are turned round before and
//! after. TensorFlow's CPU kernels refuse some of the combinations that are computed here: channels
//! first, dilation and groups in gradients.

use half::{bf16, f16};
use tensorfleet_framework::{Attrs, Op, Value};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::conv::{self, Axis, Conv};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, dispatch, invalid_argument, unimplemented_error,
};

use super::layout::{channels_last, from_channels_last};
use super::window::{Layout, Padding, Window};

mod conv2d;
mod conv3d;
mod depthwise;
mod fused;
mod generic;
mod gradient;
mod integer;
mod padded;
mod quantized;

pub(super) const CONV2D: &[Op] = conv2d::OPS;
pub(super) const CONV3D: &[Op] = conv3d::OPS;
pub(super) const DEPTHWISE: &[Op] = depthwise::OPS;
pub(super) const FUSED: &[Op] = fused::OPS;
pub(super) const GENERIC: &[Op] = generic::OPS;
pub(super) const PADDED: &[Op] = padded::OPS;
pub(super) const QUANTIZED: &[Op] = quantized::OPS;

/// The attributes that all convolutions have.
#[derive(Debug)]
struct Spec {
    layout: Layout,
    padding: Padding,
    /// For each dimension of space.
    strides: Vec<i64>,
    dilations: Vec<i64>,
}

impl Spec {
    fn new(attrs: &Attrs<'_>, spatial: usize) -> Result<Spec> {
        let layout = Layout::new(attrs, spatial)?;
        let (strides, dilations) = (attrs.ints("strides")?, attrs.ints("dilations")?);
        // One op says that its request is wrong where the others say that they cannot yet do it.
        let lenient = spatial == 2 && attrs.op() != "Conv2DBackpropFilter";
        check_steps(layout, strides, Steps::Strides, lenient)?;
        check_steps(layout, dilations, Steps::Dilations, lenient)?;
        let padding = Padding::new(attrs, layout)?;
        let space = layout.space()..layout.space() + spatial;
        let (strides, dilations) = (strides[space.clone()].to_vec(), dilations[space].to_vec());
        Ok(Spec { layout, padding, strides, dilations })
    }

    /// Lays the filter along each dimension of space.
    fn axes(&self, input: &[usize], filter: &[usize]) -> Result<[Axis; 3]> {
        let mut axes = [Axis::UNIT; 3];
        let missing = axes.len() - self.layout.spatial;
        for index in 0..self.layout.spatial {
            let dimension = self.layout.space() + index;
            let window = Window {
                size: filter[index],
                stride: self.strides[index],
                dilation: self.dilations[index],
            };
            axes[missing + index] = self.padding.axis(dimension, input[dimension], window)?;
        }
        Ok(axes)
    }

    /// The sizes of the output.
    fn output_dims(&self, shape: &Conv) -> Vec<usize> {
        let outputs = shape.axes.map(|axis| axis.output);
        let space = &outputs[outputs.len() - self.layout.spatial..];
        self.layout.dims(shape.batch, space, shape.out_channels)
    }

    /// Convolves an input in the layout; the result has its channels last.
    fn convolve(
        &self,
        par: Parallel,
        shape: &Conv,
        input: &Tensor,
        filter: &Tensor,
    ) -> Result<Tensor> {
        let outputs = shape.axes.map(|axis| axis.output);
        let space = &outputs[outputs.len() - self.layout.spatial..];
        let dims = [&[shape.batch], space, &[shape.out_channels]].concat();
        let dims = Shape::new(&dims)?;
        if dims.num_elements() == 0 || input.num_elements() == 0 {
            return Tensor::zeros(input.dtype(), dims);
        }
        let input = channels_last(par, input, self.layout)?;
        if input.dtype() == DType::Int32 {
            return integer::convolve(par, shape, &input, filter, dims);
        }
        dispatch!(
            input.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let (input, filter) = (input.values::<T>()?, filter.values::<T>()?);
                Tensor::build(dims, |out| conv::conv(par, shape, input, filter, out))
            },
            else => Err(super::unsupported(input.dtype()))
        )
    }

    /// The result, whose channels are last, in the layout.
    fn lay_out(&self, par: Parallel, tensor: Tensor) -> Result<Tensor> {
        from_channels_last(par, tensor, self.layout)
    }
}

#[derive(Clone, Copy)]
enum Steps {
    Strides,
    Dilations,
}

/// Checks strides or dilations, in the words of each op.
fn check_steps(layout: Layout, steps: &[i64], kind: Steps, lenient: bool) -> Result<()> {
    let is_image = layout.spatial == 2;
    if steps.len() != layout.rank() {
        let what = match kind {
            Steps::Strides => "Sliding window strides",
            Steps::Dilations if is_image => "Sliding window dilations",
            Steps::Dilations => "Dilation rates",
        };
        return Err(invalid_argument!("{what} field must specify {} dimensions", layout.rank()));
    }
    if steps[0] != 1 || steps[layout.channel_axis()] != 1 {
        let what = match kind {
            Steps::Strides => "strides",
            Steps::Dilations if is_image => "dilations",
            Steps::Dilations => "dilation rates",
        };
        let message = format!(
            "Current implementation does not yet support {what} in the batch and depth dimensions."
        );
        return Err(if lenient {
            unimplemented_error!("{message}")
        } else {
            invalid_argument!("{message}")
        });
    }
    if steps[layout.space()..].iter().take(layout.spatial).any(|&step| step <= 0) {
        return Err(match kind {
            Steps::Strides if is_image => {
                invalid_argument!("Row and column strides should be larger than 0.")
            }
            Steps::Strides => invalid_argument!("Spatial strides should be larger than 0."),
            Steps::Dilations => invalid_argument!("Dilated rates should be larger than 0."),
        });
    }
    Ok(())
}

/// About how long a convolution takes, given its image-like and its filter-like operand.
fn cost(image: Option<&Value>, filter: Option<&Value>) -> u64 {
    let (Some(Value::Tensor(image)), Some(Value::Tensor(filter))) = (image, filter) else {
        return 0;
    };
    let channels = filter.dims().iter().rev().take(2).product::<usize>().isqrt().max(1);
    let products = image.num_elements() as u64 * (filter.num_elements() / channels) as u64;
    products / 8
}
