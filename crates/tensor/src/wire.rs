//! Tensors, shapes, types and handles as protocol messages.
//!
//! Decoding takes every encoding that TensorFlow writes: raw content, typed lists, lists shorter
//! than the shape whose last value repeats, and no value at all for zeros. The sizes that a message
//! claims are checked against what it carries before anything is allocated.

use std::sync::Arc;

use bytes::{Buf, Bytes};
use half::{bf16, f16};
use num_complex::Complex;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;

use crate::{
    DType, Element, EncodedVariant, PartialShape, QInt8, QInt16, QInt32, QUInt8, QUInt16,
    ResourceHandle, Result, Shape, Tensor, Variant,
};

/// The largest tensor that a message may describe without carrying its bytes: a message of any
/// kind is itself limited to 2 GiB.
const MAX_EXPANDED_BYTES: usize = 1 << 31;

/// How deep tensors may be nested in variants.
const MAX_VARIANT_DEPTH: usize = 32;

/// Reads an element type; `DT_INVALID` and unknown numbers are errors.
pub fn dtype(number: i32) -> Result<DType> {
    DType::from_number(number)
        .ok_or_else(|| invalid_argument!("{number} is not a valid tensor element type"))
}

/// Reads a full shape. An absent message is the shape of a scalar.
pub fn shape(message: Option<&pb::TensorShapeProto>) -> Result<Shape> {
    let Some(message) = message else { return Ok(Shape::SCALAR) };
    if message.unknown_rank {
        return Err(invalid_argument!("Shape of unknown rank where a full shape is needed"));
    }
    let dims: Vec<i64> = message.dim.iter().map(|dim| dim.size).collect();
    Shape::from_signed(&dims)
}

/// Writes a full shape.
pub fn shape_proto(shape: &Shape) -> pb::TensorShapeProto {
    let dim = |size| pb::tensor_shape_proto::Dim { size, name: String::new() };
    pb::TensorShapeProto { dim: shape.signed().map(dim).collect(), unknown_rank: false }
}

/// Reads a shape whose dimensions may be unknown. TensorFlow writes -1, and sometimes other
/// negative numbers, for an unknown dimension.
pub fn partial_shape(message: &pb::TensorShapeProto) -> PartialShape {
    if message.unknown_rank {
        return PartialShape::UNKNOWN;
    }
    PartialShape::known(message.dim.iter().map(|dim| usize::try_from(dim.size).ok()))
}

/// Writes a shape whose dimensions may be unknown.
pub fn partial_shape_proto(shape: &PartialShape) -> pb::TensorShapeProto {
    let Some(dims) = &shape.dims else {
        return pb::TensorShapeProto { dim: Vec::new(), unknown_rank: true };
    };
    let dim = |size: &Option<usize>| pb::tensor_shape_proto::Dim {
        size: size.map_or(-1, |size| size as i64),
        name: String::new(),
    };
    pb::TensorShapeProto { dim: dims.iter().map(dim).collect(), unknown_rank: false }
}

/// Reads a tensor.
pub fn tensor(message: &pb::TensorProto) -> Result<Tensor> {
    nested_tensor(message, MAX_VARIANT_DEPTH)
}

