//! `Select` and `SelectV2`: one of two values, position by position.

use num_complex::Complex;
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, Op, cpu,
};
use tensorfleet_kernels::Parallel;
use tensorfleet_kernels::elementwise::{Broadcast, zip3, zip3_broadcast};
use tensorfleet_tensor::{DType, Element, Result, Shape, Tensor, dispatch, invalid_argument};

/// What TensorFlow's kernels take: not the quantised and the very short types.
const TYPES: &[DType] = &[
    DType::BFloat16,
    DType::Bool,
    DType::Complex64,
    DType::Complex128,
    DType::Double,
    DType::Float,
    DType::Half,
    DType::Int8,
    DType::Int16,
    DType::Int32,
    DType::Int64,
    DType::Resource,
    DType::String,
    DType::UInt8,
    DType::UInt16,
    DType::UInt32,
    DType::UInt64,
    DType::Variant,
];

pub(super) const OPS: &[Op] = &[
    Op {
        name: "Select",
        inputs: &["condition: bool", "t: T", "e: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<Select>().types("T", TYPES)],
        shape: Some(crate::shapes::as_second),
        gradient: Some(select_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SelectV2",
        inputs: &["condition: bool", "t: T", "e: T"],
        outputs: &["output: T"],
        attrs: &["T: type"],
        kernels: &[cpu::<SelectV2>().types("T", TYPES)],
        shape: Some(crate::shapes::broadcasts),
        gradient: Some(gradient),
        ..Op::DEFAULT
    },
];

/// Without broadcasting, except that the condition may be one for all or one for each row.
#[derive(Debug)]
struct Select;

impl Kernel for Select {
    fn new(_: &Attrs<'_>) -> Result<Select> {
        Ok(Select)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (condition, t, e) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let result = if condition.shape().is_scalar() {
            if t.shape() != e.shape() {
                return Err(invalid_argument!(
                    "'then' and 'else' must have the same size.  but received: {} vs. {}",
                    t.shape(),
                    e.shape()
                ));
            }
            if condition.scalar_value()? { t.clone() } else { e.clone() }
        } else if condition.rank() == 1 && t.rank() != 1 {
            check_rows(condition.shape(), t.shape(), e.shape())?;
            // One condition for each row is a column that is broadcast.
            let mut dims = vec![1; t.rank()];
            dims[0] = condition.num_elements();
            select(par, &condition.reshape(Shape::new(&dims)?)?, t, e)?
        } else {
            for (number, other) in [(1, t), (2, e)] {
                if condition.shape() != other.shape() {
                    return Err(invalid_argument!(
                        "Inputs to operation {} of type Select must have the same size and shape.  \
                         Input 0: {} != input {number}: {}",
                        ctx.node_name(),
                        condition.shape(),
                        other.shape()
                    ));
                }
            }
            select(par, condition, t, e)?
        };
        ctx.set_output(0, result);
        Ok(())
    }
}

fn check_rows(condition: &Shape, t: &Shape, e: &Shape) -> Result<()> {
    let Some(&rows) = t.dims().first() else {
        return Err(invalid_argument!("'then' must be at least a vector, but saw shape: {t}"));
    };
    if rows != condition.num_elements() {
        return Err(invalid_argument!(
            "Number of batches of 'then' must match size of 'cond', but saw: {rows} vs. {}",
            condition.num_elements()
        ));
    }
    if t != e {
        return Err(invalid_argument!(
            "'then' and 'else' must have the same size.  but received: {t} vs. {e}"
        ));
    }
    Ok(())
}

/// With broadcasting of all three inputs.
#[derive(Debug)]
struct SelectV2;

impl Kernel for SelectV2 {
    fn new(_: &Attrs<'_>) -> Result<SelectV2> {
        Ok(SelectV2)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (condition, t, e) = (ctx.input(0)?, ctx.input(1)?, ctx.input(2)?);
        let result = if condition.shape().is_scalar() && t.shape() == e.shape() {
            if condition.scalar_value()? { t.clone() } else { e.clone() }
        } else {
            select(par, condition, t, e)?
        };
        ctx.set_output(0, result);
        Ok(())
    }
}

fn select(par: Parallel, condition: &Tensor, t: &Tensor, e: &Tensor) -> Result<Tensor> {
    let plan = Broadcast::new([condition.dims(), t.dims(), e.dims()]).ok_or_else(|| {
        invalid_argument!(
            "condition {}, then {}, and else {} must be broadcastable",
            condition.shape(),
            t.shape(),
            e.shape()
        )
    })?;
    let shape = Shape::new(plan.shape())?;
    let condition_values = condition.values::<bool>()?;
    match t.dtype() {
        DType::String => {
            let picked = pick(&plan, condition_values, t.strings()?, e.strings()?);
            Tensor::from_strings(shape, picked)
        }
        DType::Resource => {
            let picked = pick(&plan, condition_values, t.resources()?, e.resources()?);
            Tensor::from_resources(shape, picked)
        }
        DType::Variant => {
            let picked = pick(&plan, condition_values, t.variants()?, e.variants()?);
            Tensor::from_variants(shape, picked)
        }
        dtype => {
            // Only the size of elements matters when they are moved.
            let bits = match dtype.size() {
                1 => DType::UInt8,
                2 => DType::UInt16,
                4 => DType::UInt32,
                8 => DType::UInt64,
                _ => DType::Complex128,
            };
            let t_bits = t.reinterpret(bits, t.shape().clone())?;
            let e_bits = e.reinterpret(bits, e.shape().clone())?;
            let same = condition.shape() == t.shape() && t.shape() == e.shape();
            let picked = dispatch!(
                bits,
                [u8, u16, u32, u64, Complex<f64>],
                T => Tensor::build(shape.clone(), |out: &mut [T]| {
                    let values = (condition_values, values::<T>(&t_bits), values::<T>(&e_bits));
                    let choose = |c: bool, t: T, e: T| if c { t } else { e };
                    if same {
                        zip3(par, values, out, choose);
                    } else {
                        zip3_broadcast(par, &plan, values, out, choose);
                    }
                })?,
                else => return Err(invalid_argument!("cannot select from {dtype} tensors"))
            );
            picked.reinterpret(dtype, shape)
        }
    }
}

fn values<T: Element>(tensor: &Tensor) -> &[T] {
    tensor.values().expect("the tensor was reinterpreted as this type")
}

fn pick<T: Clone>(plan: &Broadcast<3>, condition: &[bool], t: &[T], e: &[T]) -> Vec<T> {
    let steps = plan.advances().map(usize::from);
    let mut picked = Vec::with_capacity(plan.len());
    plan.segments(0..plan.len(), |segment, [at_condition, at_t, at_e]| {
        for i in 0..segment.len() {
            picked.push(if condition[at_condition + i * steps[0]] {
                t[at_t + i * steps[1]].clone()
            } else {
                e[at_e + i * steps[2]].clone()
            });
        }
    });
    picked
}

fn select_gradient(g: &GradientContext<'_>) -> InputGradients {
    let (condition, grad) = (g.input(0), g.grad(0)?);
    let zeros = g.zeros_like(grad)?;
    let taken = g.call("Select", [condition, grad, zeros])?;
    let other = g.call("Select", [condition, zeros, grad])?;
    Ok(vec![None, Some(taken.into()), Some(other.into())])
}

fn gradient(g: &GradientContext<'_>) -> InputGradients {
    let (condition, grad, output) = (g.input(0), g.grad(0)?, g.output(0));
    let zero = g.number_like(0.0, grad)?;
    let taken = g.call("SelectV2", [condition, grad, zero])?;
    let other = g.call("SelectV2", [condition, zero, grad])?;
    let taken = g.unbroadcast(taken, g.input(1), output)?;
    let other = g.unbroadcast(other, g.input(2), output)?;
    Ok(vec![None, Some(taken.into()), Some(other.into())])
}
