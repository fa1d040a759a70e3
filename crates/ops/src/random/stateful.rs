//! Ops whose generator lives in the node: every run goes on where the last one ended.

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, Value, cpu, no_gradient,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{GuardedPhilox, gamma, multinomial, multinomial_blocks};
use tensorfleet_tensor::{DType, Result, Shape, Tensor, dispatch, invalid_argument};

use super::distribution::{self, Continuous};
use super::{FLOATS, shape_of};

const CONTINUOUS: &[&str] = &[
    "seed: int = 0",
    "seed2: int = 0",
    "dtype: {half, bfloat16, float, double}",
    "T: {int32, int64}",
];
const LOGITS: &[DType] = &[DType::Half, DType::BFloat16, DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Multinomial",
        inputs: &["logits: T", "num_samples: int32"],
        outputs: &["output: output_dtype"],
        attrs: &[
            "seed: int = 0",
            "seed2: int = 0",
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "output_dtype: {int32, int64} = DT_INT64",
        ],
        stateful: true,
        kernels: &[cpu::<Multinomial>().types("T", LOGITS)],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomGamma",
        inputs: &["shape: S", "alpha: T"],
        outputs: &["output: T"],
        attrs: &[
            "seed: int = 0",
            "seed2: int = 0",
            "S: {int32, int64}",
            "T: {half, float, double}",
        ],
        stateful: true,
        kernels: &[cpu::<RandomGamma>()],
        gradient: Some(gamma_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RandomPoisson",
        inputs: &["shape: S", "rate: dtype"],
        outputs: &["output: dtype"],
        attrs: &[
            "seed: int = 0",
            "seed2: int = 0",
            "S: {int32, int64}",
            "dtype: {half, float, double}",
        ],
        stateful: true,
        kernels: &[cpu::<RandomPoisson>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomPoissonV2",
        inputs: &["shape: S", "rate: R"],
        outputs: &["output: dtype"],
        attrs: &[
            "seed: int = 0",
            "seed2: int = 0",
            "S: {int32, int64}",
            "R: {half, float, double, int32, int64} = DT_DOUBLE",
            "dtype: {half, float, double, int32, int64} = DT_INT64",
        ],
        stateful: true,
        kernels: &[cpu::<RandomPoisson>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RandomStandardNormal",
        inputs: &["shape: T"],
        outputs: &["output: dtype"],
        attrs: CONTINUOUS,
        stateful: true,
        kernels: &[cpu::<RandomContinuous>().types("dtype", FLOATS)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RandomUniform",
        inputs: &["shape: T"],
        outputs: &["output: dtype"],
        attrs: CONTINUOUS,
        stateful: true,
        kernels: &[cpu::<RandomContinuous>().types("dtype", FLOATS)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "RandomUniformInt",
        inputs: &["shape: T", "minval: Tout", "maxval: Tout"],
        outputs: &["output: Tout"],
        attrs: &["seed: int = 0", "seed2: int = 0", "Tout: {int32, int64}", "T: {int32, int64}"],
        stateful: true,
        kernels: &[cpu::<RandomUniformInt>()],
        shape: Some(crate::shapes::from_first),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "TruncatedNormal",
        inputs: &["shape: T"],
        outputs: &["output: dtype"],
        attrs: CONTINUOUS,
        stateful: true,
        kernels: &[cpu::<RandomContinuous>().types("dtype", FLOATS)],
        shape: Some(crate::shapes::from_first),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
];

/// The generator that a node's seeds make.
pub(super) fn generator(attrs: &Attrs<'_>) -> Result<GuardedPhilox> {
    Ok(GuardedPhilox::new(attrs.int("seed")?, attrs.int("seed2")?))
}

#[derive(Debug)]
struct RandomContinuous {
    generator: GuardedPhilox,
    kind: Continuous,
    dtype: DType,
}

impl Kernel for RandomContinuous {
    fn new(attrs: &Attrs<'_>) -> Result<RandomContinuous> {
        let kind = match attrs.op() {
            "RandomUniform" => Continuous::Uniform,
            "RandomStandardNormal" => Continuous::Normal,
            _ => Continuous::Truncated,
        };
        Ok(RandomContinuous { generator: generator(attrs)?, kind, dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = shape_of(ctx.input(0)?)?;
        let philox = self.generator.reserve_outputs(shape.num_elements() as u64);
        let output =
            distribution::continuous(self.kind, self.dtype, shape, philox, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        elements_wanted(inputs) * 10
    }
}

/// About how many values a node makes whose first input is the shape, or as many as no memory holds.
fn elements_wanted(inputs: &[Value]) -> u64 {
    const TOO_MANY: u64 = 1 << 48;
    match inputs.first() {
        Some(Value::Tensor(shape)) => {
            shape_of(shape).map_or(0, |shape| TOO_MANY.min(shape.num_elements() as u64))
        }
        _ => 0,
    }
}

#[derive(Debug)]
struct RandomUniformInt(GuardedPhilox);

impl Kernel for RandomUniformInt {
    fn new(attrs: &Attrs<'_>) -> Result<RandomUniformInt> {
        Ok(RandomUniformInt(generator(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = shape_of(ctx.input(0)?)?;
        let philox = self.0.reserve_outputs(shape.num_elements() as u64);
        let output =
            distribution::integers(ctx.input(1)?, ctx.input(2)?, shape, philox, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        elements_wanted(inputs) * 5
    }
}

/// The shape of samples: the shape asked for, then the shape of the parameters.
fn sample_shape(samples: &Shape, parameters: &Tensor) -> Result<Shape> {
    Shape::new(&[samples.dims(), parameters.dims()].concat())
}

#[derive(Debug)]
struct RandomGamma(GuardedPhilox);

impl Kernel for RandomGamma {
    fn new(attrs: &Attrs<'_>) -> Result<RandomGamma> {
        Ok(RandomGamma(generator(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let alpha = ctx.input(1)?;
        let shape = sample_shape(&shape_of(ctx.input(0)?)?, alpha)?;
        let philox = self.0.reserve_outputs(shape.num_elements() as u64);
        let parallel = Parallel::new(ctx.parallelism());
        let output = dispatch!(
            alpha.dtype(),
            [f32, f64, f16],
            T => {
                let alphas = alpha.values::<T>()?;
                Tensor::build(shape, |out: &mut [T]| gamma(parallel, philox, alphas, out))
            },
            else => Err(invalid_argument!("no gamma values of type {}", alpha.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        elements_wanted(inputs) * 50
    }
}

#[derive(Debug)]
struct RandomPoisson {
    generator: GuardedPhilox,
    dtype: DType,
}

impl Kernel for RandomPoisson {
    fn new(attrs: &Attrs<'_>) -> Result<RandomPoisson> {
        Ok(RandomPoisson { generator: generator(attrs)?, dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let rate = ctx.input(1)?;
        let shape = sample_shape(&shape_of(ctx.input(0)?)?, rate)?;
        let philox = self.generator.reserve_outputs(shape.num_elements() as u64);
        let output =
            super::parameters::poisson_values(rate, shape, philox, self.dtype, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }

    fn cost(&self, inputs: &[Value]) -> u64 {
        elements_wanted(inputs) * 50
    }
}

#[derive(Debug)]
struct Multinomial {
    generator: GuardedPhilox,
    output: DType,
}

impl Kernel for Multinomial {
    fn new(attrs: &Attrs<'_>) -> Result<Multinomial> {
        Ok(Multinomial { generator: generator(attrs)?, output: attrs.dtype("output_dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let draw = MultinomialDraw::new(ctx.input(0)?, ctx.input(1)?)?;
        let philox = self
            .generator
            .reserve_blocks(multinomial_blocks(draw.rows as u64, draw.samples as u64));
        let output = draw.run(philox, self.output, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// A draw of classes with checked sizes, for the stateful and the stateless op.
pub(super) struct MultinomialDraw<'a> {
    logits: &'a Tensor,
    rows: usize,
    classes: usize,
    samples: usize,
}

impl<'a> MultinomialDraw<'a> {
    pub(super) fn new(logits: &'a Tensor, samples: &Tensor) -> Result<MultinomialDraw<'a>> {
        let &[rows, classes] = logits.dims() else {
            return Err(invalid_argument!(
                "logits should be a matrix, got shape {}",
                logits.shape()
            ));
        };
        if !samples.shape().is_scalar() {
            return Err(invalid_argument!(
                "num_samples should be a scalar, got shape {}",
                samples.shape()
            ));
        }
        let samples = samples.scalar_value::<i32>()?;
        let samples = usize::try_from(samples)
            .map_err(|_| invalid_argument!("num_samples should be non-negative, got {samples}"))?;
        if classes == 0 {
            return Err(invalid_argument!("num_classes should be positive, got 0"));
        }
        Ok(MultinomialDraw { logits, rows, classes, samples })
    }

    pub(super) fn run(
        &self,
        philox: tensorfleet_kernels::random::Philox,
        output: DType,
        threads: usize,
    ) -> Result<Tensor> {
        let shape = Shape::new(&[self.rows, self.samples])?;
        let (parallel, classes, samples) = (Parallel::new(threads), self.classes, self.samples);
        let unsupported =
            || invalid_argument!("no classes by logits of type {}", self.logits.dtype());
        dispatch!(
            self.logits.dtype(),
            [f32, f64, f16, bf16],
            L => {
                let logits = self.logits.values::<L>()?;
                dispatch!(
                    output,
                    [i32, i64],
                    T => Tensor::build(shape, |out: &mut [T]| {
                        multinomial(parallel, philox, logits, classes, samples, out);
                    }),
                    else => Err(unsupported())
                )
            },
            else => Err(unsupported())
        )
    }
}

/// The derivative of each sample by the shape parameter, added up over the samples of each.
pub(super) fn gamma_gradient(g: &GradientContext<'_>) -> InputGradients {
    let alpha = g.input(g.num_inputs() - 1);
    let samples = g.output(0);
    let rank = g.sub(g.rank_tensor(samples)?, g.rank_tensor(alpha)?)?;
    let axes = g.call("Range", [g.scalar(0i32)?, rank, g.scalar(1i32)?])?;
    let partial = g.call("RandomGammaGrad", [alpha, samples])?;
    let sum = g.call("Sum", [g.mul(g.grad(0)?, partial)?, axes])?;
    let mut gradients = vec![None; g.num_inputs()];
    gradients[g.num_inputs() - 1] = Some(g.reshape_like(sum, alpha)?.into());
    Ok(gradients)
}
