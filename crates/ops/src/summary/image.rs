//! `ImageSummary`: images of a batch as PNG.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Tensor, internal, invalid_argument};

use super::numbers::numbers;
use super::wire::{self, Content, Entry};

pub(super) const OPS: &[Op] = &[Op {
    name: "ImageSummary",
    inputs: &["tag: string", "tensor: T"],
    outputs: &["summary: string"],
    attrs: &[
        "max_images: int >= 1 = 3",
        "T: {uint8, float, half, double} = DT_FLOAT",
        "bad_color: tensor = { dtype: DT_UINT8 tensor_shape { dim { size: 4 } } int_val: 255 int_val: 0 int_val: 0 int_val: 255 }",
    ],
    kernels: &[cpu::<ImageSummary>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct ImageSummary(Painter);

/// Makes images of tensors.
#[derive(Debug)]
pub(super) struct Painter {
    pub(super) max_images: usize,
    /// What a pixel that is not a number is painted with, by channel.
    pub(super) bad_color: Vec<u8>,
}

impl Kernel for ImageSummary {
    fn new(attrs: &Attrs<'_>) -> Result<ImageSummary> {
        let bad_color = attrs.tensor("bad_color")?;
        if bad_color.dtype() != DType::UInt8 {
            return Err(invalid_argument!("bad_color must be uint8, got {}", bad_color.dtype()));
        }
        Ok(ImageSummary(Painter {
            max_images: usize::try_from(attrs.int("max_images")?).unwrap_or(1),
            bad_color: bad_color.values::<u8>()?.to_vec(),
        }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (tags, images) = (ctx.input(0)?, ctx.input(1)?);
        let ([tag], true) = (tags.strings()?, tags.shape().is_scalar()) else {
            return Err(invalid_argument!("Tags must be a scalar"));
        };
        let summary = wire::encode(self.0.entries(&String::from_utf8_lossy(tag), images)?)?;
        ctx.set_output(0, summary);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        match inputs {
            [_, Value::Tensor(images)] => images.byte_len() as u64 * 4,
            _ => 0,
        }
    }
}

impl Painter {
    /// The images of a batch, as many as are wanted.
    pub(super) fn entries(&self, tag: &str, images: &Tensor) -> Result<Vec<Entry>> {
        let &[batch, height, width, channels @ (1 | 3 | 4)] = images.dims() else {
            return Err(invalid_argument!(
                "Tensor must be 4-D with last dim 1, 3, or 4, not {}",
                images.shape()
            ));
        };
        let count = batch.min(self.max_images);
        let mut entries = Vec::with_capacity(count);
        for index in 0..count {
            let pixels = self.pixels(&images.rows(index..index + 1)?, channels)?;
            let name = match self.max_images {
                1 => format!("{tag}/image"),
                _ => format!("{tag}/image/{index}"),
            };
            let png = encode(&pixels, height, width, channels)?;
            let content = Content::Image { height, width, channels, png };
            entries.push(Entry { tag: name, content });
        }
        Ok(entries)
    }

    /// Brings the values of one image to 0 to 255: positive images from zero, others around 128.
    fn pixels(&self, image: &Tensor, channels: usize) -> Result<Vec<u8>> {
        if image.dtype() == DType::UInt8 {
            return Ok(image.values::<u8>()?.to_vec());
        }
        let values = numbers(image)?;
        let finite = || values.iter().copied().filter(|value| value.is_finite());
        let (min, max) = (finite().fold(f64::MAX, f64::min), finite().fold(-f64::MAX, f64::max));
        let (scale, offset) = if min < 0.0 {
            let largest = min.abs().max(max.abs());
            (if largest < 1e-5 { 0.0 } else { 127.0 / largest }, 128.0)
        } else {
            (if max < 1e-5 { 0.0 } else { 255.0 / max }, 0.0)
        };
        let mut pixels = Vec::with_capacity(values.len());
        for pixel in values.chunks_exact(channels) {
            if pixel.iter().all(|value| value.is_finite()) {
                pixels.extend(pixel.iter().map(|value| (value * scale + offset) as u8));
            } else {
                let bad = |c| self.bad_color.get(c).copied().unwrap_or(255);
                pixels.extend((0..channels).map(bad));
            }
        }
        Ok(pixels)
    }
}

fn encode(pixels: &[u8], height: usize, width: usize, channels: usize) -> Result<Vec<u8>> {
    let failed = |error: png::EncodingError| internal!("an image cannot be encoded: {error}");
    let size = |n: usize| {
        u32::try_from(n)
            .map_err(|_| invalid_argument!("an image of {height} x {width} is too large"))
    };
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, size(width)?, size(height)?);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_color(match channels {
        1 => png::ColorType::Grayscale,
        3 => png::ColorType::Rgb,
        _ => png::ColorType::Rgba,
    });
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use tensorfleet_tensor::Shape;

    use super::*;

    #[test]
    fn values_are_scaled_as_in_tensorflow() {
        let summary = Painter { max_images: 3, bad_color: vec![255, 0, 0, 255] };
        for (values, want) in [
            ([0.5f32, 1.0], [127, 255]),
            ([-0.5, 1.0], [64, 255]),
            ([f32::NAN, 2.0], [255, 255]),
            ([0.0, 0.0], [0, 0]),
        ] {
            let image = Tensor::from_slice(Shape::from([1, 2, 1, 1]), &values).unwrap();
            assert_eq!(summary.pixels(&image, 1).unwrap(), want);
        }
    }
}
