//! Tensors joined, cut and put in other shapes.

use tensorfleet_tensor::{DType, invalid_argument};

use super::size_of;
use crate::graph::Graph;
use crate::output::Output;

/// Tensors joined along a dimension.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (a, b) = (graph.constant([[1i32], [2]]), graph.constant([[3i32], [4]]));
/// let joined = layers::concat(&[&a, &b], 1);
/// assert_eq!(Session::new(&graph)?.run((), joined.value::<Vec<Vec<i32>>>())?, [[1, 3], [2, 4]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn concat(parts: &[&Output], axis: i32) -> Output {
    match parts {
        [] => Graph::new().failed(invalid_argument!("nothing to concatenate")),
        [only] => only.identity(),
        [first, ..] => {
            first.graph().op("ConcatV2").inputs(parts.iter().copied()).input(axis).output()
        }
    }
}

/// Tensors of one shape put together along a new dimension.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let (a, b) = (graph.constant([1i32, 2]), graph.constant([3i32, 4]));
/// let rows = layers::stack(&[&a, &b], 0);
/// assert_eq!(Session::new(&graph)?.run((), rows.value::<Vec<Vec<i32>>>())?, [[1, 2], [3, 4]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn stack(parts: &[&Output], axis: i64) -> Output {
    match parts {
        [] => Graph::new().failed(invalid_argument!("nothing to stack")),
        [first, ..] => {
            first.graph().op("Pack").inputs(parts.iter().copied()).attr("axis", axis).output()
        }
    }
}

/// The slices along a dimension of known size.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let columns = layers::unstack(&graph.constant([[1i32, 2], [3, 4]]), 1);
/// assert_eq!(columns.len(), 2);
/// assert_eq!(Session::new(&graph)?.run((), columns[1].value::<Vec<i32>>())?, [2, 4]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn unstack(x: &Output, axis: usize) -> Vec<Output> {
    let count = size_of(x, axis) as i64;
    let op = x.graph().op("Unpack").input(x).attr("num", count).attr("axis", axis as i64);
    op.build().outputs()
}

/// All dimensions but the first as one.
///
/// ```
/// use tensorfleet_client::{Graph, layers};
///
/// let graph = Graph::new();
/// let images = graph.placeholder::<f32>([None, Some(7), Some(7), Some(16)]);
/// assert_eq!(layers::flatten(&images).shape().to_string(), "[?,784]");
/// ```
#[track_caller]
pub fn flatten(x: &Output) -> Output {
    let dims = x.shape().dims;
    let rest: Option<usize> = dims.and_then(|dims| dims.iter().skip(1).copied().product());
    match rest {
        Some(rest) => x.reshape([-1, rest as i32]),
        None => {
            let rows = x.shape_tensor().slice(&[0], &[1]);
            x.reshape(concat(&[&rows, &x.graph().constant([-1i32])], 0))
        }
    }
}

/// Ids as one-hot rows, of type `float`.
///
/// ```
/// use tensorfleet_client::{Graph, Session, layers};
///
/// # fn main() -> tensorfleet_client::Result<()> {
/// let graph = Graph::new();
/// let rows = layers::one_hot(&graph.constant([2i64, 0]), 3);
/// let rows = Session::new(&graph)?.run((), rows.value::<Vec<Vec<f32>>>())?;
/// assert_eq!(rows, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
/// # Ok(())
/// # }
/// ```
#[track_caller]
pub fn one_hot(ids: &Output, classes: usize) -> Output {
    ids.one_hot(classes).cast(DType::Float)
}
