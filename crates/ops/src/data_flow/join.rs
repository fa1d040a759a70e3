//! Joining tensors end to end and cutting them apart, whatever their type.

use tensorfleet_tensor::{DType, PartialShape, Result, Shape, Tensor, invalid_argument};

/// Makes a tensor of `shape` from the elements of `parts`, one after the other.
pub(crate) fn join(dtype: DType, shape: Shape, parts: &[Tensor]) -> Result<Tensor> {
    match dtype {
        DType::String => {
            let mut values = Vec::with_capacity(shape.num_elements());
            for part in parts {
                values.extend_from_slice(part.strings()?);
            }
            Tensor::from_strings(shape, values)
        }
        DType::Resource => {
            let mut values = Vec::with_capacity(shape.num_elements());
            for part in parts {
                values.extend_from_slice(part.resources()?);
            }
            Tensor::from_resources(shape, values)
        }
        DType::Variant => {
            let mut values = Vec::with_capacity(shape.num_elements());
            for part in parts {
                values.extend_from_slice(part.variants()?);
            }
            Tensor::from_variants(shape, values)
        }
        _ => {
            let bytes: usize = parts.iter().map(|part| part.raw().len()).sum();
            if shape.num_elements().checked_mul(dtype.size()) != Some(bytes) {
                return Err(invalid_argument!("{bytes} bytes do not fill shape {shape}"));
            }
            Tensor::build_raw(dtype, shape, |mut out| {
                for part in parts {
                    let (head, tail) = out.split_at_mut(part.raw().len());
                    head.copy_from_slice(part.raw());
                    out = tail;
                }
                Ok(())
            })
        }
    }
}

/// Stacks tensors of equal shape `element` along a new first dimension.
pub fn stack(dtype: DType, element: &Shape, parts: &[Tensor]) -> Result<Tensor> {
    join(dtype, prepend(parts.len(), element)?, parts)
}

/// A shape with one more dimension in front.
pub(crate) fn prepend(first: usize, rest: &Shape) -> Result<Shape> {
    let mut dims = vec![first];
    dims.extend_from_slice(rest.dims());
    Shape::new(&dims)
}

/// A shape without its first dimension.
pub(crate) fn without_first(shape: &Shape) -> Result<Shape> {
    Shape::new(shape.dims().get(1..).unwrap_or(&[]))
}

/// One row of a tensor of rank one or more, without the first dimension.
pub fn row(tensor: &Tensor, index: usize) -> Result<Tensor> {
    tensor.rows(index..index + 1)?.into_shape(without_first(tensor.shape())?)
}

/// What both shapes say together.
pub(crate) fn merge(a: &PartialShape, b: &PartialShape) -> Result<PartialShape> {
    let (Some(left), Some(right)) = (&a.dims, &b.dims) else {
        return Ok(if a.dims.is_some() { a.clone() } else { b.clone() });
    };
    if left.len() != right.len() {
        return Err(invalid_argument!(
            "PartialTensorShape: Incompatible ranks during merge: {} vs. {}",
            left.len(),
            right.len()
        ));
    }
    let mut dims = Vec::with_capacity(left.len());
    for (&l, &r) in left.iter().zip(right) {
        if l.is_some() && r.is_some() && l != r {
            return Err(invalid_argument!(
                "PartialTensorShape: Incompatible shapes during merge: {a} vs. {b}"
            ));
        }
        dims.push(l.or(r));
    }
    Ok(PartialShape::known(dims))
}
