//! Files of safetensors: a header in JSON, and the elements of all tensors behind it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tensorfleet_tensor::{Context, DType, Result, Shape, Tensor, data_loss, invalid_argument};

const TYPES: &[(&str, DType)] = &[
    ("BOOL", DType::Bool),
    ("U8", DType::UInt8),
    ("I8", DType::Int8),
    ("U16", DType::UInt16),
    ("I16", DType::Int16),
    ("U32", DType::UInt32),
    ("I32", DType::Int32),
    ("U64", DType::UInt64),
    ("I64", DType::Int64),
    ("F16", DType::Half),
    ("BF16", DType::BFloat16),
    ("F32", DType::Float),
    ("F64", DType::Double),
    ("C64", DType::Complex64),
];

/// Entries that are no tensors.
const METADATA: &str = "__metadata__";

pub(super) fn encode(tensors: &BTreeMap<String, Tensor>) -> Result<Vec<u8>> {
    let mut header = Map::new();
    let mut offset = 0;
    for (name, tensor) in tensors {
        let Some((dtype, _)) = TYPES.iter().find(|(_, dtype)| *dtype == tensor.dtype()) else {
            return Err(invalid_argument!("safetensors has no type {} ({name})", tensor.dtype()));
        };
        let end = offset + tensor.raw().len();
        let entry = json!({
            "dtype": dtype,
            "shape": tensor.dims(),
            "data_offsets": [offset, end],
        });
        header.insert(name.clone(), entry);
        offset = end;
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    // Elements begin at a multiple of eight, where readers may look at them in place.
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut file = Vec::with_capacity(8 + header.len() + offset);
    file.extend((header.len() as u64).to_le_bytes());
    file.extend(header);
    tensors.values().for_each(|tensor| file.extend_from_slice(tensor.raw()));
    Ok(file)
}

pub(super) fn decode(file: &[u8]) -> Result<BTreeMap<String, Tensor>> {
    let short = || data_loss!("the file ends too early");
    let (size, rest) = file.split_first_chunk::<8>().ok_or_else(short)?;
    let size = usize::try_from(u64::from_le_bytes(*size)).map_err(|_| short())?;
    let (header, elements) = rest.split_at_checked(size).ok_or_else(short)?;
    let header: Map<String, Value> = serde_json::from_slice(header)
        .map_err(|error| data_loss!("its header is broken: {error}"))?;
    let entries = header.into_iter().filter(|(name, _)| name != METADATA);
    entries
        .map(|(name, entry)| {
            let tensor = tensor(&entry, elements).context(|| name.clone())?;
            Ok((name, tensor))
        })
        .collect()
}

fn tensor(entry: &Value, elements: &[u8]) -> Result<Tensor> {
    let numbers = |key: &str| -> Option<Vec<usize>> {
        let numbers = entry.get(key)?.as_array()?.iter();
        numbers.map(|number| usize::try_from(number.as_u64()?).ok()).collect()
    };
    let name = entry.get("dtype").and_then(Value::as_str).unwrap_or_default();
    let Some((_, dtype)) = TYPES.iter().find(|(known, _)| *known == name) else {
        return Err(invalid_argument!("the type {name:?} is not known"));
    };
    let (Some(dims), Some(&[start, end])) = (numbers("shape"), numbers("data_offsets").as_deref())
    else {
        return Err(data_loss!("it has no shape or no place"));
    };
    let content =
        elements.get(start..end).ok_or_else(|| data_loss!("it is outside of the file"))?;
    Tensor::from_bytes(*dtype, Shape::new(&dims)?, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the reference writes it: one entry with metadata.
    fn file() -> Vec<u8> {
        let header = br#"{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
        let mut file = (header.len() as u64).to_le_bytes().to_vec();
        file.extend(header);
        file.extend([0, 0, 128, 63, 0, 0, 0, 64]);
        file
    }

    #[test]
    fn a_file_of_others_is_read() {
        let tensors = decode(&file()).unwrap();
        assert_eq!(tensors.len(), 1);
        assert_eq!(tensors["w"].values::<f32>().unwrap(), [1.0, 2.0]);
    }

    #[test]
    fn what_is_broken_is_refused() {
        let file = file();
        for end in 0..file.len() {
            assert!(decode(&file[..end]).is_err(), "{end}");
        }
        for (from, to) in [("F32", "F99"), ("[0,8]", "[8,0]"), ("[0,8]", "[0,9]"), ("[2]", "[3]")] {
            let text: Vec<u8> = String::from_utf8_lossy(&file[8..93]).replace(from, to).into();
            let mut broken = file[..8].to_vec();
            broken.extend(&text);
            broken.extend(&file[93..]);
            assert!(decode(&broken).is_err(), "{to}");
        }
    }
}
