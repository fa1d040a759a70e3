//! `Mfcc`: a spectrogram as the ear hears it, in few numbers.

use std::f64::consts::PI;

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

pub(super) const OPS: &[Op] = &[Op {
    name: "Mfcc",
    inputs: &["spectrogram: float", "sample_rate: int32"],
    outputs: &["output: float"],
    attrs: &[
        "upper_frequency_limit: float = 4000.0",
        "lower_frequency_limit: float = 20.0",
        "filterbank_channel_count: int = 40",
        "dct_coefficient_count: int = 13",
    ],
    kernels: &[cpu::<Mfcc>()],
    ..Op::DEFAULT
}];

/// Weaker bands count as this, because silence has no logarithm.
const FLOOR: f64 = 1e-12;

/// The pitch that a frequency is heard at.
fn mel(frequency: f64) -> f64 {
    1127.0 * (frequency / 700.0).ln_1p()
}

/// Overlapping bands, evenly spaced in pitch.
#[derive(Debug)]
struct Bands {
    count: usize,
    /// The frequencies of the spectrogram that belong to bands.
    first: usize,
    last: usize,
    /// For each frequency the band on whose falling side it is (none before the first band), and
    /// its share of that band; the rest belongs to the next one.
    shares: Vec<(Option<usize>, f64)>,
}

impl Bands {
    fn new(bins: usize, rate: f64, count: usize, low: f64, high: f64) -> Option<Bands> {
        if count < 1 || rate <= 0.0 || bins < 2 || low < 0.0 || high <= low {
            return None;
        }
        let spacing = (mel(high) - mel(low)) / (count + 1) as f64;
        let centre = |band: usize| mel(low) + spacing * (band + 1) as f64;
        let step = 0.5 * rate / (bins - 1) as f64;
        let (first, last) = ((1.5 + low / step) as usize, (high / step) as usize);
        let mut next = 0;
        let shares = (0..bins)
            .map(|bin| {
                if bin < first || bin > last {
                    return (None, 0.0);
                }
                let pitch = mel(bin as f64 * step);
                while next < count && centre(next) < pitch {
                    next += 1;
                }
                match next.checked_sub(1) {
                    Some(band) => (Some(band), (centre(band + 1) - pitch) / spacing),
                    None => (None, (centre(0) - pitch) / (centre(0) - mel(low))),
                }
            })
            .collect();
        Some(Bands { count, first, last, shares })
    }

    /// The strength of each band; none if the spectrogram does not reach far enough.
    fn strengths(&self, powers: &[f32]) -> Vec<f64> {
        if powers.len() <= self.last {
            return Vec::new();
        }
        let mut strengths = vec![0.0; self.count];
        let bins = powers.iter().zip(&self.shares).take(self.last + 1).skip(self.first);
        for (&power, &(band, share)) in bins {
            let strength = f64::from(power).sqrt();
            let part = strength * share;
            let next = band.map_or(0, |band| band + 1);
            if let Some(band) = band {
                strengths[band] += part;
            }
            if next < self.count {
                strengths[next] += strength - part;
            }
        }
        strengths
    }
}

#[derive(Debug)]
struct Mfcc {
    upper: f32,
    lower: f32,
    bands: i64,
    coefficients: i64,
}

impl Kernel for Mfcc {
    fn new(attrs: &Attrs<'_>) -> Result<Mfcc> {
        Ok(Mfcc {
            upper: attrs.float("upper_frequency_limit")?,
            lower: attrs.float("lower_frequency_limit")?,
            bands: attrs.int("filterbank_channel_count")?,
            coefficients: attrs.int("dct_coefficient_count")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (spectrogram, rate) = (ctx.input(0)?, ctx.input(1)?);
        let &[channels, frames, bins] = spectrogram.dims() else {
            return Err(invalid_argument!(
                "spectrogram must be 3-dimensional{}",
                spectrogram.shape()
            ));
        };
        if !rate.shape().is_scalar() {
            return Err(invalid_argument!(
                "Input sample_rate should be a scalar tensor, got {} instead.",
                rate.shape()
            ));
        }
        let rate = rate.scalar_value::<i32>()?;
        let failure = || {
            invalid_argument!(
                "Mfcc initialization failed for channel count {bins}, sample rate {rate} and \
                 filterbank_channel_count {}",
                self.bands
            )
        };
        let limit = |value: i64| usize::try_from(value).ok().filter(|&v| (1..1 << 20).contains(&v));
        let count = limit(self.bands).ok_or_else(failure)?;
        let coefficients = limit(self.coefficients).filter(|&c| c <= count).ok_or_else(failure)?;
        let bands = Bands::new(bins, rate.into(), count, self.lower.into(), self.upper.into())
            .ok_or_else(failure)?;
        let scale = (2.0 / count as f64).sqrt();
        let values = spectrogram.values::<f32>()?;
        let shape = Shape::new(&[channels, frames, coefficients])?;
        let output = Tensor::build(shape, |out: &mut [f32]| {
            let rows = out.chunks_exact_mut(coefficients).zip(values.chunks_exact(bins));
            for (out, powers) in rows {
                let logarithms: Vec<f64> =
                    bands.strengths(powers).iter().map(|&band| band.max(FLOOR).ln()).collect();
                for (i, out) in out.iter_mut().enumerate() {
                    let sum: f64 = logarithms
                        .iter()
                        .enumerate()
                        .map(|(j, value)| {
                            scale * (i as f64 * PI / count as f64 * (j as f64 + 0.5)).cos() * value
                        })
                        .sum();
                    *out = sum as f32;
                }
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}
