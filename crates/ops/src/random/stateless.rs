//! Ops whose numbers depend on their seed input alone.
//!
//! The first version takes a seed; the second takes the key and counter that
//! `StatelessRandomGetKeyCounter` makes of it.

use tensorfleet_framework::{Attrs, Kernel, KernelContext, KernelDef, Op, cpu};
use tensorfleet_kernels::random::Philox;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::distribution::{self, Continuous};
use super::stateful::MultinomialDraw;
use super::{FLOATS, shape_of};

const FLOAT_V1: &[&str] = &[
    "dtype: {half, bfloat16, float, double} = DT_FLOAT",
    "T: {int32, int64} = DT_INT32",
    "Tseed: {int32, int64} = DT_INT64",
];
const FLOAT_V2: &[&str] =
    &["dtype: {half, bfloat16, float, double} = DT_FLOAT", "Tshape: {int32, int64} = DT_INT32"];
const CONTINUOUS: &[KernelDef] = &[cpu::<Stateless>().types("dtype", FLOATS)];
const INTEGERS: &[KernelDef] = &[cpu::<Stateless>().types("dtype", &[DType::Int32, DType::Int64])];
const FULL_INTEGERS: &[KernelDef] = &[cpu::<Stateless>()];
const V2_INPUTS: &[&str] = &["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"];

const fn continuous_v1(name: &'static str) -> Op {
    Op {
        name,
        inputs: &["shape: T", "seed: Tseed"],
        outputs: &["output: dtype"],
        attrs: FLOAT_V1,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    }
}

const fn continuous_v2(name: &'static str) -> Op {
    Op {
        name,
        inputs: V2_INPUTS,
        outputs: &["output: dtype"],
        attrs: FLOAT_V2,
        kernels: CONTINUOUS,
        ..Op::DEFAULT
    }
}

