//! The windows of a pooling one by one, for kernels that need to know where a maximum stands.

use std::ops::Range;

use tensorfleet_kernels::conv::Axis;
use tensorfleet_kernels::pool::Pool;

use crate::sparse::number::Real;

/// One window.
pub(super) struct Place {
    /// The image or volume.
    pub(super) image: usize,
    /// The output pixel, counted over all images.
    pub(super) output: usize,
    spans: [Range<usize>; 3],
    axes: [Axis; 3],
}

impl Place {
    /// The pixels of the window, counted over all images.
    pub(super) fn pixels(&self) -> impl Iterator<Item = usize> + '_ {
        let [depth, height, width] = self.axes.map(|axis| axis.input);
        self.spans[0].clone().flat_map(move |z| {
            self.spans[1].clone().flat_map(move |y| {
                let row = ((self.image * depth + z) * height + y) * width;
                self.spans[2].clone().map(move |x| row + x)
            })
        })
    }

    /// For each channel, the first pixel with the largest value. A NaN stands where it is the first.
    pub(super) fn first_maxima<T: Real>(&self, values: &[T], pixels: &mut [usize]) {
        let channels = pixels.len();
        for (index, pixel) in self.pixels().enumerate() {
            for (channel, best) in pixels.iter_mut().enumerate() {
                let value = values[pixel * channels + channel];
                if index == 0 || value > values[*best * channels + channel] {
                    *best = pixel;
                }
            }
        }
    }
}

/// Calls `f` with each window of a pooling.
pub(super) fn for_each_place(pool: &Pool, mut f: impl FnMut(Place)) {
    let [depth, height, width] = pool.axes;
    let mut output = 0;
    for image in 0..pool.batch {
        for z in 0..depth.output {
            for y in 0..height.output {
                for x in 0..width.output {
                    let spans = [span(depth, z), span(height, y), span(width, x)];
                    f(Place { image, output, spans, axes: pool.axes });
                    output += 1;
                }
            }
        }
    }
}

/// The input positions of a window.
fn span(axis: Axis, at: usize) -> Range<usize> {
    let start = at * axis.stride;
    let end = (start + axis.filter).saturating_sub(axis.pad).min(axis.input);
    start.saturating_sub(axis.pad).min(end)..end
}
