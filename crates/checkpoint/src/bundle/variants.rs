//! How the elements of a variant tensor are stored.
//!
//! Each element is a protocol message, with its length as a varint in front and a checksum behind.
//! A checksum covers all that comes before it, each length as the eight bytes of the number it is,
//! not as the varint it is stored as.

use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss, wire};

use crate::coding::{mask, put_varint, take, take_u32, take_varint_usize, unmask};

/// The elements as stored, and the checksum of it.
pub(super) fn encode(tensor: &Tensor) -> Result<(Vec<u8>, u32)> {
    let mut stored = Vec::new();
    let mut crc = 0;
    for variant in wire::tensor_proto(tensor)?.variant_val {
        let element = variant.encode_to_vec();
        put_varint(&mut stored, element.len() as u64);
        stored.extend_from_slice(&element);
        crc = add_element(crc, &element);
        let checksum = mask(crc).to_le_bytes();
        stored.extend_from_slice(&checksum);
        crc = crc32c::crc32c_append(crc, &checksum);
    }
    Ok((stored, crc))
}

/// Reads a tensor from all that is stored of it; also returns the checksum of it.
pub(super) fn decode(stored: &[u8], shape: &Shape) -> Result<(Tensor, u32)> {
    let short = || data_loss!("variants are longer than their entry");
    let mut rest = stored;
    let mut message = pb::TensorProto {
        dtype: DType::Variant as i32,
        tensor_shape: Some(wire::shape_proto(shape)),
        ..pb::TensorProto::default()
    };
    let mut crc = 0;
    // An element takes at least five bytes, so a damaged shape cannot make this long.
    for _ in 0..shape.num_elements() {
        let length = take_varint_usize(&mut rest).ok_or_else(short)?;
        let element = take(&mut rest, length).ok_or_else(short)?;
        crc = add_element(crc, element);
        let checksum = take_u32(&mut rest).ok_or_else(short)?;
        if unmask(checksum) != crc {
            return Err(data_loss!(
                "The checksum after a variant does not match: expected {:08} but actual is {crc:08}",
                unmask(checksum)
            ));
        }
        crc = crc32c::crc32c_append(crc, &checksum.to_le_bytes());
        let variant = pb::VariantTensorDataProto::decode(element)
            .map_err(|error| data_loss!("Could not parse VariantTensorDataProto: {error}"))?;
        message.variant_val.push(variant);
    }
    if !rest.is_empty() {
        return Err(data_loss!("variants are shorter than their entry"));
    }
    Ok((wire::tensor(&message)?, crc))
}

fn add_element(crc: u32, element: &[u8]) -> u32 {
    let crc = crc32c::crc32c_append(crc, &(element.len() as u64).to_le_bytes());
    crc32c::crc32c_append(crc, element)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;
    use tensorfleet_tensor::{EncodedVariant, Variant};

    use super::*;

    #[test]
    fn variants_round_trip() {
        let variants: Vec<Variant> = (0..3i32)
            .map(|i| {
                Arc::new(EncodedVariant {
                    type_name: format!("type {i}"),
                    metadata: vec![7; i as usize],
                    tensors: vec![Tensor::scalar(i)],
                }) as Variant
            })
            .collect();
        let shape = Shape::vector(3);
        let tensor = Tensor::from_variants(shape.clone(), variants).unwrap();
        let (stored, crc) = encode(&tensor).unwrap();
        let (again, crc_again) = decode(&stored, &shape).unwrap();
        assert_eq!(crc, crc_again);
        for (one, other) in tensor.variants().unwrap().iter().zip(again.variants().unwrap()) {
            let (one, other) = (one.encode().unwrap(), other.encode().unwrap());
            assert_eq!((one.type_name, one.metadata), (other.type_name, other.metadata));
            assert_eq!(one.tensors[0].raw(), other.tensors[0].raw());
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(stored: Vec<u8>, count in 0usize..20) {
            decode(&stored, &Shape::vector(count)).ok();
        }
    }
}
