//! One feature of an example: a list of strings, floating-point numbers or integers.

use bytes::Bytes;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, invalid_argument};

use super::fields::{Malformed, bytes, nested, varint};

/// What a feature's list holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Bytes,
    Float,
    Int64,
}

impl Kind {
    pub(super) fn of(dtype: DType) -> Result<Kind> {
        match dtype {
            DType::String => Ok(Kind::Bytes),
            DType::Float => Ok(Kind::Float),
            DType::Int64 => Ok(Kind::Int64),
            other => Err(invalid_argument!("Invalid input dtype: {other}")),
        }
    }

    pub(super) fn dtype(self) -> DType {
        match self {
            Kind::Bytes => DType::String,
            Kind::Float => DType::Float,
            Kind::Int64 => DType::Int64,
        }
    }

    /// The name of the field that holds such a list.
    pub(super) fn list_name(self) -> &'static str {
        match self {
            Kind::Bytes => "bytes_list",
            Kind::Float => "float_list",
            Kind::Int64 => "int64_list",
        }
    }
}

/// A feature, still encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Feature<'a> {
    pub(super) kind: Kind,
    list: &'a [u8],
}

impl<'a> Feature<'a> {
    /// Looks what a feature holds; `None` if nothing. What follows its list does not count.
    pub(super) fn new(message: &'a [u8]) -> Result<Option<Feature<'a>>, Malformed> {
        let Some(kind) = Feature::kind(message)? else { return Ok(None) };
        let list = nested(&mut &message[1..])?;
        Ok(Some(Feature { kind, list }))
    }

    /// Of which kind an encoded feature is; `None` if it is empty.
    pub(super) fn kind(message: &[u8]) -> Result<Option<Kind>, Malformed> {
        match message.first() {
            None => Ok(None),
            Some(0x0a) => Ok(Some(Kind::Bytes)),
            Some(0x12) => Ok(Some(Kind::Float)),
            Some(0x1a) => Ok(Some(Kind::Int64)),
            Some(_) => Err(Malformed),
        }
    }
}

/// Values of many features, one after the other.
#[derive(Clone, Debug)]
pub(super) enum Values {
    Bytes(Vec<Bytes>),
    Float(Vec<f32>),
    Int64(Vec<i64>),
}

const PACKED: u8 = 1 << 3 | 2;

impl Values {
    pub(super) fn new(kind: Kind) -> Values {
        match kind {
            Kind::Bytes => Values::Bytes(Vec::new()),
            Kind::Float => Values::Float(Vec::new()),
            Kind::Int64 => Values::Int64(Vec::new()),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Values::Bytes(values) => values.len(),
            Values::Float(values) => values.len(),
            Values::Int64(values) => values.len(),
        }
    }

    /// Appends the values of a feature of the same kind; strings share the memory of `record`. As in
    /// TensorFlow, numbers that are packed together are all that count.
    pub(super) fn extend(&mut self, feature: Feature<'_>, record: &Bytes) -> Result<(), Malformed> {
        let mut rest = feature.list;
        let mut is_first = true;
        while let [tag, tail @ ..] = rest {
            rest = tail;
            match (&mut *self, *tag) {
                (Values::Bytes(values), PACKED) => {
                    values.push(record.slice_ref(bytes(&mut rest)?));
                }
                (Values::Float(values), PACKED) if is_first => {
                    // Bytes that do not make a number are left out.
                    let len = varint(&mut rest)? as u32 as usize / 4 * 4;
                    let (packed, _) = rest.get(..len).ok_or(Malformed)?.as_chunks::<4>();
                    values.extend(packed.iter().map(|bytes| f32::from_le_bytes(*bytes)));
                    return Ok(());
                }
                (Values::Float(values), 0x0d) => {
                    let (one, tail) = rest.split_first_chunk().ok_or(Malformed)?;
                    values.push(f32::from_le_bytes(*one));
                    rest = tail;
                }
                (Values::Int64(values), PACKED) if is_first => {
                    let mut packed = nested(&mut rest)?;
                    while !packed.is_empty() {
                        values.push(varint(&mut packed)? as i64);
                    }
                    return Ok(());
                }
                (Values::Int64(values), 0x08) => values.push(varint(&mut rest)? as i64),
                _ => return Err(Malformed),
            }
            is_first = false;
        }
        Ok(())
    }

    /// Appends the elements of a tensor of the same kind.
    pub(super) fn extend_from(&mut self, tensor: &Tensor) -> Result<()> {
        match self {
            Values::Bytes(values) => values.extend_from_slice(tensor.strings()?),
            Values::Float(values) => values.extend_from_slice(tensor.values()?),
            Values::Int64(values) => values.extend_from_slice(tensor.values()?),
        }
        Ok(())
    }

    /// Appends the values of other features.
    pub(super) fn append(&mut self, other: Values) {
        match (self, other) {
            (Values::Bytes(values), Values::Bytes(mut other)) => values.append(&mut other),
            (Values::Float(values), Values::Float(mut other)) => values.append(&mut other),
            (Values::Int64(values), Values::Int64(mut other)) => values.append(&mut other),
            _ => {}
        }
    }

    pub(super) fn into_tensor(self, shape: Shape) -> Result<Tensor> {
        match self {
            Values::Bytes(values) => Tensor::from_strings(shape, values),
            Values::Float(values) => Tensor::from_slice(shape, &values),
            Values::Int64(values) => Tensor::from_slice(shape, &values),
        }
    }

    /// Rows of different lengths as a matrix, the short ones filled up with `padding`.
    pub(super) fn into_padded(
        self,
        ends: &[usize],
        width: usize,
        padding: &Tensor,
        shape: Shape,
    ) -> Result<Tensor> {
        fn pad<T: Clone>(values: &[T], ends: &[usize], width: usize, padding: &[T]) -> Vec<T> {
            let mut padded = Vec::with_capacity(ends.len() * width);
            let mut start = 0;
            for (row, &end) in ends.iter().enumerate() {
                padded.extend_from_slice(&values[start..end]);
                if let Some(padding) = padding.first() {
                    padded.resize((row + 1) * width, padding.clone());
                }
                start = end;
            }
            padded
        }
        match self {
            Values::Bytes(values) => {
                Tensor::from_strings(shape, pad(&values, ends, width, padding.strings()?))
            }
            Values::Float(values) => {
                Tensor::from_slice(shape, &pad(&values, ends, width, padding.values()?))
            }
            Values::Int64(values) => {
                Tensor::from_slice(shape, &pad(&values, ends, width, padding.values()?))
            }
        }
    }
}
