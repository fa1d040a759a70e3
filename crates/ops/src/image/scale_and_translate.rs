//! `ScaleAndTranslate`: resizes by any scale and offset, with a choice of filters.

use std::f32::consts::PI;

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu,
};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::pixels::{Images, floats, two_sizes};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ScaleAndTranslate",
        inputs: &["images: T", "size: int32", "scale: float", "translation: float"],
        outputs: &["resized_images: float"],
        attrs: &[
            "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}",
            "kernel_type: string = 'lanczos3'",
            "antialias: bool = true",
        ],
        kernels: &[cpu::<ScaleAndTranslate>()],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ScaleAndTranslateGrad",
        inputs: &["grads: T", "original_image: T", "scale: float", "translation: float"],
        outputs: &["output: T"],
        attrs: &["T: {float}", "kernel_type: string = 'lanczos3'", "antialias: bool = true"],
        kernels: &[cpu::<ScaleAndTranslateGrad>()],
        ..Op::DEFAULT
    },
];

/// A filter: the weight of a pixel by its distance.
#[derive(Clone, Copy, Debug)]
enum Filter {
    Lanczos(f32),
    Gaussian,
    Box,
    Triangle,
    KeysCubic,
    MitchellCubic,
}

/// Where the Gaussian is cut off: at three standard deviations.
const GAUSSIAN_RADIUS: f32 = 1.5;

impl Filter {
    fn named(name: &str) -> Result<Filter> {
        Ok(match name {
            "lanczos1" => Filter::Lanczos(1.0),
            "lanczos3" => Filter::Lanczos(3.0),
            "lanczos5" => Filter::Lanczos(5.0),
            "gaussian" => Filter::Gaussian,
            "box" => Filter::Box,
            "triangle" => Filter::Triangle,
            "keyscubic" => Filter::KeysCubic,
            "mitchellcubic" => Filter::MitchellCubic,
            _ => return Err(invalid_argument!("Unrecognized kernel type: {name}")),
        })
    }

    fn radius(self) -> f32 {
        match self {
            Filter::Lanczos(radius) => radius,
            Filter::Gaussian => GAUSSIAN_RADIUS,
            Filter::Box => 0.5,
            Filter::Triangle => 1.0,
            Filter::KeysCubic | Filter::MitchellCubic => 2.0,
        }
    }

    fn weight(self, x: f32) -> f32 {
        match self {
            Filter::Lanczos(radius) if x > radius => 0.0,
            Filter::Lanczos(_) if x <= 1e-3 => 1.0,
            Filter::Lanczos(radius) => {
                radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
            }
            Filter::Gaussian if x >= GAUSSIAN_RADIUS => 0.0,
            Filter::Gaussian => (-x * x * 2.0).exp(),
            Filter::Box if x == 0.5 => 0.5,
            Filter::Box => f32::from(u8::from(x < 0.5)),
            Filter::Triangle if x < 1.0 => 1.0 - x,
            Filter::KeysCubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Filter::KeysCubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Filter::MitchellCubic if x < 1.0 => (7.0 / 6.0 * x - 2.0) * x * x + 8.0 / 9.0,
            Filter::MitchellCubic if x < 2.0 => {
                ((-7.0 / 18.0 * x + 2.0) * x - 10.0 / 3.0) * x + 16.0 / 9.0
            }
            _ => 0.0,
        }
    }
}

/// The pixels of the original that make one of the result, along one axis.
#[derive(Debug)]
struct Span {
    first: usize,
    weights: Vec<f32>,
}

/// Attributes and the transformation of one run.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    filter: Filter,
    antialias: bool,
}

impl Sampling {
    fn new(attrs: &Attrs<'_>) -> Result<Sampling> {
        Ok(Sampling {
            filter: Filter::named(&attrs.string("kernel_type")?)?,
            antialias: attrs.bool("antialias")?,
        })
    }

    /// The spans of all pixels of a result of `to` pixels from `from` pixels.
    fn spans(self, from: usize, to: usize, scale: f32, translation: f32) -> Vec<Span> {
        let inverse = 1.0 / scale;
        let offset = -inverse * translation;
        // A smaller image needs a wider filter, or it would skip pixels.
        let widening = if self.antialias { inverse.max(1.0) } else { 1.0 };
        let radius = self.filter.radius() * widening;
        let last = from as i64 - 1;
        (0..to)
            .map(|pixel| {
                let place = (pixel as f32 + 0.5) * inverse + offset;
                if place < 0.0 || place > from as f32 {
                    return Span { first: 0, weights: Vec::new() };
                }
                let first = ((place - radius - 0.5).ceil() as i64).clamp(0, last);
                let end = ((place + radius - 0.5).floor() as i64).clamp(0, last) + 1;
                let mut weights: Vec<f32> = (first..end)
                    .map(|source| {
                        let distance = source as f32 + 0.5 - place;
                        self.filter.weight((distance / widening).abs())
                    })
                    .collect();
                let sum: f32 = weights.iter().sum();
                if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                    weights.iter_mut().for_each(|weight| *weight /= sum);
                } else {
                    weights.clear();
                }
                Span { first: first as usize, weights }
            })
            .collect()
    }
}

