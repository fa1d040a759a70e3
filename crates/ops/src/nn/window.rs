//! Windows that slide over images: how attributes state their sizes, steps and paddings.

use tensorfleet_framework::{Attrs, ShapeContext};
use tensorfleet_kernels::conv::Axis;
use tensorfleet_tensor::{PartialShape, Result, invalid_argument, resource_exhausted};

/// What surrounds an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Same,
    Valid,
    /// Values before and after, for each dimension of the tensor.
    Explicit(Vec<(usize, usize)>),
}

impl Padding {
    /// Reads `padding` and, where the op has it, `explicit_paddings`.
    pub(super) fn new(attrs: &Attrs<'_>, layout: Layout) -> Result<Padding> {
        let explicit = match attrs.get("explicit_paddings") {
            Some(_) => attrs.ints("explicit_paddings")?,
            None => &[],
        };
        match &*attrs.string("padding")? {
            "EXPLICIT" => Padding::explicit(explicit, layout),
            _ if !explicit.is_empty() && !attrs.op().starts_with("MaxPool") => {
                Err(invalid_argument!(
                    "explicit_paddings attribute must be empty if the padding attribute is not \
                     EXPLICIT"
                ))
            }
            "SAME" => Ok(Padding::Same),
            "VALID" => Ok(Padding::Valid),
            other => Err(invalid_argument!("Unknown padding type: {other}")),
        }
    }

    /// The padding that a list of all values before and after states.
    pub(super) fn explicit(values: &[i64], layout: Layout) -> Result<Padding> {
        let wanted = 2 * layout.rank();
        if values.len() != wanted {
            return Err(invalid_argument!(
                "explicit_paddings attribute must contain {wanted} values, but got: {}",
                values.len()
            ));
        }
        let mut pairs = Vec::new();
        for pair in values.chunks_exact(2) {
            match (usize::try_from(pair[0]), usize::try_from(pair[1])) {
                (Ok(before), Ok(after)) => pairs.push((before, after)),
                _ => {
                    return Err(invalid_argument!(
                        "All elements of explicit_paddings must be nonnegative"
                    ));
                }
            }
        }
        if pairs[0] != (0, 0) || pairs[layout.channel_axis()] != (0, 0) {
            return Err(invalid_argument!(
                "Nonzero explicit padding in the batch or depth dimensions is not supported"
            ));
        }
        Ok(Padding::Explicit(pairs))
    }

    /// Lays a window along a dimension of a tensor.
    pub(super) fn axis(&self, dimension: usize, input: usize, window: Window) -> Result<Axis> {
        let Window { size, stride, dilation } = window;
        if stride <= 0 {
            return Err(invalid_argument!("Stride must be > 0, but got {stride}"));
        }
        if dilation <= 0 {
            return Err(invalid_argument!("Dilation rate must be >= 1, but got {dilation}"));
        }
        let too_large = || {
            resource_exhausted!(
                "a window of {size} values, {stride} apart and dilated by {dilation}, is too large \
                 for {input} values"
            )
        };
        let length = i64::try_from(input).map_err(|_| too_large())?;
        let taps = i64::try_from(size).map_err(|_| too_large())?;
        let reach = (taps - 1).checked_mul(dilation).and_then(|reach| reach.checked_add(1));
        let reach = reach.ok_or_else(too_large)?;
        let (output, before) = match self {
            Padding::Same => {
                let output = length / stride + i64::from(length % stride != 0);
                let needed = (output - 1).max(0).checked_mul(stride);
                let needed = needed.and_then(|needed| needed.checked_add(reach - length));
                (output, needed.ok_or_else(too_large)?.max(0) / 2)
            }
            Padding::Valid => (steps(length, reach, stride).ok_or_else(too_large)?, 0),
            Padding::Explicit(pairs) => {
                let (before, after) = pairs[dimension];
                let (before, after) = (i64::try_from(before), i64::try_from(after));
                let (Ok(before), Ok(after)) = (before, after) else { return Err(too_large()) };
                let padded = length.checked_add(before).and_then(|sum| sum.checked_add(after));
                let padded = padded.ok_or_else(too_large)?;
                (steps(padded, reach, stride).ok_or_else(too_large)?, before)
            }
        };
        if output < 0 {
            return Err(invalid_argument!(
                "Computed output size would be negative: {output} [input_size: {input}, \
                 effective_filter_size: {reach}, stride: {stride}]"
            ));
        }
        // Kernels copy an image with what surrounds it: padding without bounds is not for them.
        let extent = (output - 1).max(0).checked_mul(stride).and_then(|sum| sum.checked_add(reach));
        if extent.is_none_or(|extent| extent > MOST_PADDED && extent / 16 > length) {
            return Err(too_large());
        }
        Ok(Axis {
            input,
            filter: size,
            output: output as usize,
            stride: stride as usize,
            dilation: dilation as usize,
            pad: before as usize,
        })
    }
}

