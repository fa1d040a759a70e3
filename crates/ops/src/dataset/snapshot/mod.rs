//! Datasets in files: `SaveDataset`, `LoadDataset`, `SnapshotDataset` and `SnapshotDatasetV2`.
//!
//! The formats are TensorFlow's; `SnapshotDataset` has one of its own (`elements`). A directory holds `snapshot.metadata`, which names a run; the run's
//! directory holds one directory for each shard, and that one file of records, a record for each
//! component of each element. A user's function says in which shard an element goes, and another in
//! which order shards are read. The metadata is written last and renamed, so a run that was
//! interrupted is as if it had not been.

mod elements;
mod first;
mod load;
mod reuse;
mod save;
mod shards;
mod wire;

pub(super) use first::OPS as FIRST_OPS;
pub(super) use load::OPS as LOAD_OPS;
pub(super) use reuse::OPS as REUSE_OPS;
pub(super) use save::OPS as SAVE_OPS;
