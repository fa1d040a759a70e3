//! From coefficients to pixels: transforms, colours of full resolution, and red, green and blue.

use super::header::{Component, Frame};
use super::transform::Method;
use super::{Image, Options};

/// The samples of a component.
struct Plane {
    width: usize,
    height: usize,
    stride: usize,
    samples: Vec<u8>,
}

impl Plane {
    fn row(&self, row: usize) -> &[u8] {
        &self.samples[row * self.stride..][..self.width]
    }
}

/// Renders a frame; nothing if a component has no factors.
pub(super) fn render(frame: &Frame, options: Options) -> Option<Image> {
    let least = 8 / options.ratio;
    let (height, width) =
        (frame.height.div_ceil(options.ratio), frame.width.div_ceil(options.ratio));
    let channels = match (options.channels, frame.components.len()) {
        (0, 1) | (1, _) => 1,
        _ => 3,
    };
    if channels == 1 && frame.components.len() == 4 {
        return None;
    }
    // A grey image is the first component of a coloured one, if that is luminance.
    let needed = if channels == 1 && (frame.is_ycc() || frame.components.len() == 1) {
        &frame.components[..1]
    } else {
        &frame.components[..]
    };
    let mut planes = Vec::with_capacity(needed.len());
    for component in needed {
        let size = block_size(frame, component, least);
        let plane = transformed(frame, component, size, options.accurate)?;
        let across = frame.most_horizontal * least / (component.horizontal * size).max(1);
        let down = frame.most_vertical * least / (component.vertical * size).max(1);
        let fancy = options.fancy_upscaling && least > 1;
        planes.push(enlarge(plane, (across, down), (width, height), fancy));
    }
    let mut pixels = vec![0; height * width * channels];
    for (row, out) in pixels.chunks_exact_mut(width * channels).enumerate() {
        let lines: Vec<&[u8]> = planes.iter().map(|plane| plane.row(row)).collect();
        convert(frame, &lines, channels, out);
    }
    Some(Image { height, width, channels, pixels })
}

/// The side of the blocks of a component after the transform: coarse colours are not reduced as
/// long as that saves enlarging them.
fn block_size(frame: &Frame, component: &Component, least: usize) -> usize {
    let mut size = least;
    while size < 8
        && (frame.most_horizontal * least).is_multiple_of(component.horizontal * size * 2)
        && (frame.most_vertical * least).is_multiple_of(component.vertical * size * 2)
    {
        size *= 2;
    }
    size
}

fn transformed(frame: &Frame, component: &Component, size: usize, accurate: bool) -> Option<Plane> {
    let method = Method::new(component.factors.as_ref()?, size, accurate);
    let stride = component.blocks_wide * size;
    let mut samples = vec![0; stride * component.blocks_high * size];
    for (index, block) in component.coefficients.chunks_exact(64).enumerate() {
        let (row, column) = (index / component.blocks_wide, index % component.blocks_wide);
        let place = &mut samples[row * size * stride + column * size..];
        method.inverse(block, place, stride);
    }
    Some(Plane {
        width: (frame.width * component.horizontal * size).div_ceil(8 * frame.most_horizontal),
        height: (frame.height * component.vertical * size).div_ceil(8 * frame.most_vertical),
        stride,
        samples,
    })
}

/// Brings a plane to the size of the image.
fn enlarge(
    plane: Plane,
    scale: (usize, usize),
    (width, height): (usize, usize),
    fancy: bool,
) -> Plane {
    let (across, down) = scale;
    if scale == (1, 1) {
        return plane;
    }
    let stride = width + across;
    let mut out = Plane { width, height, stride, samples: vec![0; stride * height] };
    let mut line = vec![0; (plane.width + 1) * across.max(1)];
    for row in 0..height {
        let source = (row / down.max(1)).min(plane.height - 1);
        let near = plane.row(source);
        // The neighbour towards which a row of the image lies.
        let other = if row.is_multiple_of(2) {
            source.saturating_sub(1)
        } else {
            (source + 1).min(plane.height - 1)
        };
        let far = plane.row(other);
        match scale {
            (2, 1) if fancy && plane.width > 2 => widen(near, &mut line),
            (2, 2) if fancy && plane.width > 2 => widen_and_mix(near, far, &mut line),
            (1, 2) if fancy => {
                let bias = if row.is_multiple_of(2) { 1 } else { 2 };
                for ((out, &near), &far) in line.iter_mut().zip(near).zip(far) {
                    *out = ((u16::from(near) * 3 + u16::from(far) + bias) >> 2) as u8;
                }
            }
            _ => {
                for (out, &sample) in line.chunks_exact_mut(across.max(1)).zip(near) {
                    out.fill(sample);
                }
            }
        }
        let len = width.min(line.len());
        out.samples[row * stride..row * stride + len].copy_from_slice(&line[..len]);
    }
    out
}

