//! A JPEG decoder whose pixels equal libjpeg's, which TensorFlow uses: the same integer transforms,
//! the same interpolation of colours, the same reduced sizes.
//!
//! Decoders in the ecosystem interpolate in their own ways and know neither reduced sizes by other
//! transforms nor colours without interpolation; a model trained on TensorFlow's pixels would see
//! others. Baseline, extended and progressive files with Huffman codes are read, which is what
//! libjpeg reads in TensorFlow.

mod header;
mod huffman;
mod pixels;
mod scan;
mod transform;

use tensorfleet_tensor::{Result, invalid_argument};

pub(super) use header::shape;

/// How to decode.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    /// 1, 2, 4 or 8: the image becomes so many times smaller.
    pub(super) ratio: usize,
    /// Whether colours of lower resolution are interpolated.
    pub(super) fancy_upscaling: bool,
    /// Whether to transform with more bits than TensorFlow does by default.
    pub(super) accurate: bool,
    /// Whether what is there of a truncated file is enough.
    pub(super) recover_truncated: bool,
    /// 1 or 3, or 0 for what the file has.
    pub(super) channels: usize,
}

/// Pixels, row by row.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

/// Decodes a file.
pub(super) fn decode(data: &[u8], options: Options) -> Result<Image> {
    let failure =
        || invalid_argument!("jpeg::Uncompress failed. Invalid JPEG data or crop window.");
    let decoded = header::read(data, options.recover_truncated).ok_or_else(failure)?;
    pixels::render(&decoded, options).ok_or_else(failure)
}
