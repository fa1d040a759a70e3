//! Sparse labels as a sequence for each element of a batch.

use tensorfleet_tensor::{Result, Tensor, invalid_argument};

/// Reads the sequences, in the order of their indices.
pub(super) fn sequences(indices: &Tensor, values: &Tensor, batch: usize) -> Result<Vec<Vec<i32>>> {
    let &[rows, columns] = indices.dims() else {
        return Err(invalid_argument!("labels_indices is not a matrix"));
    };
    if values.rank() != 1 {
        return Err(invalid_argument!("labels_values is not a vector"));
    }
    if rows != values.num_elements() {
        return Err(invalid_argument!(
            "labels_indices and labels_values must contain the same number of rows, but saw \
             shapes: {} vs. {}",
            indices.shape(),
            values.shape()
        ));
    }
    if columns != 2 {
        return Err(invalid_argument!(
            "label SparseTensor is not valid: indices have {columns} columns instead of 2"
        ));
    }
    let mut sequences = vec![Vec::new(); batch];
    let mut before = None;
    let places = indices.values::<i64>()?.as_chunks::<2>().0;
    for (row, (&[element, time], &value)) in places.iter().zip(values.values::<i32>()?).enumerate()
    {
        let sequence = usize::try_from(element).ok().and_then(|at| sequences.get_mut(at));
        let problem = match sequence {
            None => "out of bounds",
            Some(_) if time < 0 => "out of bounds",
            Some(_) if before > Some((element, time)) => "out of order",
            Some(_) if before == Some((element, time)) => "repeated",
            Some(sequence) => {
                sequence.push(value);
                before = Some((element, time));
                continue;
            }
        };
        return Err(invalid_argument!(
            "label SparseTensor is not valid: indices[{row}] = [{element},{time}] is {problem}"
        ));
    }
    Ok(sequences)
}
