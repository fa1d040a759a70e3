//! `CombinedNonMaxSuppression`: suppression in every class of every image, and the best of all.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument, resource_exhausted};

use super::suppression::{Rule, intersection_over_union, suppress};

pub(super) const OPS: &[Op] = &[Op {
    name: "CombinedNonMaxSuppression",
    inputs: &[
        "boxes: float",
        "scores: float",
        "max_output_size_per_class: int32",
        "max_total_size: int32",
        "iou_threshold: float",
        "score_threshold: float",
    ],
    outputs: &[
        "nmsed_boxes: float",
        "nmsed_scores: float",
        "nmsed_classes: float",
        "valid_detections: int32",
    ],
    attrs: &["pad_per_class: bool = false", "clip_boxes: bool = true"],
    kernels: &[cpu::<Combined>()],
    ..Op::DEFAULT
}];

/// More are never meant; one number must not fill the memory.
const MOST_DETECTIONS: usize = 1 << 26;

#[derive(Debug)]
struct Combined {
    pad_per_class: bool,
    clip_boxes: bool,
}

/// The sizes of the inputs.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: usize,
    boxes: usize,
    /// Boxes that differ by class, or one for all.
    variants: usize,
    classes: usize,
}

/// One box that was kept.
#[derive(Clone, Copy, Debug)]
struct Detection {
    corners: [f32; 4],
    score: f32,
    class: usize,
}

impl Kernel for Combined {
    fn new(attrs: &Attrs<'_>) -> Result<Combined> {
        Ok(Combined {
            pad_per_class: attrs.bool("pad_per_class")?,
            clip_boxes: attrs.bool("clip_boxes")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
        if boxes.dims().first() != scores.dims().first() {
            return Err(invalid_argument!("boxes and scores must have same batch size"));
        }
        let per_class = scalar::<i32>(ctx, 2, "max_size_per_class")?;
        if per_class <= 0 {
            return Err(invalid_argument!("max_size_per_class must be positive"));
        }
        let total = scalar::<i32>(ctx, 3, "max_total_size")?;
        if total <= 0 {
            return Err(invalid_argument!("max_total_size must be > 0"));
        }
        let overlap = scalar::<f32>(ctx, 4, "iou_threshold")?;
        let score = scalar::<f32>(ctx, 5, "score_threshold")?;
        if !(0.0..=1.0).contains(&overlap) {
            return Err(invalid_argument!("iou_threshold must be in [0, 1]"));
        }
        let sizes = sizes(boxes, scores)?;
        let (per_class, total) = (per_class as usize, total as usize);
        let rule = Rule { limit: per_class.min(sizes.boxes), overlap, score, sigma: 0.0 };
        let room = if self.pad_per_class {
            total.min(per_class.saturating_mul(sizes.classes))
        } else {
            total
        };
        let (box_values, score_values) = (boxes.values::<f32>()?, scores.values::<f32>()?);
        if sizes.batch.saturating_mul(room) > MOST_DETECTIONS {
            return Err(resource_exhausted!(
                "OOM when allocating tensor with shape[{},{room},4] and type float",
                sizes.batch
            ));
        }
        let shape = Shape::new(&[sizes.batch, room])?;
        let box_shape = Shape::new(&[sizes.batch, room, 4])?;
        let mut corners = Tensor::zeros(boxes.dtype(), box_shape)?;
        let mut kept_scores = Tensor::zeros(boxes.dtype(), shape.clone())?;
        let mut classes = Tensor::zeros(boxes.dtype(), shape)?;
        let mut valid = vec![0i32; sizes.batch];
        for (image, valid) in valid.iter_mut().enumerate() {
            let mut found = detect(sizes, rule, image, box_values, score_values);
            found.truncate(room);
            *valid = found.len() as i32;
            let first = image * room;
            for (index, detection) in found.into_iter().enumerate() {
                let at = first + index;
                let place = &mut corners.values_mut::<f32>()?[at * 4..at * 4 + 4];
                for (out, value) in place.iter_mut().zip(detection.corners) {
                    *out = if self.clip_boxes { value.clamp(0.0, 1.0) } else { value };
                }
                kept_scores.values_mut::<f32>()?[at] = detection.score;
                classes.values_mut::<f32>()?[at] = detection.class as f32;
            }
        }
        ctx.set_output(0, corners);
        ctx.set_output(1, kept_scores);
        ctx.set_output(2, classes);
        ctx.set_output(3, Tensor::vector(&valid)?);
        Ok(())
    }
}

fn scalar<T: tensorfleet_tensor::Element>(
    ctx: &KernelContext<'_>,
    index: usize,
    name: &str,
) -> Result<T> {
    let tensor = ctx.input(index)?;
    if !tensor.shape().is_scalar() {
        return Err(invalid_argument!("{name} must be 0-D, got shape {}", tensor.shape()));
    }
    tensor.scalar_value()
}

fn sizes(boxes: &Tensor, scores: &Tensor) -> Result<Sizes> {
    let &[batch, count, variants, four] = boxes.dims() else {
        return Err(invalid_argument!("boxes must be 4-D{}", boxes.shape()));
    };
    let &[_, score_count, classes] = scores.dims() else {
        return Err(invalid_argument!("scores must be 3-D{}", scores.shape()));
    };
    if score_count != count {
        return Err(invalid_argument!("scores has incompatible shape"));
    }
    if variants != 1 && variants != classes {
        return Err(invalid_argument!("third dimension of boxes must be either 1 or num classes"));
    }
    if four != 4 {
        return Err(invalid_argument!("boxes must have 4 columns"));
    }
    Ok(Sizes { batch, boxes: count, variants, classes })
}

/// The boxes to keep in an image, best first.
fn detect(sizes: Sizes, rule: Rule, image: usize, boxes: &[f32], scores: &[f32]) -> Vec<Detection> {
    let mut found = Vec::new();
    for class in 0..sizes.classes {
        let variant = if sizes.variants == 1 { 0 } else { class };
        let corners = |index: usize| {
            let at = ((image * sizes.boxes + index) * sizes.variants + variant) * 4;
            &boxes[at..at + 4]
        };
        let scores = (0..sizes.boxes)
            .map(|index| scores[(image * sizes.boxes + index) * sizes.classes + class]);
        let kept = suppress(rule, scores, |i, j| intersection_over_union(corners(i), corners(j)));
        for (index, score) in kept {
            let c = corners(index);
            found.push(Detection { corners: [c[0], c[1], c[2], c[3]], score, class });
        }
    }
    found.sort_by(|a, b| b.score.total_cmp(&a.score));
    found
}