/// Two numbers, for rows and for columns.
fn pair(tensor: &Tensor) -> Result<[f32; 2]> {
    if tensor.rank() != 1 {
        return Err(invalid_argument!("t must be 1-dimensional{}", tensor.shape()));
    }
    match *tensor.values::<f32>()? {
        [rows, columns] => Ok([rows, columns]),
        _ => Err(invalid_argument!("t must have two elements{}", tensor.shape())),
    }
}

fn positive_pair(tensor: &Tensor) -> Result<[f32; 2]> {
    let scale = pair(tensor)?;
    if !scale.iter().all(|&scale| scale > 0.0) {
        return Err(invalid_argument!("Scale must be greater than zero."));
    }
    Ok(scale)
}

#[derive(Debug)]
struct ScaleAndTranslate(Sampling);

impl Kernel for ScaleAndTranslate {
    fn new(attrs: &Attrs<'_>) -> Result<ScaleAndTranslate> {
        Ok(ScaleAndTranslate(Sampling::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let images = ctx.input(0)?;
        let from = Images::of(images, "input")?;
        let (height, width) = two_sizes(ctx.input(1)?, "output_shape_t")?;
        if height <= 0 || width <= 0 {
            return Err(invalid_argument!("output dimensions must be positive"));
        }
        if from.height == 0 || from.width == 0 || from.channels == 0 {
            return Err(invalid_argument!("input image must be of non-zero size"));
        }
        let to = Images { height: height as usize, width: width as usize, ..from };
        let (scale, translation) = (positive_pair(ctx.input(2)?)?, pair(ctx.input(3)?)?);
        let shape = to.shape()?;
        let ys = self.0.spans(from.height, to.height, scale[0], translation[0]);
        let xs = self.0.spans(from.width, to.width, scale[1], translation[1]);
        let pixels = floats(images)?;
        let output = Tensor::build(shape, |out: &mut [f32]| {
            out.fill(0.0);
            let mut mixed = vec![0.0; from.row_len()];
            for (index, row) in out.chunks_exact_mut(to.row_len()).enumerate() {
                let (image, y) = (index / to.height, &ys[index % to.height]);
                mixed.fill(0.0);
                for (i, weight) in y.weights.iter().enumerate() {
                    let line = &pixels[from.offset(image, y.first + i, 0)..];
                    for (mixed, pixel) in mixed.iter_mut().zip(line) {
                        *mixed += pixel * weight;
                    }
                }
                for (out, x) in row.chunks_exact_mut(to.channels).zip(&xs) {
                    for (i, weight) in x.weights.iter().enumerate() {
                        let pixel = &mixed[(x.first + i) * from.channels..];
                        for (out, value) in out.iter_mut().zip(pixel) {
                            *out += value * weight;
                        }
                    }
                }
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::resizing_cost(inputs, 10)
    }
}

#[derive(Debug)]
struct ScaleAndTranslateGrad(Sampling);

impl Kernel for ScaleAndTranslateGrad {
    fn new(attrs: &Attrs<'_>) -> Result<ScaleAndTranslateGrad> {
        Ok(ScaleAndTranslateGrad(Sampling::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let grads = ctx.input(0)?;
        let from = Images::of(grads, "input_grad")?;
        let original = Images::of(ctx.input(1)?, "original_image")?;
        let (scale, translation) = (positive_pair(ctx.input(2)?)?, pair(ctx.input(3)?)?);
        let to = Images { height: original.height, width: original.width, ..from };
        let values = grads.values::<f32>()?;
        let shape = to.shape()?;
        let ys = self.0.spans(to.height, from.height, scale[0], translation[0]);
        let xs = self.0.spans(to.width, from.width, scale[1], translation[1]);
        let output = Tensor::build(shape, |out: &mut [f32]| {
            out.fill(0.0);
            if out.is_empty() || values.is_empty() {
                return;
            }
            let mut mixed = vec![0.0; to.row_len()];
            for (index, row) in values.chunks_exact(from.row_len()).enumerate() {
                let (image, y) = (index / from.height, &ys[index % from.height]);
                mixed.fill(0.0);
                for (grad, x) in row.chunks_exact(from.channels).zip(&xs) {
                    for (i, weight) in x.weights.iter().enumerate() {
                        let pixel = &mut mixed[(x.first + i) * to.channels..];
                        for (mixed, grad) in pixel.iter_mut().zip(grad) {
                            *mixed += grad * weight;
                        }
                    }
                }
                for (i, weight) in y.weights.iter().enumerate() {
                    let line = &mut out[to.offset(image, y.first + i, 0)..];
                    for (out, mixed) in line.iter_mut().zip(&mixed) {
                        *out += mixed * weight;
                    }
                }
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let inputs = [g.grad(0)?, g.input(0), g.input(2), g.input(3)];
    let image = g.call_with_attrs("ScaleAndTranslateGrad", inputs)?;
    Ok(vec![Some(image.into()), None, None, None])
}
