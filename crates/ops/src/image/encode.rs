//! `EncodePng`, `EncodeJpeg` and `EncodeJpegVariableQuality`: files of pixels.

use bytes::Bytes;
use jpeg_encoder::{
    ChromaSubsamplingMethod, ColorType, Encoder, PixelDensity, PixelDensityUnit, SamplingFactor,
};
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal, invalid_argument};

use super::png_file;

const JPEG_DIFFERS: &str =
    "The file is not libjpeg's byte by byte, and keeps a little less of noisy pictures.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "EncodeJpeg",
        inputs: &["image: uint8"],
        outputs: &["contents: string"],
        attrs: &[
            "format: {'', 'grayscale', 'rgb'} = ''",
            "quality: int = 95",
            "progressive: bool = false",
            "optimize_size: bool = false",
            "chroma_downsampling: bool = true",
            "density_unit: {'in', 'cm'} = 'in'",
            "x_density: int = 300",
            "y_density: int = 300",
            "xmp_metadata: string = ''",
        ],
        kernels: &[cpu::<EncodeJpeg>()],
        differs: JPEG_DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "EncodeJpegVariableQuality",
        inputs: &["images: uint8", "quality: int32"],
        outputs: &["contents: string"],
        kernels: &[cpu::<EncodeVariable>()],
        differs: JPEG_DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "EncodePng",
        inputs: &["image: T"],
        outputs: &["contents: string"],
        attrs: &["compression: int = -1", "T: {uint8, uint16} = DT_UINT8"],
        kernels: &[cpu::<EncodePng>()],
        ..Op::DEFAULT
    },
];

fn pixel_cost(inputs: &[Value]) -> u64 {
    let Some(Value::Tensor(image)) = inputs.first() else { return 0 };
    image.byte_len() as u64 * 15
}

#[derive(Debug)]
struct EncodePng {
    compression: i64,
}

impl Kernel for EncodePng {
    fn new(attrs: &Attrs<'_>) -> Result<EncodePng> {
        let compression = attrs.int("compression")?;
        if !(-1..=9).contains(&compression) {
            return Err(invalid_argument!("compression should be in [-1,9], got {compression}"));
        }
        Ok(EncodePng { compression })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let images = ctx.input(0)?;
        let [outer @ .., height, width, channels] = images.dims() else {
            return Err(invalid_argument!("images must be at least rank 3{}", images.shape()));
        };
        let (height, width, channels) = (*height, *width, *channels);
        if !(1..=4).contains(&channels) {
            return Err(invalid_argument!(
                "image must have 1, 2, 3, or 4 channels, got {channels}"
            ));
        }
        let is_wide = images.dtype() == DType::UInt16;
        let bytes = if is_wide {
            let values = images.values::<u16>()?;
            values.iter().flat_map(|value| value.to_be_bytes()).collect()
        } else {
            images.raw().to_vec()
        };
        let count: usize = outer.iter().product();
        let len = height * width * channels * if is_wide { 2 } else { 1 };
        let mut files = Vec::with_capacity(count);
        for index in 0..count {
            let image = &bytes[index * len..(index + 1) * len];
            let size = (height, width, channels);
            let file = png_file::encode(image, size, is_wide, self.compression);
            files.push(Bytes::from(file.ok_or_else(|| {
                internal!("PNG encoding failed at the following flattened batch indices: {index}")
            })?));
        }
        let contents = Tensor::from_strings(Shape::new(outer)?, files)?;
        ctx.set_output(0, contents);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        pixel_cost(inputs)
    }
}

/// How to write a JPEG file.
#[derive(Clone, Debug)]
struct Settings {
    /// The channels that the format demands, if any.
    channels: Option<usize>,
    format: String,
    quality: i64,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density: PixelDensity,
    xmp: Bytes,
}

fn check_quality(quality: i64) -> Result<()> {
    if !(0..=100).contains(&quality) {
        return Err(invalid_argument!("quality must be in [0,100], got {quality}"));
    }
    Ok(())
}

