//! What all linear algebra ops do alike: look at the last two dimensions as matrices, check them,
//! and work through the matrices of a batch, several at a time.

use std::sync::{Mutex, PoisonError};

use tensorfleet_framework::Value;
use tensorfleet_kernels::Parallel;
use tensorfleet_tensor::{Error, Result, Shape, Tensor, invalid_argument};

/// The rows and columns of the matrices in a tensor of rank two at least.
pub(super) fn matrix_size(tensor: &Tensor) -> (usize, usize) {
    match tensor.dims() {
        [.., rows, columns] => (*rows, *columns),
        _ => (0, 0),
    }
}

/// The dimensions before those of the matrix.
pub(super) fn outer(tensor: &Tensor) -> &[usize] {
    &tensor.dims()[..tensor.rank().saturating_sub(2)]
}

/// The number of matrices.
pub(super) fn count(tensor: &Tensor) -> usize {
    outer(tensor).iter().product()
}

/// The shape of a batch of matrices, or of what else there is for each.
pub(super) fn batch_shape(tensor: &Tensor, inner: &[usize]) -> Result<Shape> {
    Shape::new(&[outer(tensor), inner].concat())
}

/// Checks that inputs hold matrices, and equally many.
pub(super) fn check_batches(inputs: &[&Tensor]) -> Result<()> {
    for (i, input) in inputs.iter().enumerate() {
        if i > 0 && input.rank() != inputs[0].rank() {
            return Err(invalid_argument!("All input tensors must have the same rank."));
        }
        if input.rank() < 2 {
            return Err(invalid_argument!(
                "Input tensor {i} must have rank >= 2, got {}",
                input.rank()
            ));
        }
        if outer(input) != outer(inputs[0]) {
            return Err(invalid_argument!(
                "All input tensors must have the same outer dimensions."
            ));
        }
    }
    Ok(())
}

/// Checks for square matrices and returns their size.
pub(super) fn square(input: &Tensor) -> Result<usize> {
    check_batches(&[input])?;
    let (rows, columns) = matrix_size(input);
    if rows != columns {
        return Err(invalid_argument!("Input matrix must be square."));
    }
    Ok(rows)
}

/// The matrix number `index` of a batch.
pub(super) fn matrix_at<T>(values: &[T], (rows, columns): (usize, usize), index: usize) -> &[T] {
    &values[index * rows * columns..(index + 1) * rows * columns]
}

/// The threads that work on one matrix of a batch: all where it is the only one.
pub(super) fn inside(par: Parallel, count: usize) -> Parallel {
    if count == 1 { par } else { Parallel::SERIAL }
}

/// Cuts each output into one part for each of `count` matrices and runs `f` on the parts. The
/// error of the first matrix that fails is returned.
pub(super) fn for_each_matrix<O: Send, const N: usize>(
    par: Parallel,
    count: usize,
    outputs: [&mut [O]; N],
    f: impl Fn(usize, [&mut [O]; N]) -> Result<()> + Sync,
) -> Result<()> {
    let mut rest = outputs;
    let mut items = Vec::with_capacity(count);
    for index in 0..count {
        let parts = rest.each_mut().map(|rest| {
            let len = rest.len() / (count - index);
            rest.split_off_mut(..len).unwrap_or_default()
        });
        items.push((index, parts));
    }
    let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    par.for_each_item(items, |(index, parts)| {
        if let Err(error) = f(index, parts) {
            let mut first = failure.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(earlier, _)| index < *earlier) {
                *first = Some((index, error));
            }
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None => Ok(()),
    }
}

/// About how long a decomposition takes, in nanoseconds: the cube of the size.
pub(super) fn cubic_cost(inputs: &[Value]) -> u64 {
    let Some(Value::Tensor(input)) = inputs.first() else { return 0 };
    let (rows, columns) = matrix_size(input);
    (input.num_elements() as u64).saturating_mul(rows.min(columns) as u64)
}
