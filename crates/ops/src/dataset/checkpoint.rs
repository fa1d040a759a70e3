//! Which iterators can be saved.
//!
//! Ours are saved by how far they are, whatever they are; but programs rely on being told where
//! TensorFlow's cannot be.

use tensorfleet_graph::AttrValue;
use tensorfleet_tensor::{Result, unimplemented_error};

use super::dataset::{Dataset, DatasetRef};
use super::wire;

/// Checks that an iterator over `dataset` can be saved. State outside of the graph is an error unless
/// `allows_state`.
pub(super) fn check(dataset: &DatasetRef, allows_state: bool) -> Result<()> {
    if wire::has_symbolic_checkpoints(&dataset.options()) {
        return each(&**dataset, &check_symbolic);
    }
    each(&**dataset, &check_generator)?;
    if allows_state { Ok(()) } else { dataset.check_external_state() }
}

fn each(dataset: &dyn Dataset, check: &dyn Fn(&dyn Dataset) -> Result<()>) -> Result<()> {
    check(dataset)?;
    dataset.inputs().into_iter().try_for_each(|input| each(&**input, check))
}

/// What a function makes that is called when it is needed cannot be made again.
fn check_generator(dataset: &dyn Dataset) -> Result<()> {
    match dataset.kind() {
        "Generator" => {
            Err(unimplemented_error!("GeneratorDataset does not support checkpointing."))
        }
        _ => Ok(()),
    }
}

/// Datasets that keep elements which no source can tell.
fn check_symbolic(dataset: &dyn Dataset) -> Result<()> {
    check_generator(dataset)?;
    let Some(origin) = dataset.origin() else { return Ok(()) };
    let op = &*origin.op;
    let is_sloppy = || {
        let is = |name: &str, value: &[u8]| matches!(origin.attrs.get(name), Some(AttrValue::String(text)) if text[..] == *value);
        is("deterministic", b"false")
    };
    let name = match op {
        "CacheDataset" | "CacheDatasetV2" => "CacheDataset",
        "CSVDataset"
        | "CSVDatasetV2"
        | "ExperimentalGroupByReducerDataset"
        | "GroupByReducerDataset"
        | "GroupByWindowDataset"
        | "IgnoreErrorsDataset"
        | "LegacyParallelInterleaveDatasetV2"
        | "ParallelInterleaveDataset"
        | "RebatchDataset"
        | "RebatchDatasetV2"
        | "SnapshotDataset"
        | "SnapshotDatasetV2"
        | "UniqueDataset" => op,
        "ParallelInterleaveDatasetV2"
        | "ParallelInterleaveDatasetV3"
        | "ParallelInterleaveDatasetV4"
            if is_sloppy() =>
        {
            op
        }
        _ => return Ok(()),
    };
    Err(unimplemented_error!("{name} does not support symbolic checkpointing."))
}
