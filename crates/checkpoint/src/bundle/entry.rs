//! A bundle's record of one tensor, checked.

use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{DType, Result, Shape, data_loss, wire};

/// Where a tensor is and what it is.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) dtype: DType,
    pub(super) shape: Shape,
    pub(super) shard: usize,
    pub(super) offset: u64,
    pub(super) len: usize,
    /// Masked.
    pub(super) crc: u32,
}

impl Entry {
    /// Checks the record of `key`.
    pub(super) fn new(key: &str, message: &pb::BundleEntryProto) -> Result<Self> {
        let dtype = DType::from_number(message.dtype)
            .ok_or_else(|| data_loss!("Invalid tensor type: {key} {}", message.dtype))?;
        let shape = wire::shape(message.shape.as_ref())
            .map_err(|error| data_loss!("Invalid tensor shape: {key} {}", error.message()))?;
        let bad_place = || {
            data_loss!(
                "Invalid place in bundle entry: key {key}; shard {}; offset {}; size {}",
                message.shard_id,
                message.offset,
                message.size
            )
        };
        let entry = Self {
            dtype,
            shape,
            shard: message.shard_id.try_into().map_err(|_| bad_place())?,
            offset: message.offset.try_into().map_err(|_| bad_place())?,
            len: message.size.try_into().map_err(|_| bad_place())?,
            crc: message.crc32c,
        };
        let expected = entry.shape.num_elements().checked_mul(dtype.size());
        if dtype.is_plain() && expected != Some(entry.len) && message.slices.is_empty() {
            return Err(data_loss!(
                "Invalid size in bundle entry: key {key}; stored size {}; expected size {}",
                entry.len,
                expected.map_or_else(|| "overflows".to_owned(), |size| size.to_string())
            ));
        }
        Ok(entry)
    }
}
