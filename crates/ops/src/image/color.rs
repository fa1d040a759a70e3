//! Colours: `RGBToHSV`, `HSVToRGB`, and the adjustment of contrast, hue and saturation.

use half::{bf16, f16};
use num_traits::Float;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{
    DType, Element, Result, Tensor, failed_precondition, internal, invalid_argument,
};

use super::color_gradient;
use super::pixels::floats;

const HSV: Op = Op {
    inputs: &["images: T"],
    outputs: &["output: T"],
    attrs: &["T: {half, bfloat16, float, double} = DT_FLOAT"],
    ..Op::DEFAULT
};
const ADJUST: Op =
    Op { outputs: &["output: T"], attrs: &["T: {half, float} = DT_FLOAT"], ..Op::DEFAULT };

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AdjustContrast",
        inputs: &["images: T", "contrast_factor: float", "min_value: float", "max_value: float"],
        outputs: &["output: float"],
        attrs: &["T: {uint8, int8, int16, int32, int64, float, double}"],
        kernels: &[cpu::<AdjustContrast>().types(
            "T",
            &[DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Float, DType::Double],
        )],
        ..Op::DEFAULT
    },
    Op {
        name: "AdjustContrastv2",
        inputs: &["images: T", "contrast_factor: float"],
        kernels: &[cpu::<AdjustContrast>().types("T", &[DType::Float])],
        ..ADJUST
    },
    Op {
        name: "AdjustHue",
        inputs: &["images: T", "delta: float"],
        kernels: &[cpu::<AdjustHue>().types("T", &[DType::Float])],
        ..ADJUST
    },
    Op {
        name: "AdjustSaturation",
        inputs: &["images: T", "scale: float"],
        kernels: &[cpu::<AdjustSaturation>().types("T", &[DType::Float])],
        ..ADJUST
    },
    Op { name: "HSVToRGB", kernels: &[cpu::<Convert<false>>()], ..HSV },
    Op {
        name: "RGBToHSV",
        kernels: &[cpu::<Convert<true>>()],
        gradient: Some(color_gradient::to_hsv),
        ..HSV
    },
];

/// A conversion of pixels of three channels, to or from HSV.
#[derive(Debug)]
struct Convert<const TO_HSV: bool>;

