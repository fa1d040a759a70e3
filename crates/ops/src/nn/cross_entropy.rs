//! The cross entropy of softmaxed logits with labels, and its gradient by the logits.

use std::borrow::Cow;
use std::fmt::Write;

use half::{bf16, f16};
use tensorfleet_framework::{
    Attrs, GradientContext, InputGradients, Kernel, KernelContext, NewNode, Op, ShapeContext, cpu,
};
use tensorfleet_kernels::elementwise::Broadcast;
use tensorfleet_kernels::{Parallel, Real, softmax};
use tensorfleet_tensor::{Element, Error, Result, Shape, Tensor, dispatch, invalid_argument};

use super::FLOATS;
use tensorfleet_framework::gradient::both;
use tensorfleet_framework::shape::broadcast;
use tensorfleet_graph::Output;
use tensorfleet_tensor::PartialShape;

pub(super) const OPS: &[Op] = &[
    Op {
        name: "SoftmaxCrossEntropyWithLogits",
        inputs: &["features: T", "labels: T"],
        outputs: &["loss: T", "backprop: T"],
        attrs: &["T: {half, bfloat16, float, double}"],
        kernels: &[cpu::<CrossEntropy>().types("T", FLOATS)],
        shape: Some(dense_shape),
        gradient: Some(dense_gradient),
        ..Op::DEFAULT
    },
    Op {
        name: "SparseSoftmaxCrossEntropyWithLogits",
        inputs: &["features: T", "labels: Tlabels"],
        outputs: &["loss: T", "backprop: T"],
        attrs: &["T: {half, bfloat16, float, double}", "Tlabels: {int32, int64} = DT_INT64"],
        kernels: &[cpu::<SparseCrossEntropy>().types("T", FLOATS)],
        shape: Some(sparse_shape),
        gradient: Some(sparse_gradient),
        ..Op::DEFAULT
    },
];

/// Labels that an error shows of a batch that has a bad one.
const MOST_SHOWN: usize = 1000;

/// The labels are a distribution for each row.
#[derive(Debug)]
struct CrossEntropy;

impl Kernel for CrossEntropy {
    fn new(_: &Attrs<'_>) -> Result<CrossEntropy> {
        Ok(CrossEntropy)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
        let Some(plan) = Broadcast::new([logits.dims(), labels.dims()]) else {
            return Err(invalid_argument!(
                "logits and labels must be broadcastable: logits_size={} labels_size={}",
                logits.shape(),
                labels.shape()
            ));
        };
        let &[rows, classes] = plan.shape() else {
            return Err(invalid_argument!(
                "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
            ));
        };
        let (loss, backprop) = dispatch!(
            logits.dtype(),
            [f32, f64, f16, bf16],
            T => dense::<T>(par, logits, labels, rows, classes),
            else => Err(super::unsupported(logits.dtype()))
        )?;
        ctx.set_output(0, loss);
        ctx.set_output(1, backprop);
        Ok(())
    }
}

fn dense<T: Real + Element>(
    par: Parallel,
    logits: &Tensor,
    labels: &Tensor,
    rows: usize,
    classes: usize,
) -> Result<(Tensor, Tensor)> {
    let shape = Shape::new(&[rows, classes])?;
    if shape.num_elements() == 0 {
        return Ok((
            Tensor::zeros(T::DTYPE, Shape::vector(rows))?,
            Tensor::zeros(T::DTYPE, shape)?,
        ));
    }
    let logits = expand::<T>(logits, rows, classes)?;
    let labels = expand::<T>(labels, rows, classes)?;
    let mut loss = Tensor::for_overwrite::<T>(Shape::vector(rows))?;
    let backprop = Tensor::try_build(shape, |backprop| {
        softmax::cross_entropy(par, &logits, &labels, classes, loss.values_mut()?, backprop);
        Ok(())
    })?;
    Ok((loss, backprop))
}

/// The values of a tensor that broadcasts to a matrix, repeated where it does.
fn expand<T: Element>(tensor: &Tensor, rows: usize, columns: usize) -> Result<Cow<'_, [T]>> {
    let values = tensor.values::<T>()?;
    if values.len() == rows * columns {
        return Ok(Cow::Borrowed(values));
    }
    let own_columns = tensor.dims().last().copied().unwrap_or(1);
    let row = |row: &[T]| if own_columns == columns { row.to_vec() } else { vec![row[0]; columns] };
    let expanded: Vec<Vec<T>> = values.chunks_exact(own_columns).map(row).collect();
    Ok(Cow::Owned(if expanded.len() == rows {
        expanded.concat()
    } else {
        expanded.concat().repeat(rows)
    }))
}

