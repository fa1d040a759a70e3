//! Distributions whose parameters are tensors: binomial, gamma, Poisson and truncated normal.

use half::f16;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_graph::Output;
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{
    GuardedPhilox, Truncation, TruncationError, gamma, poisson, truncated_normal_between,
    truncation_blocks,
};
use tensorfleet_tensor::{
    DType, Error, Result, Shape, Tensor, dispatch, internal, invalid_argument, try_repeat,
};

use super::generator::draw_binomial;
use super::shape_of;
use super::stateful::{gamma_gradient, generator};
use super::stateless::{generator_of_key, generator_of_seed};
use crate::broadcast::Alignment;

pub(super) const REALS: &[DType] = &[DType::Half, DType::Float, DType::Double];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ParameterizedTruncatedNormal",
        inputs: &["shape: T", "means: dtype", "stdevs: dtype", "minvals: dtype", "maxvals: dtype"],
        outputs: &["output: dtype"],
        attrs: &[
            "seed: int = 0",
            "seed2: int = 0",
            "dtype: {half, bfloat16, float, double}",
            "T: {int32, int64}",
        ],
        stateful: true,
        kernels: &[cpu::<TruncatedBetween>().types("dtype", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessParameterizedTruncatedNormal",
        inputs: &[
            "shape: S",
            "seed: Tseed",
            "means: dtype",
            "stddevs: dtype",
            "minvals: dtype",
            "maxvals: dtype",
        ],
        outputs: &["output: dtype"],
        attrs: &[
            "S: {int32, int64}",
            "Tseed: {int32, int64} = DT_INT64",
            "dtype: {half, float, double}",
        ],
        kernels: &[cpu::<StatelessTruncatedBetween>()],
        gradient: Some(truncated_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomBinomial",
        inputs: &["shape: S", "seed: Tseed", "counts: T", "probs: T"],
        outputs: &["output: dtype"],
        attrs: &[
            "S: {int32, int64}",
            "Tseed: {int32, int64} = DT_INT64",
            "T: {half, float, double, int32, int64} = DT_DOUBLE",
            "dtype: {half, float, double, int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<StatelessBinomial>().types("T", REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomGammaV2",
        gradient: Some(gamma_gradient),
        inputs: &["shape: T", "seed: Tseed", "alpha: dtype"],
        outputs: &["output: dtype"],
        attrs: &[
            "dtype: {half, float, double}",
            "T: {int32, int64}",
            "Tseed: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<StatelessGamma>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomGammaV3",
        gradient: Some(gamma_gradient),
        inputs: &[
            "shape: shape_dtype",
            "key: uint64",
            "counter: uint64",
            "alg: int32",
            "alpha: dtype",
        ],
        outputs: &["output: dtype"],
        attrs: &["dtype: {half, float, double}", "shape_dtype: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<StatelessGamma>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomPoisson",
        inputs: &["shape: T", "seed: Tseed", "lam: Rtype"],
        outputs: &["output: dtype"],
        attrs: &[
            "Rtype: {half, float, double, int32, int64}",
            "dtype: {half, float, double, int32, int64}",
            "T: {int32, int64}",
            "Tseed: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<StatelessPoisson>()],
        ..Op::DEFAULT
    },
];

/// Counts and probabilities under their common shape, and the shape of the output.
pub(super) struct BinomialParameters {
    pub(super) shape: Shape,
    pub(super) counts: Tensor,
    pub(super) probs: Tensor,
}

impl BinomialParameters {
    pub(super) fn new(shape: &Tensor, counts: &Tensor, probs: &Tensor) -> Result<Self> {
        let Some(alignment) = Alignment::find(counts.shape(), probs.shape())? else {
            return Err(invalid_argument!(
                "counts and probs must have compatible batch dimensions: {} vs. {}",
                counts.shape(),
                probs.shape()
            ));
        };
        let shape = shape_of(shape)?;
        if !shape.dims().ends_with(alignment.shape().dims()) {
            return Err(invalid_argument!("Shape passed in must end with broadcasted shape."));
        }
        let (mut count_at, mut prob_at) = (Vec::new(), Vec::new());
        alignment.positions(|count, prob| {
            count_at.push(count);
            prob_at.push(prob);
        });
        let spread = |tensor: &Tensor, places: &[usize]| {
            dispatch!(
                tensor.dtype(),
                [f16, f32, f64],
                T => {
                    let values = tensor.values::<T>()?;
                    Tensor::vector(&places.iter().map(|&at| values[at]).collect::<Vec<T>>())
                },
                else => Err(internal!("no binomial parameters of type {}", tensor.dtype()))
            )
        };
        let (counts, probs) = (spread(counts, &count_at)?, spread(probs, &prob_at)?);
        Ok(BinomialParameters { shape, counts, probs })
    }

    /// How many pairs of parameters there are.
    pub(super) fn batches(&self) -> usize {
        self.counts.num_elements()
    }
}

#[derive(Debug)]
struct StatelessBinomial {
    dtype: DType,
}

impl Kernel for StatelessBinomial {
    fn new(attrs: &Attrs<'_>) -> Result<StatelessBinomial> {
        Ok(StatelessBinomial { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let philox = generator_of_seed(ctx.input(1)?)?;
        let parameters = BinomialParameters::new(ctx.input(0)?, ctx.input(2)?, ctx.input(3)?)?;
        let output = draw_binomial(&parameters, philox, self.dtype, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Checks that the shape of an output ends with that of its parameters.
fn ending_with(shape: &Tensor, parameters: &Tensor) -> Result<Shape> {
    let shape = shape_of(shape)?;
    if !shape.dims().ends_with(parameters.dims()) {
        return Err(invalid_argument!("Shape passed in must end with broadcasted shape."));
    }
    Ok(shape)
}

#[derive(Debug)]
struct StatelessGamma {
    takes_key: bool,
}

impl Kernel for StatelessGamma {
    fn new(attrs: &Attrs<'_>) -> Result<StatelessGamma> {
        Ok(StatelessGamma { takes_key: attrs.op().ends_with("V3") })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (philox, alpha) = if self.takes_key {
            (generator_of_key(ctx.input(1)?, ctx.input(2)?, ctx.input(3)?)?, ctx.input(4)?)
        } else {
            (generator_of_seed(ctx.input(1)?)?, ctx.input(2)?)
        };
        let shape = ending_with(ctx.input(0)?, alpha)?;
        let parallel = Parallel::new(ctx.parallelism());
        let output = dispatch!(
            alpha.dtype(),
            [f32, f64, f16],
            T => {
                let alphas = alpha.values::<T>()?;
                Tensor::build(shape, |out: &mut [T]| gamma(parallel, philox, alphas, out))
            },
            else => Err(internal!("no gamma values of type {}", alpha.dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct StatelessPoisson {
    dtype: DType,
}

impl Kernel for StatelessPoisson {
    fn new(attrs: &Attrs<'_>) -> Result<StatelessPoisson> {
        Ok(StatelessPoisson { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let philox = generator_of_seed(ctx.input(1)?)?;
        let rate = ctx.input(2)?;
        let shape = ending_with(ctx.input(0)?, rate)?;
        let output = poisson_values(rate, shape, philox, self.dtype, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Values between bounds, of which each row of the output may have its own.
#[derive(Debug)]
struct TruncatedBetween(GuardedPhilox);

/// Samples to a batch where all have the same parameters.
const REGROUPED: usize = 100;

impl Kernel for TruncatedBetween {
    fn new(attrs: &Attrs<'_>) -> Result<TruncatedBetween> {
        Ok(TruncatedBetween(generator(attrs)?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let wanted = ctx.input(0)?;
        if wanted.rank() != 1 {
            return Err(invalid_argument!(
                "Input shape should be a vector, got shape: {}",
                wanted.shape()
            ));
        }
        if wanted.num_elements() == 0 {
            return Err(invalid_argument!(
                "Shape tensor must not be empty, got {}",
                wanted.shape()
            ));
        }
        let shape = shape_of(wanted)?;
        let mut batches = shape.dims()[0];
        let mut samples = shape.num_elements().checked_div(batches).unwrap_or(0);
        let parameters = ctx.input_list(1..5)?;
        for (name, parameter) in ["means", "stddevs", "minvals", "maxvals"].iter().zip(&parameters)
        {
            if parameter.rank() > 1 {
                return Err(invalid_argument!(
                    "Input {name} should be a scalar or vector, got shape: {}",
                    parameter.shape()
                ));
            }
            let count = parameter.num_elements();
            if count != 1 && (parameter.rank() == 0 || count != batches) {
                return Err(invalid_argument!(
                    "Input {name} should have length 1 or shape[0], got shape: {}",
                    parameter.shape()
                ));
            }
        }
        if shape.num_elements() == 0 {
            ctx.set_output(0, Tensor::zeros(parameters[0].dtype(), shape)?);
            return Ok(());
        }
        if parameters.iter().all(|parameter| parameter.num_elements() == 1) {
            samples = REGROUPED;
            batches = shape.num_elements().div_ceil(samples);
        }
        let philox = self.0.reserve_blocks(truncation_blocks(batches as u64, samples as u64));
        let output = dispatch!(
            parameters[0].dtype(),
            [f32, f64, f16],
            T => {
                let values = [0, 1, 2, 3].map(|at| parameters[at].values::<T>());
                let [means, stddevs, minvals, maxvals] = values;
                let (means, stddevs, minvals, maxvals) = (means?, stddevs?, minvals?, maxvals?);
                let of = |values: &[T], at: usize| values[if values.len() == 1 { 0 } else { at }];
                let truncations = (0..batches).map(|at| Truncation {
                    mean: of(means, at),
                    stddev: of(stddevs, at),
                    min: of(minvals, at),
                    max: of(maxvals, at),
                });
                Tensor::try_build(shape, |out: &mut [T]| {
                    truncated_normal_between(philox, truncations, samples, out)
                        .map_err(truncation_error)
                })
            },
            else => Err(internal!("no truncated values of type {}", parameters[0].dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// The same for parameters of any shape, with which the shape of the output ends.
#[derive(Debug)]
struct StatelessTruncatedBetween;

impl Kernel for StatelessTruncatedBetween {
    fn new(_: &Attrs<'_>) -> Result<StatelessTruncatedBetween> {
        Ok(StatelessTruncatedBetween)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let wanted = ctx.input(0)?;
        if wanted.rank() != 1 {
            return Err(invalid_argument!(
                "Input shape should be a vector, got shape: {}",
                wanted.shape()
            ));
        }
        let shape = shape_of(wanted)?;
        let philox = generator_of_seed(ctx.input(1)?)?;
        let parameters = ctx.input_list(2..6)?;
        let mut common = Shape::SCALAR;
        for parameter in &parameters {
            let Some(alignment) = Alignment::find(&common, parameter.shape())? else {
                return Err(invalid_argument!(
                    "means, stddevs, minvals, maxvals must have compatible batch dimensions: {} vs. \
                     {} vs. {} vs. {}",
                    parameters[0].shape(),
                    parameters[1].shape(),
                    parameters[2].shape(),
                    parameters[3].shape()
                ));
            };
            common = alignment.shape().clone();
        }
        if !shape.dims().ends_with(common.dims()) {
            return Err(invalid_argument!("Shape passed in must end with broadcasted shape."));
        }
        if shape.num_elements() == 0 {
            ctx.set_output(0, Tensor::zeros(parameters[0].dtype(), shape)?);
            return Ok(());
        }
        let batches = common.num_elements();
        let samples = shape.num_elements() / batches;
        let mut places: [Vec<usize>; 4] = Default::default();
        for (places, parameter) in places.iter_mut().zip(&parameters) {
            let alignment = Alignment::new(&common, parameter.shape())?;
            alignment.positions(|_, place| places.push(place));
        }
        let output = dispatch!(
            parameters[0].dtype(),
            [f32, f64, f16],
            T => {
                let values = [0, 1, 2, 3].map(|at| parameters[at].values::<T>());
                let [means, stddevs, minvals, maxvals] = values;
                let (means, stddevs, minvals, maxvals) = (means?, stddevs?, minvals?, maxvals?);
                let truncations = (0..batches).map(|at| Truncation {
                    mean: means[places[0][at]],
                    stddev: stddevs[places[1][at]],
                    min: minvals[places[2][at]],
                    max: maxvals[places[3][at]],
                });
                let mut rows = try_repeat(T::default(), shape.num_elements())?;
                truncated_normal_between(philox, truncations, samples, &mut rows)
                    .map_err(truncation_error)?;
                Tensor::build(shape, |out: &mut [T]| {
                    for (sample, out) in out.chunks_exact_mut(batches).enumerate() {
                        for (batch, out) in out.iter_mut().enumerate() {
                            *out = rows[batch * samples + sample];
                        }
                    }
                })
            },
            else => Err(internal!("no truncated values of type {}", parameters[0].dtype()))
        )?;
        ctx.set_output(0, output);
        Ok(())
    }
}

fn truncation_error(error: TruncationError) -> Error {
    match error {
        TruncationError::InvalidParameters => invalid_argument!("{error}"),
        TruncationError::Exhausted(_) => internal!("{error}"),
    }
}

/// Draws Poisson values; the stateful and the stateless op share it.
pub(super) fn poisson_values(
    rate: &Tensor,
    shape: Shape,
    philox: tensorfleet_kernels::random::Philox,
    dtype: DType,
    threads: usize,
) -> Result<Tensor> {
    let parallel = Parallel::new(threads);
    let unsupported = || internal!("no Poisson values of type {dtype}");
    dispatch!(
        rate.dtype(),
        [f32, f64, f16, i32, i64],
        R => {
            let rates = rate.values::<R>()?;
            dispatch!(
                dtype,
                [f32, f64, f16, i32, i64],
                T => Tensor::build(shape, |out: &mut [T]| poisson(parallel, philox, rates, out)),
                else => Err(unsupported())
            )
        },
        else => Err(unsupported())
    )
}

/// Sampling maps a uniform number to the bounds' part of a normal distribution; the number stays
/// where the parameters move.
fn truncated_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (mean, deviation, sample, grad) = (g.input(2), g.input(3), g.output(0), g.grad(0)?);
    let dtype = g.dtype(sample);
    let standard = |x: Output| g.div(g.sub(x, mean)?, deviation);
    let below = |x: Output| {
        let root = g.scale(x, -std::f64::consts::FRAC_1_SQRT_2)?;
        g.scale(g.call("Erfc", [root])?, 0.5)
    };
    let (low, high, sample) = (standard(g.input(4))?, standard(g.input(5))?, standard(sample)?);
    let from_low = g.sub(below(sample)?, below(low)?)?;
    let part = g.div(from_low, g.sub(below(high)?, below(low)?)?)?;
    let (tiny, epsilon) = match dtype {
        DType::Double => (f64::MIN_POSITIVE, f64::EPSILON),
        DType::Half => (6.104e-5, 9.77e-4),
        _ => (f64::from(f32::MIN_POSITIVE), f64::from(f32::EPSILON)),
    };
    let part = g.call("Maximum", [part, g.number(tiny, dtype)?])?;
    let part = g.call("Minimum", [part, g.number(1.0 - epsilon, dtype)?])?;
    // Densities at the bounds over that at the sample, in logarithms.
    let at = |bound: Output, part: Output| {
        let squares = g.sub(g.mul(sample, sample)?, g.mul(bound, bound)?)?;
        g.call("Exp", [g.add2(g.scale(squares, 0.5)?, part)?])
    };
    let by_high = at(high, g.call("Log", [part])?)?;
    let by_low = at(low, g.call("Log1p", [g.neg(part)?])?)?;
    let of = |input: usize, gradient: Output| -> Result<_> {
        Ok(Some(g.unbroadcast(gradient, g.input(input), g.output(0))?.into()))
    };
    Ok(vec![
        None,
        None,
        of(2, grad)?,
        of(3, g.mul(grad, sample)?)?,
        of(4, g.mul(grad, by_low)?)?,
        of(5, g.mul(grad, by_high)?)?,
    ])
}
