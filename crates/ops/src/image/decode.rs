//! `DecodeImage` and its relatives: pixels from the contents of a file.
//!
//! All but a few accept any format; what a file is shows in its first bytes.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, Value, cpu};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::{bmp_file, gif_file, jpeg, png_file, webp_file};

const KERNELS: &[KernelDef] = &[cpu::<Decode>()];
const CHANNELS: &str = "channels: int = 0";
const JPEG: &[&str] = &[
    CHANNELS,
    "ratio: int = 1",
    "fancy_upscaling: bool = true",
    "try_recover_truncated: bool = false",
    "acceptable_fraction: float = 1.0",
    "dct_method: string = ''",
];
const BYTES: Op = Op {
    inputs: &["contents: string"],
    outputs: &["image: uint8"],
    kernels: KERNELS,
    ..Op::DEFAULT
};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DecodeAndCropJpeg",
        inputs: &["contents: string", "crop_window: int32"],
        attrs: JPEG,
        ..BYTES
    },
    Op { name: "DecodeBmp", attrs: &[CHANNELS], ..BYTES },
    Op { name: "DecodeGif", ..BYTES },
    Op {
        name: "DecodeImage",
        outputs: &["image: dtype"],
        attrs: &[
            CHANNELS,
            "dtype: {uint8, uint16, float} = DT_UINT8",
            "expand_animations: bool = true",
        ],
        ..BYTES
    },
    Op { name: "DecodeJpeg", attrs: JPEG, ..BYTES },
    Op {
        name: "DecodePng",
        outputs: &["image: dtype"],
        attrs: &[CHANNELS, "dtype: {uint8, uint16} = DT_UINT8"],
        ..BYTES
    },
    Op {
        name: "DecodeWebP",
        outputs: &["image: dtype"],
        attrs: &[CHANNELS, "dtype: {uint8} = DT_UINT8"],
        ..BYTES
    },
    Op {
        name: "ExtractJpegShape",
        inputs: &["contents: string"],
        outputs: &["image_shape: output_type"],
        attrs: &["output_type: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ExtractShape>()],
        ..Op::DEFAULT
    },
];

/// The formats that are told apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Jpeg,
    Png,
    Gif,
    Bmp,
    WebP,
}

impl Format {
    fn of(contents: &[u8]) -> Result<Format> {
        if contents.starts_with(b"\xff\xd8\xff") {
            Ok(Format::Jpeg)
        } else if contents.starts_with(b"\x89PNG\r\n\x1a\n") {
            Ok(Format::Png)
        } else if contents.starts_with(b"GIF8") {
            Ok(Format::Gif)
        } else if contents.starts_with(b"BM") {
            Ok(Format::Bmp)
        } else if contents.starts_with(b"RIFF") && contents.get(8..12) == Some(b"WEBP") {
            Ok(Format::WebP)
        } else {
            Err(invalid_argument!(
                "Unknown image file format. One of JPEG, JPEG XL, PNG, GIF, BMP, WebP required."
            ))
        }
    }
}

/// Values as the file has them.
enum Values {
    Bytes(Vec<u8>),
    /// Full scale is `u16::MAX`.
    Wide(Vec<u16>),
}

/// One or more images of one size.
struct Images {
    frames: usize,
    size: [usize; 3],
    values: Values,
}

#[derive(Debug)]
struct Decode {
    op: String,
    channels: usize,
    dtype: DType,
    /// Whether the first dimension counts frames, when there may be several.
    expand_animations: bool,
    jpeg: jpeg::Options,
}

