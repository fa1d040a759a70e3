//! `ResizeArea`: each pixel is the mean of the area that it covers in the original.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{Result, Tensor};

use super::grid::Alignment;
use super::pixels::{floats, resized};

pub(super) const OPS: &[Op] = &[Op {
    name: "ResizeArea",
    inputs: &["images: T", "size: int32"],
    outputs: &["resized_images: float"],
    attrs: &[
        "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
        "align_corners: bool = false",
    ],
    kernels: &[cpu::<ResizeArea>()],
    ..Op::DEFAULT
}];

/// The pixels that a pixel of the result covers along one axis, and how much of each.
#[derive(Debug)]
struct Cover {
    first: usize,
    weights: Vec<f32>,
}

impl Cover {
    fn new(pixel: usize, scale: f32) -> Cover {
        let (start, end) = (pixel as f32 * scale, (pixel + 1) as f32 * scale);
        let (first, last) = (start.floor() as usize, end.ceil() as usize);
        let weights = (first..last)
            .map(|i| {
                let (i, next) = (i as f32, (i + 1) as f32);
                match (i < start, next > end) {
                    (true, true) => scale,
                    (true, false) => next - start,
                    (false, true) => end - i,
                    (false, false) => 1.0,
                }
            })
            .collect();
        Cover { first, weights }
    }
}

#[derive(Debug)]
struct ResizeArea(Alignment);

impl Kernel for ResizeArea {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeArea> {
        let align_corners = attrs.bool("align_corners")?;
        Ok(ResizeArea(Alignment { align_corners, half_pixel_centers: false }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (from, to) = resized(ctx.input(0)?, ctx.input(1)?)?;
        let pixels = floats(ctx.input(0)?)?;
        let height_scale = self.0.scale(from.height, to.height);
        let width_scale = self.0.scale(from.width, to.width);
        let factor = 1.0 / (height_scale * width_scale);
        let xs: Vec<Cover> = (0..to.width).map(|x| Cover::new(x, width_scale)).collect();
        let output = Tensor::build(to.shape()?, |out: &mut [f32]| {
            let rows = rows_mut(out, to.batch * to.height);
            par.for_each(rows, 1 + 1024 / to.row_len().max(1), |indices, rows| {
                let rows = rows.data.chunks_exact_mut(to.row_len().max(1));
                for (index, row) in indices.zip(rows) {
                    let image = index / to.height;
                    let y = Cover::new(index % to.height, height_scale);
                    for (out, x) in row.chunks_exact_mut(from.channels).zip(&xs) {
                        out.fill(0.0);
                        for (i, y_weight) in y.weights.iter().enumerate() {
                            let line = from.offset(image, (y.first + i).min(from.height - 1), 0);
                            for (c, out) in out.iter_mut().enumerate() {
                                let mut sum = 0.0;
                                for (j, x_weight) in x.weights.iter().enumerate() {
                                    let column = (x.first + j).min(from.width - 1);
                                    sum += pixels[line + column * from.channels + c] * x_weight;
                                }
                                *out += sum * y_weight;
                            }
                        }
                        out.iter_mut().for_each(|out| *out *= factor);
                    }
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::resizing_cost(inputs, 4)
    }
}
