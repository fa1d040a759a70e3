//! The messages in files of stored datasets, and the one that says what such a dataset holds.

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use prost::Message;
use tensorfleet_proto::tensorflow as pb;
use tensorfleet_tensor::{DType, Result, Shape, Tensor, data_loss, wire};

use super::super::dataset::Element;

/// The format of `SnapshotDataset`: files of elements.
pub(super) const FIRST_VERSION: i64 = 1;
/// The format of all later ops: files of records.
pub(super) const VERSION: i64 = 2;

/// TensorFlow's `SnapshotMetadataRecord`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Metadata {
    #[prost(string, tag = "1")]
    pub(super) graph_hash: String,
    #[prost(string, tag = "2")]
    pub(super) run_id: String,
    /// In microseconds of the Unix epoch.
    #[prost(int64, tag = "3")]
    pub(super) creation_timestamp: i64,
    #[prost(int64, tag = "4")]
    pub(super) version: i64,
    #[prost(int32, repeated, tag = "5")]
    pub(super) dtype: Vec<i32>,
    #[prost(int64, tag = "6")]
    pub(super) num_elements: i64,
    #[prost(bool, tag = "1000")]
    pub(super) finalized: bool,
}

/// The time, as metadata has it.
pub(super) fn now_micros() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Metadata {
    pub(super) fn new(version: i64, hash: String, run_id: String, types: &[DType]) -> Metadata {
        Metadata {
            graph_hash: hash,
            run_id,
            creation_timestamp: now_micros(),
            version,
            dtype: types.iter().map(|&dtype| dtype as i32).collect(),
            num_elements: 0,
            finalized: false,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        self.encode_to_vec()
    }

    pub(super) fn parse(path: &str, bytes: &[u8]) -> Result<Metadata> {
        Metadata::decode(bytes).map_err(|_| data_loss!("{path} does not hold metadata"))
    }
}

/// TensorFlow's `SnapshotRecord`.
#[derive(Clone, PartialEq, Message)]
struct Record {
    #[prost(message, repeated, tag = "1")]
    tensors: Vec<pb::TensorProto>,
}

/// TensorFlow's `SnapshotTensorMetadata`.
#[derive(Clone, PartialEq, Message)]
struct Lengths {
    #[prost(message, repeated, tag = "1")]
    tensors: Vec<TensorMetadata>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorMetadata {
    #[prost(message, optional, tag = "2")]
    shape: Option<pb::TensorShapeProto>,
    #[prost(int64, tag = "3")]
    bytes: i64,
}

/// All tensors of an element in one message.
pub(super) fn encode_element(element: &[Tensor]) -> Result<Vec<u8>> {
    let tensors = element.iter().map(wire::tensor_proto).collect::<Result<_>>()?;
    Ok(Record { tensors }.encode_to_vec())
}

pub(super) fn decode_element(bytes: Bytes) -> Result<Element> {
    let record = Record::decode(bytes).map_err(|_| data_loss!("an element is no message"))?;
    record.tensors.iter().map(wire::tensor).collect()
}

/// The shapes of an element's tensors, and how many bytes each takes.
pub(super) fn encode_lengths(lengths: &[(Shape, usize)]) -> Vec<u8> {
    let tensor = |(shape, bytes): &(Shape, usize)| TensorMetadata {
        shape: Some(wire::shape_proto(shape)),
        bytes: *bytes as i64,
    };
    Lengths { tensors: lengths.iter().map(tensor).collect() }.encode_to_vec()
}

pub(super) fn decode_lengths(bytes: Bytes) -> Result<Vec<(Shape, usize)>> {
    let broken = || data_loss!("the lengths of an element's tensors are no message");
    let lengths = Lengths::decode(bytes).map_err(|_| broken())?;
    let tensor = |tensor: &TensorMetadata| {
        let bytes = usize::try_from(tensor.bytes).map_err(|_| broken())?;
        Ok((wire::shape(tensor.shape.as_ref())?, bytes))
    };
    lengths.tensors.iter().map(tensor).collect()
}
