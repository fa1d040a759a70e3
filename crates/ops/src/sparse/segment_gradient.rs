//! Gradients of reductions of segments: each row gets what its segment got, or a share of it.

use tensorfleet_framework::{GradientContext, InputGradients};
use tensorfleet_graph::Output;
use tensorfleet_tensor::{DType, Result};

type Context<'a> = GradientContext<'a>;

/// The gradient of the rows; ids have none.
fn of_rows(g: &Context<'_>, gradient: Output) -> InputGradients {
    let mut gradients = vec![None; g.num_inputs()];
    gradients[0] = Some(gradient.into());
    Ok(gradients)
}

/// For each row what its segment has.
fn gather(g: &Context<'_>, segments: Output) -> Result<Output> {
    g.call("GatherV2", [segments, g.input(1), g.scalar(0i32)?])
}

pub(super) fn sum(g: &Context<'_>) -> InputGradients {
    of_rows(g, gather(g, g.grad(0)?)?)
}

pub(super) fn mean(g: &Context<'_>) -> InputGradients {
    let (data, ids, grad) = (g.input(0), g.input(1), g.grad(0)?);
    // One for each row, in a shape that can be multiplied with rows.
    let rank = g.rank_tensor(data)?;
    let inner = g.call(
        "Fill",
        [g.reshape(g.sub(rank, g.scalar(1i32)?)?, g.vector(&[1i32])?)?, g.scalar(1i32)?],
    )?;
    let shape = tensorfleet_framework::NewNode::new("ConcatV2");
    let shape = shape.list(&[g.call("Shape", [ids])?, inner]).input(g.scalar(0i32)?);
    let ones = g.call("Fill", [g.out(shape)?, g.number_like(1.0, grad)?])?;
    let counts = g.call("SegmentSum", [ones, ids])?;
    of_rows(g, gather(g, g.div(grad, counts)?)?)
}

/// Rows that equal the extreme of their segment share its gradient.
pub(super) fn extreme(g: &Context<'_>) -> InputGradients {
    let (data, ids, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let chosen = g.cast(g.call("Equal", [data, gather(g, g.output(0))?])?, g.dtype(data))?;
    let number = g.call("SegmentSum", [chosen, ids])?;
    of_rows(g, g.mul(gather(g, g.div(grad, number)?)?, chosen)?)
}

/// The product of the others, for each element, without dividing by zero: the elements that are not
/// zero, and what their products are together.
struct Others {
    is_zero: Output,
    others: Output,
    /// The product of what is not zero, by segment.
    product: Output,
    /// The gradients of segments; zero where two elements are.
    grad: Output,
}

impl Others {
    /// `reduce` adds up or multiplies by segment.
    fn new(g: &Context<'_>, reduce: impl Fn(&str, Output) -> Result<Output>) -> Result<Others> {
        let (data, grad) = (g.input(0), g.grad(0)?);
        let is_zero = g.call("Equal", [data, g.number_like(0.0, data)?])?;
        let zeros = reduce("Sum", g.cast(is_zero, DType::Int32)?)?;
        let is_lost = g.call("Greater", [zeros, g.scalar(1i32)?])?;
        let others = g.call("SelectV2", [is_zero, g.number_like(1.0, data)?, data])?;
        Ok(Others {
            is_zero,
            others,
            product: reduce("Prod", others)?,
            grad: g.call("SelectV2", [is_lost, g.number_like(0.0, grad)?, grad])?,
        })
    }

    fn gradient(
        self,
        g: &Context<'_>,
        gather: impl Fn(Output) -> Result<Output>,
    ) -> InputGradients {
        let rest = g.div(gather(g.output(0))?, self.others)?;
        let partial = g.call("SelectV2", [self.is_zero, gather(self.product)?, rest])?;
        of_rows(g, g.mul(gather(self.grad)?, partial)?)
    }
}

pub(super) fn product(g: &Context<'_>) -> InputGradients {
    let reduce = |op: &str, data| g.call(&format!("Segment{op}"), [data, g.input(1)]);
    Others::new(g, reduce)?.gradient(g, |segments| gather(g, segments))
}

pub(super) fn unsorted_product(g: &Context<'_>) -> InputGradients {
    let reduce =
        |op: &str, data| g.call(&format!("UnsortedSegment{op}"), [data, g.input(1), g.input(2)]);
    Others::new(g, reduce)?.gradient(g, |segments| Ok(gather_valid(g, segments)?.0))
}

/// For each row what its segment has; zero for rows with a negative id, which belong to none.
fn gather_valid(g: &Context<'_>, segments: Output) -> Result<(Output, Output)> {
    let ids = g.input(1);
    let zero = g.cast(g.scalar(0i32)?, g.dtype(ids))?;
    let gathered =
        g.call("GatherV2", [segments, g.call("Maximum", [ids, zero])?, g.scalar(0i32)?])?;
    let valid = g.call("GreaterEqual", [ids, zero])?;
    // One flag for each row, in a shape that can be broadcast over the row.
    let missing = g.sub(g.rank_tensor(gathered)?, g.rank_tensor(ids)?)?;
    let ones = g.call("Fill", [g.reshape(missing, g.vector(&[1i32])?)?, g.scalar(1i32)?])?;
    let shape = tensorfleet_framework::NewNode::new("ConcatV2");
    let shape = shape.list(&[g.call("Shape", [ids])?, ones]).input(g.scalar(0i32)?);
    let valid = g.reshape(valid, g.out(shape)?)?;
    let kept = g.call("SelectV2", [valid, gathered, g.number_like(0.0, gathered)?])?;
    Ok((kept, valid))
}

pub(super) fn unsorted_sum(g: &Context<'_>) -> InputGradients {
    of_rows(g, gather_valid(g, g.grad(0)?)?.0)
}

pub(super) fn unsorted_extreme(g: &Context<'_>) -> InputGradients {
    let (data, ids, grad) = (g.input(0), g.input(1), g.grad(0)?);
    let (best, valid) = gather_valid(g, g.output(0))?;
    let chosen = g.call("LogicalAnd", [g.call("Equal", [data, best])?, valid])?;
    let chosen = g.cast(chosen, g.dtype(data))?;
    let number = g.call("UnsortedSegmentSum", [chosen, ids, g.input(2)])?;
    let share = g.call("DivNoNan", [grad, number])?;
    of_rows(g, g.mul(gather_valid(g, share)?.0, chosen)?)
}

/// The gradient of a sparse reduction, which an op of its own computes.
fn sparse(g: &Context<'_>, op: &str) -> InputGradients {
    let (data, indices, ids) = (g.input(0), g.input(1), g.input(2));
    let rows = g.call("GatherV2", [g.shape_tensor(data)?, g.scalar(0i32)?, g.scalar(0i32)?])?;
    let rows = g.cast(rows, DType::Int32)?;
    of_rows(g, g.call(op, [g.grad(0)?, indices, ids, rows])?)
}

pub(super) fn sparse_sum(g: &Context<'_>) -> InputGradients {
    sparse(g, "SparseSegmentSumGrad")
}

pub(super) fn sparse_mean(g: &Context<'_>) -> InputGradients {
    sparse(g, "SparseSegmentMeanGrad")
}

pub(super) fn sparse_sqrt_n(g: &Context<'_>) -> InputGradients {
    sparse(g, "SparseSegmentSqrtNGrad")
}