fn nested_tensor(message: &pb::TensorProto, depth: usize) -> Result<Tensor> {
    let dtype = dtype(message.dtype)?;
    let shape = shape(message.tensor_shape.as_ref())?;
    if !message.tensor_content.is_empty() {
        return match dtype {
            DType::String => {
                let values = list_from_content(&shape, message.tensor_content.clone())?;
                Tensor::from_strings(shape, values)
            }
            DType::Resource => {
                let values = list_from_content(&shape, message.tensor_content.clone())?;
                let handle = |bytes: Bytes| resource_handle(&decode(bytes)?);
                Tensor::from_resources(
                    shape,
                    values.into_iter().map(handle).collect::<Result<_>>()?,
                )
            }
            DType::Variant => {
                let depth = less_deep(depth)?;
                let values = list_from_content(&shape, message.tensor_content.clone())?;
                let value = |bytes: Bytes| variant(&decode(bytes)?, depth);
                Tensor::from_variants(shape, values.into_iter().map(value).collect::<Result<_>>()?)
            }
            _ => Tensor::from_bytes(dtype, shape, &message.tensor_content),
        };
    }
    let m = message;
    match dtype {
        DType::Float => splat(shape, m.float_val.iter().copied()),
        DType::Double => splat(shape, m.double_val.iter().copied()),
        DType::Int32 => splat(shape, m.int_val.iter().copied()),
        DType::Int16 => splat(shape, m.int_val.iter().map(|&v| v as i16)),
        DType::Int8 => splat(shape, m.int_val.iter().map(|&v| v as i8)),
        DType::UInt8 => splat(shape, m.int_val.iter().map(|&v| v as u8)),
        DType::UInt16 => splat(shape, m.int_val.iter().map(|&v| v as u16)),
        DType::QInt8 => splat(shape, m.int_val.iter().map(|&v| QInt8(v as i8))),
        DType::QUInt8 => splat(shape, m.int_val.iter().map(|&v| QUInt8(v as u8))),
        DType::QInt16 => splat(shape, m.int_val.iter().map(|&v| QInt16(v as i16))),
        DType::QUInt16 => splat(shape, m.int_val.iter().map(|&v| QUInt16(v as u16))),
        DType::QInt32 => splat(shape, m.int_val.iter().map(|&v| QInt32(v))),
        DType::Half => splat(shape, m.half_val.iter().map(|&v| f16::from_bits(v as u16))),
        DType::BFloat16 => splat(shape, m.half_val.iter().map(|&v| bf16::from_bits(v as u16))),
        DType::Int64 => splat(shape, m.int64_val.iter().copied()),
        DType::UInt32 => splat(shape, m.uint32_val.iter().copied()),
        DType::UInt64 => splat(shape, m.uint64_val.iter().copied()),
        DType::Bool => splat(shape, m.bool_val.iter().copied()),
        DType::Complex64 => {
            splat(shape, m.scomplex_val.chunks_exact(2).map(|v| Complex::new(v[0], v[1])))
        }
        DType::Complex128 => {
            splat(shape, m.dcomplex_val.chunks_exact(2).map(|v| Complex::new(v[0], v[1])))
        }
        DType::String => {
            let values =
                repeated(&shape, size_of::<Bytes>(), m.string_val.iter().cloned(), Bytes::new)?;
            Tensor::from_strings(shape, values)
        }
        DType::Resource => {
            let handles: Result<Vec<_>> =
                m.resource_handle_val.iter().map(resource_handle).collect();
            Tensor::from_resources(shape, handles?)
        }
        DType::Variant => {
            let depth = less_deep(depth)?;
            let values: Result<Vec<_>> = m.variant_val.iter().map(|v| variant(v, depth)).collect();
            Tensor::from_variants(shape, values?)
        }
        DType::Float8E5M2
        | DType::Float8E4M3FN
        | DType::Float8E4M3FNUZ
        | DType::Float8E4M3B11FNUZ
        | DType::Float8E5M2FNUZ => splat_bytes(dtype, shape, m.float8_val.iter().copied()),
        DType::Int4 | DType::UInt4 | DType::Int2 | DType::UInt2 => {
            splat_bytes(dtype, shape, m.int_val.iter().map(|&v| v as u8))
        }
    }
}

/// Fills a shape with a list that may be too short (its last value repeats), empty (zeros) or too
/// long (the rest is left out).
fn splat<T: Element>(shape: Shape, values: impl ExactSizeIterator<Item = T>) -> Result<Tensor> {
    let given = checked_count(&shape, size_of::<T>(), values.len())?;
    if given == 0 {
        return Tensor::zeros(T::DTYPE, shape);
    }
    Tensor::build(shape, |out: &mut [T]| {
        let mut last = T::default();
        let mut written = 0;
        for (slot, value) in out.iter_mut().zip(values) {
            (*slot, last) = (value, value);
            written += 1;
        }
        out[written..].fill(last);
    })
}

fn splat_bytes(
    dtype: DType,
    shape: Shape,
    values: impl ExactSizeIterator<Item = u8>,
) -> Result<Tensor> {
    let bytes = repeated(&shape, 1, values, || 0)?;
    Tensor::from_bytes(dtype, shape, &bytes)
}

fn repeated<T: Clone>(
    shape: &Shape,
    size: usize,
    values: impl ExactSizeIterator<Item = T>,
    zero: impl FnOnce() -> T,
) -> Result<Vec<T>> {
    checked_count(shape, size, values.len())?;
    let mut values: Vec<T> = values.collect();
    let last = values.last().cloned().unwrap_or_else(zero);
    values.resize(shape.num_elements(), last);
    Ok(values)
}

/// Checks that a list of `given` values may fill `shape` and returns how many there are.
fn checked_count(shape: &Shape, size: usize, given: usize) -> Result<usize> {
    let wanted = shape.num_elements();
    if given < wanted && wanted.checked_mul(size).is_none_or(|bytes| bytes > MAX_EXPANDED_BYTES) {
        return Err(invalid_argument!(
            "a tensor of shape {shape} is too large for the {given} values given"
        ));
    }
    Ok(given)
}

