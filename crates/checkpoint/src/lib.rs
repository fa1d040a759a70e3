//! TensorFlow's checkpoint files, read and written.
//!
//! A file made here is one TensorFlow reads, and the other way round.
//!
//! - [`bundle`] is the current format: [`bundle::Writer`] is what `SaveV2` uses, [`bundle::merge`]
//!   is `MergeV2Checkpoints`.
//! - [`v1`] is the format before it, for `Save`, `SaveSlices`, `Restore` and `RestoreSlice`.
//! - [`Checkpoint`] opens either, as `RestoreV2` does; one call of [`Checkpoint::restore`] is all
//!   that op does for each tensor.
//! - [`ShapeAndSlice`] reads the `shape_and_slices` strings of these ops.
//! - [`FileSystem`] is where files are; [`LocalFileSystem`] is the machine's own, and
//!   [`SchemeFileSystem`] the one that a path names, as `s3://bucket/model` (with the feature
//!   `object_store`).
//!
//! Damaged files are `DATA_LOSS` and missing ones `NOT_FOUND`, and the message names the file. What
//! a file claims about sizes is compared with its length before memory is allocated for it.
//!
//! ```
//! use std::sync::Arc;
//!
//! use tensorfleet_checkpoint::{Checkpoint, FileSystem, LocalFileSystem, bundle};
//! use tensorfleet_tensor::{DType, Tensor};
//!
//! # fn main() -> tensorfleet_tensor::Result<()> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let prefix = format!("{}/model", directory.path().display());
//! let files: Arc<dyn FileSystem> = Arc::new(LocalFileSystem);
//! let mut writer = bundle::Writer::new(Arc::clone(&files), &prefix)?;
//! writer.add("weights", &Tensor::vector(&[1f32, 2.0])?)?;
//! writer.finish()?;
//!
//! let weights = Checkpoint::open(files, &prefix)?.restore("weights", "2 1,1", DType::Float)?;
//! assert_eq!(weights.values::<f32>()?, [2.0]);
//! # Ok(())
//! # }
//! ```

pub mod bundle;
mod checkpoint;
mod coding;
mod gather;
#[cfg(test)]
mod memory_files;
mod ordered;
mod slice;
mod table;
mod temporary;
pub mod v1;
mod versions;

pub use checkpoint::Checkpoint;
pub use slice::{ShapeAndSlice, TensorSlice};
#[cfg(feature = "object_store")]
pub use tensorfleet_files::ObjectFileSystem;
pub use tensorfleet_files::{
    Claim, FileSystem, LocalFileSystem, ReadFile, SchemeFileSystem, WriteFile, scheme,
};
