//! How attributes and inputs state a pooling.

use std::borrow::Cow;

use tensorfleet_framework::{Attrs, KernelContext};
use tensorfleet_kernels::conv::Axis;
use tensorfleet_kernels::pool::Pool;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, unimplemented_error};

use super::super::window::{Layout, Padding, Window};

/// The sizes of windows and the steps between them.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// For each dimension of space.
    pub(super) sizes: Vec<usize>,
    pub(super) strides: Vec<i64>,
    /// Channels to a window, and from one to the next.
    pub(super) depth: [i64; 2],
}

impl Windows {
    pub(super) fn new(layout: Layout, ksize: &[i64], strides: &[i64]) -> Result<Windows> {
        for (values, what) in [(ksize, "ksize"), (strides, "stride")] {
            if values.len() != layout.rank() {
                return Err(invalid_argument!(
                    "Sliding window {what} field must specify {} dimensions",
                    layout.rank()
                ));
            }
            if values[0] != 1 {
                return Err(unimplemented_error!(
                    "Pooling is not yet supported on the batch dimension."
                ));
            }
        }
        let space = layout.space()..layout.space() + layout.spatial;
        let sizes = ksize[space.clone()].iter().map(|&size| match usize::try_from(size) {
            Ok(size) if size > 0 => Ok(size),
            _ => Err(invalid_argument!(
                "Sliding window ksize must be positive. The specified or inferred ksize is: {}",
                ksize.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
            )),
        });
        let channel = layout.channel_axis();
        Ok(Windows {
            sizes: sizes.collect::<Result<_>>()?,
            strides: strides[space].to_vec(),
            depth: [ksize[channel], strides[channel]],
        })
    }

    /// Refuses windows of several channels, of which `what` knows nothing.
    pub(super) fn within_space(self, what: &str) -> Result<Windows> {
        if self.depth != [1, 1] {
            return Err(unimplemented_error!(
                "{what} is not yet supported on the depth dimension."
            ));
        }
        Ok(self)
    }
}

/// The attributes of these ops.
#[derive(Debug)]
pub(super) struct Spec {
    pub(super) layout: Layout,
    padding: Padding,
    /// Absent if they are inputs.
    windows: Option<Windows>,
}

impl Spec {
    /// Reads the attributes of a pooling that may pool over channels.
    pub(super) fn with_depth(attrs: &Attrs<'_>) -> Result<Spec> {
        let spatial = if attrs.op().contains("3D") { 3 } else { 2 };
        let layout = Layout::new(attrs, spatial)?;
        let windows = match attrs.get("ksize") {
            Some(_) => Some(Windows::new(layout, attrs.ints("ksize")?, attrs.ints("strides")?)?),
            None => None,
        };
        Ok(Spec { layout, padding: Padding::new(attrs, layout)?, windows })
    }

    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        let mut spec = Spec::with_depth(attrs)?;
        let what = match attrs.op() {
            "MaxPoolGrad" => "MaxPoolingGrad",
            "MaxPoolGradGrad" => "MaxPoolingGradGrad",
            _ => "Non-spatial pooling",
        };
        spec.windows = spec.windows.map(|windows| windows.within_space(what)).transpose()?;
        Ok(spec)
    }

    /// The windows: those of the attributes, or else those that the inputs from `first` on state.
    pub(super) fn windows(
        &self,
        ctx: &KernelContext<'_>,
        first: usize,
    ) -> Result<Cow<'_, Windows>> {
        if let Some(windows) = &self.windows {
            return Ok(Cow::Borrowed(windows));
        }
        let (ksize, strides) = (ctx.input(first)?, ctx.input(first + 1)?);
        Ok(Cow::Owned(Windows::new(self.layout, &ksize.to_i64_vec()?, &strides.to_i64_vec()?)?))
    }

    pub(super) fn pool(&self, windows: &Windows, input: &[usize]) -> Result<Pool> {
        let spatial = self.layout.spatial;
        if input.len() != self.layout.rank() {
            return Err(invalid_argument!("tensor_in must be {}-dimensional", self.layout.rank()));
        }
        let mut axes = [Axis::UNIT; 3];
        for (index, place) in axes[3 - spatial..].iter_mut().enumerate() {
            let dimension = self.layout.space() + index;
            let window =
                Window { size: windows.sizes[index], stride: windows.strides[index], dilation: 1 };
            let axis = self.padding.axis(dimension, input[dimension], window)?;
            if axis.pad >= axis.filter {
                return Err(invalid_argument!(
                    "padding {} needs to be smaller than the window size {}",
                    axis.pad,
                    axis.filter
                ));
            }
            *place = axis;
        }
        Ok(Pool { batch: input[0], axes, channels: input[self.layout.channel_axis()] })
    }

    /// The sizes of the output in the layout.
    pub(super) fn output(&self, pool: &Pool) -> Result<Shape> {
        let space = pool.axes.map(|axis| axis.output);
        let space = &space[3 - self.layout.spatial..];
        Shape::new(&self.layout.dims(pool.batch, space, pool.channels))
    }

    /// The sizes of the input or the output with channels last.
    pub(super) fn last(&self, pool: &Pool, input: bool) -> Result<Shape> {
        let space = pool.axes.map(|axis| if input { axis.input } else { axis.output });
        Shape::new(&[&[pool.batch], &space[3 - self.layout.spatial..], &[pool.channels]].concat())
    }

    /// Checks that the original output and the gradient of a maximum belong to a pooling.
    pub(super) fn check_outputs(&self, pool: &Pool, outputs: &[(&str, &Tensor)]) -> Result<()> {
        let wanted = self.output(pool)?;
        for (name, tensor) in outputs {
            if *tensor.shape() != wanted {
                return Err(invalid_argument!(
                    "Expected {name} shape to be {wanted}, but got {}",
                    tensor.shape()
                ));
            }
        }
        Ok(())
    }
}
