//! PNG files as TensorFlow reads them.

use std::io::Cursor;

use png::{BitDepth, ColorType, Transformations};
use tensorfleet_tensor::{Result, invalid_argument};

/// What compression can make of nothing: a file cannot hold more bytes than so many times its own.
const BEST_COMPRESSION: usize = 1040;
const MOST_PIXELS: u64 = 1 << 29;
/// libpng's limit of both dimensions.
const LONGEST_SIDE: u32 = 1_000_000;

/// An image of 8 or 16 bits a value.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    /// Values of 16 bits, to which shorter ones were extended.
    pub(super) values: Vec<u16>,
}

/// Pixels before they have the channels that are asked for.
struct Source {
    color: ColorType,
    is_wide: bool,
    /// What an opaque pixel has where the file has no alpha channel.
    opaque: u16,
    /// The number of channels without a wish.
    natural: usize,
}

/// Reads a file, with so many channels or, if 0, as many as it has.
pub(super) fn decode(data: &[u8], channels: usize) -> Result<Image> {
    let failure = |_| invalid_argument!("Invalid PNG data, size {}", data.len());
    let mut decoder = png::Decoder::new(Cursor::new(data));
    decoder.set_transformations(Transformations::EXPAND);
    decoder.ignore_checksums(true);
    decoder.set_ignore_text_chunk(true);
    let start = || invalid_argument!("Invalid PNG. Failed to initialize decoder.");
    let info = decoder.read_header_info().map_err(|_| start())?;
    let (width, height) = (info.width, info.height);
    if width > LONGEST_SIDE || height > LONGEST_SIDE {
        return Err(start());
    }
    if u64::from(width) * u64::from(height) >= MOST_PIXELS {
        return Err(invalid_argument!("PNG size too large for int: {width} by {height}"));
    }
    let raw = info.raw_row_length().saturating_mul(height as usize);
    if raw / BEST_COMPRESSION > data.len() {
        return Err(failure(()));
    }
    let mut reader = decoder.read_info().map_err(|_| failure(()))?;
    let source = source(reader.info(), reader.output_color_type());
    let size = reader.output_buffer_size().ok_or_else(|| failure(()))?;
    let mut bytes = vec![0; size];
    reader.next_frame(&mut bytes).map_err(|_| failure(()))?;
    let channels = if channels == 0 { source.natural } else { channels };
    let values = convert(&source, &bytes, channels);
    Ok(Image { height: height as usize, width: width as usize, channels, values })
}

fn source(info: &png::Info<'_>, (color, depth): (ColorType, BitDepth)) -> Source {
    let natural = match (info.color_type, info.trns.is_some()) {
        (ColorType::Grayscale, _) => 1,
        (ColorType::GrayscaleAlpha, _) => 2,
        (ColorType::Rgb, _) | (ColorType::Indexed, false) => 3,
        (ColorType::Rgba, _) | (ColorType::Indexed, true) => 4,
    };
    let is_wide = depth == BitDepth::Sixteen;
    // TensorFlow fills with the largest value of the file's own depth, however few bits that has.
    let bits = info.bit_depth as u32;
    let opaque = if is_wide { u16::MAX } else { ((1u32 << bits) - 1) as u16 * 257 };
    Source { color, is_wide, opaque, natural }
}

fn convert(source: &Source, bytes: &[u8], channels: usize) -> Vec<u16> {
    let values: Vec<u16> = if source.is_wide {
        bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_be_bytes(*pair)).collect()
    } else {
        bytes.iter().map(|&byte| u16::from(byte) * 257).collect()
    };
    let (samples, has_alpha) = match source.color {
        ColorType::Grayscale => (1, false),
        ColorType::GrayscaleAlpha => (2, true),
        ColorType::Rgba => (4, true),
        ColorType::Rgb | ColorType::Indexed => (3, false),
    };
    if samples == channels {
        return values;
    }
    let mut out = Vec::with_capacity(values.len() / samples * channels);
    for pixel in values.chunks_exact(samples) {
        let (color, alpha) = if has_alpha {
            (&pixel[..samples - 1], pixel[samples - 1])
        } else {
            (pixel, source.opaque)
        };
        match (color, channels) {
            (&[grey], 1 | 2) => out.push(grey),
            (&[grey], _) => out.extend([grey; 3]),
            (&[red, green, blue], 1 | 2) => out.push(grey_of(red, green, blue, source.is_wide)),
            _ => out.extend(color),
        }
        if channels == 2 || channels == 4 {
            out.push(alpha);
        }
    }
    out
}

/// The brightness of a colour, as libpng rounds it: values of 8 bits downwards.
fn grey_of(red: u16, green: u16, blue: u16, is_wide: bool) -> u16 {
    if red == green && red == blue {
        return red;
    }
    let sum = |red: u32, green: u32, blue: u32| 9797 * red + 19234 * green + 3737 * blue;
    if is_wide {
        ((sum(red.into(), green.into(), blue.into()) + 16384) >> 15) as u16
    } else {
        let [red, green, blue] = [red, green, blue].map(|value| u32::from(value >> 8));
        (sum(red, green, blue) >> 15) as u16 * 257
    }
}

/// Writes a file of 8 or 16 bits a value; the bytes of wide values are in the order of the file.
pub(super) fn encode(
    bytes: &[u8],
    (height, width, channels): (usize, usize, usize),
    is_wide: bool,
    compression: i64,
) -> Option<Vec<u8>> {
    let side = |len: usize| u32::try_from(len).ok();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, side(width)?, side(height)?);
    encoder.set_color(match channels {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    encoder.set_depth(if is_wide { BitDepth::Sixteen } else { BitDepth::Eight });
    encoder.set_deflate_compression(match u8::try_from(compression) {
        Ok(0) => png::DeflateCompression::NoCompression,
        Ok(level) => png::DeflateCompression::Level(level),
        Err(_) => png::DeflateCompression::default(),
    });
    let mut writer = encoder.write_header().ok()?;
    writer.write_image_data(bytes).ok()?;
    writer.finish().ok()?;
    Some(file)
}
