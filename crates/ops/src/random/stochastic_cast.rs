//! `StochasticCastToInt`: rounding up by the chance that the fraction of a number is.

use half::{bf16, f16};
use num_traits::Float;
use tensorfleet_framework::{Attrs, Kernel, KernelContext, Op, cpu};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::random::{Distribution, Philox, Uniform, fill};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal};

use super::stateless::check_key;
use crate::math::cast;

pub(super) const OPS: &[Op] = &[Op {
    name: "StochasticCastToInt",
    inputs: &["input: Tin", "key: uint64", "counter: uint64", "alg: int32"],
    outputs: &["output: Tout"],
    attrs: &["Tin: {half, bfloat16, float, double}", "Tout: {int8, int16, int32}"],
    kernels: &[cpu::<StochasticCast>()],
    ..Op::DEFAULT
}];

#[derive(Debug)]
struct StochasticCast(DType);

impl Kernel for StochasticCast {
    fn new(attrs: &Attrs<'_>) -> Result<StochasticCast> {
        Ok(StochasticCast(attrs.dtype("Tout")?))
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let (key, counter) = check_key(ctx.input(1)?, ctx.input(2)?, ctx.input(3)?)?;
        // TensorFlow takes the first word of the counter for the seed, and the key for the second.
        let philox = Philox::new(counter[0], key);
        let x = ctx.input(0)?;
        let rounded = dispatch!(
            x.dtype(),
            [f16, bf16, f32, f64],
            T => round(x.values::<T>()?, self.0, philox, ctx.parallelism())?,
            else => return Err(internal!("no rounding of {}", x.dtype()))
        );
        let rounded = rounded.into_shape(x.shape().clone())?;
        let output = cast(Parallel::new(ctx.parallelism()), &rounded, self.0, false)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

/// How many numbers of `T` TensorFlow rounds with one block of chance, where it uses vectors.
fn vector<T: Element>(to: DType) -> Option<usize> {
    match (T::DTYPE, to) {
        (DType::Float, DType::Int32) => Some(8),
        (DType::Double, DType::Int32) => Some(4),
        _ => None,
    }
}

/// Vectors are as many numbers at a time as a vector of the result has.
const AT_ONCE: usize = 8;

fn round<T>(x: &[T], to: DType, philox: Philox, threads: usize) -> Result<Tensor>
where
    T: Element + Float,
    Uniform<T>: Distribution<Value = T>,
{
    let [least, most] = match to {
        DType::Int8 => [i8::MIN.into(), i8::MAX.into()],
        DType::Int16 => [i16::MIN.into(), i16::MAX.into()],
        _ => [i32::MIN, i32::MAX],
    };
    let limit = |value: i32| T::from(value).ok_or_else(|| internal!("{value} has no equal"));
    let (least, most) = (limit(least)?, limit(most)?);
    let per_block = Uniform::<T>::GROUP;
    let mut units = vec![T::zero(); x.len() * per_block];
    fill(Parallel::new(threads), &Uniform::<T>::new(), philox, &mut units);
    let mut blocks = units.chunks_exact(per_block);
    let mut next_block = || blocks.next().unwrap_or(&[]);
    let clamp = |x: T, rounded: T| {
        if x.is_nan() {
            T::zero()
        } else if x >= most {
            most
        } else if x <= least {
            least
        } else {
            rounded
        }
    };
    let mut out = Vec::with_capacity(x.len());
    let mut rest = x;
    if let Some(width) = vector::<T>(to) {
        let (vectors, tail) = x.split_at(x.len() / AT_ONCE * AT_ONCE);
        for numbers in vectors.chunks_exact(width) {
            let units = next_block();
            for (&x, &unit) in numbers.iter().zip(units.iter().cycle()) {
                let moved = if x < T::zero() { x + unit } else { x + (T::one() - unit) };
                out.push(clamp(x, if x.floor() == x { x } else { moved.floor() }));
            }
        }
        rest = tail;
    }
    for &x in rest {
        // A number that needs no rounding takes no chance.
        if x.is_nan() || x >= most || x <= least || x.floor() == x {
            out.push(clamp(x, x));
            continue;
        }
        let unit = next_block().first().copied().unwrap_or_else(T::zero);
        let moved = if x < T::zero() { x + unit } else { x + T::one() - unit };
        out.push(moved.floor());
    }
    Tensor::vector(&out)
}
