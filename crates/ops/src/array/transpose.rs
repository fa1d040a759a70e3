//! `Transpose`, `ConjugateTranspose`, and the permutations that they take.

use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, ShapeContext, cpu,
    no_gradient,
};
use tensorfleet_kernels::elementwise;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::arguments::axis_in;
use super::copy::{materialize, parallel};
use super::types;
use super::view::View;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "ConjugateTranspose",
        inputs: &["x: T", "perm: Tperm"],
        outputs: &["y: T"],
        attrs: &["T: type", "Tperm: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<ConjugateTranspose>().types("T", types::ALL_AND_FLOAT8)],
        shape: Some(transposed),
        gradient: Some(conjugate_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "InvertPermutation",
        inputs: &["x: T"],
        outputs: &["y: T"],
        attrs: &["T: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<InvertPermutation>()],
        shape: Some(crate::shapes::unchanged),
        gradient: Some(no_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "Transpose",
        inputs: &["x: T", "perm: Tperm"],
        outputs: &["y: T"],
        attrs: &["T: type", "Tperm: {int32, int64} = DT_INT32"],
        kernels: &[cpu::<Transpose>().types("T", types::ALL_AND_FLOAT8)],
        shape: Some(transposed),
        gradient: Some(transpose_gradient),
        ..Op::DEFAULT
    },
];

fn transpose(ctx: &KernelContext<'_>) -> Result<Tensor> {
    let (input, perm) = (ctx.input(0)?, ctx.input(1)?);
    let order = order(perm, input.rank())?;
    materialize(input, View::of(input.dims()).permuted(&order), parallel(ctx))
}

/// The axes in the order that `perm` asks for.
fn order(perm: &Tensor, rank: usize) -> Result<Vec<usize>> {
    if perm.rank() != 1 {
        return Err(invalid_argument!("perm must be rank 1, got shape {}", perm.shape()));
    }
    if perm.num_elements() != rank {
        return Err(invalid_argument!(
            "transpose expects a vector of size {rank}. But input(1) is a vector of size {}",
            perm.num_elements()
        ));
    }
    let perm = perm.to_i64_vec()?;
    let axis = |&axis: &i64| {
        axis_in(axis, rank).ok_or_else(|| invalid_argument!("{axis} is out of range [0 .. {rank})"))
    };
    let order = perm.iter().map(axis).collect::<Result<Vec<_>>>()?;
    if let Some(missing) = (0..rank).find(|axis| !order.contains(axis)) {
        let perm: Vec<String> = perm.iter().map(i64::to_string).collect();
        return Err(invalid_argument!("{missing} is missing from {{{}}}.", perm.join(",")));
    }
    Ok(order)
}

#[derive(Debug)]
struct Transpose;

impl Kernel for Transpose {
    fn new(_: &Attrs<'_>) -> Result<Transpose> {
        Ok(Transpose)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let output = transpose(ctx)?;
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct ConjugateTranspose;

impl Kernel for ConjugateTranspose {
    fn new(_: &Attrs<'_>) -> Result<ConjugateTranspose> {
        Ok(ConjugateTranspose)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let mut output = transpose(ctx)?;
        match output.dtype() {
            DType::Complex64 => {
                let values = output.values_mut::<Complex<f32>>()?;
                elementwise::map_in_place(parallel(ctx), values, |value| value.conj());
            }
            DType::Complex128 => {
                let values = output.values_mut::<Complex<f64>>()?;
                elementwise::map_in_place(parallel(ctx), values, |value| value.conj());
            }
            _ => {}
        }
        ctx.set_output(0, output);
        Ok(())
    }
}

#[derive(Debug)]
struct InvertPermutation;

impl Kernel for InvertPermutation {
    fn new(_: &Attrs<'_>) -> Result<InvertPermutation> {
        Ok(InvertPermutation)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let input = ctx.input(0)?;
        if input.rank() != 1 {
            return Err(invalid_argument!("invert_permutation expects a 1D vector."));
        }
        let perm = input.to_i64_vec()?;
        let mut inverse = vec![-1i64; perm.len()];
        for (i, &value) in perm.iter().enumerate() {
            let place = usize::try_from(value).ok().and_then(|value| inverse.get_mut(value));
            match place {
                None => {
                    return Err(invalid_argument!("{value} is not between 0 and {}", perm.len()));
                }
                Some(place) if *place != -1 => {
                    return Err(invalid_argument!("{value} is duplicated in the input."));
                }
                Some(place) => *place = i as i64,
            }
        }
        let output = if input.dtype() == DType::Int64 {
            Tensor::vector(&inverse)?
        } else {
            Tensor::build(Shape::vector(inverse.len()), |out: &mut [i32]| {
                out.iter_mut().zip(&inverse).for_each(|(out, &value)| *out = value as i32);
            })?
        };
        ctx.set_output(0, output);
        Ok(())
    }
}

fn transposed(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let Some(dims) = &c.input(0).dims else { return Ok(vec![PartialShape::UNKNOWN]) };
    let Some(order) = c.constant_ints(1) else {
        return Ok(vec![PartialShape::of_rank(dims.len())]);
    };
    if order.len() != dims.len() {
        return Err(invalid_argument!(
            "an order of {} dimensions does not fit a tensor of shape {}",
            order.len(),
            c.input(0)
        ));
    }
    let axes: Result<Vec<usize>> =
        order.iter().map(|&axis| crate::shapes::axis_index(axis, dims.len())).collect();
    Ok(vec![PartialShape::known(axes?.into_iter().map(|axis| dims[axis]))])
}

/// The order that undoes the node's: a constant where that is one.
fn inverse(g: &GradientContext<'_>) -> Result<Output> {
    let order = g.constant_value(g.input(1)).and_then(|order| order.to_i64_vec().ok());
    let Some(order) = order else { return g.call("InvertPermutation", [g.input(1)]) };
    let mut back = vec![0i32; order.len()];
    for (to, &from) in order.iter().enumerate() {
        back[crate::shapes::axis_index(from, order.len())?] = to as i32;
    }
    g.vector(&back)
}

fn transpose_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![Some(g.call("Transpose", [g.grad(0)?, inverse(g)?])?.into()), None])
}

fn conjugate_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![Some(g.call("ConjugateTranspose", [g.grad(0)?, inverse(g)?])?.into()), None])
}
