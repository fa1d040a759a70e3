//! `CropAndResize`: boxes cut from images and resized to one size; with gradients.

use half::f16;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, dispatch, internal, invalid_argument, out_of_range,
};

use super::pixels::{Gradient, Images, floats};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "CropAndResize",
        inputs: &["image: T", "boxes: float", "box_ind: int32", "crop_size: int32"],
        outputs: &["crops: float"],
        attrs: &[
            "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
            "method: {'bilinear', 'nearest'} = 'bilinear'",
            "extrapolation_value: float = 0.0",
        ],
        kernels: &[cpu::<CropAndResize>()],
        gradient: Some(crop_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "CropAndResizeGradBoxes",
        inputs: &["grads: float", "image: T", "boxes: float", "box_ind: int32"],
        outputs: &["output: float"],
        attrs: &[
            "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}",
            "method: {'bilinear'} = 'bilinear'",
        ],
        kernels: &[cpu::<GradBoxes>()],
        ..Op::DEFAULT
    },
    Op {
        name: "CropAndResizeGradImage",
        inputs: &["grads: float", "boxes: float", "box_ind: int32", "image_size: int32"],
        outputs: &["output: T"],
        attrs: &["T: {float, half, double}", "method: {'bilinear', 'nearest'} = 'bilinear'"],
        kernels: &[cpu::<GradImage>()],
        ..Op::DEFAULT
    },
];

/// A pixel of a crop along one axis: its place in the image.
#[derive(Clone, Copy, Debug)]
struct Place {
    lower: usize,
    upper: usize,
    part: f32,
    nearest: usize,
}

/// The places of the pixels of a crop from `start` to `end`; nothing outside of the image.
fn places(start: f32, end: f32, image: usize, crop: usize) -> Vec<Option<Place>> {
    let last = (image - 1) as f32;
    let scale = if crop > 1 { (end - start) * last / (crop - 1) as f32 } else { 0.0 };
    (0..crop)
        .map(|pixel| {
            let place = if crop > 1 {
                start * last + pixel as f32 * scale
            } else {
                0.5 * (start + end) * last
            };
            (place >= 0.0 && place <= last).then(|| Place {
                lower: place.floor() as usize,
                upper: place.ceil() as usize,
                part: place - place.floor(),
                nearest: place.round() as usize,
            })
        })
        .collect()
}

/// Boxes and the images that they are in.
#[derive(Debug)]
struct Boxes<'a> {
    corners: Vec<[f32; 4]>,
    images: &'a [i32],
}

impl<'a> Boxes<'a> {
    /// `separator` stands between a complaint and the shape that it is about.
    fn new(boxes: &'a Tensor, indices: &'a Tensor, separator: &str) -> Result<Boxes<'a>> {
        if boxes.num_elements() == 0 && indices.num_elements() == 0 {
            return Ok(Boxes { corners: Vec::new(), images: &[] });
        }
        if boxes.rank() != 2 {
            return Err(invalid_argument!("boxes must be 2-D{separator}{}", boxes.shape()));
        }
        if boxes.dims()[1] != 4 {
            return Err(invalid_argument!("boxes must have 4 columns"));
        }
        let values = boxes.values::<f32>()?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(invalid_argument!(
                "Boxes contains at least one element that is not finite"
            ));
        }
        if indices.rank() != 1 {
            return Err(invalid_argument!(
                "box_indices must be rank 1 but is shape {}",
                indices.shape()
            ));
        }
        if indices.num_elements() != boxes.dims()[0] {
            return Err(invalid_argument!("box_index has incompatible shape"));
        }
        let corners = values.chunks_exact(4).map(|b| [b[0], b[1], b[2], b[3]]).collect();
        Ok(Boxes { corners, images: indices.values::<i32>()? })
    }

    fn check_images(&self, batch: usize) -> Result<()> {
        if self.images.iter().all(|&image| usize::try_from(image).is_ok_and(|i| i < batch)) {
            return Ok(());
        }
        Err(out_of_range!("box_index has values outside [0, batch_size)"))
    }

    /// The rows and columns of a crop of box number `index`.
    fn grid(&self, index: usize, image: Images, crop: Images) -> Grid {
        let [y1, x1, y2, x2] = self.corners[index];
        (places(y1, y2, image.height, crop.height), places(x1, x2, image.width, crop.width))
    }
}

type Grid = (Vec<Option<Place>>, Vec<Option<Place>>);

fn four(tensor: &Tensor, what: &str) -> Result<Images> {
    match *tensor.dims() {
        [batch, height, width, channels] => Ok(Images { batch, height, width, channels }),
        _ => Err(invalid_argument!("{what} image must be 4-D{}", tensor.shape())),
    }
}

#[derive(Debug)]
struct CropAndResize {
    nearest: bool,
    extrapolation_value: f32,
}