pub(super) const OPS: &[Op] = &[
    Op {
        name: "StatelessMultinomial",
        inputs: &["logits: T", "num_samples: int32", "seed: Tseed"],
        outputs: &["output: output_dtype"],
        attrs: &[
            "T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}",
            "Tseed: {int32, int64} = DT_INT64",
            "output_dtype: {int32, int64} = DT_INT64",
        ],
        kernels: &[cpu::<StatelessMultinomial>().types("T", FLOATS)],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomGetAlg",
        outputs: &["alg: int32"],
        stateful: true,
        kernels: &[cpu::<GetAlg>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomGetKeyCounter",
        inputs: &["seed: Tseed"],
        outputs: &["key: uint64", "counter: uint64"],
        attrs: &["Tseed: {int32, int64} = DT_INT64"],
        kernels: &[cpu::<GetKeyCounter>()],
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomGetKeyCounterAlg",
        inputs: &["seed: Tseed"],
        outputs: &["key: uint64", "counter: uint64", "alg: int32"],
        attrs: &["Tseed: {int32, int64} = DT_INT64"],
        kernels: &[cpu::<GetKeyCounter>()],
        ..Op::DEFAULT
    },
    continuous_v1("StatelessRandomNormal"),
    continuous_v2("StatelessRandomNormalV2"),
    continuous_v1("StatelessRandomUniform"),
    Op {
        name: "StatelessRandomUniformFullInt",
        inputs: &["shape: T", "seed: Tseed"],
        outputs: &["output: dtype"],
        attrs: &[
            "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
            "T: {int32, int64} = DT_INT32",
            "Tseed: {int32, int64, uint32, uint64} = DT_INT64",
        ],
        kernels: FULL_INTEGERS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomUniformFullIntV2",
        inputs: V2_INPUTS,
        outputs: &["output: dtype"],
        attrs: &[
            "dtype: {int32, int64, uint32, uint64} = DT_UINT64",
            "Tshape: {int32, int64} = DT_INT32",
        ],
        kernels: FULL_INTEGERS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomUniformInt",
        inputs: &["shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"],
        outputs: &["output: dtype"],
        attrs: &["dtype: {int32, int64}", "T: {int32, int64}", "Tseed: {int32, int64} = DT_INT64"],
        kernels: INTEGERS,
        ..Op::DEFAULT
    },
    Op {
        name: "StatelessRandomUniformIntV2",
        inputs: &[
            "shape: Tshape",
            "key: uint64",
            "counter: uint64",
            "alg: int32",
            "minval: dtype",
            "maxval: dtype",
        ],
        outputs: &["output: dtype"],
        attrs: &["dtype: {int32, int64, uint32, uint64}", "Tshape: {int32, int64} = DT_INT32"],
        kernels: INTEGERS,
        ..Op::DEFAULT
    },
    continuous_v2("StatelessRandomUniformV2"),
    continuous_v1("StatelessTruncatedNormal"),
    continuous_v2("StatelessTruncatedNormalV2"),
];

/// The number by which TensorFlow names Philox.
const PHILOX: i32 = 1;
/// The number that leaves the choice to the device; on a CPU it is Philox.
const AUTO_SELECT: i32 = 3;

pub(super) fn generator_of_seed(seed: &Tensor) -> Result<Philox> {
    if seed.dims() != [2] {
        return Err(invalid_argument!("seed must have shape [2], not {}", seed.shape()));
    }
    let seed = match seed.dtype() {
        DType::UInt32 => seed.values::<u32>()?.iter().map(|&v| i64::from(v)).collect(),
        DType::UInt64 => seed.values::<u64>()?.iter().map(|&v| v as i64).collect(),
        _ => seed.to_i64_vec()?,
    };
    Ok(Philox::from_stateless_seed([seed[0], seed[1]]))
}

/// The generator that the inputs `key`, `counter` and `alg` describe.
pub(super) fn generator_of_key(key: &Tensor, counter: &Tensor, alg: &Tensor) -> Result<Philox> {
    let (key, counter) = check_key(key, counter, alg)?;
    Ok(Philox::from_key_counter(key, counter))
}

/// The numbers in the inputs `key` and `counter`, if `alg` is an algorithm that we have.
pub(super) fn check_key(key: &Tensor, counter: &Tensor, alg: &Tensor) -> Result<(u64, [u64; 2])> {
    if !alg.shape().is_scalar() {
        return Err(invalid_argument!("input 3 (0-based) must have shape [], not {}", alg.shape()));
    }
    let algorithm = match alg.scalar_value::<i32>()? {
        PHILOX | AUTO_SELECT => PHILOX,
        other => return Err(invalid_argument!("Unsupported algorithm id: {other}")),
    };
    if key.dims() != [1] {
        return Err(invalid_argument!(
            "key must have shape [1], not {}. (Note that batched keys are not supported yet.)",
            key.shape()
        ));
    }
    let (key, words) = (key.values::<u64>()?[0], counter.values::<u64>()?);
    // TensorFlow compares with the number of the algorithm, where it means that of words.
    if counter.rank() != 1 || words.len() < algorithm as usize {
        return Err(invalid_argument!(
            "counter must be a vector with length at least {algorithm}; got shape: {}. (Note that \
             batched counters are not supported yet.)",
            counter.shape()
        ));
    }
    Ok((key, [words[0], words.get(1).copied().unwrap_or_default()]))
}

#[derive(Clone, Copy, Debug)]
enum Draw {
    Continuous(Continuous),
    Integers,
    FullIntegers,
}

/// Both versions of all ops that fill a shape.
#[derive(Debug)]
struct Stateless {
    draw: Draw,
    dtype: DType,
    takes_key: bool,
}

impl Kernel for Stateless {
    fn new(attrs: &Attrs<'_>) -> Result<Stateless> {
        let op = attrs.op();
        let draw = if op.contains("FullInt") {
            Draw::FullIntegers
        } else if op.contains("UniformInt") {
            Draw::Integers
        } else if op.contains("Uniform") {
            Draw::Continuous(Continuous::Uniform)
        } else if op.contains("Truncated") {
            Draw::Continuous(Continuous::Truncated)
        } else {
            Draw::Continuous(Continuous::Normal)
        };
        Ok(Stateless { draw, dtype: attrs.dtype("dtype")?, takes_key: op.ends_with("V2") })
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (philox, next) = if self.takes_key {
            (generator_of_key(ctx.input(1)?, ctx.input(2)?, ctx.input(3)?)?, 4)
        } else {
            (generator_of_seed(ctx.input(1)?)?, 2)
        };
        let shape: Shape = shape_of(ctx.input(0)?)?;
        let threads = ctx.parallelism();
        let output = match self.draw {
            Draw::Continuous(kind) => {
                distribution::continuous(kind, self.dtype, shape, philox, threads)?
            }
            Draw::Integers => {
                let (low, high) = (ctx.input(next)?, ctx.input(next + 1)?);
                distribution::integers(low, high, shape, philox, threads)?
            }
            Draw::FullIntegers => distribution::full_integers(self.dtype, shape, philox, threads)?,
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct GetKeyCounter;

impl Kernel for GetKeyCounter {
    fn new(_: &Attrs<'_>) -> Result<GetKeyCounter> {
        Ok(GetKeyCounter)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let philox = generator_of_seed(ctx.input(0)?)?;
        ctx.set_output(0, Tensor::vector(&[philox.key()])?);
        ctx.set_output(1, Tensor::vector(&philox.counter())?);
        if ctx.num_outputs() > 2 {
            ctx.set_output(2, Tensor::scalar(PHILOX));
        }
        Ok(())
    }
}

#[derive(Debug)]
struct GetAlg;

impl Kernel for GetAlg {
    fn new(_: &Attrs<'_>) -> Result<GetAlg> {
        Ok(GetAlg)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        ctx.set_output(0, Tensor::scalar(PHILOX));
        Ok(())
    }
}

#[derive(Debug)]
struct StatelessMultinomial(DType);

impl Kernel for StatelessMultinomial {
    fn new(attrs: &Attrs<'_>) -> Result<StatelessMultinomial> {
        Ok(StatelessMultinomial(attrs.dtype("output_dtype")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let philox = generator_of_seed(ctx.input(2)?)?;
        let draw = MultinomialDraw::new(ctx.input(0)?, ctx.input(1)?)?;
        let output = draw.run(philox, self.0, ctx.parallelism())?;
        ctx.set_output(0, output);
        Ok(())
    }
}
