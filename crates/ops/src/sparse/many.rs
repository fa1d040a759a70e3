//! Sparse tensors taken apart into rows, and put together from many.

use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::parts::Sparse;

/// The three tensors of a sparse one.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    pub(super) indices: Tensor,
    pub(super) values: Tensor,
    pub(super) shape: Tensor,
}

impl Parts {
    /// Takes the inputs of an op, whose ranks are checked.
    pub(super) fn new(indices: &Tensor, values: &Tensor, shape: &Tensor) -> Result<Parts> {
        for (tensor, rank, what) in [
            (indices, 2, "indices should be a matrix"),
            (values, 1, "values should be a vector"),
            (shape, 1, "shape should be a vector"),
        ] {
            if tensor.rank() != rank {
                return Err(invalid_argument!(
                    "Input {what} but received shape {}",
                    tensor.shape()
                ));
            }
        }
        Ok(Parts { indices: indices.clone(), values: values.clone(), shape: shape.clone() })
    }

    fn count(&self) -> usize {
        self.values.num_elements()
    }

    fn rank(&self) -> usize {
        self.shape.num_elements()
    }

    /// Takes the rows of the first dimension apart; each is a sparse tensor of one rank less.
    pub(super) fn rows(&self) -> Result<Vec<Parts>> {
        let (rank, count) = (self.rank(), self.count());
        Sparse::created(&self.indices, &self.values, &self.shape)?;
        if rank < 2 {
            return Err(invalid_argument!(
                "Rank of input SparseTensor should be > 1, but saw rank: {rank}"
            ));
        }
        let shape = self.shape.values::<i64>()?;
        let rows = usize::try_from(shape[0])
            .map_err(|_| invalid_argument!("Dimension {} must be >= 0", shape[0]))?;
        let indices = self.indices.values::<i64>()?;
        check_order(indices, shape)?;
        let inner = Tensor::vector(&shape[1..])?;
        let mut parts = Vec::new();
        let mut start = 0;
        // A shape may claim more rows than any machine holds; the caller asks for all of them.
        parts.try_reserve_exact(rows).map_err(|_| {
            tensorfleet_tensor::resource_exhausted!("a sparse tensor of {rows} rows is too large")
        })?;
        for row in 0..rows {
            let mut end = start;
            while end < count && indices[end * rank] == row as i64 {
                end += 1;
            }
            let own: Vec<i64> = indices[start * rank..end * rank]
                .chunks_exact(rank)
                .flat_map(|index| &index[1..])
                .copied()
                .collect();
            parts.push(Parts {
                indices: Tensor::from_slice(Shape::matrix(end - start, rank - 1), &own)?,
                values: self.values.rows(start..end)?,
                shape: inner.clone(),
            });
            start = end;
        }
        Ok(parts)
    }
}

/// Indices must lie inside the shape, each behind the one before it.
fn check_order(indices: &[i64], shape: &[i64]) -> Result<()> {
    let list = |index: &[i64]| index.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let mut last: Option<&[i64]> = None;
    for (n, index) in indices.chunks_exact(shape.len()).enumerate() {
        if index.iter().zip(shape).any(|(place, size)| *place < 0 || place >= size) {
            return Err(invalid_argument!(
                "indices[{n}] = [{}] is out of bounds: need 0 <= index < [{}]",
                list(index),
                list(shape)
            ));
        }
        if last.is_some_and(|last| last > index) {
            return Err(invalid_argument!(
                "indices[{n}] = [{}] is out of order. Many sparse ops require sorted indices.\n    \
                 Use `tf.sparse.reorder` to create a correctly ordered copy.\n\n",
                list(index)
            ));
        }
        if last == Some(index) {
            return Err(invalid_argument!("indices[{n}] = [{}] is repeated", list(index)));
        }
        last = Some(index);
    }
    Ok(())
}

