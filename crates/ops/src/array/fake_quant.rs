//! `FakeQuantWithMinMax*`: numbers rounded as a quantised model would round them, and the gradients
//! that let a model learn with it.

use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, cpu,
};
use tensorfleet_kernels::elementwise;
use tensorfleet_tensor::{Result, Shape, Tensor, invalid_argument};

use super::copy::parallel;

const ARGS: &[&str] =
    &["min: float = -6.0", "max: float = 6.0", "num_bits: int = 8", "narrow_range: bool = false"];
const VARS: &[&str] = &["num_bits: int = 8", "narrow_range: bool = false"];
const VARS_GRADIENTS: &[&str] =
    &["backprops_wrt_input: float", "backprop_wrt_min: float", "backprop_wrt_max: float"];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "FakeQuantWithMinMaxArgs",
        inputs: &["inputs: float"],
        outputs: &["outputs: float"],
        attrs: ARGS,
        kernels: &[cpu::<Args>()],
        gradient: Some(args_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "FakeQuantWithMinMaxArgsGradient",
        inputs: &["gradients: float", "inputs: float"],
        outputs: &["backprops: float"],
        attrs: ARGS,
        kernels: &[cpu::<Args>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FakeQuantWithMinMaxVars",
        inputs: &["inputs: float", "min: float", "max: float"],
        outputs: &["outputs: float"],
        attrs: VARS,
        kernels: &[cpu::<Vars>()],
        gradient: Some(vars_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "FakeQuantWithMinMaxVarsGradient",
        inputs: &["gradients: float", "inputs: float", "min: float", "max: float"],
        outputs: VARS_GRADIENTS,
        attrs: VARS,
        kernels: &[cpu::<VarsGradient>()],
        ..Op::DEFAULT
    },
    Op {
        name: "FakeQuantWithMinMaxVarsPerChannel",
        inputs: &["inputs: float", "min: float", "max: float"],
        outputs: &["outputs: float"],
        attrs: VARS,
        kernels: &[cpu::<Vars>()],
        gradient: Some(vars_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "FakeQuantWithMinMaxVarsPerChannelGradient",
        inputs: &["gradients: float", "inputs: float", "min: float", "max: float"],
        outputs: VARS_GRADIENTS,
        attrs: VARS,
        kernels: &[cpu::<VarsGradient>()],
        ..Op::DEFAULT
    },
];

/// The integers that a quantised number can be.
#[derive(Clone, Copy, Debug)]
struct Levels {
    min: f32,
    max: f32,
}

impl Levels {
    fn new(attrs: &Attrs<'_>) -> Result<Levels> {
        let bits = attrs.int("num_bits")?;
        if !(2..=16).contains(&bits) {
            return Err(invalid_argument!("num_bits must be between 2 and 16, inclusive"));
        }
        let min = if attrs.bool("narrow_range")? { 1.0 } else { 0.0 };
        Ok(Levels { min, max: ((1u32 << bits) - 1) as f32 })
    }
}

/// A range of numbers, moved a little so that zero is one of its levels.
#[derive(Clone, Copy, Debug)]
struct Nudged {
    min: f32,
    max: f32,
    scale: f32,
    /// Levels for each unit, which the rounded scale does not tell exactly.
    inverse: f32,
}

impl Nudged {
    /// The range from `min` to `max`; an empty one at zero leaves nothing to quantise.
    fn new(min: f32, max: f32, levels: Levels) -> Option<Nudged> {
        if min == 0.0 && max == 0.0 {
            return None;
        }
        let (width, steps) = (max - min, levels.max - levels.min);
        let (scale, inverse) = (width / steps, steps / width);
        let zero = levels.min - min / scale;
        let zero = if zero < levels.min {
            levels.min
        } else if zero > levels.max {
            levels.max
        } else {
            zero.round()
        };
        let (min, max) = ((levels.min - zero) * scale, (levels.max - zero) * scale);
        Some(Nudged { min, max, scale, inverse })
    }

    fn quantize(self, x: f32) -> f32 {
        self.level(self.above_min(x) * self.inverse)
    }

    /// The op with one range in tensors divides, which decides otherwise between two levels.
    fn quantize_dividing(self, x: f32) -> f32 {
        self.level(self.above_min(x) / self.scale)
    }

    fn above_min(self, x: f32) -> f32 {
        // NaN is neither, and stays.
        let clamped = if x > self.max { self.max } else { x };
        let clamped = if clamped < self.min { self.min } else { clamped };
        clamped - self.min
    }

    fn level(self, steps: f32) -> f32 {
        let zero = (-self.min * self.inverse + 0.5).floor();
        (steps - zero + 0.5).floor() * self.scale
    }

    fn mask(self, x: f32) -> f32 {
        mask(x >= self.min && x <= self.max)
    }
}

/// What a gradient is multiplied by to count or not, so that one which is not finite shows.
fn mask(counts: bool) -> f32 {
    if counts { 1.0 } else { 0.0 }
}

#[derive(Debug)]
struct Args(Option<Nudged>);

impl Kernel for Args {
    fn new(attrs: &Attrs<'_>) -> Result<Args> {
        let (min, max) = (attrs.float("min")?, attrs.float("max")?);
        if min >= max {
            return Err(invalid_argument!("min has to be smaller than max, was: {min} >= {max}"));
        }
        Ok(Args(Nudged::new(min, max, Levels::new(attrs)?)))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let Some(range) = self.0 else {
            return Err(invalid_argument!("min has to be smaller than max"));
        };
        let parallel = parallel(ctx);
        let mut output = ctx.take_input(0)?;
        if ctx.num_inputs() == 1 {
            let values = output.values_mut()?;
            elementwise::map_in_place(parallel, values, |x| range.quantize(x));
        } else {
            let inputs = ctx.input(1)?;
            if inputs.shape() != output.shape() {
                return Err(invalid_argument!(
                    "Inputs to operation {} of type FakeQuantWithMinMaxArgsGradient must have the \
                     same size and shape.  Input 0: {} != input 1: {}",
                    ctx.node_name(),
                    output.shape(),
                    inputs.shape()
                ));
            }
            elementwise::zip_in_place(
                parallel,
                output.values_mut()?,
                inputs.values()?,
                |gradient: f32, x| gradient * range.mask(x),
            );
        }
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The ranges of the inputs from `first` on: one, or one for each channel of `shape`.
fn ranges(
    ctx: &KernelContext<'_>,
    first: usize,
    levels: Levels,
    channels: Option<usize>,
) -> Result<Vec<Option<Nudged>>> {
    let rank = usize::from(channels.is_some());
    for (name, index) in [("min", first), ("max", first + 1)] {
        let tensor = ctx.input(index)?;
        if tensor.rank() != rank {
            return Err(invalid_argument!(
                "`{name}` must be rank {rank} but is rank {}",
                tensor.rank()
            ));
        }
        if let Some(channels) = channels.filter(|&channels| channels != tensor.num_elements()) {
            return Err(invalid_argument!(
                "{name} has incorrect size, expected {channels} was {}",
                tensor.num_elements()
            ));
        }
    }
    let (min, max) = (ctx.input(first)?.values()?, ctx.input(first + 1)?.values()?);
    Ok(min.iter().zip(max).map(|(&min, &max)| Nudged::new(min, max, levels)).collect())
}

/// The length of the last axis if every channel has its own range.
fn channels(per_channel: bool, inputs: &Tensor) -> Result<Option<usize>> {
    match inputs.dims().last() {
        _ if !per_channel => Ok(None),
        Some(&channels) => Ok(Some(channels)),
        None => Err(invalid_argument!("inputs must be at least 1-D, got shape {}", inputs.shape())),
    }
}

#[derive(Debug)]
struct Vars {
    levels: Levels,
    per_channel: bool,
}

impl Kernel for Vars {
    fn new(attrs: &Attrs<'_>) -> Result<Vars> {
        let per_channel = attrs.op().contains("PerChannel");
        Ok(Vars { levels: Levels::new(attrs)?, per_channel })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let channels = channels(self.per_channel, ctx.input(0)?)?;
        let ranges = ranges(ctx, 1, self.levels, channels)?;
        let mut output = ctx.take_input(0)?;
        let rule = if self.per_channel { Nudged::quantize } else { Nudged::quantize_dividing };
        let quantize = |range: Option<Nudged>, x| range.map_or(0.0, |range| rule(range, x));
        let values = output.values_mut::<f32>()?;
        match ranges[..] {
            [range] => {
                elementwise::map_in_place(parallel(ctx), values, |x| quantize(range, x));
            }
            [] => {}
            _ => {
                for row in values.chunks_exact_mut(ranges.len()) {
                    row.iter_mut().zip(&ranges).for_each(|(x, &range)| *x = quantize(range, *x));
                }
            }
        }
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct VarsGradient {
    levels: Levels,
    per_channel: bool,
}

impl Kernel for VarsGradient {
    fn new(attrs: &Attrs<'_>) -> Result<VarsGradient> {
        let per_channel = attrs.op().contains("PerChannel");
        Ok(VarsGradient { levels: Levels::new(attrs)?, per_channel })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        if ctx.input(0)?.shape() != ctx.input(1)?.shape() {
            return Err(invalid_argument!("gradient and input must be the same size"));
        }
        let channels = channels(self.per_channel, ctx.input(1)?)?;
        let ranges = ranges(ctx, 2, self.levels, channels)?;
        let mut backprops = ctx.take_input(0)?;
        let inputs = ctx.input(1)?.values::<f32>()?;
        // What lies below a range moves its lower end, what lies above its upper end.
        let (mut below, mut above) = (vec![0.0f32; ranges.len()], vec![0.0f32; ranges.len()]);
        if !ranges.is_empty() {
            let gradients = backprops.values_mut::<f32>()?.chunks_mut(ranges.len());
            for (gradients, inputs) in gradients.zip(inputs.chunks(ranges.len())) {
                for (i, (gradient, &x)) in gradients.iter_mut().zip(inputs).enumerate() {
                    let Some(range) = ranges[i] else { continue };
                    below[i] += *gradient * mask(x < range.min);
                    above[i] += *gradient * mask(x > range.max);
                    *gradient *= range.mask(x);
                }
            }
        }
        let shape = if self.per_channel { Shape::vector(ranges.len()) } else { Shape::SCALAR };
        ctx.set_output(0, backprops);
        ctx.set_output(1, Tensor::from_slice(shape.clone(), &below)?);
        ctx.set_output(2, Tensor::from_slice(shape, &above)?);
        Ok(())
    }
}

fn args_gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("FakeQuantWithMinMaxArgsGradient", [g.grad(0)?, g.input(0)])?)
}

fn vars_gradient(g: &GradientContext<'_>) -> InputGradients {
    let node = NewNode::new(&format!("{}Gradient", g.node().op)).input(g.grad(0)?);
    let node = g.inputs(0..3).iter().fold(node, |node, input| node.input(*input));
    let gradients: [_; 3] = g.outs(g.with_attrs_of(node)?)?;
    Ok(gradients.into_iter().map(|gradient| Some(gradient.into())).collect())
}
