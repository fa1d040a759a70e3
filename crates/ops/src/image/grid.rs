//! Where the pixels of a resized image lie in the original.

use tensorfleet_framework::Attrs;
use tensorfleet_kernels::resize::Between;
use tensorfleet_tensor::{Result, invalid_argument};

/// How pixels of two images of different sizes correspond.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alignment {
    pub(crate) align_corners: bool,
    pub(crate) half_pixel_centers: bool,
}

impl Alignment {
    /// As the attributes say, which may contradict each other.
    pub(super) fn unchecked(attrs: &Attrs<'_>) -> Result<Alignment> {
        Ok(Alignment {
            align_corners: attrs.bool("align_corners")?,
            half_pixel_centers: attrs.bool("half_pixel_centers")?,
        })
    }

    pub(super) fn new(attrs: &Attrs<'_>) -> Result<Alignment> {
        let alignment = Alignment::unchecked(attrs)?;
        if alignment.align_corners && alignment.half_pixel_centers {
            return Err(invalid_argument!(
                "If half_pixel_centers is True, align_corners must be False."
            ));
        }
        Ok(alignment)
    }

    /// The step in the original for each pixel of the resized image. One pixel has no two corners to
    /// align.
    pub(super) fn scale(self, original: usize, resized: usize) -> f32 {
        if self.align_corners && original > 1 && resized > 1 {
            (original - 1) as f32 / (resized - 1) as f32
        } else {
            original as f32 / resized as f32
        }
    }

    /// The place in the original of a pixel of the resized image.
    pub(super) fn place(self, pixel: usize, scale: f32) -> f32 {
        if self.half_pixel_centers {
            (pixel as f32 + 0.5) * scale - 0.5
        } else {
            pixel as f32 * scale
        }
    }
}

/// A place as a whole number. What no whole number is near, NaN too, is far before the first pixel,
/// as the conversion of processors has it.
pub(super) fn whole(place: f32) -> i64 {
    // As many powers of two as an i64 has, which is its largest value and one.
    if place.abs() < 2f32.powi(63) { place as i64 } else { i64::MIN }
}

/// The places of all pixels of a resized row or column.
pub(super) fn places(alignment: Alignment, original: usize, resized: usize) -> Vec<Between> {
    let scale = alignment.scale(original, resized);
    (0..resized).map(|pixel| between(alignment.place(pixel, scale), original)).collect()
}

fn between(place: f32, len: usize) -> Between {
    let floor = place.floor();
    let upper = (place.ceil().max(0.0) as usize).min(len - 1);
    Between { lower: (floor.max(0.0) as usize).min(upper), upper, part: place - floor }
}
