//! Zeros and sums of variants: where the gradients of lists and their like start, and what they
//! become where they meet.

use std::sync::Arc;

use tensorfleet_tensor::{
    AddTensors, DType, EncodedVariant, Result, Tensor, Variant, VariantValue, internal,
    invalid_argument,
};

use super::{tensor_list, tensor_map};
use crate::dataset::optional;
use crate::sparse::ragged::variant as ragged;

/// The value of the same structure in which every number is zero.
pub(crate) fn zeros(variant: &Variant) -> Result<Variant> {
    decoded(variant)?.zeros_like()
}

/// The sum of two variants of one type.
pub(crate) fn sum(a: &Variant, b: &Variant, add: AddTensors<'_>) -> Result<Variant> {
    if a.type_name() != b.type_name() {
        return Err(internal!(
            "BinaryOpVariants: Variants a and b have different type ids.  Type names: '{}' vs. \
             '{}'",
            b.type_name(),
            a.type_name()
        ));
    }
    decoded(a)?.plus(&decoded(b)?, &mut |a, b| add_parts(a, b, add))
}

/// The value itself, also of one that came from another task.
fn decoded(variant: &Variant) -> Result<Variant> {
    fn shared<V: VariantValue + Clone>(value: std::borrow::Cow<'_, V>) -> Variant {
        Arc::new(value.into_owned())
    }
    if variant.downcast_ref::<EncodedVariant>().is_none() {
        return Ok(Arc::clone(variant));
    }
    match variant.type_name() {
        optional::TYPE_NAME => optional::from_variant(variant).map(shared),
        ragged::TYPE_NAME => ragged::from_variant(variant).map(shared),
        tensor_list::TYPE_NAME => tensor_list::from_variant(variant).map(shared),
        tensor_map::TYPE_NAME => tensor_map::from_variant(variant).map(shared),
        _ => Ok(Arc::clone(variant)),
    }
}

/// Zeros for a tensor that is part of a variant.
pub(crate) fn zeros_of_part(part: &Tensor) -> Result<Tensor> {
    let dtype = part.dtype();
    if dtype == DType::Variant {
        let zeros = part.variants()?.iter().map(zeros).collect::<Result<Vec<_>>>()?;
        return Tensor::from_variants(part.shape().clone(), zeros);
    }
    if !is_number(dtype) && dtype != DType::Bool {
        return Err(invalid_argument!(
            "Trying to compute zeros_like for unsupported dtype {dtype}"
        ));
    }
    Tensor::zeros(dtype, part.shape().clone())
}

fn add_parts(a: Tensor, b: Tensor, add: AddTensors<'_>) -> Result<Tensor> {
    if a.dtype() != b.dtype() {
        return Err(invalid_argument!(
            "Trying to add two tensors with incompatible element types. One is {} and the other is \
             {}",
            a.dtype(),
            b.dtype()
        ));
    }
    if a.shape() != b.shape() {
        return Err(invalid_argument!(
            "Trying to add two tensors with incompatible element shapes. One is {} and the other \
             is {}",
            a.shape(),
            b.shape()
        ));
    }
    if !is_number(a.dtype()) && a.dtype() != DType::Variant {
        return Err(invalid_argument!("Trying to add unsupported dtype {}", a.dtype() as i32));
    }
    add(a, b)
}

fn is_number(dtype: DType) -> bool {
    dtype.is_floating() || dtype.is_complex() || dtype.is_integer()
}

/// A variant as messages name one that is not of the wanted type.
pub(crate) fn debug(variant: &Variant) -> String {
    let name = variant.type_name();
    let value = match name {
        optional::TYPE_NAME => optional::from_variant(variant).map(|value| value.debug()).ok(),
        tensor_list::TYPE_NAME => Some("TensorList".to_owned()),
        tensor_map::TYPE_NAME => Some("TensorMap".to_owned()),
        _ => None,
    };
    match value {
        Some(value) => format!("Variant<type: {name} value: {value}>"),
        None => format!("Variant<type: {name}>"),
    }
}
