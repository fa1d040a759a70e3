//! BMP files: uncompressed, of 8, 24 or 32 bits a pixel.

use tensorfleet_tensor::{Result, invalid_argument};

/// An image of bytes.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) height: usize,
    pub(super) width: usize,
    pub(super) channels: usize,
    pub(super) pixels: Vec<u8>,
}

fn number(data: &[u8], at: usize) -> i32 {
    data.get(at..).and_then(|data| data.first_chunk()).map_or(0, |bytes| i32::from_le_bytes(*bytes))
}

/// Reads a file, with 3 or 4 channels or, if 0, as many as it has.
pub(super) fn decode(data: &[u8], wanted: usize) -> Result<Image> {
    if data.len() < 32 {
        return Err(invalid_argument!(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, \
             height, and bpp, got {} bytes",
            data.len()
        ));
    }
    let (start, width, height) = (number(data, 10), number(data, 18), number(data, 22));
    let channels = i64::from(number(data, 28) as u16 / 8);
    if !matches!(channels, 1 | 3 | 4) {
        return Err(invalid_argument!(
            "Number of channels inherent in the image must be 1, 3 or 4, was {channels}"
        ));
    }
    if width <= 0 {
        return Err(invalid_argument!("Width must be positive"));
    }
    if height == 0 || height == i32::MIN {
        return Err(invalid_argument!("Height must be nonzero and as int32 have an opposite"));
    }
    if start < 0 {
        return Err(invalid_argument!("header size must be nonnegative"));
    }
    let (width, rows) = (i64::from(width), i64::from(height.unsigned_abs()));
    // Rows are filled up to whole words.
    let row_len = (channels * width + 3) / 4 * 4;
    if width.saturating_mul(rows).saturating_mul(channels) >= 1 << 30 {
        return Err(invalid_argument!("Total possible pixel bytes must be less than 2^30"));
    }
    let difference = data.len() as i64 - i64::from(start) - row_len * rows;
    if difference != 0 {
        return Err(invalid_argument!(
            "Input size should match (header_size + row_size * abs_height) but they differ by \
             {difference}"
        ));
    }
    let (width, rows, inner) = (width as usize, rows as usize, channels as usize);
    let channels = if wanted == 0 { inner } else { wanted };
    let mut pixels = Vec::with_capacity(rows * width * channels);
    for row in 0..rows {
        // A negative height says that the first row is the top one.
        let row = if height < 0 { row } else { rows - 1 - row };
        let line = &data[start as usize + row * row_len as usize..][..width * inner];
        for pixel in line.chunks_exact(inner) {
            let (color, alpha) = match *pixel {
                [blue, green, red] => ([red, green, blue], 255),
                [blue, green, red, alpha] => ([red, green, blue], alpha),
                _ => ([pixel[0]; 3], 255),
            };
            match channels {
                1 => pixels.push(color[0]),
                3 => pixels.extend(color),
                _ => pixels.extend([color[0], color[1], color[2], alpha]),
            }
        }
    }
    Ok(Image { height: rows, width, channels, pixels })
}