impl Settings {
    fn encode(&self, image: &Tensor) -> Result<Bytes> {
        let &[height, width, channels] = image.dims() else {
            return Err(invalid_argument!("image must be 3-dimensional{}", image.shape()));
        };
        match self.channels {
            Some(wanted) if wanted != channels => {
                return Err(invalid_argument!(
                    "format {} expects {wanted} channels, got {}",
                    self.format,
                    image.shape()
                ));
            }
            None if !matches!(channels, 1 | 3) => {
                return Err(invalid_argument!(
                    "image must have 1 or 3 channels, got {}",
                    image.shape()
                ));
            }
            _ => {}
        }
        let failed = || internal!("JPEG encoding failed");
        let side = |len: usize| u16::try_from(len).ok().filter(|&len| len > 0).ok_or_else(failed);
        let (height, width) = (side(height)?, side(width)?);
        let mut file = Vec::new();
        // Quality 0 is as bad as 1 is.
        let mut encoder = Encoder::new(&mut file, self.quality.max(1) as u8);
        encoder.set_progressive(self.progressive);
        encoder.set_optimized_huffman_tables(self.optimize_size);
        encoder.set_density(self.density);
        encoder.set_sampling_factor(if self.chroma_downsampling {
            SamplingFactor::F_2_2
        } else {
            SamplingFactor::F_1_1
        });
        encoder.set_chroma_subsampling_method(ChromaSubsamplingMethod::Average);
        if !self.xmp.is_empty() {
            let mut segment = b"http://ns.adobe.com/xap/1.0/\0".to_vec();
            segment.extend_from_slice(&self.xmp);
            encoder.add_app_segment(1, segment).map_err(|_| failed())?;
        }
        let color = if channels == 1 { ColorType::Luma } else { ColorType::Rgb };
        encoder.encode(image.values::<u8>()?, width, height, color).map_err(|_| failed())?;
        Ok(file.into())
    }
}

#[derive(Debug)]
struct EncodeJpeg(Settings);

impl Kernel for EncodeJpeg {
    fn new(attrs: &Attrs<'_>) -> Result<EncodeJpeg> {
        let quality = attrs.int("quality")?;
        check_quality(quality)?;
        let density = |name: &str| -> Result<u16> {
            let density = attrs.int(name)?;
            u16::try_from(density)
                .map_err(|_| invalid_argument!("{name} must fit in 16 bits, got {density}"))
        };
        let format = attrs.string("format")?.into_owned();
        Ok(EncodeJpeg(Settings {
            channels: match format.as_str() {
                "grayscale" => Some(1),
                "rgb" => Some(3),
                _ => None,
            },
            format,
            quality,
            progressive: attrs.bool("progressive")?,
            optimize_size: attrs.bool("optimize_size")?,
            chroma_downsampling: attrs.bool("chroma_downsampling")?,
            density: PixelDensity {
                density: (density("x_density")?, density("y_density")?),
                unit: match attrs.string("density_unit")?.as_ref() {
                    "cm" => PixelDensityUnit::Centimeters,
                    _ => PixelDensityUnit::Inches,
                },
            },
            xmp: attrs.bytes("xmp_metadata")?.clone(),
        }))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let contents = self.0.encode(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::string(contents));
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        pixel_cost(inputs)
    }
}

#[derive(Debug)]
struct EncodeVariable;

impl Kernel for EncodeVariable {
    fn new(_: &Attrs<'_>) -> Result<EncodeVariable> {
        Ok(EncodeVariable)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let quality = ctx.input(1)?;
        if !quality.shape().is_scalar() {
            return Err(invalid_argument!("quality must be scalar: {}", quality.shape()));
        }
        let quality = quality.scalar_value::<i32>()?.into();
        check_quality(quality)?;
        let settings = Settings {
            channels: None,
            format: String::new(),
            quality,
            progressive: false,
            optimize_size: false,
            chroma_downsampling: true,
            density: PixelDensity { density: (300, 300), unit: PixelDensityUnit::Inches },
            xmp: Bytes::new(),
        };
        let contents = settings.encode(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::string(contents));
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        pixel_cost(inputs)
    }
}
