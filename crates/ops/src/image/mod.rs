//! Images: batches of rows of pixels, the channels last.

mod bmp_file;
mod color;
mod color_gradient;
mod combined_suppression;
mod crop_and_resize;
mod decode;
mod draw_boxes;
mod encode;
mod gif_file;
mod glimpse;
pub(crate) mod grid;
mod jpeg;
mod non_max_suppression;
mod pixels;
mod png_file;
mod projective;
mod resize_area;
mod resize_bicubic;
pub(crate) mod resize_bilinear;
mod resize_nearest;
mod resize_quantized;
mod sample_box;
mod scale_and_translate;
mod suppression;
mod webp_file;

use tensorfleet_framework::{Op, Value};

pub(super) const OPS: &[&[Op]] = &[
    color::OPS,
    combined_suppression::OPS,
    crop_and_resize::OPS,
    decode::OPS,
    draw_boxes::OPS,
    encode::OPS,
    glimpse::OPS,
    non_max_suppression::OPS,
    projective::OPS,
    resize_area::OPS,
    resize_bicubic::OPS,
    resize_bilinear::OPS,
    resize_nearest::OPS,
    resize_quantized::OPS,
    sample_box::OPS,
    scale_and_translate::OPS,
];

/// About how long it takes to resize images, in nanoseconds, at so many for a pixel.
fn resizing_cost(inputs: &[Value], each: u64) -> u64 {
    let [Value::Tensor(images), Value::Tensor(size), ..] = inputs else { return 0 };
    let outer = match *images.dims() {
        [batch, _, _, channels] => batch * channels,
        _ => 0,
    };
    let pixels =
        size.to_i64_vec().unwrap_or_default().iter().fold(outer as u64, |product, &n| {
            product.saturating_mul(u64::try_from(n).unwrap_or(0))
        });
    pixels.saturating_add(images.num_elements() as u64).saturating_mul(each)
}
