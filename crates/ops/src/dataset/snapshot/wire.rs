//! The message that says what a stored dataset holds.

use prost::Message;
use tensorfleet_tensor::{DType, Result, data_loss};

/// The only format of files written here and read.
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

impl Metadata {
    pub(super) fn new(hash: String, run: u64, micros: i64, types: &[DType]) -> Metadata {
        Metadata {
            graph_hash: hash,
            run_id: run.to_string(),
            creation_timestamp: micros,
            version: VERSION,
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