/// Positions of an axis that may be mostly padding.
const MOST_PADDED: i64 = 1 << 20;

/// The positions of a window on a line; negative if it does not fit by more than a stride.
fn steps(length: i64, reach: i64, stride: i64) -> Option<i64> {
    Some(length.checked_sub(reach)?.checked_add(stride)? / stride)
}

/// A window along one dimension, as stated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    pub(super) size: usize,
    pub(super) stride: i64,
    pub(super) dilation: i64,
}

/// Which dimension of a tensor of images or volumes is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Dimensions of space.
    pub(super) spatial: usize,
    /// Whether channels come before space.
    pub(super) channels_first: bool,
}

impl Layout {
    /// Reads `data_format`; ops without it have their channels last.
    pub(super) fn new(attrs: &Attrs<'_>, spatial: usize) -> Result<Layout> {
        let channels_first = match attrs.get("data_format") {
            None => false,
            Some(_) => match &*attrs.string("data_format")? {
                "NHWC" | "NDHWC" => false,
                "NCHW" | "NCDHW" => true,
                other => {
                    return Err(invalid_argument!("Invalid data format {other} for a CPU"));
                }
            },
        };
        Ok(Layout { spatial, channels_first })
    }

    /// All dimensions: batch, channels and space.
    pub(super) fn rank(self) -> usize {
        self.spatial + 2
    }

    pub(super) fn channel_axis(self) -> usize {
        if self.channels_first { 1 } else { self.spatial + 1 }
    }

    /// The dimension of the first axis of space.
    pub(super) fn space(self) -> usize {
        if self.channels_first { 2 } else { 1 }
    }

    /// The sizes of a tensor in this layout.
    pub(super) fn dims(self, batch: usize, space: &[usize], channels: usize) -> Vec<usize> {
        if self.channels_first {
            [&[batch, channels], space].concat()
        } else {
            [&[batch], space, &[channels]].concat()
        }
    }
}

/// The sizes after windows have been laid over a tensor, as far as they are known. `sizes` are the
/// windows' sizes in each dimension of space, `None` where unknown.
pub(super) fn windowed(
    c: &ShapeContext<'_>,
    layout: Layout,
    sizes: &[Option<usize>],
    strides: &[i64],
    dilations: &[i64],
    channels: Option<usize>,
) -> Result<PartialShape> {
    let padding = Padding::new(&c.attrs(), layout)?;
    let Some(input) = &c.input(0).dims else { return Ok(PartialShape::of_rank(layout.rank())) };
    if input.len() != layout.rank() {
        return Err(invalid_argument!(
            "the input must have rank {}, but has shape {}",
            layout.rank(),
            c.input(0)
        ));
    }
    let mut dims = input.clone();
    dims[layout.channel_axis()] = channels;
    for (index, &size) in sizes.iter().enumerate() {
        let dimension = layout.space() + index;
        let step = |values: &[i64]| values.get(dimension).copied().unwrap_or(1);
        dims[dimension] = match (input[dimension], size) {
            (Some(length), Some(size)) => {
                let window = Window { size, stride: step(strides), dilation: step(dilations) };
                Some(padding.axis(dimension, length, window)?.output)
            }
            _ => None,
        };
    }
    Ok(PartialShape::known(dims))
}
