//! Reading the small integer inputs that ops take beside their data: axes, shapes, sizes.

use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument, resource_exhausted};

/// The most elements that a result of strings, handles or variants may have: their count comes
/// from the client, and each costs memory before anything is known of its contents.
const MOST_ELEMENTS: usize = 1 << 28;

/// An axis, counted from the end if negative; nothing if there is no such axis.
pub(crate) fn axis_in(axis: i64, rank: usize) -> Option<usize> {
    let from_start = if axis < 0 { axis.checked_add(rank as i64)? } else { axis };
    usize::try_from(from_start).ok().filter(|&axis| axis < rank)
}

/// The only integer of a tensor, if it has one element.
pub(crate) fn single(tensor: &Tensor) -> Result<Option<i64>> {
    if tensor.num_elements() != 1 {
        return Ok(None);
    }
    Ok(integers(tensor)?.first().copied())
}

/// The elements of a tensor of any integer type that serves as an index or a size.
pub(crate) fn integers(tensor: &Tensor) -> Result<Vec<i64>> {
    match tensor.dtype() {
        DType::Int8 => Ok(tensor.values::<i8>()?.iter().map(|&v| v.into()).collect()),
        DType::UInt8 => Ok(tensor.values::<u8>()?.iter().map(|&v| v.into()).collect()),
        DType::UInt16 => Ok(tensor.values::<u16>()?.iter().map(|&v| v.into()).collect()),
        _ => tensor.to_i64_vec(),
    }
}

/// Whether a tensor is a vector, or a scalar that old graphs pass for a vector of one.
pub(crate) fn is_legacy_vector(tensor: &Tensor) -> bool {
    tensor.rank() <= 1
}

/// Whether a tensor is a scalar, or a vector of one that old graphs pass for a scalar.
pub(crate) fn is_legacy_scalar(tensor: &Tensor) -> bool {
    tensor.rank() == 0 || tensor.dims() == [1]
}

/// A shape that a client asks for, in TensorFlow's words if it cannot be.
pub(crate) fn requested_shape(dims: &[i64]) -> Result<Shape> {
    if let Some(negative) = dims.iter().find(|&&dim| dim < 0) {
        return Err(invalid_argument!("Dimension {negative} must be >= 0"));
    }
    Shape::from_signed(dims).map_err(|_| {
        let dims: Vec<String> = dims.iter().map(i64::to_string).collect();
        invalid_argument!("Shape [{}] would have more than 2**63 - 1 elements", dims.join(","))
    })
}

/// Refuses a result that a client asks for in a few bytes and whose elements take many.
pub(crate) fn check_size(dtype: DType, shape: &Shape) -> Result<()> {
    if !dtype.is_plain() && shape.num_elements() > MOST_ELEMENTS {
        return Err(resource_exhausted!(
            "OOM when allocating tensor with shape{shape} and type {dtype}"
        ));
    }
    Ok(())
}

/// Dimensions that a computation came to, as a shape.
pub(crate) fn shape_of(dims: &[usize]) -> Result<Shape> {
    let signed: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
    requested_shape(&signed)
}

/// Where element `at` of a tensor is, as `[1,2]`; nothing for a scalar.
pub(crate) fn coordinates(mut at: usize, dims: &[usize]) -> String {
    let mut parts = Vec::with_capacity(dims.len());
    for &dim in dims.iter().rev() {
        parts.push((at % dim).to_string());
        at /= dim;
    }
    parts.reverse();
    if parts.is_empty() { String::new() } else { format!("[{}]", parts.join(",")) }
}
