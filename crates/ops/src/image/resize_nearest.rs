//! `ResizeNearestNeighbor`: each pixel is one of the original.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::grid::Alignment;
use super::pixels::{Images, resized, two_sizes};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ResizeNearestNeighbor",
        inputs: &["images: T", "size: int32"],
        outputs: &["resized_images: T"],
        attrs: &[
            "T: {int8, uint8, int16, uint16, int32, int64, half, float, double, bfloat16}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeNearest>()],
        gradient: Some(resize_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ResizeNearestNeighborGrad",
        inputs: &["grads: T", "size: int32"],
        outputs: &["output: T"],
        attrs: &[
            "T: {uint8, int8, int32, half, float, double, bfloat16}",
            "align_corners: bool = false",
            "half_pixel_centers: bool = false",
        ],
        kernels: &[cpu::<ResizeNearestGrad>()],
        ..Op::DEFAULT
    },
];

/// The pixel of the original for each pixel of a resized row or column.
fn nearest(alignment: Alignment, original: usize, resized: usize) -> Vec<usize> {
    let scale = alignment.scale(original, resized);
    let offset = if alignment.half_pixel_centers { 0.5 } else { 0.0 };
    (0..resized)
        .map(|pixel| {
            let place = (pixel as f32 + offset) * scale;
            let place = if alignment.align_corners { place.round() } else { place.floor() };
            (place as usize).min(original.saturating_sub(1))
        })
        .collect()
}

#[derive(Debug)]
struct ResizeNearest(Alignment);

impl Kernel for ResizeNearest {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeNearest> {
        Ok(ResizeNearest(Alignment::new(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let images = ctx.input(0)?;
        let (from, to) = resized(images, ctx.input(1)?)?;
        let ys = nearest(self.0, from.height, to.height);
        let xs = nearest(self.0, from.width, to.width);
        // Pixels are moved, never looked at.
        let size = images.dtype().size();
        let pixel = from.channels * size;
        let source = images.raw();
        let output = Tensor::build_raw(images.dtype(), to.shape()?, |out| {
            let rows = rows_mut(out, to.batch * to.height);
            par.for_each(rows, 1 + 16 * 1024 / (to.width * pixel).max(1), |range, rows| {
                for (index, out) in range.zip(rows.data.chunks_exact_mut(to.width * pixel)) {
                    let y = ys[index % to.height];
                    let row = &source[from.offset(index / to.height, y, 0) * size..];
                    match pixel {
                        1 => pick::<1>(row, &xs, out),
                        3 => pick::<3>(row, &xs, out),
                        4 => pick::<4>(row, &xs, out),
                        12 => pick::<12>(row, &xs, out),
                        16 => pick::<16>(row, &xs, out),
                        _ => {
                            for (&x, out) in xs.iter().zip(out.chunks_exact_mut(pixel)) {
                                out.copy_from_slice(&row[x * pixel..(x + 1) * pixel]);
                            }
                        }
                    }
                }
            });
            Ok(())
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Copies pixels of a known size, which needs no call for each.
fn pick<const PIXEL: usize>(row: &[u8], xs: &[usize], out: &mut [u8]) {
    let (row, out) = (row.as_chunks::<PIXEL>().0, out.as_chunks_mut::<PIXEL>().0);
    out.iter_mut().zip(xs).for_each(|(out, &x)| *out = row[x]);
}

#[derive(Debug)]
struct ResizeNearestGrad(Alignment);

impl Kernel for ResizeNearestGrad {
    fn new(attrs: &Attrs<'_>) -> Result<ResizeNearestGrad> {
        Ok(ResizeNearestGrad(Alignment::unchecked(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let grads = ctx.input(0)?;
        let from = Images::of(grads, "input")?;
        let (height, width) = two_sizes(ctx.input(1)?, "shape_t")?;
        if height <= 0 || width <= 0 {
            return Err(invalid_argument!("shape_t's elements must be positive"));
        }
        let to = Images { height: height as usize, width: width as usize, ..from };
        let output = dispatch!(
            grads.dtype(),
            [f32, f64, f16, bf16],
            T => self.gradient::<T>(grads, from, to, |sum, grad| sum + grad)?,
            else => dispatch!(
                grads.dtype(),
                [u8, i8, i32],
                T => self.gradient::<T>(grads, from, to, T::wrapping_add)?,
                else => return Err(internal!("a gradient of {} images", grads.dtype()))
            )
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

impl ResizeNearestGrad {
    fn gradient<T: Element>(
        &self,
        grads: &Tensor,
        from: Images,
        to: Images,
        add: impl Fn(T, T) -> T,
    ) -> Result<Tensor> {
        let values = grads.values::<T>()?;
        let ys = nearest(self.0, to.height, from.height);
        let xs = nearest(self.0, to.width, from.width);
        Tensor::build(to.shape()?, |out: &mut [T]| {
            out.fill(T::default());
            let mut pixels = values.chunks_exact(from.channels.max(1));
            for image in 0..from.batch {
                for &y in &ys {
                    for &x in &xs {
                        let Some(pixel) = pixels.next() else { return };
                        let place = &mut out[to.offset(image, y, x)..];
                        for (out, &grad) in place.iter_mut().zip(pixel) {
                            *out = add(*out, grad);
                        }
                    }
                }
            }
        })
    }
}

/// Every pixel gets what its copies have.
fn resize_gradient(g: &GradientContext<'_>) -> InputGradients {
    let [from, to, one] = [g.vector(&[1i32])?, g.vector(&[3i32])?, g.vector(&[1i32])?];
    let size = g.call("StridedSlice", [g.shape_tensor(g.input(0))?, from, to, one])?;
    let image = g.call_with_attrs("ResizeNearestNeighborGrad", [g.grad(0)?, size])?;
    Ok(vec![Some(image.into()), None])
}
