//! GIF files: all frames, each drawn over the one before.

use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use tensorfleet_tensor::{Result, invalid_argument};

const MOST_BYTES: usize = 1 << 29;

/// Frames of red, green and blue.
#[derive(Debug)]
pub(super) struct Animation {
    pub(super) frames: usize,
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) pixels: Vec<u8>,
}

/// Reads the frames that are complete; there must be one.
pub(super) fn decode(data: &[u8]) -> Result<Animation> {
    let failure = |why: &str| {
        invalid_argument!("Invalid GIF data (size {}), failed to slurp gif file: {why}", data.len())
    };
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(
        std::num::NonZeroU64::new(MOST_BYTES as u64).ok_or_else(|| failure("no memory"))?,
    ));
    let mut decoder = options.read_info(data).map_err(|error| {
        invalid_argument!(
            "Invalid GIF data (size {}), failed to open gif file: {error}",
            data.len()
        )
    })?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let mut frames = Vec::new();
    let mut bytes = 0usize;
    let mut problem = "No Image Descriptor detected".to_owned();
    loop {
        match decoder.read_next_frame() {
            Ok(Some(frame)) => {
                bytes += frame.buffer.len();
                frames.push(frame.clone());
                if bytes >= MOST_BYTES {
                    return Err(failure("the frames are too large"));
                }
            }
            Ok(None) => break,
            // What came before is worth something.
            Err(error) => {
                problem = error.to_string();
                break;
            }
        }
    }
    if frames.is_empty() {
        return Err(failure(&problem));
    }
    draw(&frames, global.as_deref(), data.len())
}

fn draw(frames: &[gif::Frame<'_>], global: Option<&[u8]>, size: usize) -> Result<Animation> {
    let width = frames.iter().map(|frame| usize::from(frame.width)).max().unwrap_or(0);
    let height = frames.iter().map(|frame| usize::from(frame.height)).max().unwrap_or(0);
    let frame_len = width * height * 3;
    let total = frame_len.checked_mul(frames.len()).filter(|&total| total < MOST_BYTES);
    let total = total
        .ok_or_else(|| invalid_argument!("GIF data (size {size}) has too many or large frames"))?;
    let mut pixels = vec![0; total];
    for (number, frame) in frames.iter().enumerate() {
        let (before, rest) = pixels.split_at_mut(number * frame_len);
        let canvas = &mut rest[..frame_len];
        if number > 0 {
            canvas.copy_from_slice(&before[before.len() - frame_len..]);
        }
        let palette = frame.palette.as_deref().or(global).ok_or_else(|| {
            invalid_argument!("Invalid GIF data: missing color map for frame {number}")
        })?;
        let (left, top) = (usize::from(frame.left), usize::from(frame.top));
        let frame_width = usize::from(frame.width);
        for (y, row) in frame.buffer.chunks_exact(frame_width.max(1)).enumerate() {
            for (x, &index) in row.iter().enumerate() {
                let (y, x) = (top + y, left + x);
                if y >= height || x >= width || frame.transparent == Some(index) {
                    continue;
                }
                let color = palette.get(usize::from(index) * 3..usize::from(index) * 3 + 3);
                let color = color.ok_or_else(|| {
                    invalid_argument!(
                        "found color index {index} outside of color map range {}",
                        palette.len() / 3
                    )
                })?;
                canvas[(y * width + x) * 3..][..3].copy_from_slice(color);
            }
        }
    }
    Ok(Animation { frames: frames.len(), height, width, pixels })
}