impl Kernel for Decode {
    fn new(attrs: &Attrs<'_>) -> Result<Decode> {
        let has = |name: &str| attrs.get(name).is_some();
        let channels = if has("channels") { attrs.int("channels")? } else { 0 };
        let is_bmp = attrs.op() == "DecodeBmp";
        if is_bmp && !matches!(channels, 0 | 3 | 4) {
            return Err(invalid_argument!(
                "`channels` must be 0, 3 or 4 for BMP, but got {channels}"
            ));
        }
        if !matches!(channels, 0 | 1 | 3 | 4) {
            return Err(invalid_argument!("`channels` must be 0, 1, 3 or 4 but got {channels}"));
        }
        let mut options = jpeg::Options {
            ratio: 1,
            fancy_upscaling: true,
            accurate: false,
            recover_truncated: false,
            channels: channels as usize,
        };
        if has("ratio") {
            let ratio = attrs.int("ratio")?;
            if !matches!(ratio, 1 | 2 | 4 | 8) {
                return Err(invalid_argument!("ratio must be 1, 2, 4, or 8, got {ratio}"));
            }
            let method = attrs.string("dct_method")?;
            if !matches!(method.as_ref(), "" | "INTEGER_FAST" | "INTEGER_ACCURATE") {
                return Err(invalid_argument!(
                    "dct_method must be one of {{'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}}"
                ));
            }
            options.ratio = ratio as usize;
            options.fancy_upscaling = attrs.bool("fancy_upscaling")?;
            options.accurate = method == "INTEGER_ACCURATE";
            options.recover_truncated = attrs.bool("try_recover_truncated")?;
        }
        Ok(Decode {
            op: attrs.op().to_owned(),
            // Frames of an animation have three channels.
            channels: if attrs.op() == "DecodeGif" { 3 } else { channels as usize },
            dtype: if has("dtype") { attrs.dtype("dtype")? } else { DType::UInt8 },
            expand_animations: match attrs.op() {
                "DecodeGif" => true,
                "DecodeImage" => attrs.bool("expand_animations")?,
                _ => false,
            },
            jpeg: options,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let contents = ctx.input(0)?;
        let [file] = contents.strings()? else { return Err(not_scalar(contents)) };
        if !contents.shape().is_scalar() {
            return Err(not_scalar(contents));
        }
        if file.is_empty() {
            return Err(invalid_argument!("Input is empty."));
        }
        let format = Format::of(file)?;
        self.check(format)?;
        let mut images = self.decode(format, file)?;
        if self.op == "DecodeAndCropJpeg" {
            images = crop(images, ctx.input(1)?)?;
        }
        let has_frames = match format {
            Format::WebP => self.op != "DecodeImage" || self.expand_animations,
            Format::Gif => self.op == "DecodeGif" || self.expand_animations,
            _ => self.op == "DecodeGif",
        };
        let output = self.tensor(images, has_frames)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        let Some(Value::Tensor(contents)) = inputs.first() else { return 0 };
        contents.byte_len() as u64 * 20
    }
}

fn not_scalar(contents: &Tensor) -> tensorfleet_tensor::Error {
    invalid_argument!("`contents` must be scalar but got shape{}", contents.shape())
}

impl Decode {
    /// Checks that the op decodes a format.
    fn check(&self, format: Format) -> Result<()> {
        let (name, function) = match format {
            Format::Jpeg => ("JPEG", "decode_jpeg"),
            Format::Png => ("PNG", "decode_png"),
            Format::Gif => ("GIF", "decode_gif"),
            Format::Bmp => ("BMP", "decode_bmp"),
            Format::WebP => ("WebP", "decode_webp"),
        };
        match (self.op.as_str(), format) {
            ("DecodeBmp", Format::Bmp) | ("DecodeAndCropJpeg", Format::Jpeg) => {}
            ("DecodeBmp" | "DecodeAndCropJpeg", _) => {
                return Err(invalid_argument!(
                    "Trying to decode {name} format using {} op. Use `{function}` or \
                     `decode_image` instead.",
                    self.op
                ));
            }
            ("DecodeImage", _) => {}
            (_, Format::Bmp) => {
                return Err(invalid_argument!(
                    "Trying to decode BMP format using a wrong op. Use `decode_bmp` or \
                     `decode_image` instead. Op used: {}",
                    self.op
                ));
            }
            _ => {}
        }
        match (format, self.channels) {
            (Format::Jpeg, 4) => Err(invalid_argument!("JPEG does not support 4 channels")),
            (Format::Gif, channels @ (1 | 4)) => {
                Err(invalid_argument!("channels must be 0 or 3 for GIF, got {channels}"))
            }
            (Format::Bmp, 1) => {
                Err(invalid_argument!("`channels` must be 0, 3 or 4 for BMP, but got 1"))
            }
            (Format::WebP, _) if self.dtype != DType::UInt8 => {
                Err(invalid_argument!("WebP only supports uint8 for dtype"))
            }
            (Format::WebP, 1) => Err(invalid_argument!("WebP only supports 3 or 4 channels")),
            _ => Ok(()),
        }
    }

    fn decode(&self, format: Format, file: &[u8]) -> Result<Images> {
        Ok(match format {
            Format::Jpeg => {
                let options = jpeg::Options { channels: self.channels, ..self.jpeg };
                let image = jpeg::decode(file, options)?;
                Images {
                    frames: 1,
                    size: [image.height, image.width, image.channels],
                    values: Values::Bytes(image.pixels),
                }
            }
            Format::Png => {
                let image = png_file::decode(file, self.channels)?;
                Images {
                    frames: 1,
                    size: [image.height, image.width, image.channels],
                    values: Values::Wide(image.values),
                }
            }
            Format::Gif => {
                let animation = gif_file::decode(file)?;
                if animation.frames > 1 && !matches!(self.op.as_str(), "DecodeGif" | "DecodeImage")
                {
                    return Err(invalid_argument!(
                        "Got {} frames, but animated gifs can only be decoded by \
                         tf.io.decode_gif or tf.io.decode_image",
                        animation.frames
                    ));
                }
                let (frames, mut pixels) = (animation.frames, animation.pixels);
                let frames = if self.expand_animations { frames } else { 1 };
                pixels.truncate(frames * animation.height * animation.width * 3);
                Images {
                    frames,
                    size: [animation.height, animation.width, 3],
                    values: Values::Bytes(pixels),
                }
            }
            Format::WebP => {
                let one = self.op == "DecodeImage" && !self.expand_animations;
                let most = if one { 1 } else { usize::MAX };
                let animation = webp_file::decode(file, self.channels, most)?;
                Images {
                    frames: animation.frames,
                    size: [animation.height, animation.width, animation.channels],
                    values: Values::Bytes(animation.pixels),
                }
            }
            Format::Bmp => {
                let image = bmp_file::decode(file, self.channels)?;
                Images {
                    frames: 1,
                    size: [image.height, image.width, image.channels],
                    values: Values::Bytes(image.pixels),
                }
            }
        })
    }

    /// The output, in its own type.
    fn tensor(&self, images: Images, has_frames: bool) -> Result<Tensor> {
        let [height, width, channels] = images.size;
        let shape = if has_frames {
            Shape::new(&[images.frames, height, width, channels])?
        } else {
            Shape::new(&[height, width, channels])?
        };
        fn filled<S: Copy, T: tensorfleet_tensor::Element>(
            shape: Shape,
            values: &[S],
            convert: impl Fn(S) -> T,
        ) -> Result<Tensor> {
            Tensor::build(shape, |out: &mut [T]| {
                out.iter_mut().zip(values).for_each(|(out, value)| *out = convert(*value));
            })
        }
        match (&images.values, self.dtype) {
            (Values::Bytes(values), DType::UInt8) => Tensor::from_slice(shape, values),
            (Values::Bytes(values), DType::UInt16) => filled(shape, values, |v| u16::from(v) * 256),
            (Values::Bytes(values), _) => filled(shape, values, |v| f32::from(v) * (1.0 / 255.0)),
            (Values::Wide(values), DType::UInt8) => filled(shape, values, |v| (v >> 8) as u8),
            (Values::Wide(values), DType::UInt16) => Tensor::from_slice(shape, values),
            (Values::Wide(values), _) => filled(shape, values, |v| f32::from(v) * (1.0 / 65535.0)),
        }
    }
}

/// Cuts a window, given as its top, left, height and width, from an image.
fn crop(images: Images, window: &Tensor) -> Result<Images> {
    if window.rank() != 1 {
        return Err(invalid_argument!("crop_window must be 1-D, got {}", window.shape()));
    }
    let &[top, left, height, width] = window.values::<i32>()? else {
        return Err(invalid_argument!("crop_size must have four elements {}", window.shape()));
    };
    let [rows, columns, channels] = images.size;
    let inside = |start: i32, len: i32, size: usize| {
        start >= 0 && len > 0 && i64::from(start) + i64::from(len) <= size as i64
    };
    let Values::Bytes(pixels) = &images.values else { return Ok(images) };
    if !inside(top, height, rows) || !inside(left, width, columns) {
        return Err(invalid_argument!(
            "jpeg::Uncompress failed. Invalid JPEG data or crop window."
        ));
    }
    let (top, left, height, width) = (top as usize, left as usize, height as usize, width as usize);
    let mut cut = Vec::with_capacity(height * width * channels);
    for row in top..top + height {
        let start = (row * columns + left) * channels;
        cut.extend_from_slice(&pixels[start..start + width * channels]);
    }
    Ok(Images { frames: 1, size: [height, width, channels], values: Values::Bytes(cut) })
}

/// The dimensions of a JPEG image, from the head of its file.
#[derive(Debug)]
struct ExtractShape {
    dtype: DType,
}

impl Kernel for ExtractShape {
    fn new(attrs: &Attrs<'_>) -> Result<ExtractShape> {
        Ok(ExtractShape { dtype: attrs.dtype("output_type")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let contents = ctx.input(0)?;
        let ([file], true) = (contents.strings()?, contents.shape().is_scalar()) else {
            return Err(invalid_argument!(
                "contents must be scalar, got shape {}",
                contents.shape()
            ));
        };
        let shape = jpeg::shape(file)
            .ok_or_else(|| invalid_argument!("Invalid JPEG data, size {}", file.len()))?;
        let dims = [shape.height, shape.width, shape.channels];
        let output = if self.dtype == DType::Int32 {
            Tensor::vector(&dims.map(|dim| dim as i32))?
        } else {
            Tensor::vector(&dims.map(|dim| dim as i64))?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}
