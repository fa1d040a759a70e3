//! How attributes and inputs state a pooling.

use std::borrow::Cow;

use tensorfleet_framework::{Attrs, KernelContext};
use tensorfleet_kernels::conv::Axis;
use tensorfleet_kernels::pool::Pool;
use tensorfleet_tensor::{Error, Result, Shape, Tensor, invalid_argument, unimplemented_error};

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
    /// Reads sizes and steps as `op` states them, in the words that it has for wrong ones.
    pub(super) fn new(op: &str, layout: Layout, ksize: &[i64], strides: &[i64]) -> Result<Windows> {
        for (values, what) in [(ksize, "ksize"), (strides, "stride")] {
            if values.len() != layout.rank() {
                return Err(invalid_argument!(
                    "Sliding window {what} field must specify {} dimensions",
                    layout.rank()
                ));
            }
        }
        if let Some(&size) = ksize.iter().find(|&&size| size <= 0) {
            return Err(not_positive(op, ksize, size));
        }
        if ksize[0] != 1 || strides[0] != 1 {
            return Err(unimplemented_error!(
                "Pooling is not yet supported on the batch dimension."
            ));
        }
        let space = layout.space()..layout.space() + layout.spatial;
        let channel = layout.channel_axis();
        Ok(Windows {
            sizes: ksize[space.clone()].iter().map(|&size| size as usize).collect(),
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

    /// Refuses windows over so many channels that are also windows over space, or overlap.
    pub(super) fn check_depth(&self, channels: usize) -> Result<()> {
        let [window, stride] = self.depth;
        if self.sizes.iter().any(|&size| size != 1) {
            return Err(unimplemented_error!(
                "MaxPooling supports exactly one of pooling across depth or pooling across \
                 width/height."
            ));
        }
        if channels as i64 % window != 0 {
            return Err(unimplemented_error!(
                "Depthwise max pooling requires the depth window to evenly divide the input depth"
            ));
        }
        if stride != window {
            return Err(unimplemented_error!(
                "Depthwise max pooling requires the depth window to equal the depth stride"
            ));
        }
        Ok(())
    }
}

/// That the size of a window is not positive.
fn not_positive(op: &str, ksize: &[i64], size: i64) -> Error {
    match op {
        "AvgPool" => invalid_argument!("ksize must be a positive int32 value, got:{size}"),
        "AvgPool3DGrad" => invalid_argument!("ksize must be positive, got: {size}"),
        "AvgPool3D" | "MaxPool3D" => {
            invalid_argument!("Sliding window ksize field must have non-negative dimensions")
        }
        "MaxPoolV2" => invalid_argument!("Sliding window ksize must be positive."),
        _ => invalid_argument!(
            "Sliding window ksize must be positive. The specified or inferred ksize is: {}",
            ksize.iter().map(i64::to_string).collect::<Vec<_>>().join(",")
        ),
    }
}

/// The attributes of these ops.
#[derive(Debug)]
pub(super) struct Spec {
    op: String,
    pub(super) layout: Layout,
    padding: Padding,
    /// Absent if they are inputs.
    windows: Option<Windows>,
}

impl Spec {
    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Spec> {
        let op = attrs.op();
        let spatial = if op.contains("3D") { 3 } else { 2 };
        let layout = Layout::new(attrs, spatial)?;
        let windows = match attrs.get("ksize") {
            Some(_) => {
                Some(Windows::new(op, layout, attrs.ints("ksize")?, attrs.ints("strides")?)?)
            }
            None => None,
        };
        // These look at the steps between channels even where no window has several.
        let what = match op {
            "MaxPoolGrad" => Some("MaxPoolingGrad"),
            "MaxPoolGradGrad" => Some("MaxPoolingGradGrad"),
            "MaxPool3DGradGrad" => Some("MaxPooling3dGradGrad"),
            _ if spatial == 3 => Some("Pooling"),
            _ => None,
        };
        let windows = match (windows, what) {
            (Some(windows), Some(what)) => Some(windows.within_space(what)?),
            (windows, _) => windows,
        };
        Ok(Spec { op: op.to_owned(), layout, padding: Padding::new(attrs, layout)?, windows })
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
        let (ksize, strides) =
            (ctx.input(first)?.to_i64_vec()?, ctx.input(first + 1)?.to_i64_vec()?);
        Ok(Cow::Owned(Windows::new(&self.op, self.layout, &ksize, &strides)?))
    }

    /// Lays windows over space.
    pub(super) fn pool(&self, windows: &Windows, input: &[usize]) -> Result<Pool> {
        let spatial = self.layout.spatial;
        self.check_rank(input.len())?;
        let channels = input[self.layout.channel_axis()];
        if windows.depth[0] != 1 {
            if self.op != "AvgPoolGrad" {
                windows.check_depth(channels)?;
            }
            // As in TensorFlow, the place of a maximum is looked for in space alone.
            if self.op != "MaxPoolWithArgmax" {
                return Err(unimplemented_error!(
                    "Non-spatial pooling is not yet supported. Volunteers? :)"
                ));
            }
        }
        let mut axes = [Axis::UNIT; 3];
        for (index, place) in axes[3 - spatial..].iter_mut().enumerate() {
            let dimension = self.layout.space() + index;
            let window =
                Window { size: windows.sizes[index], stride: windows.strides[index], dilation: 1 };
            *place = self.padding.axis(dimension, input[dimension], window)?;
        }
        self.check_padding(windows)?;
        Ok(Pool { batch: input[0], axes, channels })
    }

    /// Refuses an input that is no batch of images or volumes.
    pub(super) fn check_rank(&self, rank: usize) -> Result<()> {
        let wanted = self.layout.rank();
        if rank == wanted {
            return Ok(());
        }
        Err(match &*self.op {
            "MaxPool" | "MaxPoolV2" | "MaxPoolGradWithArgmax" => invalid_argument!(
                "tensor_in_shape must have 2 spatial dimensions. {rank} {}",
                u8::from(self.layout.channels_first)
            ),
            "MaxPoolWithArgmax" => invalid_argument!("tensor_in must be 4-dimensional (2)"),
            _ => invalid_argument!("tensor_in must be {wanted}-dimensional"),
        })
    }

    /// Refuses windows that may lie in stated padding alone.
    fn check_padding(&self, windows: &Windows) -> Result<()> {
        let Padding::Explicit(pairs) = &self.padding else { return Ok(()) };
        let sides = [["Top", "Bottom"], ["Left", "Right"]];
        for ((pair, &size), sides) in
            pairs[self.layout.space()..].iter().zip(&windows.sizes).zip(sides)
        {
            for (padding, side) in [pair.0, pair.1].into_iter().zip(sides) {
                if padding >= size {
                    return Err(invalid_argument!(
                        "{side} padding {padding} needs to be smaller than the window size {size}"
                    ));
                }
            }
        }
        Ok(())
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
