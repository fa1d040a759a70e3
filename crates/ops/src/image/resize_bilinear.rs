//! `ResizeBilinear`: each pixel is a mean of the four around its place in the original.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::{rows, rows_mut};
use tensorfleet_kernels::resize::{blend_columns, blend_rows, widen};
use tensorfleet_tensor::{DType, Result, Tensor, dispatch, internal, invalid_argument};

use super::grid::{Alignment, places};
use super::pixels::{Gradient, Images, floats, resized};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ResizeBilinear",
        inputs: &["images: T", "size: int32"],
        outputs: &["resized_images: float"],
        attrs: &[
            "T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double, bfloat16}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeBilinear>()],
        gradient: Some(resize_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ResizeBilinearGrad",
        inputs: &["grads: float", "original_image: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {float, bfloat16, half, double}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeBilinearGrad>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct ResizeBilinear(Alignment);

impl Kernel for ResizeBilinear {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeBilinear> {
        Ok(ResizeBilinear(Alignment::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = resize(ctx, self.0)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The images of the first input in the size that the second says.
pub(crate) fn resize(ctx: &KernelContext<'_>, alignment: Alignment) -> Result<Tensor> {
    let par = Parallel::new(ctx.parallelism());
    let images = ctx.input(0)?;
    let (from, to) = resized(images, ctx.input(1)?)?;
    match images.dtype() {
        DType::UInt8 => {
            let pixels = images.values::<u8>()?;
            scale(par, alignment, from, to, |place, row| widen(&pixels[place..], row))
        }
        _ => {
            let pixels = floats(images)?;
            let read = |place: usize, row: &mut [f32]| {
                row.copy_from_slice(&pixels[place..place + row.len()]);
            };
            scale(par, alignment, from, to, read)
        }
    }
}

/// Resizes images, rows of which `read` fetches from a place on.
fn scale(
    par: Parallel,
    alignment: Alignment,
    from: Images,
    to: Images,
    read: impl Fn(usize, &mut [f32]) + Sync,
) -> Result<Tensor> {
    let ys = places(alignment, from.height, to.height);
    let xs = places(alignment, from.width, to.width);
    Tensor::build(to.shape()?, |out: &mut [f32]| {
        let rows = rows_mut(out, to.batch * to.height);
        par.for_each(rows, 1 + 4096 / to.row_len().max(1), |indices, rows| {
            let mut original = vec![0.0; from.row_len()];
            // Rows of the original, as wide as those of the result: where they come from, and pixels.
            let mut blended = [(); 2].map(|()| (usize::MAX, vec![0.0; to.row_len()]));
            let rows = rows.data.chunks_exact_mut(to.row_len().max(1));
            for (index, row) in indices.zip(rows) {
                let (image, y) = (index / to.height, ys[index % to.height]);
                let [upper, lower] = [y.lower, y.upper].map(|y| from.offset(image, y, 0));
                // What was the lower row is often the upper one now.
                if blended[1].0 == upper || blended[0].0 == lower {
                    blended.swap(0, 1);
                }
                for (place, (kept, pixels)) in [upper, lower].into_iter().zip(&mut blended) {
                    if *kept != place {
                        read(place, &mut original);
                        blend_columns(&original, &xs, from.channels, pixels);
                        *kept = place;
                    }
                }
                blend_rows(&blended[0].1, &blended[1].1, y.part, row);
            }
        });
    })
}

#[derive(Debug)]
struct ResizeBilinearGrad(Alignment);

impl Kernel for ResizeBilinearGrad {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeBilinearGrad> {
        Ok(ResizeBilinearGrad(Alignment::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (grads, original) = (ctx.input(0)?, ctx.input(1)?);
        let (from, to) = gradient_sizes(grads, original)?;
        let values = grads.values::<f32>()?;
        let output = dispatch!(
            original.dtype(),
            [f32, f64, f16, bf16],
            T => gradient::<T>(par, self.0, values, from, to)?,
            else => return Err(internal!("a gradient of {} images", original.dtype()))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The sizes of the resized and of the original images, checked as all gradients do. Batch and
/// channels are those of the gradient, whatever the original has.
pub(super) fn gradient_sizes(grads: &Tensor, original: &Tensor) -> Result<(Images, Images)> {
    let from = Images::of(grads, "input_grad")?;
    let size = Images::of(original, "original_image")?;
    if size.height == 0 || size.width == 0 {
        return Err(invalid_argument!("original dimensions must be positive"));
    }
    if from.height == 0 || from.width == 0 {
        return Err(invalid_argument!("resized dimensions must be positive"));
    }
    Ok((from, Images { height: size.height, width: size.width, ..from }))
}

fn gradient<T: Gradient>(
    par: Parallel,
    alignment: Alignment,
    grads: &[f32],
    from: Images,
    to: Images,
) -> Result<Tensor> {
    let ys = places(alignment, to.height, from.height);
    let xs = places(alignment, to.width, from.width);
    Tensor::build(to.shape()?, |out: &mut [T]| {
        let images = (rows(grads, from.batch), rows_mut(out, from.batch));
        par.for_each(images, 1, |_, (grads, out)| {
            out.data.fill(T::default());
            let mut pixels = grads.data.chunks_exact(from.channels.max(1));
            for image in 0..out.count {
                for y in &ys {
                    for x in &xs {
                        let Some(pixel) = pixels.next() else { return };
                        for (row, y_part) in [(y.lower, 1.0 - y.part), (y.upper, y.part)] {
                            for (column, x_part) in [(x.lower, 1.0 - x.part), (x.upper, x.part)] {
                                let place = &mut out.data[to.offset(image, row, column)..];
                                for (out, grad) in place.iter_mut().zip(pixel) {
                                    *out += T::from_f32(grad * y_part * x_part);
                                }
                            }
                        }
                    }
                }
            }
        });
    })
}

/// The size that an image is resized to has no gradient.
fn resize_gradient(g: &GradientContext<'_>) -> InputGradients {
    let image = g.call_with_attrs("ResizeBilinearGrad", [g.grad(0)?, g.input(0)])?;
    Ok(vec![Some(image.into()), None])
}
