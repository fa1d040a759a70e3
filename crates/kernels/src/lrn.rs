//! Local response normalisation: each value divided by a power of the squares around it.
//!
//! `out[c] = x[c] * (bias + alpha * sum of x[d]^2)^-beta`, where `d` runs over the channels at most
//! `radius` from `c` of the same pixel.

use num_traits::Zero;

use crate::Parallel;
use crate::math::Math;
use crate::parallel::{rows, rows_mut};
use crate::real::{Real, Wide, widened};
use crate::simd::dispatch;

/// Values below which another thread is not worth waking.
const MIN_VALUES: usize = 4 * 1024;

/// The constants of a normalisation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lrn<W> {
    /// How many channels on either side count.
    pub radius: usize,
    /// Added to the sum.
    pub bias: W,
    /// The weight of the sum.
    pub alpha: W,
    /// The power.
    pub beta: W,
}

/// Normalises pixels of `channels` values.
///
/// # Panics
/// If the slices are not whole pixels or differ in length.
pub fn lrn<T: Real>(par: Parallel, x: &[T], channels: usize, hyper: Lrn<T::Wide>, out: &mut [T]) {
    let count = x.len().checked_div(channels).unwrap_or(0);
    let x = widened(x);
    let work = (rows(&x[..], count), rows_mut(out, count));
    par.for_each(work, MIN_VALUES.div_ceil(channels.max(1)), |_, (x, out)| {
        let mut norms = vec![<T::Wide as Zero>::zero(); channels];
        let mut squares = padded(channels, hyper.radius);
        let mut powers = norms.clone();
        for (x, out) in x.data.chunks_exact(channels).zip(out.data.chunks_exact_mut(channels)) {
            sums(x, hyper, &mut squares, &mut norms);
            raise(&norms, hyper.beta, &mut powers);
            powers.iter_mut().zip(x).for_each(|(power, &x)| *power = *power * x);
            T::narrow_slice(&powers, out);
        }
    });
}

/// The gradient of [`lrn`] by its input, from its input `x`, its output `y` and the output's gradient.
///
/// # Panics
/// If the slices are not whole pixels or differ in length.
pub fn lrn_grad<T: Real>(
    par: Parallel,
    (x, y, gradient): (&[T], &[T], &[T]),
    channels: usize,
    hyper: Lrn<T::Wide>,
    out: &mut [T],
) {
    let count = x.len().checked_div(channels).unwrap_or(0);
    let (x, y, gradient) = (widened(x), widened(y), widened(gradient));
    let work = (
        rows(&x[..], count),
        rows(&y[..], count),
        rows(&gradient[..], count),
        rows_mut(out, count),
    );
    par.for_each(work, MIN_VALUES.div_ceil(channels.max(1)), |_, (x, y, gradient, out)| {
        let mut norms = vec![<T::Wide as Zero>::zero(); channels];
        let mut squares = padded(channels, hyper.radius);
        let (mut powers, mut pulls, mut result) = (norms.clone(), norms.clone(), norms.clone());
        let factor = T::Wide::of(-2.0) * hyper.alpha * hyper.beta;
        for (index, out) in out.data.chunks_exact_mut(channels).enumerate() {
            let span = index * channels..(index + 1) * channels;
            let (x, y) = (&x.data[span.clone()], &y.data[span.clone()]);
            let gradient = &gradient.data[span];
            sums(x, hyper, &mut squares, &mut norms);
            raise(&norms, hyper.beta, &mut powers);
            // How each output pulls at the inputs around it, for each unit of them.
            for (c, pull) in pulls.iter_mut().enumerate() {
                *pull = factor * y[c] / norms[c] * gradient[c];
            }
            for (c, result) in result.iter_mut().enumerate() {
                let around = &pulls[window(c, hyper.radius, channels)];
                let pull = around.iter().fold(<T::Wide as Zero>::zero(), |sum, &pull| sum + pull);
                *result = gradient[c] * powers[c] + x[c] * pull;
            }
            T::narrow_slice(&result, out);
        }
    });
}

fn window(channel: usize, radius: usize, channels: usize) -> std::ops::Range<usize> {
    channel.saturating_sub(radius)..channels.min(channel.saturating_add(radius).saturating_add(1))
}

/// Room for the squares of a pixel, with as many zeros on either side as a window reaches.
fn padded<W: Wide>(channels: usize, radius: usize) -> Vec<W> {
    vec![W::zero(); channels + 2 * radius.min(channels)]
}