/// The labels are the one class of each row.
#[derive(Debug)]
struct SparseCrossEntropy;

impl Kernel for SparseCrossEntropy {
    fn new(_: &Attrs<'_>) -> Result<SparseCrossEntropy> {
        Ok(SparseCrossEntropy)
    }

    fn compute(&self, ctx: &mut KernelContext<'_>) -> Result<()> {
        let par = Parallel::new(ctx.parallelism());
        let (logits, labels) = (ctx.input(0)?, ctx.input(1)?);
        let &[rows, classes] = logits.dims() else {
            return Err(invalid_argument!("logits must be 2-D, but got shape {}", logits.shape()));
        };
        if labels.rank() != 1 {
            return Err(invalid_argument!("labels must be 1-D, but got shape {}", labels.shape()));
        }
        if labels.num_elements() != rows {
            return Err(invalid_argument!(
                "logits and labels must have the same first dimension, got logits shape {} and \
                 labels shape {}",
                logits.shape(),
                labels.shape()
            ));
        }
        if classes == 0 {
            return Err(invalid_argument!(
                "Must have at least one class, but got logits shape {}",
                logits.shape()
            ));
        }
        let labels = labels.to_i64_vec()?;
        if let Some(&bad) = labels.iter().find(|&&label| label < 0 || label as usize >= classes) {
            return Err(bad_label(bad, classes, &labels));
        }
        let (loss, backprop) = dispatch!(
            logits.dtype(),
            [f32, f64, f16, bf16],
            T => {
                let values = logits.values::<T>()?;
                let mut loss = Tensor::for_overwrite::<T>(Shape::vector(rows))?;
                let backprop = Tensor::try_build(logits.shape().clone(), |backprop| {
                    let loss = loss.values_mut()?;
                    softmax::sparse_cross_entropy(par, values, &labels, classes, loss, backprop);
                    Ok(())
                })?;
                (loss, backprop)
            },
            else => return Err(super::unsupported(logits.dtype()))
        );
        ctx.set_output(0, loss);
        ctx.set_output(1, backprop);
        Ok(())
    }
}

fn bad_label(bad: i64, classes: usize, labels: &[i64]) -> Error {
    let mut shown = String::new();
    for label in labels.iter().take(MOST_SHOWN) {
        let _ = write!(shown, " {label}");
    }
    if labels.len() > MOST_SHOWN {
        shown.push_str("...");
    }
    invalid_argument!(
        "Received a label value of {bad} which is outside the valid range of [0, {classes}).  \
         Label values:{shown}"
    )
}

fn dense_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    let both = broadcast(c.input(0), c.input(1))?;
    let rows = both.dims.as_ref().map(|dims| dims.first().copied().flatten());
    let losses = rows.map_or(PartialShape::of_rank(1), |rows| PartialShape::known([rows]));
    Ok(vec![losses, both])
}

fn sparse_shape(c: &ShapeContext<'_>) -> Result<Vec<PartialShape>> {
    Ok(vec![c.input(1).clone(), c.input(0).clone()])
}

/// The gradient of the logits: that of the losses times what the op computed along with them, plus
/// what comes from a use of the latter.
fn of_logits(g: &GradientContext<'_>) -> Result<Output> {
    let column = g.call("ExpandDims", [g.grad(0)?, g.scalar(-1i32)?])?;
    let first = g.mul(column, g.output(1))?;
    let Some(second) = g.grad_or_none(1) else { return Ok(first) };
    let second = g.dense(second)?;
    let softmax = g.call("Softmax", [g.input(0)])?;
    let node = NewNode::new("Sum").input(g.mul(second, softmax)?).input(g.vector(&[1i32])?);
    let shared = g.out(node.attr("keep_dims", true))?;
    g.add2(first, g.mul(g.sub(second, shared)?, softmax)?)
}

fn dense_gradient(g: &GradientContext<'_>) -> InputGradients {
    let column = g.call("ExpandDims", [g.grad(0)?, g.scalar(-1i32)?])?;
    let labels = g.mul(column, g.neg(g.call("LogSoftmax", [g.input(0)])?)?)?;
    let (logits, output) = (of_logits(g)?, g.output(1));
    both(g.unbroadcast(logits, g.input(0), output)?, g.unbroadcast(labels, g.input(1), output)?)
}

fn sparse_gradient(g: &GradientContext<'_>) -> InputGradients {
    Ok(vec![Some(of_logits(g)?.into()), None])
}
