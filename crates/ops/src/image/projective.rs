//! `ImageProjectiveTransformV2` and `V3`: images seen through a projective map.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::parallel::rows_mut;
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::pixels::Images;
use crate::math::cast;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ImageProjectiveTransformV2",
        inputs: &["images: dtype", "transforms: float", "output_shape: int32"],
        outputs: &["transformed_images: dtype"],
        attrs: &[
            "dtype: {uint8, int32, int64, half, bfloat16, float, double}",
            "interpolation: string",
            "fill_mode: string = 'CONSTANT'",
        ],
        kernels: &[cpu::<Projective>()],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "ImageProjectiveTransformV3",
        inputs: &["images: dtype", "transforms: float", "output_shape: int32", "fill_value: float"],
        outputs: &["transformed_images: dtype"],
        attrs: &[
            "dtype: {uint8, int32, int64, half, bfloat16, float, double}",
            "interpolation: string",
            "fill_mode: string = 'CONSTANT'",
        ],
        kernels: &[cpu::<Projective>()],
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

/// What is seen outside of the image.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FillMode {
    Constant,
    Nearest,
    Reflect,
    Wrap,
}

impl FillMode {
    /// Brings a coordinate into the image.
    fn map(self, place: f32, len: usize) -> f32 {
        let last = len as f32 - 1.0;
        let mapped = match self {
            FillMode::Constant => return place,
            FillMode::Nearest => place,
            _ if len <= 1 && (place < 0.0 || place > last) => 0.0,
            FillMode::Reflect => reflect(place, len as f32),
            FillMode::Wrap if place < 0.0 => place + len as f32 * ((-place / last).trunc() + 1.0),
            FillMode::Wrap if place > last => place - len as f32 * (place / last).trunc(),
            FillMode::Wrap => place,
        };
        if mapped < 0.0 {
            0.0
        } else if mapped > last {
            last
        } else {
            mapped
        }
    }
}

/// `abcd` continued as `dcba|abcd|dcba`.
fn reflect(place: f32, len: f32) -> f32 {
    let period = 2.0 * len;
    if place < 0.0 {
        let within = period * (-place / period).trunc() + place;
        if within < -len { within + period } else { -within - 1.0 }
    } else if place > len - 1.0 {
        let within = place - period * (place / period).trunc();
        if within >= len { period - within - 1.0 } else { within }
    } else {
        place
    }
}

#[derive(Debug)]
struct Projective {
    bilinear: bool,
    fill_mode: FillMode,
}

impl Kernel for Projective {
    fn new(attrs: &Attrs<'_>) -> Result<Projective> {
        Ok(Projective {
            bilinear: attrs.string("interpolation")? == "BILINEAR",
            fill_mode: match attrs.string("fill_mode")?.as_ref() {
                "CONSTANT" => FillMode::Constant,
                "NEAREST" => FillMode::Nearest,
                "WRAP" => FillMode::Wrap,
                _ => FillMode::Reflect,
            },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let images = ctx.input(0)?;
        let &[batch, height, width, channels] = images.dims() else {
            return Err(invalid_argument!("Input images must have rank 4"));
        };
        let from = Images { batch, height, width, channels };
        let transforms = ctx.input(1)?;
        match transforms.dims() {
            [count, 8] if *count == batch || *count == 1 => {}
            _ => {
                return Err(invalid_argument!("Input transform should be num_images x 8 or 1 x 8"));
            }
        }
        let size = ctx.input(2)?;
        if size.rank() != 1 {
            return Err(invalid_argument!("output shape must be 1-dimensional{}", size.shape()));
        }
        let &[out_height, out_width] = size.values::<i32>()? else {
            return Err(invalid_argument!("output shape must have two elements{}", size.shape()));
        };
        let fill_value = if ctx.num_inputs() > 3 {
            let value = ctx.input(3)?;
            if !value.shape().is_scalar() {
                return Err(invalid_argument!("fill_value must be a scalar{}", value.shape()));
            }
            value.scalar_value::<f32>()?
        } else {
            0.0
        };
        if out_height <= 0 || out_width <= 0 {
            return Err(invalid_argument!("output dimensions must be positive"));
        }
        let to = Images { height: out_height as usize, width: out_width as usize, ..from };
        let view = View { from, to, transforms: transforms.values::<f32>()? };
        let fill = cast(par, &Tensor::scalar(fill_value), images.dtype(), false)?;
        let output = if self.bilinear {
            let single = |tensor| cast(par, tensor, DType::Float, false);
            let fill = single(&fill)?.scalar_value()?;
            cast(par, &self.bilinear(par, &single(images)?, view, fill)?, images.dtype(), false)?
        } else {
            dispatch!(
                images.dtype(),
                [f32, f64, f16, bf16, u8, i32, i64],
                T => self.nearest::<T>(par, images, view, fill.scalar_value()?)?,
                else => return Err(internal!("a transformation of {} images", images.dtype()))
            )
        };
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        let Some(Value::Tensor(images)) = inputs.first() else { return 0 };
        images.num_elements() as u64 * 10
    }
}

/// What a run of the op needs to know beside the pixels.
#[derive(Clone, Copy, Debug)]
struct View<'a> {
    from: Images,
    to: Images,
    transforms: &'a [f32],
}

impl View<'_> {
    /// The place in the original of a pixel of the result; nothing at infinity.
    fn place(&self, image: usize, y: usize, x: usize) -> Option<(f32, f32)> {
        let t = if self.transforms.len() == 8 {
            self.transforms
        } else {
            &self.transforms[image * 8..image * 8 + 8]
        };
        let (y, x) = (y as f32, x as f32);
        let projection = t[6] * x + t[7] * y + 1.0;
        (projection != 0.0).then(|| {
            let to_x = (t[0] * x + t[1] * y + t[2]) / projection;
            let to_y = (t[3] * x + t[4] * y + t[5]) / projection;
            (to_y, to_x)
        })
    }