impl<const TO_HSV: bool> Kernel for Convert<TO_HSV> {
    fn new(_: &Attrs<'_>) -> Result<Self> {
        Ok(Convert)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let images = ctx.take_input(0)?;
        match images.dims().last() {
            None => return Err(invalid_argument!("input must be at least 1D{}", images.shape())),
            Some(3) => {}
            Some(channels) => {
                return Err(failed_precondition!(
                    "input must have 3 channels but input only has {channels} channels."
                ));
            }
        }
        let par = Parallel::new(ctx.parallelism());
        let output = match images.dtype() {
            DType::Double => map_pixels::<f64, f64>(par, images, Self::pixel)?,
            DType::Float => map_pixels::<f32, f32>(par, images, Self::pixel)?,
            DType::Half => map_pixels::<f16, f32>(par, images, Self::pixel)?,
            DType::BFloat16 => map_pixels::<bf16, f32>(par, images, Self::pixel)?,
            other => return Err(internal!("colours of {other}")),
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

impl<const TO_HSV: bool> Convert<TO_HSV> {
    fn pixel<F: Float>(pixel: [F; 3]) -> [F; 3] {
        if TO_HSV { to_hsv(pixel) } else { to_rgb(pixel) }
    }
}

/// Applies a function to all pixels, in place if possible. `F` is the type to compute in.
fn map_pixels<T, F>(par: Parallel, mut images: Tensor, f: fn([F; 3]) -> [F; 3]) -> Result<Tensor>
where
    T: Element + num_traits::NumCast,
    F: Float,
{
    let pixels = images.values_mut::<T>()?;
    let count = pixels.len() / 3;
    let convert = |value: T| F::from(value).unwrap_or_else(F::nan);
    let rows = tensorfleet_kernels::parallel::rows_mut(pixels, count);
    par.for_each(rows, 4096, |_, rows| {
        for pixel in rows.data.chunks_exact_mut(3) {
            let mapped = f([convert(pixel[0]), convert(pixel[1]), convert(pixel[2])]);
            for (out, value) in pixel.iter_mut().zip(mapped) {
                *out = num_traits::cast(value).unwrap_or_default();
            }
        }
    });
    Ok(images)
}

fn constant<F: Float>(value: f64) -> F {
    F::from(value).unwrap_or_else(F::nan)
}

fn to_hsv<F: Float>([r, g, b]: [F; 3]) -> [F; 3] {
    let (zero, one, six) = (F::zero(), F::one(), constant::<F>(6.0));
    let value = r.max(g).max(b);
    let range = value - r.min(g).min(b);
    let saturation = if value > zero { range / value } else { zero };
    let norm = one / (range * six);
    let hue = if r == value {
        norm * (g - b)
    } else if g == value {
        norm * (b - r) + constant::<F>(2.0) / six
    } else {
        norm * (r - g) + constant::<F>(4.0) / six
    };
    let hue = if range > zero { hue } else { zero };
    [if hue < zero { hue + one } else { hue }, saturation, value]
}

fn to_rgb<F: Float>([h, s, v]: [F; 3]) -> [F; 3] {
    let (zero, one, two) = (F::zero(), F::one(), constant::<F>(2.0));
    // Unlike `clamp`, keeps NaN.
    let unit = |x: F| {
        if x < zero {
            zero
        } else if x > one {
            one
        } else {
            x
        }
    };
    let sixths = h * constant(6.0);
    [
        unit((sixths - constant(3.0)).abs() - one),
        unit(two - (sixths - two).abs()),
        unit(two - (sixths - constant(4.0)).abs()),
    ]
    .map(|part| ((one - s) + s * part) * v)
}

/// Checks images of at least three dimensions and a scalar beside them.
fn adjustable(images: &Tensor, number: &Tensor, name: &str) -> Result<f32> {
    if images.rank() < 3 {
        return Err(invalid_argument!("input must be at least 3-D, got shape{}", images.shape()));
    }
    if !number.shape().is_scalar() {
        return Err(invalid_argument!("{name} must be scalar: {}", number.shape()));
    }
    number.scalar_value()
}

fn check_channels(images: &Tensor) -> Result<()> {
    match images.dims().last() {
        Some(3) => Ok(()),
        other => Err(invalid_argument!(
            "input must have 3 channels but instead has {} channels.",
            other.copied().unwrap_or_default()
        )),
    }
}

/// Moves values away from, or to, the mean of their channel. The old op also clamps them.
#[derive(Debug)]
struct AdjustContrast {
    clamps: bool,
}

impl Kernel for AdjustContrast {
    fn new(attrs: &Attrs<'_>) -> Result<AdjustContrast> {
        Ok(AdjustContrast { clamps: attrs.op() == "AdjustContrast" })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let images = ctx.input(0)?;
        let factor = adjustable(images, ctx.input(1)?, "contrast_factor")?;
        let (low, high) = if self.clamps {
            let low = adjustable(images, ctx.input(2)?, "min_value")?;
            (low, adjustable(images, ctx.input(3)?, "max_value")?)
        } else {
            (f32::NEG_INFINITY, f32::INFINITY)
        };
        let values = floats(images)?;
        let [.., height, width, channels] = *images.dims() else {
            return Err(internal!("the rank of images was checked"));
        };
        let image_len = height * width * channels;
        let output = Tensor::build(images.shape().clone(), |out: &mut [f32]| {
            if out.is_empty() {
                return;
            }
            let pairs = out.chunks_exact_mut(image_len).zip(values.chunks_exact(image_len));
            for (out, image) in pairs {
                let mut sums = vec![0.0f64; channels];
                for pixel in image.chunks_exact(channels) {
                    sums.iter_mut().zip(pixel).for_each(|(sum, &value)| *sum += f64::from(value));
                }
                let count = (height * width) as f64;
                let means: Vec<f32> = sums.iter().map(|sum| (sum / count) as f32).collect();
                let pixels = out.chunks_exact_mut(channels).zip(image.chunks_exact(channels));
                for (out, pixel) in pixels {
                    for ((out, &value), &mean) in out.iter_mut().zip(pixel).zip(&means) {
                        let moved = (value - mean) * factor + mean;
                        *out = if self.clamps { moved.max(low).min(high) } else { moved };
                    }
                }
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct AdjustHue;

impl Kernel for AdjustHue {
    fn new(_: &Attrs<'_>) -> Result<AdjustHue> {
        Ok(AdjustHue)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let delta = adjustable(ctx.input(0)?, ctx.input(1)?, "delta")?;
        check_channels(ctx.input(0)?)?;
        let output = for_each_pixel(ctx, |pixel| turn_hue(pixel, delta))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct AdjustSaturation;

impl Kernel for AdjustSaturation {
    fn new(_: &Attrs<'_>) -> Result<AdjustSaturation> {
        Ok(AdjustSaturation)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let scale = adjustable(ctx.input(0)?, ctx.input(1)?, "scale")?;
        check_channels(ctx.input(0)?)?;
        let output = for_each_pixel(ctx, |pixel| saturate(pixel, scale))?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn for_each_pixel(
    ctx: &mut KernelContext<'_>,
    f: impl Fn([f32; 3]) -> [f32; 3] + Sync,
) -> Result<Tensor> {
    let par = Parallel::new(ctx.parallelism());
    let mut images = ctx.take_input(0)?;
    let pixels = images.values_mut::<f32>()?;
    let count = pixels.len() / 3;
    par.for_each(tensorfleet_kernels::parallel::rows_mut(pixels, count), 4096, |_, rows| {
        for pixel in rows.data.chunks_exact_mut(3) {
            pixel.copy_from_slice(&f([pixel[0], pixel[1], pixel[2]]));
        }
    });
    Ok(images)
}

/// The order of the channels, from the largest to the least, in each sixth of the circle.
const SECTORS: [[usize; 3]; 6] = [[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1], [0, 2, 1]];

/// Turns the hue by a part of the circle; the largest and the least channel keep their values.
fn turn_hue(pixel: [f32; 3], delta: f32) -> [f32; 3] {
    let [r, g, b] = pixel;
    let sector = match (r < g, b < r, b < g, b > g, b > r) {
        (true, true, ..) => 1,
        (true, _, _, true, _) => 3,
        (true, ..) => 2,
        (false, _, true, ..) => 0,
        (false, _, _, _, true) => 4,
        (false, ..) => 5,
    };
    let [large, middle, small] = SECTORS[sector].map(|channel| pixel[channel]);
    let range = large - small;
    let hue = if range == 0.0 {
        0.0
    } else {
        let part = (middle - small) / range;
        sector as f32 + if sector.is_multiple_of(2) { part } else { 1.0 - part }
    };
    let turned = (hue + delta * 6.0).rem_euclid(6.0);
    let sector = (turned as usize).min(5);
    let part = turned - sector as f32;
    let part = if sector.is_multiple_of(2) { part } else { 1.0 - part };
    let mut out = [0.0; 3];
    for (channel, value) in SECTORS[sector].into_iter().zip([large, small + part * range, small]) {
        out[channel] = value;
    }
    out
}

/// Scales the saturation, which stays between none and full.
fn saturate(pixel: [f32; 3], scale: f32) -> [f32; 3] {
    let [h, s, v] = to_hsv(pixel);
    let chroma = (s * scale).clamp(0.0, 1.0) * v;
    let rest = v - chroma;
    let sixths = h * 6.0;
    let middle = chroma * (1.0 - (sixths.rem_euclid(2.0) - 1.0).abs());
    let mut out = [rest; 3];
    if let Some(&[large, between, _]) = SECTORS.get(sixths as usize) {
        out[large] += chroma;
        out[between] += middle;
    }
    out
}
