//! `NonMaxSuppression` in its five versions, and `NonMaxSuppressionWithOverlaps`.

use half::f16;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, invalid_argument, resource_exhausted,
};

use super::pixels::floats;
use super::suppression::{Rule, intersection_over_union, suppress};

const T: &str = "T: {half, float} = DT_FLOAT";
const T_THRESHOLD: &str = "T_threshold: {half, float} = DT_FLOAT";
const PAD: &str = "pad_to_max_output_size: bool = false";

/// More outputs are never meant; one number must not fill the memory.
const MOST_PADDED: usize = 1 << 26;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "NonMaxSuppression",
        inputs: &["boxes: float", "scores: float", "max_output_size: int32"],
        outputs: &["selected_indices: int32"],
        attrs: &["iou_threshold: float = 0.5"],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonMaxSuppressionV2",
        inputs: &["boxes: T", "scores: T", "max_output_size: int32", "iou_threshold: T_threshold"],
        outputs: &["selected_indices: int32"],
        attrs: &[T, T_THRESHOLD],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonMaxSuppressionV3",
        inputs: &[
            "boxes: T",
            "scores: T",
            "max_output_size: int32",
            "iou_threshold: T_threshold",
            "score_threshold: T_threshold",
        ],
        outputs: &["selected_indices: int32"],
        attrs: &[T, T_THRESHOLD],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonMaxSuppressionV4",
        inputs: &[
            "boxes: T",
            "scores: T",
            "max_output_size: int32",
            "iou_threshold: T_threshold",
            "score_threshold: T_threshold",
        ],
        outputs: &["selected_indices: int32", "valid_outputs: int32"],
        attrs: &[T, T_THRESHOLD, PAD],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonMaxSuppressionV5",
        inputs: &[
            "boxes: T",
            "scores: T",
            "max_output_size: int32",
            "iou_threshold: T",
            "score_threshold: T",
            "soft_nms_sigma: T",
        ],
        outputs: &["selected_indices: int32", "selected_scores: T", "valid_outputs: int32"],
        attrs: &[T, PAD],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
    Op {
        name: "NonMaxSuppressionWithOverlaps",
        inputs: &[
            "overlaps: float",
            "scores: float",
            "max_output_size: int32",
            "overlap_threshold: float",
            "score_threshold: float",
        ],
        outputs: &["selected_indices: int32"],
        kernels: &[cpu::<Suppression>()],
        ..Op::DEFAULT
    },
];

/// All versions: later ones have more inputs and outputs.
#[derive(Debug)]
struct Suppression {
    /// The threshold of the first version; others have it as an input.
    overlap: Option<f32>,
    has_overlaps: bool,
    is_third: bool,
    pads: bool,
}

