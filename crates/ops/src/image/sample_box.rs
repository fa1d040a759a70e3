//! `SampleDistortedBoundingBox`: a random crop that covers enough of an object.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::random::{GuardedPhilox, Philox, Words};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, internal, invalid_argument};

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SampleDistortedBoundingBox",
        inputs: &["image_size: T", "bounding_boxes: float"],
        outputs: &["begin: T", "size: T", "bboxes: float"],
        attrs: &[
            "T: {uint8, int8, int16, int32, int64}",
            "seed: int = 0",
            "seed2: int = 0",
            "min_object_covered: float = 0.1",
            "aspect_ratio_range: list(float) = [0.75, 1.33]",
            "area_range: list(float) = [0.05, 1.0]",
            "max_attempts: int = 100",
            "use_image_if_no_bounding_boxes: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<SampleBox>()],
        ..Op::DEFAULT
    },
    Op {
        name: "SampleDistortedBoundingBoxV2",
        inputs: &["image_size: T", "bounding_boxes: float", "min_object_covered: float"],
        outputs: &["begin: T", "size: T", "bboxes: float"],
        attrs: &[
            "T: {uint8, int8, int16, int32, int64}",
            "seed: int = 0",
            "seed2: int = 0",
            "aspect_ratio_range: list(float) = [0.75, 1.33]",
            "area_range: list(float) = [0.05, 1.0]",
            "max_attempts: int = 100",
            "use_image_if_no_bounding_boxes: bool = false",
        ],
        stateful: true,
        kernels: &[cpu::<SampleBox>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessSampleDistortedBoundingBox",
        inputs: &[
            "image_size: T",
            "bounding_boxes: float",
            "min_object_covered: float",
            "seed: Tseed",
        ],
        outputs: &["begin: T", "size: T", "bboxes: float"],
        attrs: &[
            "T: {uint8, int8, int16, int32, int64}",
            "Tseed: {int32, int64}",
            "aspect_ratio_range: list(float) = [0.75, 1.33]",
            "area_range: list(float) = [0.05, 1.0]",
            "max_attempts: int = 100",
            "use_image_if_no_bounding_boxes: bool = false",
        ],
        kernels: &[cpu::<SampleBox>()],
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct SampleBox {
    /// None for the stateless op.
    generator: Option<GuardedPhilox>,
    min_object_covered: Option<f32>,
    aspect_ratios: [f32; 2],
    areas: [f32; 2],
    attempts: u64,
    uses_image: bool,
}

/// A rectangle of whole pixels.
#[derive(Clone, Copy, Debug)]
struct Rectangle {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Rectangle {
    fn area(self) -> f32 {
        ((self.right - self.left) as f32) * ((self.bottom - self.top) as f32)
    }

    fn intersection(self, other: Rectangle) -> Option<Rectangle> {
        let both = Rectangle {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        };
        (both.left < both.right && both.top < both.bottom).then_some(both)
    }
}

fn range(attrs: &Attrs<'_>, name: &str, title: &str) -> Result<[f32; 2]> {
    let &[low, high] = attrs.floats(name)? else {
        return Err(invalid_argument!("{title} field must specify 2 dimensions"));
    };
    if low <= 0.0 || high <= 0.0 {
        return Err(invalid_argument!("{title} must be non-negative: [{low}, {high}]"));
    }
    Ok([low, high])
}

impl Kernel for SampleBox {
    fn new(attrs: &Attrs<'_>) -> Result<SampleBox> {
        let generator = match attrs.op() {
            "StatelessSampleDistortedBoundingBox" => None,
            _ => Some(GuardedPhilox::new(attrs.int("seed")?, attrs.int("seed2")?)),
        };
        let min_object_covered = match attrs.op() {
            "SampleDistortedBoundingBox" => Some(attrs.float("min_object_covered")?),
            _ => None,
        };
        if let Some(covered) = min_object_covered {
            check_covered(covered)?;
        }
        let aspect_ratios = range(attrs, "aspect_ratio_range", "Aspect ratio range")?;
        let areas = range(attrs, "area_range", "Area range")?;
        if areas[0] > 1.0 || areas[1] > 1.0 {
            let [low, high] = areas;
            return Err(invalid_argument!(
                "Area range must be less then or equal to 1.0: [{low}, {high}]"
            ));
        }
        let attempts = attrs.int("max_attempts")?;
        if attempts <= 0 {
            return Err(invalid_argument!("Max attempts must be non-negative: {attempts}"));
        }
        Ok(SampleBox {
            generator,
            min_object_covered,
            aspect_ratios,
            areas,
            attempts: attempts as u64,
            uses_image: attrs.bool("use_image_if_no_bounding_boxes")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let image_size = ctx.input(0)?;
        let dtype = image_size.dtype();
        let (height, width) = image_dimensions(image_size)?;
        let covered = match self.min_object_covered {
            Some(covered) => covered,
            None => {
                let covered = ctx.input(2)?;
                if !covered.shape().is_scalar() {
                    return Err(invalid_argument!(
                        "min_object_covered must be 0-D, got shape {}",
                        covered.shape()
                    ));
                }
                let covered = covered.scalar_value()?;
                check_covered(covered)?;
                covered
            }
        };
        let objects = self.objects(ctx.input(1)?, height, width)?;
        let philox = match &self.generator {
            Some(generator) => generator.reserve_words(self.attempts.saturating_mul(4)),
            None => stateless(ctx.input(3)?)?,
        };
        let mut words = philox.words();
        let whole = Rectangle { left: 0, top: 0, right: width, bottom: height };
        let crop = self.sample(&mut words, (height, width), covered, &objects).unwrap_or(whole);
        let size = [crop.bottom - crop.top, crop.right - crop.left, -1];
        ctx.set_output(0, integers(dtype, [crop.top, crop.left, 0])?);
        ctx.set_output(1, integers(dtype, size)?);
        let (height, width) = (height as f32, width as f32);
        let corners = [
            crop.top as f32 / height,
            crop.left as f32 / width,
            crop.bottom as f32 / height,
            crop.right as f32 / width,
        ];
        ctx.set_output(2, Tensor::from_slice(Shape::from([1, 1, 4]), &corners)?);
        Ok(())
    }
}

fn check_covered(covered: f32) -> Result<()> {
    if covered < 0.0 {
        return Err(invalid_argument!("Min object covered must be non-negative: {covered}"));
    }
    Ok(())
}

fn stateless(seed: &Tensor) -> Result<Philox> {
    if seed.dims() != [2] {
        return Err(invalid_argument!("seed must have shape [2], not {}", seed.shape()));
    }
    let seed = seed.to_i64_vec()?;
    Ok(Philox::from_stateless_seed([seed[0], seed[1]]))
}

fn image_dimensions(size: &Tensor) -> Result<(i32, i32)> {
    if size.rank() != 1 {
        return Err(invalid_argument!("image_size must be 1-dimensional{}", size.shape()));
    }
    if size.dims() != [3] {
        return Err(invalid_argument!("image_size must contain 3 elements{}", size.shape()));
    }
    let values: Vec<i64> = match size.dtype() {
        DType::UInt8 => size.values::<u8>()?.iter().map(|&v| v.into()).collect(),
        DType::Int8 => size.values::<i8>()?.iter().map(|&v| v.into()).collect(),
        _ => size.to_i64_vec()?,
    };
    let dimension = |value: i64, name: &str| {
        i32::try_from(value)
            .ok()
            .filter(|&value| (0..i32::MAX).contains(&value))
            .ok_or_else(|| invalid_argument!("image {name} cannot be >= int32 max"))
    };
    Ok((dimension(values[0], "height")?, dimension(values[1], "width")?))
}

/// Three integers of a type, as far as they fit.
fn integers(dtype: DType, values: [i32; 3]) -> Result<Tensor> {
    match dtype {
        DType::UInt8 => Tensor::vector(&values.map(|v| v as u8)),
        DType::Int8 => Tensor::vector(&values.map(|v| v as i8)),
        DType::Int16 => Tensor::vector(&values.map(|v| v as i16)),
        DType::Int32 => Tensor::vector(&values),
        DType::Int64 => Tensor::vector(&values.map(i64::from)),
        other => Err(internal!("an image size of {other}")),
    }
}

impl SampleBox {
    /// The boxes in pixels.
    fn objects(&self, boxes: &Tensor, height: i32, width: i32) -> Result<Vec<Rectangle>> {
        if boxes.rank() != 3 {
            return Err(invalid_argument!(
                "input boxes must be 3-dimensional [batch, num_boxes, coords]: {}",
                boxes.shape()
            ));
        }
        if boxes.dims()[2] != 4 {
            return Err(invalid_argument!(
                "bounding boxes must have shape [4] or [*, 4], got {}",
                boxes.shape()
            ));
        }
        let values = boxes.values::<f32>()?;
        if values.is_empty() {
            if !self.uses_image {
                return Err(invalid_argument!(
                    "No bounding boxes provided as input. One must enable \
                     use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
                ));
            }
            return Ok(vec![Rectangle { left: 0, top: 0, right: width, bottom: height }]);
        }
        if let Some(bad) = values.iter().find(|value| !(0.0..=1.0).contains(*value)) {
            return Err(invalid_argument!(
                "All bounding box coordinates must be in [0.0, 1.0]: {bad}"
            ));
        }
        let (height, width) = (height as f32, width as f32);
        Ok(values
            .chunks_exact(4)
            .map(|c| Rectangle {
                left: (c[1] * width) as i32,
                top: (c[0] * height) as i32,
                right: (c[3] * width) as i32,
                bottom: (c[2] * height) as i32,
            })
            .collect())
    }

    fn sample(
        &self,
        words: &mut Words,
        (height, width): (i32, i32),
        covered: f32,
        objects: &[Rectangle],
    ) -> Option<Rectangle> {
        (0..self.attempts).find_map(|_| {
            let [low, high] = self.aspect_ratios;
            let ratio = words.next_f32() * (high - low) + low;
            let crop = random_crop(words, (height, width), self.areas, ratio)?;
            covers(crop, covered, objects).then_some(crop)
        })
    }
}

/// Whether a crop shows enough of any object that is not tiny.
fn covers(crop: Rectangle, covered: f32, objects: &[Rectangle]) -> bool {
    crop.area() >= 1.0
        && objects.iter().filter(|object| object.area() >= 1.0).any(|object| {
            crop.intersection(*object)
                .is_some_and(|shared| shared.area() / object.area() >= covered)
        })
}

fn round(value: f32) -> i32 {
    value.round_ties_even() as i32
}

/// A crop of a given shape, of random size and place; nothing if none fits.
fn random_crop(
    words: &mut Words,
    (image_height, image_width): (i32, i32),
    areas: [f32; 2],
    ratio: f32,
) -> Option<Rectangle> {
    if ratio <= 0.0 || image_height <= 0 || image_width <= 0 || areas[0] > areas[1] {
        return None;
    }
    let [least, most] = areas.map(|area| area * image_width as f32 * image_height as f32);
    let mut height = round((least / ratio).sqrt());
    let mut max_height = round((most / ratio).sqrt());
    if round(max_height as f32 * ratio) > image_width {
        // The greatest height whose width still rounds to that of the image.
        max_height = ((f64::from(image_width) + 0.5 - 1e-7) / f64::from(ratio)) as i32;
        if round(max_height as f32 * ratio) > image_width {
            max_height -= 1;
        }
    }
    max_height = max_height.min(image_height);
    height = height.min(max_height);
    if height < max_height {
        height += words.below((max_height - height + 1) as u32) as i32;
    }
    let mut width = round(height as f32 * ratio);
    let area = |height: i32, width: i32| height as f32 * width as f32;
    // Rounding alone is no reason to fail.
    if area(height, width) < least {
        height += 1;
        width = round(height as f32 * ratio);
    }
    if area(height, width) > most {
        height -= 1;
        width = round(height as f32 * ratio);
    }
    let fits = (least..=most).contains(&area(height, width))
        && (1..=image_width).contains(&width)
        && (1..=image_height).contains(&height);
    if !fits {
        return None;
    }
    let mut place = |crop: i32, image: i32| {
        if crop < image { words.below((image - crop) as u32) as i32 } else { 0 }
    };
    let top = place(height, image_height);
    let left = place(width, image_width);
    Some(Rectangle { left, top, right: left + width, bottom: top + height })
}
