//! `ExtractGlimpse`: windows of images, with noise where they reach over the border.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{GuardedPhilox, Normal, Uniform, fill};
use tensorfleet_tensor::{Result, Tensor, invalid_argument};

use super::grid::whole;
use super::pixels::Images;

const OP: Op = Op {
    inputs: &["input: float", "size: int32", "offsets: float"],
    outputs: &["glimpse: float"],
    attrs: &[
        "centered: bool = true",
        "normalized: bool = true",
        "uniform_noise: bool = true",
        "noise: string = 'uniform'",
    ],
    kernels: KERNELS,
    ..Op::DEFAULT
};
const KERNELS: &[tensorfleet_framework::KernelDef] = &[cpu::<ExtractGlimpse>()];

pub(super) const OPS: &[Op] =
    &[Op { name: "ExtractGlimpse", ..OP }, Op { name: "ExtractGlimpseV2", ..OP }];

/// What stands outside of the image.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Noise {
    Uniform,
    Gaussian,
    Zero,
}

#[derive(Debug)]
struct ExtractGlimpse {
    centered: bool,
    normalized: bool,
    noise: Noise,
    /// The first version measures offsets of one kind in another way.
    is_first: bool,
    generator: GuardedPhilox,
}

impl Kernel for ExtractGlimpse {
    fn new(attrs: &Attrs<'_>) -> Result<ExtractGlimpse> {
        let noise = attrs.string("noise")?;
        let uniform = attrs.bool("uniform_noise")?;
        if uniform && !noise.is_empty() && noise != "uniform" {
            return Err(invalid_argument!(
                "The uniform_noise and noise could not be specified at the same time"
            ));
        }
        let noise = match noise.as_ref() {
            "uniform" => Noise::Uniform,
            "gaussian" => Noise::Gaussian,
            "zero" => Noise::Zero,
            "" => {
                if uniform {
                    Noise::Uniform
                } else {
                    Noise::Gaussian
                }
            }
            other => {
                return Err(invalid_argument!(
                    "The noise could only be uniform, gaussian, or zero, got{other}"
                ));
            }
        };
        Ok(ExtractGlimpse {
            centered: attrs.bool("centered")?,
            normalized: attrs.bool("normalized")?,
            noise,
            is_first: attrs.op() == "ExtractGlimpse",
            generator: GuardedPhilox::new(0, 0),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (input, size, offsets) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let &[batch, height, width, channels] = input.dims() else {
            return Err(invalid_argument!(
                "input must be 4-dimensional (batch_size, height, width, depth){}",
                input.shape()
            ));
        };
        let from = Images { batch, height, width, channels };
        let &[2] = size.dims() else {
            return Err(invalid_argument!(
                "input must be a vector of size 2 (height, width){}",
                size.shape()
            ));
        };
        let lengths = size
            .values::<i32>()?
            .iter()
            .map(|&size| {
                usize::try_from(size)
                    .map_err(|_| invalid_argument!("Expected a non-negative size, got {size}"))
            })
            .collect::<Result<Vec<usize>>>()?;
        if offsets.rank() != 2 {
            return Err(invalid_argument!("input must be a matrix{}", offsets.shape()));
        }
        if offsets.dims()[0] != batch {
            return Err(invalid_argument!("first dimension should be batch{}", offsets.shape()));
        }
        if offsets.dims()[1] != 2 {
            return Err(invalid_argument!(
                "second dimension should be of size 2 (y,x){}",
                offsets.shape()
            ));
        }
        let to = Images { height: lengths[0], width: lengths[1], ..from };
        let (pixels, offsets) = (input.values::<f32>()?, offsets.values::<f32>()?);
        let par = Parallel::new(ctx.parallelism());
        let output = Tensor::build(to.shape()?, |out: &mut [f32]| {
            if out.is_empty() {
                return;
            }
            let images = out.chunks_exact_mut(to.image_len()).zip(offsets.chunks_exact(2));
            for (image, (out, offset)) in images.enumerate() {
                let top = self.start(offset[0], from.height, to.height);
                let left = self.start(offset[1], from.width, to.width);
                let place = |start: i64, i: usize, len: usize| {
                    start
                        .checked_add(i as i64)
                        .and_then(|p| usize::try_from(p).ok())
                        .filter(|&p| p < len)
                };
                let inside = place(top, 0, from.height).is_some()
                    && place(top, to.height - 1, from.height).is_some()
                    && place(left, 0, from.width).is_some()
                    && place(left, to.width - 1, from.width).is_some();
                if !inside {
                    let image = &pixels[image * from.image_len()..(image + 1) * from.image_len()];
                    self.fill(par, image, out);
                }
                for (y, row) in out.chunks_exact_mut(to.row_len()).enumerate() {
                    let Some(from_y) = place(top, y, from.height) else { continue };
                    for (x, out) in row.chunks_exact_mut(channels).enumerate() {
                        let Some(from_x) = place(left, x, from.width) else { continue };
                        let at = from.offset(image, from_y, from_x);
                        out.copy_from_slice(&pixels[at..at + channels]);
                    }
                }
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl ExtractGlimpse {
    /// Where a window begins along one axis.
    fn start(&self, offset: f32, image: usize, window: usize) -> i64 {
        let mut place = if self.normalized { offset * image as f32 } else { offset };
        if self.is_first || (self.normalized && self.centered) {
            if self.centered {
                place = place / 2.0 + image as f32 / 2.0;
            }
            place -= window as f32 / 2.0;
        } else if self.centered {
            place += image as f32 / 2.0;
        }
        whole(place)
    }

    fn fill(&self, par: Parallel, image: &[f32], out: &mut [f32]) {
        let philox = self.generator.reserve_outputs(out.len() as u64);
        match self.noise {
            Noise::Zero => out.fill(0.0),
            Noise::Uniform => fill(par, &Uniform::<f32>::default(), philox, out),
            Noise::Gaussian => {
                fill(par, &Normal::<f32>::default(), philox, out);
                let count = image.len().max(1) as f32;
                let mean = image.iter().sum::<f32>() / count;
                let spread = image.iter().map(|v| (v - mean).powi(2)).sum::<f32>() / count;
                out.iter_mut().for_each(|out| *out = *out * spread.sqrt() + mean);
            }
        }
    }
}
