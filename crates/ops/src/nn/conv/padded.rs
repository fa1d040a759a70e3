//! `FusedPadConv2D` and `FusedResizeAndPadConv2D`: convolutions of images that are resized and
//! surrounded by their reflection first.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, Value, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{DType, Result, invalid_argument};

use super::super::FLOATS;
use super::super::window::{Layout, Padding};
use super::{Spec, Steps, check_steps, conv2d};
use crate::array::mirror_pad::{mirror_pad, skipped};
use crate::image::grid::Alignment;
use crate::image::resize_bilinear::resize;

const DIFFERS: &str =
    "Each image is convolved; TensorFlow repeats the result of the first of a batch for all.";

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FusedPadConv2D",
        inputs: &["input: T", "paddings: int32", "filter: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, bfloat16, float, double}",
            "mode: {'REFLECT', 'SYMMETRIC'}",
            "strides: list(int)",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<PaddedConv>().types("T", FLOATS)],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
    Op {
        name: "FusedResizeAndPadConv2D",
        inputs: &["input: T", "size: int32", "paddings: int32", "filter: T"],
        outputs: &["output: T"],
        attrs: &[
            "T: {half, float, double}",
            "resize_align_corners: bool = false",
            "mode: {'REFLECT', 'SYMMETRIC'}",
            "strides: list(int)",
            "padding: {'SAME', 'VALID'}",
        ],
        kernels: &[cpu::<PaddedConv>().types("T", &[DType::Float])],
        differs: DIFFERS,
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct PaddedConv {
    /// How to resize, if at all.
    alignment: Option<Alignment>,
    skipped: usize,
    spec: Spec,
}

impl Kernel for PaddedConv {
    fn new(attrs: &Attrs<'_>) -> Result<PaddedConv> {
        let layout = Layout { spatial: 2, channels_first: false };
        let strides = attrs.ints("strides")?;
        check_steps(layout, strides, Steps::Strides, false)?;
        let alignment = match attrs.get("resize_align_corners") {
            None => None,
            Some(_) => Some(Alignment {
                align_corners: attrs.bool("resize_align_corners")?,
                half_pixel_centers: false,
            }),
        };
        Ok(PaddedConv {
            alignment,
            skipped: skipped(attrs)?,
            spec: Spec {
                layout,
                padding: Padding::new(attrs, layout)?,
                strides: strides[1..3].to_vec(),
                dilations: vec![1, 1],
            },
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let images = match self.alignment {
            Some(alignment) => resize(ctx, alignment)?,
            None => ctx.input(0)?.clone(),
        };
        let (paddings, filter) =
            (ctx.input(ctx.num_inputs() - 2)?, ctx.input(ctx.num_inputs() - 1)?);
        let images = mirror_pad(par, &images, paddings, self.skipped)?;
        let shape = conv2d::check(&self.spec, &images, filter)?;
        if shape.groups != 1 {
            return Err(invalid_argument!(
                "input and filter must have the same depth: {} vs {}",
                shape.in_channels,
                filter.dims()[2]
            ));
        }
        let output = self.spec.convolve(par, &shape, &images, filter)?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        super::cost(inputs.first(), inputs.last())
    }
}
