//! Shape rules that many ops share.

use tensorfleet_framework::ShapeContext;
use tensorfleet_framework::shape::{broadcast, merge};
use tensorfleet_tensor::{PartialShape, Result, invalid_argument};

type Shapes = Result<Vec<PartialShape>>;

/// The output has the first input's shape.
pub(crate) fn unchanged(c: &ShapeContext<'_>) -> Shapes {
    Ok(vec![c.input(0).clone()])
}

/// The output has the second input's shape.
pub(crate) fn as_second(c: &ShapeContext<'_>) -> Shapes {
    Ok(vec![c.input(1).clone()])
}

/// Each output has the shape of the input of the same number.
pub(crate) fn each_unchanged(c: &ShapeContext<'_>) -> Shapes {
    Ok((0..c.num_outputs()).map(|index| c.input(index).clone()).collect())
}

/// All inputs and the output have one shape.
pub(crate) fn all_equal(c: &ShapeContext<'_>) -> Shapes {
    let mut shape = PartialShape::UNKNOWN;
    for index in 0..c.num_inputs() {
        shape = merge(&shape, c.input(index))?;
    }
    Ok(vec![shape])
}

/// All inputs are broadcast to the output's shape.
pub(crate) fn broadcasts(c: &ShapeContext<'_>) -> Shapes {
    let mut shape = PartialShape::scalar();
    for index in 0..c.num_inputs() {
        shape = broadcast(&shape, c.input(index))?;
    }
    Ok(vec![shape])
}

/// The output is a scalar.
pub(crate) fn scalar(_: &ShapeContext<'_>) -> Shapes {
    Ok(vec![PartialShape::scalar()])
}

/// The output has the shape that the attribute `shape` says.
pub(crate) fn from_attr(c: &ShapeContext<'_>) -> Shapes {
    Ok(vec![c.attrs().shape("shape")?.clone()])
}

/// The first input says what shape the output has.
pub(crate) fn from_first(c: &ShapeContext<'_>) -> Shapes {
    Ok(vec![c.input_as_shape(0)])
}

/// Refuses an input that cannot have the wanted rank.
pub(crate) fn check_rank(c: &ShapeContext<'_>, index: usize, rank: usize) -> Result<()> {
    match c.input(index).rank() {
        Some(have) if have != rank => Err(invalid_argument!(
            "input {index} must have rank {rank}, but has shape {}",
            c.input(index)
        )),
        _ => Ok(()),
    }
}

/// The sizes of an input of which the rank must be `N`.
pub(crate) fn dims<const N: usize>(
    c: &ShapeContext<'_>,
    index: usize,
) -> Result<[Option<usize>; N]> {
    check_rank(c, index, N)?;
    let dims = c.input(index).dims.as_ref();
    Ok(dims.and_then(|dims| dims[..].try_into().ok()).unwrap_or([None; N]))
}

/// Turns an axis that may count from the end into an index.
pub(crate) fn axis_index(axis: i64, rank: usize) -> Result<usize> {
    let signed = rank as i64;
    let index = if axis < 0 { axis + signed } else { axis };
    usize::try_from(index)
        .ok()
        .filter(|&index| index < rank)
        .ok_or_else(|| invalid_argument!("axis {axis} is not one of a tensor of rank {rank}"))
}