/// Puts sparse tensors together along new first dimensions `outer`: as many as that has elements.
pub(super) fn join(parts: &[Parts], outer: &[usize], dtype: DType) -> Result<Parts> {
    let mut sizes: Vec<i64> = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        check(part, n, dtype)?;
        let shape = part.shape.values::<i64>()?;
        if n == 0 {
            sizes = shape.to_vec();
        } else if sizes.len() != shape.len() {
            return Err(invalid_argument!(
                "Inconsistent shape across SparseTensors: rank prior to SparseTensor[{n}] was: {} \
                 but rank of SparseTensor[{n}] is: {}",
                sizes.len(),
                shape.len()
            ));
        }
        sizes.iter_mut().zip(shape).for_each(|(size, own)| *size = (*size).max(*own));
    }
    let rank = sizes.len();
    let count: usize = parts.iter().map(Parts::count).sum();
    let mut indices = Vec::with_capacity(count * (outer.len() + rank));
    for (n, part) in parts.iter().enumerate() {
        let place = place(n, outer);
        // Without dimensions every value has an empty index.
        let inner = part.indices.values::<i64>()?;
        for value in 0..part.count() {
            indices.extend_from_slice(&place);
            indices.extend_from_slice(&inner[value * rank..(value + 1) * rank]);
        }
    }
    let shape: Vec<i64> = outer.iter().map(|&dim| dim as i64).chain(sizes).collect();
    Ok(Parts {
        indices: Tensor::from_slice(Shape::matrix(count, shape.len()), &indices)?,
        values: concat(dtype, count, parts)?,
        shape: Tensor::vector(&shape)?,
    })
}

fn check(part: &Parts, n: usize, dtype: DType) -> Result<()> {
    if part.indices.dtype() != DType::Int64 || part.shape.dtype() != DType::Int64 {
        return Err(invalid_argument!(
            "Expected the indices and the shape of SparseTensor[{n}] to be int64"
        ));
    }
    for (tensor, rank, what, column) in [
        (&part.indices, 2, "an index matrix", 0),
        (&part.values, 1, "a values vector", 1),
        (&part.shape, 1, "a shape vector", 2),
    ] {
        if tensor.rank() != rank {
            return Err(invalid_argument!(
                "Expected serialized_sparse[{n}, {column}] to represent {what} but received shape {}",
                tensor.shape()
            ));
        }
    }
    if part.values.dtype() != dtype {
        return Err(invalid_argument!(
            "Requested SparseTensor of type {dtype} but SparseTensor[{n}].values.dtype() == {}",
            part.values.dtype()
        ));
    }
    let (rows, columns) = (part.indices.dims()[0], part.indices.dims()[1]);
    if rows != part.count() {
        return Err(invalid_argument!(
            "Expected row counts of SparseTensor[{n}].indices and SparseTensor[{n}].values to match \
             but they do not: {rows} vs. {}",
            part.count()
        ));
    }
    if columns != part.rank() {
        return Err(invalid_argument!(
            "Expected column counts of SparseTensor[{n}].indices to match size of \
             SparseTensor[{n}].shape but they do not: {columns} vs. {}",
            part.rank()
        ));
    }
    Ok(())
}

/// The index of element `n` in a tensor of shape `dims`.
fn place(mut n: usize, dims: &[usize]) -> Vec<i64> {
    let mut place = vec![0; dims.len()];
    for (axis, &dim) in dims.iter().enumerate().rev() {
        place[axis] = (n % dim.max(1)) as i64;
        n /= dim.max(1);
    }
    place
}

fn concat(dtype: DType, count: usize, parts: &[Parts]) -> Result<Tensor> {
    let shape = Shape::vector(count);
    match dtype {
        DType::String => {
            let mut all = Vec::with_capacity(count);
            for part in parts {
                all.extend_from_slice(part.values.strings()?);
            }
            Tensor::from_strings(shape, all)
        }
        DType::Variant => {
            let mut all = Vec::with_capacity(count);
            for part in parts {
                all.extend_from_slice(part.values.variants()?);
            }
            Tensor::from_variants(shape, all)
        }
        DType::Resource => {
            let mut all = Vec::with_capacity(count);
            for part in parts {
                all.extend_from_slice(part.values.resources()?);
            }
            Tensor::from_resources(shape, all)
        }
        _ => Tensor::build_raw(dtype, shape, |out| {
            let mut rest = out;
            for part in parts {
                let bytes = part.values.raw();
                let (head, tail) = rest.split_at_mut(bytes.len());
                head.copy_from_slice(bytes);
                rest = tail;
            }
            Ok(())
        }),
    }
}