dispatch! {
    /// `bias + alpha * sum of squares` around each channel: all channels take one step of their
    /// windows together, so that the loop is one of vectors.
    fn sums[I, W: Math](x: &[W], hyper: Lrn<W>, squares: &mut [W], norms: &mut [W]) {
        let reach = hyper.radius.min(x.len());
        for (square, &x) in squares[reach..].iter_mut().zip(x) {
            *square = x * x;
        }
        norms.fill(W::zero());
        for step in 0..2 * reach + 1 {
            for (norm, &square) in norms.iter_mut().zip(&squares[step..]) {
                *norm = *norm + square;
            }
        }
        for norm in norms {
            *norm = hyper.bias + hyper.alpha * *norm;
        }
    }
}

dispatch! {
    /// `out = norms^-beta`.
    fn raise[I, W: Math](norms: &[W], beta: W, out: &mut [W]) {
        // The powers that networks use are roots.
        if beta == W::of(0.5) {
            return out.iter_mut().zip(norms).for_each(|(out, norm)| *out = norm.sqrt().recip());
        }
        if beta == W::of(0.75) {
            for (out, norm) in out.iter_mut().zip(norms) {
                let root = norm.sqrt();
                *out = (root * root.sqrt()).recip();
            }
            return;
        }
        for (out, &norm) in out.iter_mut().zip(norms) {
            *out = norm.pow_::<I>(-beta);
        }
        // The fast power knows positive finite bases only.
        for (out, &norm) in out.iter_mut().zip(norms) {
            if !(norm > W::zero() && norm < W::infinity()) {
                *out = norm.powf(-beta);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;
    use crate::testing::Rng;

    const HYPER: Lrn<f64> = Lrn { radius: 2, bias: 1.5, alpha: 0.3, beta: 0.75 };

    fn exact(x: &[f64], channels: usize) -> Vec<f64> {
        let value = |(i, x0): (usize, &f64)| {
            let pixel = &x[i / channels * channels..][..channels];
            let near = pixel.iter().enumerate().filter(|(c, _)| c.abs_diff(i % channels) <= 2);
            let sum: f64 = near.map(|(_, x)| x * x).sum();
            x0 * (1.5 + 0.3 * sum).powf(-0.75)
        };
        x.iter().enumerate().map(value).collect()
    }

    #[test]
    fn values_and_gradients_match_the_definition() {
        let rng = &mut Rng::new(8);
        for channels in [1, 2, 7] {
            let mut noise =
                || (0..5 * channels).map(|_| rng.uniform(-2.0, 2.0)).collect::<Vec<_>>();
            let (x, gradient) = (noise(), noise());
            let (mut y, mut dx) = (x.clone(), x.clone());
            lrn(Parallel::SERIAL, &x, channels, HYPER, &mut y);
            assert!(y.iter().zip(exact(&x, channels)).all(|(a, b)| (a - b).abs() < 1e-12));
            lrn_grad(Parallel::SERIAL, (&x, &y, &gradient), channels, HYPER, &mut dx);
            for (i, dx) in dx.iter().enumerate() {
                let loss = |step: f64| {
                    let mut x = x.clone();
                    x[i] += step;
                    exact(&x, channels).iter().zip(&gradient).map(|(y, g)| y * g).sum::<f64>()
                };
                let slope = (loss(1e-5) - loss(-1e-5)) / 2e-5;
                assert!((dx - slope).abs() < 1e-7, "{dx} for {slope}");
            }
        }
    }

    #[test]
    fn types_and_threads_agree() {
        let rng = &mut Rng::new(9);
        let wide: Vec<f32> = (0..40_000).map(|_| rng.uniform(-2.0, 2.0) as f32).collect();
        let hyper = Lrn { radius: 2, bias: 1.5f32, alpha: 0.3, beta: 0.75 };
        let (mut serial, mut shared) = (wide.clone(), wide.clone());
        lrn(Parallel::SERIAL, &wide, 8, hyper, &mut serial);
        lrn(Parallel::new(3), &wide, 8, hyper, &mut shared);
        assert_eq!(serial, shared);
        let narrow: Vec<f16> = wide.iter().map(|&x| f16::from_f32(x)).collect();
        let mut out = narrow.clone();
        lrn(Parallel::SERIAL, &narrow, 8, hyper, &mut out);
        assert!(out.iter().zip(&serial).all(|(a, b)| (a.to_f32() - b).abs() < 4e-3));
    }
}
