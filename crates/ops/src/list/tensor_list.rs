//! The list itself. A list is a value: an op that changes one makes another, and writes in place
//! only when nobody else holds it.

use std::any::Any;
use std::sync::Arc;

use tensorfleet_framework::KernelContext;
use tensorfleet_tensor::{
    AddTensors, DType, EncodedVariant, Error, PartialShape, Result, Shape, Tensor, Variant,
    VariantValue, invalid_argument,
};

use super::arithmetic::{debug, zeros_of_part};
use crate::data_flow::join::merge;

pub(super) const TYPE_NAME: &str = "tensorflow::TensorList";

/// A list of tensors of one type.
#[derive(Clone, Debug)]
pub(crate) struct TensorList {
    pub(crate) dtype: DType,
    /// What is known of the shape of every element.
    pub(crate) element_shape: PartialShape,
    /// How many elements it may have; -1 for any number.
    pub(crate) max_elements: i32,
    /// Absent elements have no value yet; they read as zeros.
    pub(crate) elements: Vec<Option<Tensor>>,
}

impl VariantValue for TensorList {
    fn type_name(&self) -> &str {
        TYPE_NAME
    }

    fn zeros_like(&self) -> Result<Variant> {
        let zeros = self.elements.iter().map(|e| e.as_ref().map(zeros_of_part).transpose());
        Ok(Arc::new(TensorList { elements: zeros.collect::<Result<_>>()?, ..self.clone() }))
    }

    /// What has no value counts as zeros.
    fn plus(&self, other: &Variant, add: AddTensors<'_>) -> Result<Variant> {
        let other = from_variant(other)?;
        if self.dtype != other.dtype {
            return Err(invalid_argument!(
                "Trying to add two lists of tensors of different dtypes. One is {} and the other \
                 is {}",
                self.dtype,
                other.dtype
            ));
        }
        if self.elements.len() != other.elements.len() {
            return Err(invalid_argument!(
                "Trying to add two lists of tensors with different lengths. One is {} and the \
                 other is {}",
                self.elements.len(),
                other.elements.len()
            ));
        }
        let element_shape = merge(&self.element_shape, &other.element_shape)?;
        let pairs = self.elements.iter().zip(&other.elements);
        let elements = pairs.map(|pair| match pair {
            (Some(a), Some(b)) => add(a.clone(), b.clone()).map(Some),
            (a, b) => Ok(a.as_ref().or(b.as_ref()).cloned()),
        });
        let elements = elements.collect::<Result<_>>()?;
        Ok(Arc::new(TensorList { element_shape, elements, ..self.clone() }))
    }

    /// The metadata is a row of variable-length integers, the shape a protocol buffer behind them.
    fn encode(&self) -> Result<EncodedVariant> {
        let absent: Vec<usize> =
            (0..self.elements.len()).filter(|&i| self.elements[i].is_none()).collect();
        let mut metadata = Vec::new();
        put_varint(&mut metadata, absent.len() as u64);
        for index in absent {
            put_varint(&mut metadata, index as u64);
        }
        put_varint(&mut metadata, self.dtype as u64);
        put_varint(&mut metadata, i64::from(self.max_elements) as u64);
        put_shape(&mut metadata, &self.element_shape);
        let tensors = self.elements.iter().flatten().cloned().collect();
        Ok(EncodedVariant { type_name: TYPE_NAME.to_owned(), metadata, tensors })
    }
}

impl TensorList {
    /// Reads a list as it came from another task.
    fn decode(encoded: &EncodedVariant) -> Option<TensorList> {
        let mut rest = encoded.metadata.as_slice();
        let absent = usize::try_from(get_varint(&mut rest)?).ok()?;
        // Each index takes a byte or more: a short message cannot claim many.
        if absent > rest.len() {
            return None;
        }
        let mut elements: Vec<Option<Tensor>> = encoded.tensors.iter().cloned().map(Some).collect();
        let count = elements.len() + absent;
        let mut present = std::mem::take(&mut elements).into_iter();
        let mut missing = Vec::with_capacity(absent);
        for _ in 0..absent {
            missing.push(usize::try_from(get_varint(&mut rest)?).ok()?);
        }
        let mut next_missing = missing.into_iter().peekable();
        for index in 0..count {
            if next_missing.next_if_eq(&index).is_some() {
                elements.push(None);
            } else {
                elements.push(present.next()?);
            }
        }
        let dtype = DType::from_number(i32::try_from(get_varint(&mut rest)?).ok()?)?;
        let max_elements = get_varint(&mut rest)? as i64 as i32;
        Some(TensorList { dtype, element_shape: get_shape(rest)?, max_elements, elements })
    }

    /// Checks that an op's elements are of the list's type.
    pub(super) fn check_dtype(&self, dtype: DType) -> Result<()> {
        if self.dtype != dtype {
            return Err(invalid_argument!(
                "Invalid data types; op elements {dtype} but list elements {}",
                self.dtype
            ));
        }
        Ok(())
    }

    /// The shape that elements without a value have, if it is known: by the list, by `hint`, or by
    /// the other elements.
    pub(super) fn merged_shape(&self, hint: &PartialShape) -> Result<PartialShape> {
        let mut shape = merge(hint, &self.element_shape)?;
        if shape.to_shape().is_none() {
            for element in self.elements.iter().flatten() {
                shape = merge(&shape, &element.shape().into())?;
            }
        }
        Ok(shape)
    }

    /// An element; zeros if it has no value.
    pub(super) fn element_or_zeros(&self, index: usize, shape: &Shape) -> Result<Tensor> {
        match self.elements.get(index) {
            Some(Some(tensor)) => Ok(tensor.clone()),
            _ => Tensor::zeros(self.dtype, shape.clone()),
        }
    }