impl Kernel for Suppression {
    fn new(attrs: &Attrs<'_>) -> Result<Suppression> {
        let overlap = match attrs.op() {
            "NonMaxSuppression" => Some(attrs.float("iou_threshold")?),
            _ => None,
        };
        if let Some(threshold) = overlap {
            check_threshold(threshold)?;
        }
        Ok(Suppression {
            overlap,
            has_overlaps: attrs.op() == "NonMaxSuppressionWithOverlaps",
            is_third: attrs.op() == "NonMaxSuppressionV3",
            pads: attrs.get("pad_to_max_output_size").is_some()
                && attrs.bool("pad_to_max_output_size")?,
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let rule = self.rule(ctx)?;
        let (boxes, scores) = (ctx.input(0)?, ctx.input(1)?);
        let dtype = boxes.dtype();
        let count = self.check_boxes(boxes)?;
        if scores.rank() != 1 {
            return Err(invalid_argument!(
                "scores must be 1-D{} (Shape must be rank 1 but is rank {})",
                scores.shape(),
                scores.rank()
            ));
        }
        if scores.num_elements() != count {
            return Err(invalid_argument!(
                "scores has incompatible shape (Dimensions must be equal, but are {count} and {})",
                scores.num_elements()
            ));
        }
        let values = floats(boxes)?;
        let scores = floats(scores)?.into_owned();
        let mut kept = if self.has_overlaps {
            suppress(rule, scores, |i, j| values[i * count + j])
        } else {
            let corners = |i: usize| &values[i * 4..i * 4 + 4];
            suppress(rule, scores, |i, j| intersection_over_union(corners(i), corners(j)))
        };
        let valid = kept.len();
        if self.pads {
            if rule.limit > MOST_PADDED {
                return Err(resource_exhausted!(
                    "OOM when allocating tensor with shape[{}] and type int32",
                    rule.limit
                ));
            }
            kept.resize(rule.limit, (0, 0.0));
        }
        let indices: Vec<i32> = kept.iter().map(|&(index, _)| index as i32).collect();
        let mut outputs = vec![Tensor::vector(&indices)?];
        if ctx.num_outputs() == 3 {
            outputs.push(score_tensor(dtype, &kept)?);
        }
        if ctx.num_outputs() >= 2 {
            outputs.push(Tensor::scalar(valid as i32));
        }
        for (index, output) in outputs.into_iter().enumerate() {
            ctx.set_output(index, output);
        }
        Ok(())
    }
}

impl Suppression {
    fn rule(&self, ctx: &KernelContext<'_>) -> Result<Rule> {
        let limit = ctx.input(2)?;
        if !limit.shape().is_scalar() {
            return Err(self.not_a_scalar(limit, "max_output_size"));
        }
        let limit = usize::try_from(limit.scalar_value::<i32>()?)
            .map_err(|_| invalid_argument!("output size must be non-negative"))?;
        let number = |index: usize, name: &str| -> Result<f32> {
            let tensor = ctx.input(index)?;
            if !tensor.shape().is_scalar() {
                return Err(self.not_a_scalar(tensor, name));
            }
            Ok(floats(tensor)?[0])
        };
        let overlap = match self.overlap {
            Some(overlap) => overlap,
            None if self.has_overlaps => number(3, "overlap_threshold")?,
            None => number(3, "iou_threshold")?,
        };
        if !self.has_overlaps {
            check_threshold(overlap)?;
        }
        let inputs = ctx.num_inputs();
        let score = if inputs > 4 { number(4, "score_threshold")? } else { f32::MIN };
        let sigma = if inputs > 5 { number(5, "soft_nms_sigma")? } else { 0.0 };
        if sigma < 0.0 {
            return Err(invalid_argument!("soft_nms_sigma_val must be >= 0"));
        }
        Ok(Rule { limit, overlap, score, sigma })
    }

    /// A parameter that is no scalar. Only the third version tells its rank as well.
    fn not_a_scalar(&self, tensor: &Tensor, name: &str) -> Error {
        let shape = tensor.shape();
        let more = if self.is_third && matches!(name, "max_output_size" | "iou_threshold") {
            format!(" (Shape must be rank 0 but is rank {})", tensor.rank())
        } else {
            String::new()
        };
        invalid_argument!("{name} must be 0-D, got shape {shape}{more}")
    }

    /// Checks the first input and returns the number of boxes.
    fn check_boxes(&self, boxes: &Tensor) -> Result<usize> {
        let &[count, width] = boxes.dims() else {
            return Err(if self.has_overlaps {
                invalid_argument!("overlaps must be 2-D{}", boxes.shape())
            } else {
                invalid_argument!(
                    "boxes must be 2-D{} (Shape must be rank 2 but is rank {})",
                    boxes.shape(),
                    boxes.rank()
                )
            });
        };
        if self.has_overlaps && width != count {
            return Err(invalid_argument!("overlaps must be square{}", boxes.shape()));
        }
        if !self.has_overlaps && width != 4 {
            return Err(invalid_argument!(
                "boxes must have 4 columns (Dimension must be 4 but is {width})"
            ));
        }
        Ok(count)
    }
}

fn check_threshold(threshold: f32) -> Result<()> {
    if !(0.0..=1.0).contains(&threshold) {
        return Err(invalid_argument!("iou_threshold must be in [0, 1]"));
    }
    Ok(())
}

fn score_tensor(dtype: DType, kept: &[(usize, f32)]) -> Result<Tensor> {
    let shape = Shape::vector(kept.len());
    if dtype == DType::Half {
        let scores: Vec<f16> = kept.iter().map(|&(_, score)| f16::from_f32(score)).collect();
        Tensor::from_slice(shape, &scores)
    } else {
        let scores: Vec<f32> = kept.iter().map(|&(_, score)| score).collect();
        Tensor::from_slice(shape, &scores)
    }
}
