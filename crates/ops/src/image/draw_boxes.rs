//! `DrawBoundingBoxes`: the outlines of boxes, one pixel wide.

use half::f16;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{DType, Element, Result, invalid_argument};

use super::grid::whole;
use super::pixels::Images;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "DrawBoundingBoxes",
        inputs: &["images: T", "boxes: float"],
        outputs: &["output: T"],
        attrs: &["T: {float, half} = DT_FLOAT"],
        kernels: &[cpu::<DrawBoxes>()],
        ..Op::DEFAULT
    },
    Op {
        name: "DrawBoundingBoxesV2",
        inputs: &["images: T", "boxes: float", "colors: float"],
        outputs: &["output: T"],
        attrs: &["T: {float, half} = DT_FLOAT"],
        kernels: &[cpu::<DrawBoxes>()],
        ..Op::DEFAULT
    },
];

/// Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia.
const COLORS: [[f32; 4]; 10] = [
    [1.0, 1.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 1.0],
    [1.0, 0.0, 0.0, 1.0],
    [0.0, 1.0, 0.0, 1.0],
    [0.5, 0.0, 0.5, 1.0],
    [0.5, 0.5, 0.0, 1.0],
    [0.5, 0.0, 0.0, 1.0],
    [0.0, 0.0, 0.5, 1.0],
    [0.0, 1.0, 1.0, 1.0],
    [1.0, 0.0, 1.0, 1.0],
];

#[derive(Debug)]
struct DrawBoxes;

impl Kernel for DrawBoxes {
    fn new(_: &Attrs<'_>) -> Result<DrawBoxes> {
        Ok(DrawBoxes)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut images = ctx.take_input(0)?;
        let boxes = ctx.input(1)?;
        let &[batch, height, width, channels] = images.dims() else {
            return Err(invalid_argument!("The rank of the images should be 4"));
        };
        let &[box_batch, count, four] = boxes.dims() else {
            return Err(invalid_argument!("The rank of the boxes tensor should be 3"));
        };
        if box_batch != batch {
            return Err(invalid_argument!("The batch sizes should be the same"));
        }
        if !matches!(channels, 1 | 3 | 4) {
            return Err(invalid_argument!(
                "Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)"
            ));
        }
        if count > 0 && four != 4 {
            return Err(invalid_argument!(
                "The size of the third dimension of the box must be 4. Received: {four}"
            ));
        }
        let colors = colors(ctx, channels)?;
        let size = Images { batch, height, width, channels };
        let boxes = boxes.values::<f32>()?;
        if images.dtype() == DType::Half {
            draw(images.values_mut::<f16>()?, size, boxes, &colors, f16::from_f32);
        } else {
            draw(images.values_mut::<f32>()?, size, boxes, &colors, |value| value);
        }
        ctx.set_output(0, images);
        Ok(())
    }
}

fn colors(ctx: &KernelContext<'_>, channels: usize) -> Result<Vec<Vec<f32>>> {
    if ctx.num_inputs() > 2 {
        let colors = ctx.input(2)?;
        let &[count, width] = colors.dims() else {
            return Err(invalid_argument!("colors must be a 2-D matrix{}", colors.shape()));
        };
        if width < channels {
            return Err(invalid_argument!(
                "colors must have equal or more channels than the image provided: {}",
                colors.shape()
            ));
        }
        if count > 0 {
            return Ok(colors.values::<f32>()?.chunks_exact(width).map(<[f32]>::to_vec).collect());
        }
    }
    // On grey images all boxes are white.
    if channels == 1 {
        return Ok(vec![vec![1.0]]);
    }
    Ok(COLORS.iter().map(|color| color.to_vec()).collect())
}

/// A coordinate in pixels.
fn pixel(part: f32, len: usize) -> i64 {
    whole(part * (len as f32 - 1.0))
}

fn draw<T: Element>(
    images: &mut [T],
    size: Images,
    boxes: &[f32],
    colors: &[Vec<f32>],
    convert: impl Fn(f32) -> T,
) {
    let boxes_per_image = boxes.len() / 4 / size.batch.max(1);
    let (last_row, last_column) = (size.height as i64 - 1, size.width as i64 - 1);
    for (index, corners) in boxes.chunks_exact(4).enumerate() {
        let (image, number) = (index / boxes_per_image, index % boxes_per_image);
        let color = &colors[number % colors.len()];
        let (top, left) = (pixel(corners[0], size.height), pixel(corners[1], size.width));
        let (bottom, right) = (pixel(corners[2], size.height), pixel(corners[3], size.width));
        if top > bottom || left > right || top > last_row || bottom < 0 {
            continue;
        }
        if left > last_column || right < 0 {
            continue;
        }
        let mut paint = |y: i64, x: i64| {
            let at = size.offset(image, y as usize, x as usize);
            for (out, &value) in images[at..at + size.channels].iter_mut().zip(color) {
                *out = convert(value);
            }
        };
        let rows = top.max(0)..=bottom.min(last_row);
        let columns = left.max(0)..=right.min(last_column);
        for y in [top, bottom] {
            if (0..=last_row).contains(&y) {
                columns.clone().for_each(|x| paint(y, x));
            }
        }
        for x in [left, right] {
            if (0..=last_column).contains(&x) {
                rows.clone().for_each(|y| paint(y, x));
            }
        }
    }
}
