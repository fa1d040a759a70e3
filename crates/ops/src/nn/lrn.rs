//! `LRN`: local response normalisation over channels, and its gradient.

use half::{bf16, f16};
use tensorfleet_framework::gradient::only;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::lrn::{Lrn, lrn, lrn_grad};
use tensorfleet_tensor::{Result, Tensor, dispatch, invalid_argument};

const ATTRS: &[&str] = &[
    "depth_radius: int = 5",
    "bias: float = 1.0",
    "alpha: float = 1.0",
    "beta: float = 0.5",
    "T: {half, bfloat16, float} = DT_FLOAT",
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "LRN",
        inputs: &["input: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<Normalize>()],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "LRNGrad",
        inputs: &["input_grads: T", "input_image: T", "output_image: T"],
        outputs: &["output: T"],
        attrs: ATTRS,
        kernels: &[cpu::<NormalizeGrad>()],
        ..Op::DEFAULT
    },
];

/// About how long a value takes, in nanoseconds: a window of squares and a power.
const COST_PER_BYTE: u64 = 5;

fn hyper(attrs: &Attrs<'_>) -> Result<Lrn<f32>> {
    let radius = attrs.int("depth_radius")?;
    Ok(Lrn {
        radius: usize::try_from(radius)
            .map_err(|_| invalid_argument!("depth_radius = {radius} is not >= 0"))?,
        bias: attrs.float("bias")?,
        alpha: attrs.float("alpha")?,
        beta: attrs.float("beta")?,
    })
}

fn channels(image: &Tensor, what: &str) -> Result<usize> {
    match image.dims() {
        &[_, _, _, channels] => Ok(channels),
        _ => Err(invalid_argument!("{what} must be 4-dimensional")),
    }
}

fn cost(inputs: &[Value]) -> u64 {
    match inputs.first() {
        Some(Value::Tensor(image)) => image.byte_len() as u64 * COST_PER_BYTE,
        _ => 0,
    }
}

#[derive(Debug)]
struct Normalize(Lrn<f32>);

impl Kernel for Normalize {
    fn new(attrs: &Attrs<'_>) -> Result<Normalize> {
        Ok(Normalize(hyper(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let image = ctx.input(0)?;
        let channels = channels(image, "in")?;
        if image.num_elements() == 0 {
            let empty = image.clone();
            ctx.set_output(0, empty);
            return Ok(());
        }
        let par = Parallel::new(ctx.parallelism());
        let output = dispatch!(
            image.dtype(),
            [f32, f16, bf16],
            T => {
                let values = image.values::<T>()?;
                Tensor::build(image.shape().clone(), |out: &mut [T]| {
                    lrn(par, values, channels, self.0, out);
                })
            },
            else => Err(invalid_argument!("no LRN of {}", image.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs)
    }
}

#[derive(Debug)]
struct NormalizeGrad(Lrn<f32>);

impl Kernel for NormalizeGrad {
    fn new(attrs: &Attrs<'_>) -> Result<NormalizeGrad> {
        Ok(NormalizeGrad(hyper(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (grads, image, normalized) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let channels = channels(grads, "inputs")?;
        if grads.shape() != image.shape() || grads.shape() != normalized.shape() {
            return Err(invalid_argument!(
                "input_grads, input_image, and out_image should have the same shape"
            ));
        }
        if grads.num_elements() == 0 {
            let empty = grads.clone();
            ctx.set_output(0, empty);
            return Ok(());
        }
        let par = Parallel::new(ctx.parallelism());
        let output = dispatch!(
            grads.dtype(),
            [f32, f16, bf16],
            T => {
                let (grads_of, x, y) =
                    (grads.values::<T>()?, image.values::<T>()?, normalized.values::<T>()?);
                Tensor::build(grads.shape().clone(), |out: &mut [T]| {
                    lrn_grad(par, (x, y, grads_of), channels, self.0, out);
                })
            },
            else => Err(invalid_argument!("no LRN of {}", grads.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        cost(inputs) * 4
    }
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    only(g.call_with_attrs("LRNGrad", [g.grad(0)?, g.input(0), g.output(0)])?)
}