fn less_deep(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or_else(|| invalid_argument!("variants are nested too deeply"))
}

fn decode<T: Message + Default>(bytes: Bytes) -> Result<T> {
    T::decode(bytes).map_err(|error| invalid_argument!("an element cannot be read: {error}"))
}

/// Strings, or messages, in raw content: all lengths as varints, then all bytes.
fn list_from_content(shape: &Shape, mut content: Bytes) -> Result<Vec<Bytes>> {
    let count = shape.num_elements();
    let short = || invalid_argument!("string content is too short for shape {shape}");
    if count > content.len() {
        return Err(short());
    }
    let mut lengths = Vec::with_capacity(count);
    for _ in 0..count {
        lengths.push(varint(&mut content).ok_or_else(short)?);
    }
    let mut values = Vec::with_capacity(count);
    for length in lengths {
        if length > content.len() {
            return Err(short());
        }
        values.push(content.split_to(length));
    }
    if content.has_remaining() {
        return Err(invalid_argument!("string content is too long for shape {shape}"));
    }
    Ok(values)
}

fn varint(content: &mut Bytes) -> Option<usize> {
    let mut value: u64 = 0;
    for shift in (0..35).step_by(7) {
        let byte = content.try_get_u8().ok()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return usize::try_from(value).ok();
        }
    }
    None
}

/// Writes a tensor: raw content for plain types, shared and not copied where it is large.
pub fn tensor_proto(tensor: &Tensor) -> Result<pb::TensorProto> {
    let mut message = pb::TensorProto {
        dtype: tensor.dtype() as i32,
        tensor_shape: Some(shape_proto(tensor.shape())),
        ..Default::default()
    };
    match tensor.dtype() {
        DType::String => message.string_val = tensor.strings()?.to_vec(),
        DType::Resource => {
            message.resource_handle_val =
                tensor.resources()?.iter().map(resource_handle_proto).collect();
        }
        DType::Variant => {
            let values: Result<Vec<_>> = tensor.variants()?.iter().map(variant_proto).collect();
            message.variant_val = values?;
        }
        _ => message.tensor_content = tensor.shared_bytes(),
    }
    Ok(message)
}

/// Reads a resource handle.
pub fn resource_handle(message: &pb::ResourceHandleProto) -> Result<ResourceHandle> {
    let contents: Result<Vec<_>> = message
        .dtypes_and_shapes
        .iter()
        .map(|c| Ok((dtype(c.dtype)?, c.shape.as_ref().map(partial_shape).unwrap_or_default())))
        .collect();
    Ok(ResourceHandle {
        device: message.device.clone(),
        container: message.container.clone(),
        name: message.name.clone(),
        hash_code: message.hash_code,
        type_name: message.maybe_type_name.clone(),
        contents: contents?,
        anchor: None,
    })
}

/// Writes a resource handle.
pub fn resource_handle_proto(handle: &ResourceHandle) -> pb::ResourceHandleProto {
    pb::ResourceHandleProto {
        device: handle.device.clone(),
        container: handle.container.clone(),
        name: handle.name.clone(),
        hash_code: handle.hash_code,
        maybe_type_name: handle.type_name.clone(),
        dtypes_and_shapes: handle
            .contents
            .iter()
            .map(|(dtype, shape)| pb::resource_handle_proto::DtypeAndShape {
                dtype: *dtype as i32,
                shape: Some(partial_shape_proto(shape)),
            })
            .collect(),
    }
}

/// A dataset lives in one process: what is written of it says nothing.
const DATASET: &str = "tensorflow::DatasetVariantWrapper";

fn variant(message: &pb::VariantTensorDataProto, depth: usize) -> Result<Variant> {
    if message.type_name == DATASET {
        return Err(invalid_argument!(
            "Unable to parse tensor proto: a dataset cannot be sent to another task"
        ));
    }
    let tensors: Result<Vec<_>> =
        message.tensors.iter().map(|tensor| nested_tensor(tensor, depth)).collect();
    Ok(Arc::new(EncodedVariant {
        type_name: message.type_name.clone(),
        metadata: message.metadata.to_vec(),
        tensors: tensors?,
    }))
}

fn variant_proto(variant: &Variant) -> Result<pb::VariantTensorDataProto> {
    let encoded = variant.encode()?;
    let tensors: Result<Vec<_>> = encoded.tensors.iter().map(tensor_proto).collect();
    Ok(pb::VariantTensorDataProto {
        type_name: encoded.type_name,
        metadata: encoded.metadata.into(),
        tensors: tensors?,
    })
}
