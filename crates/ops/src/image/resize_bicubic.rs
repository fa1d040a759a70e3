//! `ResizeBicubic`: each pixel is a mean of the sixteen around its place in the original.

use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{Result, Tensor, dispatch, internal};

use super::grid::Alignment;
use super::pixels::{Gradient, Images, floats, resized};
use super::resize_bilinear::gradient_sizes;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ResizeBicubic",
        inputs: &["images: T", "size: int32"],
        outputs: &["resized_images: float"],
        attrs: &[
            "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeBicubic>()],
        gradient: Some(resize_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ResizeBicubicGrad",
        inputs: &["grads: float", "original_image: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, double}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeBicubicGrad>()],
        ..Op::DEFAULT
    },
];

/// TensorFlow rounds places to so many parts of a pixel, because it looks weights up in a table.
const PARTS: f32 = 1024.0;

/// Four neighbours and their weights.
#[derive(Clone, Copy, Debug)]
struct Taps {
    pixels: [usize; 4],
    weights: [f32; 4],
}

impl Taps {
    fn all(alignment: Alignment, original: usize, resized: usize) -> Vec<Taps> {
        let scale = alignment.scale(original, resized);
        (0..resized)
            .map(|pixel| Taps::at(alignment.place(pixel, scale), original, alignment))
            .collect()
    }

    fn at(place: f32, len: usize, alignment: Alignment) -> Taps {
        let floor = place.floor();
        let part = ((place - floor) * PARTS).round_ties_even() / PARTS;
        // Keys' cubic goes with centred pixels; the other is what TensorFlow had before.
        let a = if alignment.half_pixel_centers { -0.5 } else { -0.75 };
        let mut weights = [far(a, part), near(a, part), near(a, 1.0 - part), far(a, 1.0 - part)];
        let first = floor as i64 - 1;
        let last = len as i64 - 1;
        let pixels = [0, 1, 2, 3].map(|i| (first + i).clamp(0, last) as usize);
        if alignment.half_pixel_centers {
            // Pixels outside of the image do not count.
            for (i, weight) in weights.iter_mut().enumerate() {
                if first + i as i64 != pixels[i] as i64 {
                    *weight = 0.0;
                }
            }
            let sum: f32 = weights.iter().sum();
            if sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
                weights = weights.map(|weight| weight / sum);
            }
        }
        Taps { pixels, weights }
    }

    fn sum(&self, value: impl Fn(usize) -> f32) -> f32 {
        let products = self.pixels.iter().zip(&self.weights);
        products.fold(0.0, |sum, (&pixel, weight)| sum + value(pixel) * weight)
    }
}

/// The weight of a neighbour less than a pixel away.
fn near(a: f32, x: f32) -> f32 {
    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
}

/// The weight of a neighbour `1 + x` pixels away.
fn far(a: f32, x: f32) -> f32 {
    let x = x + 1.0;
    ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
}

#[derive(Debug)]
struct ResizeBicubic(Alignment);

impl Kernel for ResizeBicubic {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeBicubic> {
        Ok(ResizeBicubic(Alignment::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (from, to) = resized(ctx.input(0)?, ctx.input(1)?)?;
        let pixels = floats(ctx.input(0)?)?;
        let ys = Taps::all(self.0, from.height, to.height);
        let xs = Taps::all(self.0, from.width, to.width);
        let output = Tensor::build(to.shape()?, |out: &mut [f32]| {
            let rows = rows_mut(out, to.batch * to.height);
            par.for_each(rows, 1 + 1024 / to.row_len().max(1), |indices, rows| {
                // A row of the height of the result and the width of the original.
                let mut mixed = vec![0.0; from.row_len()];
                let rows = rows.data.chunks_exact_mut(to.row_len().max(1));
                for (index, row) in indices.zip(rows) {
                    let (image, y) = (index / to.height, &ys[index % to.height]);
                    for (i, mixed) in mixed.iter_mut().enumerate() {
                        *mixed = y.sum(|y| pixels[from.offset(image, y, 0) + i]);
                    }
                    for (out, x) in row.chunks_exact_mut(from.channels).zip(&xs) {
                        for (c, out) in out.iter_mut().enumerate() {
                            *out = x.sum(|x| mixed[x * from.channels + c]);
                        }
                    }
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[tensorfleet_framework::Value]) -> u64 {
        super::resizing_cost(inputs, 8)
    }
}

#[derive(Debug)]
struct ResizeBicubicGrad(Alignment);

impl Kernel for ResizeBicubicGrad {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeBicubicGrad> {
        Ok(ResizeBicubicGrad(Alignment::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (grads, original) = (ctx.input(0)?, ctx.input(1)?);
        let (from, to) = gradient_sizes(grads, original)?;
        let values = grads.values::<f32>()?;
        let output = dispatch!(
            original.dtype(),
            [f32, f64],
            T => gradient::<T>(self.0, values, from, to)?,
            else => return Err(internal!("a gradient of {} images", original.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

fn gradient<T: Gradient>(
    alignment: Alignment,
    grads: &[f32],
    from: Images,
    to: Images,
) -> Result<Tensor> {
    let ys = Taps::all(alignment, to.height, from.height);
    let xs = Taps::all(alignment, to.width, from.width);
    Tensor::build(to.shape()?, |out: &mut [T]| {
        out.fill(T::default());
        let mut pixels = grads.chunks_exact(from.channels.max(1));
        for image in 0..from.batch {
            for y in &ys {
                for x in &xs {
                    let Some(pixel) = pixels.next() else { return };
                    for (&row, y_weight) in y.pixels.iter().zip(y.weights) {
                        for (&column, x_weight) in x.pixels.iter().zip(x.weights) {
                            let place = &mut out[to.offset(image, row, column)..];
                            for (out, grad) in place.iter_mut().zip(pixel) {
                                *out += T::from_f32(grad * y_weight * x_weight);
                            }
                        }
                    }
                }
            }
        }
    })
}

/// The size that an image is resized to has no gradient.
fn resize_gradient(g: &GradientContext<'_>) -> InputGradients {
    let image = g.call_with_attrs("ResizeBicubicGrad", [g.grad(0)?, g.input(0)])?;
    Ok(vec![Some(image.into()), None])
}