impl Kernel for CropAndResize {
    fn new(attrs: &Attrs<'_>) -> Result<CropAndResize> {
        Ok(CropAndResize {
            nearest: attrs.string("method")? == "nearest",
            extrapolation_value: attrs.float("extrapolation_value")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let image = ctx.input(0)?;
        let from = four(image, "input")?;
        if from.height == 0 || from.width == 0 {
            return Err(invalid_argument!("image dimensions must be positive"));
        }
        let boxes = Boxes::new(ctx.input(1)?, ctx.input(2)?, ", got: ")?;
        let size = ctx.input(3)?;
        if size.rank() != 1 {
            return Err(invalid_argument!("crop_size must be 1-D{}", size.shape()));
        }
        let &[height, width] = size.values::<i32>()? else {
            return Err(invalid_argument!("crop_size must have two elements{}", size.shape()));
        };
        if height <= 0 || width <= 0 {
            return Err(invalid_argument!("crop dimensions must be positive"));
        }
        let to = Images {
            batch: boxes.corners.len(),
            height: height as usize,
            width: width as usize,
            channels: from.channels,
        };
        let shape = to.shape()?;
        boxes.check_images(from.batch)?;
        let pixels = floats(image)?;
        let output = Tensor::build(shape, |out: &mut [f32]| {
            let crops = rows_mut(out, to.batch);
            par.for_each(crops, 1, |indices, crops| {
                let crops = crops.data.chunks_exact_mut(to.image_len().max(1));
                for (index, crop) in indices.zip(crops) {
                    self.crop(&boxes, index, (from, &pixels), (to, crop));
                }
            });
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

impl CropAndResize {
    fn crop(
        &self,
        boxes: &Boxes<'_>,
        index: usize,
        (from, pixels): (Images, &[f32]),
        (to, crop): (Images, &mut [f32]),
    ) {
        let image = boxes.images[index] as usize;
        let (ys, xs) = boxes.grid(index, from, to);
        let places = ys.iter().flat_map(|y| xs.iter().map(move |x| (*y, *x)));
        for (out, place) in crop.chunks_exact_mut(to.channels.max(1)).zip(places) {
            let (Some(y), Some(x)) = place else {
                out.fill(self.extrapolation_value);
                continue;
            };
            let pixel = |y, x| &pixels[from.offset(image, y, x)..][..from.channels];
            if self.nearest {
                out.copy_from_slice(pixel(y.nearest, x.nearest));
                continue;
            }
            let (tl, tr) = (pixel(y.lower, x.lower), pixel(y.lower, x.upper));
            let (bl, br) = (pixel(y.upper, x.lower), pixel(y.upper, x.upper));
            for (c, out) in out.iter_mut().enumerate() {
                let top = tl[c] + (tr[c] - tl[c]) * x.part;
                let bottom = bl[c] + (br[c] - bl[c]) * x.part;
                *out = top + (bottom - top) * y.part;
            }
        }
    }
}

#[derive(Debug)]
struct GradImage {
    nearest: bool,
    dtype: DType,
}

impl Kernel for GradImage {
    fn new(attrs: &Attrs<'_>) -> Result<GradImage> {
        Ok(GradImage { nearest: attrs.string("method")? == "nearest", dtype: attrs.dtype("T")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let grads = ctx.input(0)?;
        let from = four(grads, "grads")?;
        if from.height == 0 || from.width == 0 {
            return Err(invalid_argument!("grads dimensions must be positive"));
        }
        let boxes = Boxes::new(ctx.input(1)?, ctx.input(2)?, "")?;
        if boxes.corners.len() != from.batch {
            return Err(invalid_argument!("boxes and grads have incompatible shape"));
        }
        let size = ctx.input(3)?;
        if size.rank() != 1 {
            return Err(invalid_argument!("image_size must be 1-D{}", size.shape()));
        }
        let &[batch, height, width, channels] = size.values::<i32>()? else {
            return Err(invalid_argument!("image_size must have 4 elements{}", size.shape()));
        };
        if height <= 0 || width <= 0 {
            return Err(invalid_argument!("image dimensions must be positive"));
        }
        if usize::try_from(channels) != Ok(from.channels) {
            return Err(invalid_argument!("image_size and grads are incompatible"));
        }
        let batch = usize::try_from(batch)
            .map_err(|_| invalid_argument!("Dimension {batch} must be >= 0"))?;
        let to = Images { batch, height: height as usize, width: width as usize, ..from };
        let shape = to.shape()?;
        boxes.check_images(batch)?;
        let values = grads.values::<f32>()?;
        let output = dispatch!(
            self.dtype,
            [f32, f64, f16],
            T => self.gradient::<T>(&boxes, (from, values), (to, shape))?,
            else => return Err(internal!("a gradient of {} images", self.dtype))
        );
        ctx.set_output(0, output);
        Ok(())
    }
}

impl GradImage {
    fn gradient<T: Gradient>(
        &self,
        boxes: &Boxes<'_>,
        (from, grads): (Images, &[f32]),
        (to, shape): (Images, Shape),
    ) -> Result<Tensor> {
        Tensor::build(shape, |out: &mut [T]| {
            out.fill(T::default());
            for index in 0..from.batch {
                let image = boxes.images[index] as usize;
                let (ys, xs) = boxes.grid(index, to, from);
                for (row, y) in ys.iter().enumerate() {
                    for (column, x) in xs.iter().enumerate() {
                        let (Some(y), Some(x)) = (y, x) else { continue };
                        let grad = &grads[from.offset(index, row, column)..][..from.channels];
                        let mut add = |y: usize, x: usize, weight: f32| {
                            let place = &mut out[to.offset(image, y, x)..];
                            for (out, grad) in place.iter_mut().zip(grad) {
                                *out += T::from_f32(grad * weight);
                            }
                        };
                        if self.nearest {
                            add(y.nearest, x.nearest, 1.0);
                            continue;
                        }
                        add(y.lower, x.lower, (1.0 - y.part) * (1.0 - x.part));
                        add(y.lower, x.upper, (1.0 - y.part) * x.part);
                        add(y.upper, x.lower, y.part * (1.0 - x.part));
                        add(y.upper, x.upper, y.part * x.part);
                    }
                }
            }
        })
    }
}

#[derive(Debug)]
struct GradBoxes;

impl Kernel for GradBoxes {
    fn new(_: &Attrs<'_>) -> Result<GradBoxes> {
        Ok(GradBoxes)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let grads = ctx.input(0)?;
        let from = four(grads, "grads")?;
        if from.height == 0 || from.width == 0 {
            return Err(invalid_argument!("grads dimensions must be positive"));
        }
        let image = ctx.input(1)?;
        let to = four(image, "input")?;
        if to.height == 0 || to.width == 0 {
            return Err(invalid_argument!("image dimensions must be positive"));
        }
        if to.channels != from.channels {
            return Err(invalid_argument!("image, grads depth differ"));
        }
        let boxes = Boxes::new(ctx.input(2)?, ctx.input(3)?, "")?;
        if boxes.corners.len() != from.batch {
            return Err(invalid_argument!("boxes and grads have incompatible shape"));
        }
        boxes.check_images(to.batch)?;
        let (values, pixels) = (grads.values::<f32>()?, floats(image)?);
        let output = Tensor::build(Shape::matrix(from.batch, 4), |out: &mut [f32]| {
            for (index, out) in out.chunks_exact_mut(4).enumerate() {
                let grads = &values[index * from.image_len()..(index + 1) * from.image_len()];
                out.copy_from_slice(&box_gradient(&boxes, index, (to, &pixels), (from, grads)));
            }
        })?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// How one corner's coordinate and the opposite one move a pixel of the crop.
fn shares(pixel: usize, image: usize, crop: usize) -> [f32; 2] {
    let last = (image - 1) as f32;
    if crop > 1 {
        let moved = pixel as f32 * (last / (crop - 1) as f32);
        [last - moved, moved]
    } else {
        [0.5 * last; 2]
    }
}

fn box_gradient(
    boxes: &Boxes<'_>,
    index: usize,
    (to, pixels): (Images, &[f32]),
    (from, grads): (Images, &[f32]),
) -> [f32; 4] {
    let image = boxes.images[index] as usize;
    let (ys, xs) = boxes.grid(index, to, from);
    let mut sums = [0.0; 4];
    for (row, y) in ys.iter().enumerate() {
        for (column, x) in xs.iter().enumerate() {
            let (Some(y), Some(x)) = (y, x) else { continue };
            let pixel = |y, x| &pixels[to.offset(image, y, x)..][..to.channels];
            let (tl, tr) = (pixel(y.lower, x.lower), pixel(y.lower, x.upper));
            let (bl, br) = (pixel(y.upper, x.lower), pixel(y.upper, x.upper));
            let ([y1, y2], [x1, x2]) =
                (shares(row, to.height, from.height), shares(column, to.width, from.width));
            for (c, &grad) in
                grads[from.offset(0, row, column)..][..from.channels].iter().enumerate()
            {
                let down = (1.0 - x.part) * (bl[c] - tl[c]) + x.part * (br[c] - tr[c]);
                let right = (1.0 - y.part) * (tr[c] - tl[c]) + y.part * (br[c] - bl[c]);
                let (down, right) = (down * grad, right * grad);
                sums[0] += down * y1;
                sums[2] += down * y2;
                sums[1] += right * x1;
                sums[3] += right * x2;
            }
        }
    }
    sums
}

/// Of the images, and of the boxes if the interpolation between pixels is smooth.
fn crop_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (image, boxes, numbers, grad) = (g.input(0), g.input(1), g.input(2), g.grad(0)?);
    let node = NewNode::new("CropAndResizeGradImage").input(grad).input(boxes).input(numbers);
    let node = node.input(g.shape_tensor(image)?).attr("T", g.dtype(image));
    let of_image = g.out(g.with_attrs_of(node)?)?;
    // Only linear interpolation has a gradient with respect to where the boxes are.
    let is_linear = &g.attrs().string("method")? == "bilinear";
    let of_boxes = if is_linear {
        let inputs = [grad, image, boxes, numbers];
        Some(g.call_with_attrs("CropAndResizeGradBoxes", inputs)?.into())
    } else {
        None
    };
    Ok(vec![Some(of_image.into()), of_boxes, None, None])
}
