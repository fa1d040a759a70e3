//! WebP files: one image, or the frames of an animation, each as it looks.
//!
//! The decoder of single images is a crate's; frames are drawn over each other here, exactly as libwebp does it.

use std::io::Cursor;

use image_webp::WebPDecoder;
use tensorfleet_tensor::{Result, invalid_argument};

const MOST_BYTES: usize = 1 << 29;

/// Frames of red, green and blue, with or without alpha.
#[derive(Debug)]
pub(super) struct Frames {
    pub(super) frames: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

/// Reads `most` frames at most; `channels` must be what the file has, unless it is none.
pub(super) fn decode(data: &[u8], channels: usize, most: usize) -> Result<Frames> {
    let mut decoder = WebPDecoder::new(Cursor::new(data))
        .map_err(|_| invalid_argument!("Failed to decode WebP header."))?;
    let animated = decoder.is_animated();
    let own = if animated || decoder.has_alpha() { 4 } else { 3 };
    if channels != 0 && channels != own {
        return Err(invalid_argument!("Number of channels requested does not match input"));
    }
    if animated {
        return animation(data, most).ok_or_else(|| {
            invalid_argument!("Failed to decode WebP Animation: failed to decode WebP Animation")
        });
    }
    still(&mut decoder).ok_or_else(|| invalid_argument!("Failed to decode WebP image."))
}

fn still(decoder: &mut WebPDecoder<Cursor<&[u8]>>) -> Option<Frames> {
    decoder.set_memory_limit(MOST_BYTES);
    let (width, height) = decoder.dimensions();
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; decoder.output_buffer_size().filter(|&size| size < MOST_BYTES)?];
    decoder.read_image(&mut pixels).ok()?;
    Some(Frames { frames: 1, height: height as usize, width: width as usize, channels, pixels })
}

/// A part of the canvas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl Area {
    fn contains(self, x: usize, y: usize) -> bool {
        (self.left..self.left + self.width).contains(&x)
            && (self.top..self.top + self.height).contains(&y)
    }
}

/// What the frame before left behind.
#[derive(Clone, Copy, Debug)]
struct Before {
    area: Area,
    cleared: bool,
    /// Whether nothing of the frames before it could be seen.
    key: bool,
}

fn animation(data: &[u8], most: usize) -> Option<Frames> {
    let mut chunks = Chunks { rest: data.get(12..)? };
    let (b"VP8X", header) = chunks.next()? else { return None };
    let (width, height) = (number(header, 4)? + 1, number(header, 7)? + 1);
    let whole = Area { left: 0, top: 0, width, height };
    let len = width.checked_mul(height)?.checked_mul(4)?;
    let (mut pixels, mut frames) = (Vec::new(), 0);
    let mut before: Option<Before> = None;
    for (name, content) in chunks.by_ref() {
        if name != b"ANMF" || frames == most {
            continue;
        }
        let area = Area {
            left: 2 * number(content, 0)?,
            top: 2 * number(content, 3)?,
            width: number(content, 6)? + 1,
            height: number(content, 9)? + 1,
        };
        let (&flags, image) = content.get(15..)?.split_first()?;
        let (clears, blends) = (flags & 1 != 0, flags & 2 == 0);
        if area.left + area.width > width
            || area.top + area.height > height
            || pixels.len() + len >= MOST_BYTES
        {
            return None;
        }
        let (has_alpha, image) = frame(image, area)?;
        let key = match before {
            None => true,
            Some(before) => {
                ((!has_alpha || !blends) && area == whole)
                    || (before.cleared && (before.area == whole || before.key))
            }
        };
        let mut canvas = match before {
            Some(before) if !key => {
                let mut canvas: Vec<u8> = pixels[pixels.len() - len..].to_vec();
                if before.cleared {
                    each_row(before.area, width, |_, range| canvas[range].fill(0));
                }
                canvas
            }
            _ => vec![0; len],
        };
        // What was cleared shows nothing that could shine through.
        let covered = |x: usize, y: usize| {
            before.is_some_and(|before| before.cleared && before.area.contains(x, y))
        };
        each_row(area, width, |y, range| {
            let row = &image[(y - area.top) * area.width * 4..][..area.width * 4];
            let pairs = canvas[range].as_chunks_mut::<4>().0.iter_mut().zip(row.as_chunks::<4>().0);
            for (x, (under, &over)) in pairs.enumerate() {
                let blend = blends && !key && !covered(area.left + x, y);
                *under = if blend { shine(over, *under) } else { over };
            }
        });
        pixels.extend_from_slice(&canvas);
        frames += 1;
        before = Some(Before { area, cleared: clears, key });
    }
    // A file that was cut ends within a chunk.
    (chunks.rest.is_empty() && frames > 0).then_some(Frames {
        frames,
        height,
        width,
        channels: 4,
        pixels,
    })
}

/// Decodes the image of one frame, with alpha in any case; tells whether it has any of its own.
fn frame(image: &[u8], area: Area) -> Option<(bool, Vec<u8>)> {
    let mut file = b"RIFF\0\0\0\0WEBP".to_vec();
    if image.starts_with(b"ALPH") {
        file.extend_from_slice(b"VP8X\x0a\0\0\0\x10\0\0\0");
        file.extend_from_slice(&(area.width as u32 - 1).to_le_bytes()[..3]);
        file.extend_from_slice(&(area.height as u32 - 1).to_le_bytes()[..3]);
    }
    file.extend_from_slice(image);
    let len = u32::try_from(file.len() - 8).ok()?;
    file[4..8].copy_from_slice(&len.to_le_bytes());
    let mut decoder = WebPDecoder::new(Cursor::new(&file[..])).ok()?;
    if decoder.is_animated() || decoder.dimensions() != (area.width as u32, area.height as u32) {
        return None;
    }
    let image = still(&mut decoder)?;
    Some(match image.channels {
        4 => (true, image.pixels),
        _ => {
            let opaque =
                image.pixels.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, u8::MAX]);
            (false, opaque.collect())
        }
    })
}

/// Calls `each` with the rows of an area, and where in the canvas their values are.
fn each_row(area: Area, width: usize, mut each: impl FnMut(usize, std::ops::Range<usize>)) {
    for y in area.top..area.top + area.height {
        let start = (y * width + area.left) * 4;
        each(y, start..start + area.width * 4);
    }
}

/// A colour over another, rounded as libwebp rounds it.
fn shine(over: [u8; 4], under: [u8; 4]) -> [u8; 4] {
    let alpha = u32::from(over[3]);
    if alpha == 255 {
        return over;
    }
    if alpha == 0 {
        return under;
    }
    let rest = (u32::from(under[3]) * (256 - alpha)) >> 8;
    let both = alpha + rest;
    let scale = (1 << 24) / both;
    let mix = |channel: usize| {
        let sum = u32::from(over[channel]) * alpha + u32::from(under[channel]) * rest;
        ((u64::from(sum) * u64::from(scale)) >> 24) as u8
    };
    [mix(0), mix(1), mix(2), both as u8]
}

/// The chunks of a file: names and contents.
struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Chunks<'a> {
    type Item = (&'a [u8; 4], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = self.rest.split_first_chunk::<4>()?;
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (content, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        // A byte makes up for an odd length.
        self.rest = rest.get(content.len() % 2..).unwrap_or_default();
        Some((name, content))
    }
}

/// A number of three bytes.
fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let [a, b, c] = *bytes.get(at..at + 3)?.first_chunk()?;
    Some(u32::from_le_bytes([a, b, c, 0]) as usize)
}