    /// Puts the list into a tensor.
    pub(crate) fn into_tensor(self) -> Tensor {
        Tensor::variant(Arc::new(self))
    }
}

/// Reads the list in a variant.
pub(crate) fn from_variant(variant: &Variant) -> Result<std::borrow::Cow<'_, TensorList>> {
    if let Some(list) = variant.downcast_ref::<TensorList>() {
        return Ok(std::borrow::Cow::Borrowed(list));
    }
    if let Some(encoded) = variant.downcast_ref::<EncodedVariant>()
        && encoded.type_name == TYPE_NAME
        && let Some(list) = TensorList::decode(encoded)
    {
        return Ok(std::borrow::Cow::Owned(list));
    }
    Err(invalid_argument!("Input handle is not a list. Saw: '{}'", debug(variant)))
}

fn not_one(input: &Tensor) -> Error {
    invalid_argument!("Input list must be a scalar saw: {}", input.shape())
}

/// Reads the list that is an input.
pub(super) fn list_at<'a>(
    ctx: &'a KernelContext<'_>,
    index: usize,
) -> Result<std::borrow::Cow<'a, TensorList>> {
    let input = ctx.input(index)?;
    match input.variants()? {
        [variant] => from_variant(variant),
        _ => Err(not_one(input)),
    }
}

/// Takes the list that is an input out, to change it: a copy unless nobody else holds it.
pub(super) fn take_list(ctx: &mut KernelContext<'_>, index: usize) -> Result<TensorList> {
    let mut tensor = ctx.take_input(index)?;
    let [variant] = tensor.variants()? else {
        return Err(not_one(&tensor));
    };
    if variant.downcast_ref::<TensorList>().is_none() || !tensor.is_unique() {
        return Ok(from_variant(variant)?.into_owned());
    }
    let variant = &mut tensor.variants_mut()?[0];
    let own = Arc::get_mut(variant).and_then(|value| (value as &mut dyn Any).downcast_mut());
    match own {
        Some(list) => Ok(std::mem::replace(
            list,
            TensorList {
                dtype: list.dtype,
                element_shape: PartialShape::UNKNOWN,
                max_elements: -1,
                elements: Vec::new(),
            },
        )),
        None => Ok(from_variant(variant)?.into_owned()),
    }
}

/// Reads a partial shape from a tensor: -1 for what is unknown.
pub(super) fn shape_at(ctx: &KernelContext<'_>, index: usize) -> Result<PartialShape> {
    let tensor = ctx.input(index)?;
    let dims = tensor.to_i64_vec()?;
    match tensor.rank() {
        0 if dims[0] == -1 => Ok(PartialShape::UNKNOWN),
        0 => Err(invalid_argument!(
            "The only valid scalar shape tensor is the fully unknown shape specified as -1."
        )),
        1 => {
            let mut known = Vec::with_capacity(dims.len());
            for &dim in &dims {
                known.push(match dim {
                    -1 => None,
                    _ => Some(
                        usize::try_from(dim)
                            .map_err(|_| invalid_argument!("Dimension {dim} must be >= -1"))?,
                    ),
                });
            }
            Ok(PartialShape::known(known))
        }
        _ => Err(invalid_argument!("Shape must be at most rank 1 but is rank {}", tensor.rank())),
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn get_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

/// Field 2 of the message is a dimension, whose field 1 is its size; field 3 says that not even
/// the rank is known.
fn put_shape(out: &mut Vec<u8>, shape: &PartialShape) {
    let Some(dims) = &shape.dims else {
        out.extend([0x18, 1]);
        return;
    };
    for dim in dims {
        let mut inner = Vec::new();
        if *dim != Some(0) {
            inner.push(0x08);
            put_varint(&mut inner, dim.map_or(u64::MAX, |dim| dim as u64));
        }
        out.push(0x12);
        put_varint(out, inner.len() as u64);
        out.extend(inner);
    }
}

fn get_shape(mut bytes: &[u8]) -> Option<PartialShape> {
    let mut dims = Vec::new();
    while !bytes.is_empty() {
        match get_varint(&mut bytes)? {
            0x12 => {
                let len = usize::try_from(get_varint(&mut bytes)?).ok()?;
                let (mut inner, rest) = bytes.split_at_checked(len)?;
                bytes = rest;
                let size = match inner.first() {
                    Some(0x08) => {
                        inner = &inner[1..];
                        get_varint(&mut inner)? as i64
                    }
                    _ => 0,
                };
                dims.push(usize::try_from(size).ok());
            }
            0x18 => {
                if get_varint(&mut bytes)? != 0 {
                    return Some(PartialShape::UNKNOWN);
                }
            }
            _ => return None,
        }
    }
    Some(PartialShape::known(dims))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_survives_the_wire() {
        for element_shape in [
            PartialShape::UNKNOWN,
            PartialShape::scalar(),
            PartialShape::known([None, Some(0), Some(300)]),
        ] {
            let list = TensorList {
                dtype: DType::Int32,
                element_shape,
                max_elements: -1,
                elements: vec![None, Some(Tensor::scalar(7i32)), None],
            };
            let back = TensorList::decode(&list.encode().unwrap()).unwrap();
            assert_eq!(back.dtype, list.dtype);
            assert_eq!(back.element_shape, list.element_shape);
            assert_eq!(back.max_elements, -1);
            let present: Vec<bool> = back.elements.iter().map(Option::is_some).collect();
            assert_eq!(present, [false, true, false]);
        }
    }

    #[test]
    fn nonsense_is_no_list() {
        for metadata in [vec![], vec![255; 12], vec![1, 0], vec![0, 200, 1, 0]] {
            let encoded = EncodedVariant { metadata, ..EncodedVariant::default() };
            assert!(TensorList::decode(&encoded).is_none());
        }
    }
}
