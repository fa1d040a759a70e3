//! WebP files: one image, or the frames of an animation, each as it looks.

use std::io::Cursor;

use image_webp::WebPDecoder;
use tensorfleet_tensor::{Error, Result, invalid_argument};

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
    decoder.set_memory_limit(MOST_BYTES);
    let animated = decoder.is_animated();
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    // What a file has; frames of an animation always have alpha.
    let inner = if decoder.has_alpha() { 4 } else { 3 };
    let own = if animated { 4 } else { inner };
    if channels != 0 && channels != own {
        return Err(invalid_argument!("Number of channels requested does not match input"));
    }
    let frames = if animated { (decoder.num_frames() as usize).min(most) } else { 1 };
    let area = width.checked_mul(height);
    let total = area.and_then(|area| area.checked_mul(own)?.checked_mul(frames));
    let (Some(area), Some(_)) = (area, total.filter(|&total| total < MOST_BYTES)) else {
        return Err(invalid_argument!(
            "WebP data (size {}) has too many or large frames",
            data.len()
        ));
    };
    let broken = |_| -> Error {
        match animated {
            true => invalid_argument!(
                "Failed to decode WebP Animation: failed to decode WebP Animation"
            ),
            false => invalid_argument!("Failed to decode WebP image."),
        }
    };
    let mut frame = vec![0; area * inner];
    if !animated {
        decoder.read_image(&mut frame).map_err(broken)?;
        return Ok(Frames { frames, height, width, channels: own, pixels: frame });
    }
    // The colour that the file suggests is for viewers; frames begin with nothing.
    decoder.set_background_color([0; 4]).map_err(broken)?;
    let mut pixels = Vec::new();
    for _ in 0..frames {
        decoder.read_frame(&mut frame).map_err(broken)?;
        match inner {
            4 => pixels.extend_from_slice(&frame),
            _ => pixels
                .extend(frame.as_chunks::<3>().0.iter().flat_map(|&[r, g, b]| [r, g, b, u8::MAX])),
        }
    }
    Ok(Frames { frames, height, width, channels: own, pixels })
}
