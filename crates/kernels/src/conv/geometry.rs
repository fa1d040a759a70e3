//! Shapes of convolutions and poolings.

/// One spatial dimension of a window that slides over an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Input positions.
    pub input: usize,
    /// Positions of the filter or window.
    pub filter: usize,
    /// Output positions.
    pub output: usize,
    /// Input positions between neighbouring outputs.
    pub stride: usize,
    /// Input positions between neighbouring taps of the filter.
    pub dilation: usize,
    /// Zeros before the first input position.
    pub pad: usize,
}

impl Axis {
    /// A dimension that is not there.
    pub const UNIT: Self = Self { input: 1, filter: 1, output: 1, stride: 1, dilation: 1, pad: 0 };

    /// A dimension with `before` and `after` zeros around the input.
    ///
    /// # Panics
    /// If the filter, the stride or the dilation is zero.
    pub fn new(
        input: usize,
        filter: usize,
        stride: usize,
        dilation: usize,
        (before, after): (usize, usize),
    ) -> Self {
        assert!(filter > 0 && stride > 0 && dilation > 0, "a window needs a size and steps");
        let padded = input + before + after;
        let reach = (filter - 1) * dilation + 1;
        let output = if padded < reach { 0 } else { (padded - reach) / stride + 1 };
        Self { input, filter, output, stride, dilation, pad: before }
    }

    /// TensorFlow's `VALID` padding: none.
    ///
    /// # Panics
    /// If the filter, the stride or the dilation is zero.
    pub fn valid(input: usize, filter: usize, stride: usize, dilation: usize) -> Self {
        Self::new(input, filter, stride, dilation, (0, 0))
    }

    /// TensorFlow's `SAME` padding: an output for each stride, the odd zero behind.
    ///
    /// # Panics
    /// If the filter, the stride or the dilation is zero.
    pub fn same(input: usize, filter: usize, stride: usize, dilation: usize) -> Self {
        assert!(filter > 0 && stride > 0 && dilation > 0, "a window needs a size and steps");
        let output = input.div_ceil(stride);
        let reach = (filter - 1) * dilation + 1;
        let needed = output.saturating_sub(1) * stride + reach;
        let pad = needed.saturating_sub(input) / 2;
        Self { input, filter, output, stride, dilation, pad }
    }

    /// The taps of the filter that meet the input at output position `at`, and the input position of
    /// the first of them; the start of the input if there are none.
    pub(crate) fn taps(&self, at: usize) -> (std::ops::Range<usize>, usize) {
        let start = at * self.stride;
        let first = self.pad.saturating_sub(start).div_ceil(self.dilation).min(self.filter);
        let room = (self.input + self.pad).saturating_sub(start);
        let last = room.div_ceil(self.dilation).clamp(first, self.filter);
        if first == last {
            return (first..last, 0);
        }
        (first..last, start + first * self.dilation - self.pad)
    }
}

/// The shape of a convolution over `batch x depth x height x width x channels`.
///
/// The filter is `depth x height x width x in_channels / groups x out_channels`; output channels are
/// split evenly among groups, each reading its share of the input channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv {
    /// Images or volumes.
    pub batch: usize,
    /// Channels of the input.
    pub in_channels: usize,
    /// Channels of the output.
    pub out_channels: usize,
    /// Groups of channels that are convolved by themselves.
    pub groups: usize,
    /// Depth, height and width.
    pub axes: [Axis; 3],
}

impl Conv {
    /// A convolution of images; `axes` are height and width.
    pub fn images(
        batch: usize,
        [height, width]: [Axis; 2],
        in_channels: usize,
        out_channels: usize,
    ) -> Self {
        Self { batch, in_channels, out_channels, groups: 1, axes: [Axis::UNIT, height, width] }
    }

    /// A convolution of volumes; `axes` are depth, height and width.
    pub fn volumes(batch: usize, axes: [Axis; 3], in_channels: usize, out_channels: usize) -> Self {
        Self { batch, in_channels, out_channels, groups: 1, axes }
    }

    /// The number of input values.
    pub fn input_len(&self) -> usize {
        self.batch * self.in_channels * self.axes.iter().map(|axis| axis.input).product::<usize>()
    }

    /// The number of output values.
    pub fn output_len(&self) -> usize {
        self.batch * self.out_channels * self.axes.iter().map(|axis| axis.output).product::<usize>()
    }

    /// The number of filter values.
    pub fn filter_len(&self) -> usize {
        self.taps() * self.group_inputs() * self.out_channels
    }

    pub(super) fn taps(&self) -> usize {
        self.axes.iter().map(|axis| axis.filter).product()
    }

    /// Input channels of a group.
    pub(super) fn group_inputs(&self) -> usize {
        self.in_channels / self.groups
    }

    /// Output channels of a group.
    pub(super) fn group_outputs(&self) -> usize {
        self.out_channels / self.groups
    }

    pub(super) fn check(&self, input: usize, filter: usize, output: usize) {
        assert!(
            self.groups > 0
                && self.in_channels.is_multiple_of(self.groups)
                && self.out_channels.is_multiple_of(self.groups),
            "channels are not divided by {} groups",
            self.groups
        );
        assert_eq!(
            (input, filter, output),
            (self.input_len(), self.filter_len(), self.output_len()),
            "lengths of input, filter and output"
        );
    }

    /// Whether every output position is a product of one pixel with the filter.
    pub(super) fn is_pointwise(&self) -> bool {
        self.groups == 1
            && self.axes.iter().all(|axis| {
                axis.filter == 1 && axis.stride == 1 && axis.pad == 0 && axis.input == axis.output
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_tensorflows() {
        assert_eq!(Axis::same(28, 5, 1, 1), Axis::new(28, 5, 1, 1, (2, 2)));
        assert_eq!(Axis::same(28, 4, 1, 1), Axis::new(28, 4, 1, 1, (1, 2)));
        assert_eq!(Axis::same(224, 7, 2, 1), Axis::new(224, 7, 2, 1, (2, 3)));
        assert_eq!(Axis::same(5, 1, 3, 1), Axis::new(5, 1, 3, 1, (0, 0)));
        assert_eq!(Axis::same(9, 3, 1, 2).output, 9);
        assert_eq!(Axis::valid(9, 3, 2, 2).output, 3);
        assert_eq!(Axis::valid(3, 5, 1, 1).output, 0);
    }

    #[test]
    fn taps_stay_inside_the_input() {
        for axis in [
            Axis::same(7, 3, 2, 1),
            Axis::same(5, 4, 1, 3),
            Axis::new(3, 2, 1, 5, (6, 6)),
            Axis::new(4, 3, 5, 2, (1, 9)),
        ] {
            for at in 0..axis.output {
                let inside = |tap: &usize| {
                    let position = at * axis.stride + tap * axis.dilation;
                    position >= axis.pad && position - axis.pad < axis.input
                };
                let expected: Vec<usize> = (0..axis.filter).filter(inside).collect();
                let (taps, start) = axis.taps(at);
                assert_eq!(taps.clone().collect::<Vec<_>>(), expected, "{axis:?} at {at}");
                if let Some(first) = expected.first() {
                    assert_eq!(start, at * axis.stride + first * axis.dilation - axis.pad);
                } else {
                    assert_eq!(start, 0, "{axis:?} at {at}");
                }
            }
        }
    }
}