/// Twice as many samples in a row, each three quarters of the nearest and one of the next.
fn widen(row: &[u8], out: &mut [u8]) {
    let last = row.len() - 1;
    for (i, &sample) in row.iter().enumerate() {
        let three = u16::from(sample) * 3;
        let left = if i == 0 { sample.into() } else { (three + u16::from(row[i - 1]) + 1) >> 2 };
        let right =
            if i == last { sample.into() } else { (three + u16::from(row[i + 1]) + 2) >> 2 };
        (out[2 * i], out[2 * i + 1]) = (left as u8, right as u8);
    }
}

/// The same in both directions.
fn widen_and_mix(near: &[u8], far: &[u8], out: &mut [u8]) {
    let sum = |i: usize| u16::from(near[i]) * 3 + u16::from(far[i]);
    let last = near.len() - 1;
    for i in 0..near.len() {
        let this = sum(i);
        let left = if i == 0 { (this * 4 + 8) >> 4 } else { (this * 3 + sum(i - 1) + 8) >> 4 };
        let right = if i == last { (this * 4 + 7) >> 4 } else { (this * 3 + sum(i + 1) + 7) >> 4 };
        (out[2 * i], out[2 * i + 1]) = (left as u8, right as u8);
    }
}

/// A constant with 16 bits of fraction.
const fn fixed(value: f64) -> i32 {
    (value * 65536.0 + 0.5) as i32
}

const HALF: i32 = 1 << 15;

fn to_rgb(y: u8, cb: u8, cr: u8) -> [u8; 3] {
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((fixed(1.402) * cr + HALF) >> 16);
    let green = y + ((-fixed(0.34414) * cb - fixed(0.71414) * cr + HALF) >> 16);
    let blue = y + ((fixed(1.772) * cb + HALF) >> 16);
    [red, green, blue].map(|value| value.clamp(0, 255) as u8)
}

/// Turns a row of components into pixels.
fn convert(frame: &Frame, lines: &[&[u8]], channels: usize, out: &mut [u8]) {
    match (lines, channels) {
        ([grey], 1) => out.copy_from_slice(&grey[..out.len()]),
        ([grey], _) => {
            for (out, &value) in out.chunks_exact_mut(3).zip(*grey) {
                out.fill(value);
            }
        }
        ([red, green, blue], 1) => {
            for (i, out) in out.iter_mut().enumerate() {
                let sum = fixed(0.299) * i32::from(red[i])
                    + fixed(0.587) * i32::from(green[i])
                    + fixed(0.114) * i32::from(blue[i]);
                *out = ((sum + HALF) >> 16) as u8;
            }
        }
        ([first, second, third], _) => {
            let ycc = frame.is_ycc();
            for (i, out) in out.chunks_exact_mut(3).enumerate() {
                let pixel = [first[i], second[i], third[i]];
                out.copy_from_slice(&if ycc {
                    to_rgb(pixel[0], pixel[1], pixel[2])
                } else {
                    pixel
                });
            }
        }
        ([first, second, third, black], _) => {
            let ycc = frame.is_ycc();
            for (i, out) in out.chunks_exact_mut(3).enumerate() {
                let ink = [first[i], second[i], third[i]];
                let ink = if ycc { to_rgb(ink[0], ink[1], ink[2]).map(|v| 255 - v) } else { ink };
                for (out, ink) in out.iter_mut().zip(ink) {
                    // Adobe stores inks inverted.
                    let (ink, black) = match frame.adobe {
                        Some(_) => (u32::from(ink), u32::from(black[i])),
                        None => (255 - u32::from(ink), 255 - u32::from(black[i])),
                    };
                    *out = (ink * black / 255) as u8;
                }
            }
        }
        _ => {}
    }
}
