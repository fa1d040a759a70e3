//! The elements of a slice as the typed list of a `TensorProto`.

use bytes::Bytes;
use half::f16;
use num_complex::Complex;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{
    DType, Element, QInt8, QInt16, QInt32, QUInt8, QUInt16, Result, Shape, Tensor, data_loss,
    invalid_argument, unimplemented_error,
};

/// Slices must fit into one message.
const MAX_MESSAGE_LEN: usize = 1 << 31;

/// What a message needs besides its elements, at most.
const MESSAGE_OVERHEAD: usize = 1 << 10;

/// Writes the elements of a tensor; its type and shape are kept elsewhere.
pub(super) fn encode(tensor: &Tensor) -> Result<pb::TensorProto> {
    let bound = size_bound(tensor)?;
    if bound > MAX_MESSAGE_LEN {
        return Err(invalid_argument!(
            "Tensor slice is too large to serialize (conservative estimate: {bound} bytes)"
        ));
    }
    let mut message = pb::TensorProto::default();
    let m = &mut message;
    match tensor.dtype() {
        DType::Float => m.float_val = tensor.values()?.to_vec(),
        DType::Double => m.double_val = tensor.values()?.to_vec(),
        DType::Int32 => m.int_val = tensor.values()?.to_vec(),
        DType::Int16 => m.int_val = integers(tensor, |v: i16| v.into())?,
        DType::Int8 => m.int_val = integers(tensor, |v: i8| v.into())?,
        DType::UInt8 => m.int_val = integers(tensor, |v: u8| v.into())?,
        DType::UInt16 => m.int_val = integers(tensor, |v: u16| v.into())?,
        DType::QInt8 => m.int_val = integers(tensor, |v: QInt8| v.0.into())?,
        DType::QUInt8 => m.int_val = integers(tensor, |v: QUInt8| v.0.into())?,
        DType::QInt16 => m.int_val = integers(tensor, |v: QInt16| v.0.into())?,
        DType::QUInt16 => m.int_val = integers(tensor, |v: QUInt16| v.0.into())?,
        DType::QInt32 => m.int_val = integers(tensor, |v: QInt32| v.0)?,
        DType::Half => m.half_val = integers(tensor, |v: f16| v.to_bits().into())?,
        DType::Int64 => m.int64_val = tensor.values()?.to_vec(),
        DType::Bool => m.bool_val = tensor.values()?.to_vec(),
        DType::Complex64 => {
            m.scomplex_val =
                tensor.values()?.iter().flat_map(|v: &Complex<f32>| [v.re, v.im]).collect();
        }
        DType::Complex128 => {
            m.dcomplex_val =
                tensor.values()?.iter().flat_map(|v: &Complex<f64>| [v.re, v.im]).collect();
        }
        DType::String => m.string_val = tensor.strings()?.to_vec(),
        dtype => return Err(unsupported(dtype)),
    }
    Ok(message)
}

/// Reads the elements of a tensor.
pub(super) fn decode(dtype: DType, shape: Shape, message: pb::TensorProto) -> Result<Tensor> {
    let m = message;
    match dtype {
        DType::Float => build(shape, m.float_val, |v| v),
        DType::Double => build(shape, m.double_val, |v| v),
        DType::Int32 => build(shape, m.int_val, |v| v),
        DType::Int16 => build(shape, m.int_val, |v| v as i16),
        DType::Int8 => build(shape, m.int_val, |v| v as i8),
        DType::UInt8 => build(shape, m.int_val, |v| v as u8),
        DType::UInt16 => build(shape, m.int_val, |v| v as u16),
        DType::QInt8 => build(shape, m.int_val, |v| QInt8(v as i8)),
        DType::QUInt8 => build(shape, m.int_val, |v| QUInt8(v as u8)),
        DType::QInt16 => build(shape, m.int_val, |v| QInt16(v as i16)),
        DType::QUInt16 => build(shape, m.int_val, |v| QUInt16(v as u16)),
        DType::QInt32 => build(shape, m.int_val, QInt32),
        DType::Half => build(shape, m.half_val, |v| f16::from_bits(v as u16)),
        DType::Int64 => build(shape, m.int64_val, |v| v),
        DType::Bool => build(shape, m.bool_val, |v| v),
        DType::Complex64 => build(shape, pairs(&m.scomplex_val), |v| v),
        DType::Complex128 => build(shape, pairs(&m.dcomplex_val), |v| v),
        DType::String => {
            check_count(&shape, m.string_val.len())?;
            Tensor::from_strings(shape, m.string_val)
        }
        dtype => Err(unimplemented_error!("Restoring data type {dtype} not yet supported")),
    }
}

fn integers<T: Element>(tensor: &Tensor, widen: impl Fn(T) -> i32) -> Result<Vec<i32>> {
    Ok(tensor.values::<T>()?.iter().map(|&value| widen(value)).collect())
}

fn pairs<F: Copy>(values: &[F]) -> Vec<Complex<F>> {
    values.chunks_exact(2).map(|pair| Complex::new(pair[0], pair[1])).collect()
}

fn build<V: Copy, T: Element>(
    shape: Shape,
    values: Vec<V>,
    narrow: impl Fn(V) -> T,
) -> Result<Tensor> {
    check_count(&shape, values.len())?;
    Tensor::build(shape, |out: &mut [T]| {
        for (out, value) in out.iter_mut().zip(values) {
            *out = narrow(value);
        }
    })
}

fn check_count(shape: &Shape, count: usize) -> Result<()> {
    if count == shape.num_elements() {
        return Ok(());
    }
    Err(data_loss!("a slice of shape {shape} is stored with {count} elements"))
}

/// The bytes that the message of a tensor takes, at most.
fn size_bound(tensor: &Tensor) -> Result<usize> {
    let per_element = match tensor.dtype() {
        DType::Float => 4,
        DType::Double | DType::Complex64 => 8,
        DType::Complex128 => 16,
        DType::Bool => 1,
        DType::UInt8 | DType::QUInt8 => 2,
        DType::UInt16 | DType::QUInt16 | DType::Half => 3,
        _ => 10,
    };
    let strings = match tensor.dtype() {
        DType::String => tensor.strings()?.iter().map(Bytes::len).sum(),
        _ => 0,
    };
    let elements = tensor.num_elements().saturating_mul(per_element);
    Ok(elements.saturating_add(strings).saturating_add(MESSAGE_OVERHEAD))
}

fn unsupported(dtype: DType) -> tensorfleet_tensor::Error {
    unimplemented_error!("Saving data type {dtype} not yet supported")
}