    /// Where the pixel at whole coordinates begins, if it is in the image.
    fn offset(&self, image: usize, y: f32, x: f32) -> Option<usize> {
        let inside =
            y >= 0.0 && y < self.from.height as f32 && x >= 0.0 && x < self.from.width as f32;
        inside.then(|| self.from.offset(image, y as usize, x as usize))
    }
}

impl Projective {
    /// Copies the pixels that are nearest.
    fn nearest<T: Element>(
        &self,
        par: Parallel,
        images: &Tensor,
        view: View<'_>,
        fill: T,
    ) -> Result<Tensor> {
        let values = images.values::<T>()?;
        self.transform(par, view, fill, |image, y, x, out| {
            match view.offset(image, y.round(), x.round()) {
                Some(at) => out.copy_from_slice(&values[at..at + out.len()]),
                None => out.fill(fill),
            }
        })
    }

    /// Computes weighted means, in single precision.
    fn bilinear(
        &self,
        par: Parallel,
        images: &Tensor,
        view: View<'_>,
        fill: f32,
    ) -> Result<Tensor> {
        let pixels = images.values::<f32>()?;
        self.transform(par, view, fill, |image, y, x, out| {
            for (channel, out) in out.iter_mut().enumerate() {
                let read = |y, x| view.offset(image, y, x).map_or(fill, |at| pixels[at + channel]);
                *out = mean_of_four(y, x, read);
            }
        })
    }

    /// Has `pixel` make each pixel of the result from an image and a place in it.
    fn transform<T: Element>(
        &self,
        par: Parallel,
        view: View<'_>,
        fill: T,
        pixel: impl Fn(usize, f32, f32, &mut [T]) + Sync,
    ) -> Result<Tensor> {
        let (from, to) = (view.from, view.to);
        Tensor::build(to.shape()?, |out: &mut [T]| {
            let rows = rows_mut(out, to.batch * to.height);
            par.for_each(rows, 1 + 1024 / to.row_len().max(1), |indices, rows| {
                let rows = rows.data.chunks_exact_mut(to.row_len().max(1));
                for (index, row) in indices.zip(rows) {
                    let (image, y) = (index / to.height, index % to.height);
                    for (x, out) in row.chunks_exact_mut(to.channels).enumerate() {
                        let Some((y, x)) = view.place(image, y, x) else {
                            out.fill(fill);
                            continue;
                        };
                        let y = self.fill_mode.map(y, from.height);
                        pixel(image, y, self.fill_mode.map(x, from.width), out);
                    }
                }
            });
        })
    }
}

fn mean_of_four(y: f32, x: f32, read: impl Fn(f32, f32) -> f32) -> f32 {
    let (top, left) = (y.floor(), x.floor());
    let (bottom, right) = (top + 1.0, left + 1.0);
    let upper = (right - x) * read(top, left) + (x - left) * read(top, right);
    let lower = (right - x) * read(bottom, left) + (x - left) * read(bottom, right);
    (bottom - y) * upper + (y - top) * lower
}

/// The gradient image seen through the inverse map, as TensorFlow takes it.
fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (images, transforms, zero) = (g.input(0), g.input(1), g.scalar(0i32)?);
    let one = g.call("Slice", [transforms, g.vector(&[0i32, 0])?, g.vector(&[-1i32, 1])?])?;
    let nine = NewNode::new("ConcatV2").list(&[transforms, g.ones_like(one)?]);
    let nine = g.out(nine.input(g.scalar(1i32)?))?;
    let matrices = g.reshape(nine, g.vector(&[-1i32, 3, 3])?)?;
    let inverse = g.call("MatrixInverse", [matrices])?;
    let inverse = g.reshape(inverse, g.vector(&[-1i32, 9])?)?;
    let part = |begin: i32, size: i32| {
        g.call("Slice", [inverse, g.vector(&[0, begin])?, g.vector(&[-1, size])?])
    };
    let transforms = g.div(part(0, 8)?, part(8, 1)?)?;
    let size = g.call("GatherV2", [g.shape_tensor(images)?, g.vector(&[1i32, 2])?, zero])?;
    let mut node = NewNode::new(&g.node().op).input(g.grad(0)?).input(transforms).input(size);
    if g.num_inputs() > 3 {
        node = node.input(g.scalar(0f32)?);
    }
    let gradient = g.out(g.with_attrs_of(node)?)?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(gradient.into());
    Ok(gradients)
}
