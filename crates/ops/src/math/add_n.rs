//! `AddN`: the sum of tensors of one shape.

use half::{bf16, f16};
use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::{Parallel, Real};
use tensorfleet_tensor::{DType, Element, Result, Tensor, dispatch, internal, invalid_argument};

use super::dtypes::{NUMBERS, T_NUMBER};
use crate::list::arithmetic;

/// Elements summed at a time, in the nearest cache.
const BLOCK: usize = 512;
/// Elements below which another thread is not worth waking.
const MIN_PIECE: usize = 16 * 1024;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "AccumulateNV2",
        inputs: &["inputs: N * T"],
        outputs: &["sum: T"],
        attrs: &["N: int >= 1", T_NUMBER, "shape: shape"],
        commutative: true,
        aggregate: true,
        kernels: &[cpu::<AddN>().types("T", NUMBERS)],
        shape: Some(crate::shapes::all_equal),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "AddN",
        inputs: &["inputs: N * T"],
        outputs: &["sum: T"],
        attrs: &[
            "N: int >= 1",
            "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, \
             qint32, bfloat16, qint16, quint16, uint16, complex128, half, uint32, uint64, variant}",
        ],
        commutative: true,
        aggregate: true,
        kernels: &[cpu::<AddN>().types("T", NUMBERS), cpu::<AddN>().types("T", &[DType::Variant])],
        shape: Some(crate::shapes::all_equal),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

#[derive(Debug)]
struct AddN;

impl Kernel for AddN {
    fn new(_: &Attrs<'_>) -> Result<AddN> {
        Ok(AddN)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let count = ctx.num_inputs();
        for number in 1..count {
            let (first, other) = (ctx.input(0)?.shape(), ctx.input(number)?.shape());
            if first != other {
                return Err(invalid_argument!(
                    "Inputs to operation {} of type AddN must have the same size and shape.  \
                     Input 0: {first} != input {number}: {other}",
                    ctx.node_name()
                ));
            }
        }
        let inputs = (0..count).map(|i| ctx.take_input(i)).collect::<Result<Vec<_>>>()?;
        if inputs[0].dtype() == DType::Variant && !inputs[0].shape().is_scalar() {
            return Err(invalid_argument!(
                "AddN of non-scalar Tensor with dtype=DT_VARIANT is not supported; inputs[0 has \
                 shape: {}.",
                inputs[0].shape()
            ));
        }
        let sum = add_n(par, inputs)?;
        ctx.set_output(0, sum);
        Ok(())
    }
}

/// Adds tensors of one type and shape, in their order.
fn add_n(par: Parallel, mut inputs: Vec<Tensor>) -> Result<Tensor> {
    if inputs.len() == 1 {
        return Ok(inputs.remove(0));
    }
    if inputs[0].dtype() == DType::Variant {
        return add_variants(par, &inputs);
    }
    dispatch!(
        inputs[0].dtype(),
        [
            f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64, Complex<f32>, Complex<f64>,
        ],
        T => sum::<T>(par, inputs),
        else => Err(internal!("AddN was given {} tensors", inputs[0].dtype()))
    )
}

/// Adds variants, one after the other: what gradients of loops are.
fn add_variants(par: Parallel, inputs: &[Tensor]) -> Result<Tensor> {
    let mut sums = inputs[0].variants()?.to_vec();
    for input in &inputs[1..] {
        for (sum, other) in sums.iter_mut().zip(input.variants()?) {
            *sum = arithmetic::sum(sum, other, &mut |a, b| add_n(par, vec![a, b]))?;
        }
    }
    Tensor::from_variants(inputs[0].shape().clone(), sums)
}

fn sum<T: Summand>(par: Parallel, mut inputs: Vec<Tensor>) -> Result<Tensor> {
    // The sum goes to the storage of an input that nobody else holds, if there is one.
    let reused = inputs.iter().position(Tensor::is_unique);
    let mut target = match reused {
        Some(index) => std::mem::replace(&mut inputs[index], Tensor::scalar(false)),
        None => Tensor::for_overwrite::<T>(inputs[0].shape().clone())?,
    };
    let mut operands = Vec::with_capacity(inputs.len());
    for (index, input) in inputs.iter().enumerate() {
        operands.push(if reused == Some(index) { None } else { Some(input.values::<T>()?) });
    }
    par.for_each(target.values_mut::<T>()?, MIN_PIECE, |range, target| {
        let mut block = [T::Sum::default(); BLOCK];
        for (i, target) in target.chunks_mut(BLOCK).enumerate() {
            let (start, block) = (range.start + i * BLOCK, &mut block[..target.len()]);
            block.fill(T::Sum::default());
            for (index, operand) in operands.iter().enumerate() {
                let operand = match operand {
                    Some(values) => &values[start..start + target.len()],
                    None => &*target,
                };
                T::add(block, operand, index == 0);
            }
            T::store(block, target);
        }
    });
    Ok(target)
}

/// A type that can be summed.
trait Summand: Element {
    /// The type that sums are computed in.
    type Sum: Copy + Default + Send + Sync;

    /// Adds to the sums, or replaces them with the first operand, whose zeros may be negative.
    fn add(sums: &mut [Self::Sum], values: &[Self], first: bool);

    /// Rounds the sums.
    fn store(sums: &[Self::Sum], out: &mut [Self]);
}

macro_rules! summands {
    ($($type:ty: |$a:ident, $b:ident| $sum:expr;)+) => {$(
        impl Summand for $type {
            type Sum = $type;

            fn add(sums: &mut [$type], values: &[$type], first: bool) {
                if first {
                    return sums.copy_from_slice(values);
                }
                for ($a, &$b) in sums.iter_mut().zip(values) {
                    let value = { let $a = *$a; $sum };
                    *$a = value;
                }
            }

            fn store(sums: &[$type], out: &mut [$type]) {
                out.copy_from_slice(sums);
            }
        }
    )+};
}

summands! {
    f32: |a, b| a + b;
    f64: |a, b| a + b;
    Complex<f32>: |a, b| a + b;
    Complex<f64>: |a, b| a + b;
    i8: |a, b| a.wrapping_add(b);
    i16: |a, b| a.wrapping_add(b);
    i32: |a, b| a.wrapping_add(b);
    i64: |a, b| a.wrapping_add(b);
    u8: |a, b| a.wrapping_add(b);
    u16: |a, b| a.wrapping_add(b);
    u32: |a, b| a.wrapping_add(b);
    u64: |a, b| a.wrapping_add(b);
}

macro_rules! halves {
    ($($type:ty)+) => {$(
        impl Summand for $type {
            type Sum = f32;

            fn add(sums: &mut [f32], values: &[$type], first: bool) {
                if first {
                    return <$type>::widen_slice(values, sums);
                }
                let mut wide = [0.0; BLOCK];
                let wide = &mut wide[..values.len()];
                <$type>::widen_slice(values, wide);
                sums.iter_mut().zip(wide).for_each(|(sum, value)| *sum += *value);
            }

            fn store(sums: &[f32], out: &mut [$type]) {
                <$type>::narrow_slice(sums, out);
            }
        }
    )+};
}

halves!(f16 bf16);

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![g.grad_or_none(0); g.num_inputs()])
}
