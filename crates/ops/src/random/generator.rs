//! Ops on the state of a `tf.random.Generator`: a variable that holds a counter and a key.

use std::sync::Arc;

use half::f16;
use tensorfleet_framework::{
    Attrs, Change, Changer, Kernel, KernelContext, KernelDef, Op, Variable, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{Philox, binomial, entropy};
use tensorfleet_tensor::{
    DType, Result, Shape, Tensor, dispatch, internal, invalid_argument, unimplemented_error,
};

use super::distribution::{self, Continuous};
use super::parameters::BinomialParameters;
use super::{FLOATS, shape_of};

const INTEGERS: &[DType] = &[DType::Int32, DType::Int64];
const FULL: &[DType] = &[DType::Int32, DType::Int64, DType::UInt32, DType::UInt64];
const CONTINUOUS: &[KernelDef] = &[cpu::<Stateful>().types("dtype", FLOATS)];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "NonDeterministicInts",
        inputs: &["shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_INT64", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: &[cpu::<NonDeterministicInts>().types("dtype", FULL)],
        ..Op::DEFAULT
    },
    Op {
        name: "RngReadAndSkip",
        inputs: &["resource: resource", "alg: int32", "delta: uint64"],
        outputs: &["value: int64"],
        stateful: true,
        kernels: &[cpu::<Skip>()],
        ..Op::DEFAULT
    },
    Op {
        name: "RngSkip",
        inputs: &["resource: resource", "algorithm: int64", "delta: int64"],
        stateful: true,
        kernels: &[cpu::<Skip>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulRandomBinomial",
        inputs: &["resource: resource", "algorithm: int64", "shape: S", "counts: T", "probs: T"],
        outputs: &["output: dtype"],
        attrs: &[
            "S: {int32, int64}",
            "T: {half, float, double, int32, int64} = DT_DOUBLE",
            "dtype: {half, float, double, int32, int64} = DT_INT64",
        ],
        stateful: true,
        kernels: &[cpu::<StatefulBinomial>().types("T", super::parameters::REALS)],
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulStandardNormal",
        inputs: &["resource: resource", "shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_FLOAT", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulStandardNormalV2",
        inputs: &["resource: resource", "algorithm: int64", "shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_FLOAT", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulTruncatedNormal",
        inputs: &["resource: resource", "algorithm: int64", "shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_FLOAT", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulUniform",
        inputs: &["resource: resource", "algorithm: int64", "shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_FLOAT", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulUniformFullInt",
        inputs: &["resource: resource", "algorithm: int64", "shape: shape_dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_UINT64", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: &[cpu::<Stateful>().types("dtype", FULL)],
        ..Op::DEFAULT
    },
    Op {
        name: "StatefulUniformInt",
        inputs: &[
            "resource: resource",
            "algorithm: int64",
            "shape: shape_dtype",
            "minval: dtype",
            "maxval: dtype",
        ],
        outputs: &["output: dtype"],
        attrs: &["dtype: type = DT_INT64", "shape_dtype: type = DT_INT64"],
        stateful: true,
        kernels: &[cpu::<Stateful>().types("dtype", INTEGERS)],
        ..Op::DEFAULT
    },
];

/// The number by which TensorFlow names Philox.
const PHILOX: i64 = 1;
/// The number by which TensorFlow names an algorithm that it has only on other devices.
const THREEFRY: i64 = 2;
/// Blocks that the state moves on for each value: more than any distribution needs for one.
const BLOCKS_PER_VALUE: u64 = 256;

fn check_algorithm(algorithm: i64) -> Result<()> {
    match algorithm {
        // Three leaves the choice to the device; on a CPU it is Philox.
        PHILOX | 3 => Ok(()),
        THREEFRY => {
            Err(unimplemented_error!("Non-XLA devices don't support the ThreeFry algorithm."))
        }
        other => Err(invalid_argument!("Unsupported algorithm id: {other}")),
    }
}

/// Reads the state and moves it on. In the first version the algorithm stands in front of it.
fn advance(change: &Change<'_>, variable: &Variable, values: u64, first: bool) -> Result<Philox> {
    let skip = values.wrapping_mul(BLOCKS_PER_VALUE);
    variable.update(change, |state| {
        if state.dtype() != DType::Int64 {
            return Err(invalid_argument!(
                "dtype of RNG state variable must be int64, not {}",
                state.dtype()
            ));
        }
        if state.rank() != 1 {
            return Err(invalid_argument!(
                "RNG state must have one and only one dimension, not {}",
                state.rank()
            ));
        }
        let start = usize::from(first);
        if state.num_elements() < start + 3 {
            return Err(invalid_argument!(
                "For the Philox algorithm, the size of state must be at least {}; got {}",
                start + 3,
                state.num_elements()
            ));
        }
        let words = state.values_mut::<i64>()?;
        if first {
            check_algorithm(words[0])?;
        }
        let words = &mut words[start..start + 3];
        let philox = Philox::from_key_counter(words[2] as u64, [words[0] as u64, words[1] as u64]);
        let [low, high] = philox.skipped(skip).counter();
        (words[0], words[1]) = (low as i64, high as i64);
        Ok(philox)
    })
}

fn algorithm_at(ctx: &KernelContext<'_>, index: usize) -> Result<()> {
    let algorithm = ctx.input(index)?;
    if !algorithm.shape().is_scalar() {
        return Err(invalid_argument!(
            "input {index} (0-based) must have shape [], not {}",
            algorithm.shape()
        ));
    }
    check_algorithm(algorithm.to_i64_vec()?[0])
}

#[derive(Clone, Copy, Debug)]
enum Draw {
    Continuous(Continuous),
    Integers,
    FullIntegers,
}

#[derive(Debug)]
struct Stateful {
    draw: Draw,
    dtype: DType,
    /// Whether the algorithm is part of the state and not an input.
    first: bool,
    changer: Changer,
}

impl Kernel for Stateful {
    fn new(attrs: &Attrs<'_>) -> Result<Stateful> {
        Ok(Stateful {
            draw: match attrs.op() {
                "StatefulUniform" => Draw::Continuous(Continuous::Uniform),
                "StatefulUniformInt" => Draw::Integers,
                "StatefulUniformFullInt" => Draw::FullIntegers,
                "StatefulTruncatedNormal" => Draw::Continuous(Continuous::Truncated),
                _ => Draw::Continuous(Continuous::Normal),
            },
            dtype: attrs.dtype("dtype")?,
            first: attrs.op() == "StatefulStandardNormal",
            changer: attrs.changer(),
        })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable: Arc<Variable> = ctx.resource(0)?;
        if !self.first {
            algorithm_at(ctx, 1)?;
        }
        let shape = shape_of(ctx.input(if self.first { 1 } else { 2 })?)?;
        let threads = ctx.parallelism();
        let change = ctx.change(&self.changer);
        let count = shape.num_elements() as u64;
        let output = match self.draw {
            Draw::Integers => {
                let (low, high) = (ctx.input(3)?, ctx.input(4)?);
                // The bounds are checked before the state moves.
                let nothing = Shape::vector(1);
                distribution::integers(low, high, nothing, Philox::new(0, 0), 1)?;
                let philox = advance(&change, &variable, count, false)?;
                distribution::integers(low, high, shape, philox, threads)?
            }
            Draw::Continuous(kind) => {
                let philox = advance(&change, &variable, count, self.first)?;
                distribution::continuous(kind, self.dtype, shape, philox, threads)?
            }
            Draw::FullIntegers => {
                let philox = advance(&change, &variable, count, false)?;
                distribution::full_integers(self.dtype, shape, philox, threads)?
            }
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Moves the state on, and returns what it was if asked.
#[derive(Debug)]
struct Skip {
    reads: bool,
    changer: Changer,
}

impl Kernel for Skip {
    fn new(attrs: &Attrs<'_>) -> Result<Skip> {
        Ok(Skip { reads: attrs.op() == "RngReadAndSkip", changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable: Arc<Variable> = ctx.resource(0)?;
        algorithm_at(ctx, 1)?;
        let delta = ctx.input(2)?;
        if !delta.shape().is_scalar() {
            let what = match delta.dtype() {
                DType::UInt64 => "input 2 (0-based) must have",
                _ => "delta must be of",
            };
            return Err(invalid_argument!("{what} shape [], not {}", delta.shape()));
        }
        let delta = match delta.dtype() {
            DType::UInt64 => delta.scalar_value::<u64>()?,
            _ => delta.scalar_value::<i64>()? as u64,
        };
        let change = ctx.change(&self.changer);
        let before = advance(&change, &variable, delta, false)?;
        if self.reads {
            let [low, high] = before.counter();
            let state = [low as i64, high as i64, before.key() as i64];
            ctx.set_output(0, Tensor::vector(&state)?);
        }
        Ok(())
    }
}

#[derive(Debug)]
struct NonDeterministicInts {
    dtype: DType,
}

impl Kernel for NonDeterministicInts {
    fn new(attrs: &Attrs<'_>) -> Result<NonDeterministicInts> {
        Ok(NonDeterministicInts { dtype: attrs.dtype("dtype")? })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let shape = shape_of(ctx.input(0)?)?;
        let philox = Philox::from_key_counter(entropy(), [entropy(), entropy()]);
        let output = distribution::full_integers(self.dtype, shape, philox, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct StatefulBinomial {
    dtype: DType,
    changer: Changer,
}

impl Kernel for StatefulBinomial {
    fn new(attrs: &Attrs<'_>) -> Result<StatefulBinomial> {
        Ok(StatefulBinomial { dtype: attrs.dtype("dtype")?, changer: attrs.changer() })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let variable: Arc<Variable> = ctx.resource(0)?;
        algorithm_at(ctx, 1)?;
        let parameters = BinomialParameters::new(ctx.input(2)?, ctx.input(3)?, ctx.input(4)?)?;
        let batches = parameters.batches() as u64;
        let samples = parameters.shape.num_elements() as u64 / batches.max(1);
        let words = batches.wrapping_mul(200).wrapping_mul(samples.wrapping_add(3)) / 4;
        let change = ctx.change(&self.changer);
        let philox = advance(&change, &variable, words, false)?;
        let output = draw_binomial(&parameters, philox, self.dtype, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// Draws binomial values of a type.
pub(super) fn draw_binomial(
    parameters: &BinomialParameters,
    philox: Philox,
    dtype: DType,
    threads: usize,
) -> Result<Tensor> {
    let parallel = Parallel::new(threads);
    let shape = parameters.shape.clone();
    dispatch!(
        parameters.counts.dtype(),
        [f16, f32, f64],
        P => {
            let (counts, probs) =
                (parameters.counts.values::<P>()?, parameters.probs.values::<P>()?);
            dispatch!(
                dtype,
                [f32, f64, f16, i32, i64],
                T => Tensor::build(shape, |out: &mut [T]| {
                    binomial(parallel, philox, counts, probs, out);
                }),
                else => Err(internal!("no binomial values of type {dtype}"))
            )
        },
        else => Err(internal!("no binomial counts of type {}", parameters.counts.dtype()))
    )
}
