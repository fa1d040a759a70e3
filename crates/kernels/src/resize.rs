//! Images of another size, one row at a time: neighbours in a row are blended first, then rows.

use crate::simd::dispatch;

/// A place between two pixels of a row, or two rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Between {
    /// The pixel before.
    pub lower: usize,
    /// The pixel behind, which may be the same.
    pub upper: usize,
    /// How far the place is from the lower one.
    pub part: f32,
}

dispatch! {
    /// Writes what lies at each of the places of a row of pixels with so many channels.
    ///
    /// # Panics
    /// If a place is not within the row, or the slices do not fit.
    pub fn blend_columns[I](row: &[f32], places: &[Between], channels: usize, out: &mut [f32]) {
        match channels {
            1 => fixed::<1>(row, places, out),
            3 => fixed::<3>(row, places, out),
            4 => fixed::<4>(row, places, out),
            _ => {
                for (out, x) in out.chunks_exact_mut(channels).zip(places) {
                    let left = &row[x.lower * channels..][..channels];
                    let right = &row[x.upper * channels..][..channels];
                    for ((out, left), right) in out.iter_mut().zip(left).zip(right) {
                        *out = left + (right - left) * x.part;
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn fixed<const CHANNELS: usize>(row: &[f32], places: &[Between], out: &mut [f32]) {
    let (row, out) = (row.as_chunks::<CHANNELS>().0, out.as_chunks_mut::<CHANNELS>().0);
    for (out, x) in out.iter_mut().zip(places) {
        let (left, right) = (row[x.lower], row[x.upper]);
        for c in 0..CHANNELS {
            out[c] = left[c] + (right[c] - left[c]) * x.part;
        }
    }
}

dispatch! {
    /// Writes what lies between two rows.
    pub fn blend_rows[I](upper: &[f32], lower: &[f32], part: f32, out: &mut [f32]) {
        for ((out, upper), lower) in out.iter_mut().zip(upper).zip(lower) {
            *out = upper + (lower - upper) * part;
        }
    }
}

dispatch! {
    /// Widens every element.
    pub fn widen[I](x: &[u8], out: &mut [f32]) {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = f32::from(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::tests::at_every_level;

    #[test]
    fn pixels_are_blended_channel_by_channel() {
        at_every_level(|| {
            for channels in 1..6 {
                let row: Vec<f32> = (0..4 * channels).map(|i| (i * i) as f32).collect();
                let places = [(0, 1, 0.25), (2, 3, 0.5), (3, 3, 0.75)]
                    .map(|(lower, upper, part)| Between { lower, upper, part });
                let mut out = vec![0.0; 3 * channels];
                blend_columns(&row, &places, channels, &mut out);
                for (place, out) in places.iter().zip(out.chunks(channels)) {
                    for (c, out) in out.iter().enumerate() {
                        let at = |x: usize| row[x * channels + c];
                        let (left, right) = (at(place.lower), at(place.upper));
                        assert_eq!(*out, left + (right - left) * place.part);
                    }
                }
                let (low, mut between) = (vec![8.0; out.len()], vec![0.0; out.len()]);
                blend_rows(&out, &low, 0.5, &mut between);
                assert!(between.iter().zip(&out).all(|(b, o)| *b == o + (8.0 - o) * 0.5));
            }
        });
    }
}
