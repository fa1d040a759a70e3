//! `QuantizedResizeBilinear`: as `ResizeBilinear`, in fixed point.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::resize::Between;
use tensorfleet_tensor::{DType, QInt32, QUInt8, Result, Tensor, invalid_argument};

use super::grid::{Alignment, places};
use super::pixels::{Images, resized};
use super::resize_bilinear::resize;
use crate::quantized::range::{Quantized, Range};

pub(super) const OPS: &[Op] = &[Op {
    name: "QuantizedResizeBilinear",
    inputs: &["images: T", "size: int32", "min: float", "max: float"],
    outputs: &["resized_images: T", "out_min: float", "out_max: float"],
    attrs: &[
        "T: {quint8, qint32, float}",
        "align_corners: bool = false",
        "half_pixel_centers: bool = false",
    ],
    kernels: &[cpu::<QuantizedResize>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct QuantizedResize(Alignment);

impl Kernel for QuantizedResize {
    fn new(attrs: &Attrs<'_>) -> Result<QuantizedResize> {
        Ok(QuantizedResize(Alignment::unchecked(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let end = |index, name: &str| match ctx.input(index)? {
            end if end.rank() == 0 => end.scalar_value(),
            _ => Err(invalid_argument!("{name} must be a scalar")),
        };
        let range = Range { low: end(2, "min")?, high: end(3, "max")? };
        let images = ctx.input(0)?;
        let (from, to) = resized(images, ctx.input(1)?)?;
        let output = match images.dtype() {
            _ if from == to => images.clone(),
            DType::QUInt8 => self.resize::<QUInt8>(images, from, to, 7)?,
            DType::QInt32 => self.resize::<QInt32>(images, from, to, 30)?,
            _ => resize(ctx, self.0)?,
        };
        ctx.set_output(0, output);
        range.output(ctx, 1);
        Ok(())
    }
}

impl QuantizedResize {
    /// Resizes with so many bits after the point.
    fn resize<T: Quantized>(
        &self,
        images: &Tensor,
        from: Images,
        to: Images,
        point: u32,
    ) -> Result<Tensor> {
        let one = 1i64 << point;
        let part = |place: &Between| (place.part * one as f32) as i64;
        let ys = places(self.0, from.height, to.height);
        let xs = places(self.0, from.width, to.width);
        let values = images.values::<T>()?;
        Tensor::build(to.shape()?, |out: &mut [T]| {
            let mut pixels = out.chunks_exact_mut(to.channels);
            for image in 0..to.batch {
                for y in &ys {
                    for x in &xs {
                        let Some(pixel) = pixels.next() else { return };
                        for (c, out) in pixel.iter_mut().enumerate() {
                            // Through a float, which does not hold every integer.
                            let at = |y, x| values[from.offset(image, y, x) + c].to_f32() as i64;
                            let row = |y| {
                                let (left, right) = (at(y, x.lower), at(y, x.upper));
                                left * one + (right - left) * part(x)
                            };
                            let (top, bottom) = (row(y.lower), row(y.upper));
                            let sum = top + (bottom - top) / one * part(y);
                            *out = T::clamped((sum + one / 2) / one);
                        }
                    }
                }
            }
        })
    }
}
