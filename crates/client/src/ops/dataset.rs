//! Ops of the family `dataset`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// An iterator that only its handle knows.
///
/// Op `AnonymousIterator`. Output: `handle: resource`.
#[track_caller]
pub fn anonymous_iterator(
    graph: &Graph,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AnonymousIterator")
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator that only its handle knows.
///
/// Op `AnonymousIteratorV2`. Outputs: `handle: resource`, `deleter: variant`.
#[track_caller]
pub fn anonymous_iterator_v2(
    graph: &Graph,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AnonymousIteratorV2")
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator that only its handle knows.
///
/// Op `AnonymousIteratorV3`. Output: `handle: resource`.
#[track_caller]
pub fn anonymous_iterator_v3(
    graph: &Graph,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AnonymousIteratorV3")
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A cache for elements of a dataset that only its handle knows.
///
/// Op `AnonymousMemoryCache`. Outputs: `handle: resource`, `deleter: variant`.
#[track_caller]
pub fn anonymous_memory_cache(graph: &Graph) -> OpBuilder {
    graph.op("AnonymousMemoryCache")
}

/// An iterator for several devices that only its handle knows.
///
/// Op `AnonymousMultiDeviceIterator`. Outputs: `handle: resource`, `deleter: variant`.
#[track_caller]
pub fn anonymous_multi_device_iterator(
    graph: &Graph,
    devices: &[&str],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AnonymousMultiDeviceIterator")
        .attr("devices", strings(devices))
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator for several devices that only its handle knows.
///
/// Op `AnonymousMultiDeviceIteratorV3`. Output: `handle: resource`.
#[track_caller]
pub fn anonymous_multi_device_iterator_v3(
    graph: &Graph,
    devices: &[&str],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AnonymousMultiDeviceIteratorV3")
        .attr("devices", strings(devices))
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A source of seeds that only its handle knows.
///
/// Op `AnonymousRandomSeedGenerator`. Outputs: `handle: resource`, `deleter: variant`.
#[track_caller]
pub fn anonymous_random_seed_generator(
    graph: &Graph,
    seed: impl Operand,
    seed2: impl Operand,
) -> OpBuilder {
    graph.op("AnonymousRandomSeedGenerator").input(seed).input(seed2)
}

/// A source of seeds that only its handle knows.
///
/// Op `AnonymousSeedGenerator`. Outputs: `handle: resource`, `deleter: variant`.
#[track_caller]
pub fn anonymous_seed_generator(
    graph: &Graph,
    seed: impl Operand,
    seed2: impl Operand,
    reshuffle: impl Operand,
) -> OpBuilder {
    graph.op("AnonymousSeedGenerator").input(seed).input(seed2).input(reshuffle)
}

/// The elements of a dataset; fails unless there are as many as said.
///
/// Op `AssertCardinalityDataset`. Output: `handle: variant`.
#[track_caller]
pub fn assert_cardinality_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    cardinality: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AssertCardinalityDataset")
        .input(input_dataset)
        .input(cardinality)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset; fails unless its neighbours are as said.
///
/// Op `AssertNextDataset`. Output: `handle: variant`.
#[track_caller]
pub fn assert_next_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    transformations: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AssertNextDataset")
        .input(input_dataset)
        .input(transformations)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset; fails unless its neighbours are as said.
///
/// Op `AssertPrevDataset`. Output: `handle: variant`.
#[track_caller]
pub fn assert_prev_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    transformations: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AssertPrevDataset")
        .input(input_dataset)
        .input(transformations)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of one worker of several.
///
/// Op `AutoShardDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `auto_shard_policy: int = 0`, `num_replicas: int = 0`.
#[track_caller]
pub fn auto_shard_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_workers: impl Operand,
    index: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("AutoShardDataset")
        .input(input_dataset)
        .input(num_workers)
        .input(index)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, stacked.
///
/// Op `BatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("BatchDataset")
        .input(input_dataset)
        .input(batch_size)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, stacked.
///
/// Op `BatchDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `parallel_copy: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn batch_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    drop_remainder: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("BatchDatasetV2")
        .input(input_dataset)
        .input(batch_size)
        .input(drop_remainder)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which is measured on the way.
///
/// Op `BytesProducedStatsDataset`. Output: `handle: variant`.
#[track_caller]
pub fn bytes_produced_stats_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    tag: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("BytesProducedStatsDataset")
        .input(input_dataset)
        .input(tag)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The columns of files of comma-separated values.
///
/// Op `CSVDataset`. Output: `handle: variant`.
#[track_caller]
pub fn csv_dataset(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
    header: impl Operand,
    field_delim: impl Operand,
    use_quote_delim: impl Operand,
    na_value: impl Operand,
    select_cols: impl Operand,
    record_defaults: impl IntoIterator<Item = impl Operand>,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("CSVDataset")
        .input(filenames)
        .input(compression_type)
        .input(buffer_size)
        .input(header)
        .input(field_delim)
        .input(use_quote_delim)
        .input(na_value)
        .input(select_cols)
        .inputs(record_defaults)
        .attr("output_shapes", output_shapes.to_vec())
}

/// The columns of files of comma-separated values.
///
/// Op `CSVDatasetV2`. Output: `handle: variant`.
#[track_caller]
pub fn csv_dataset_v2(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
    header: impl Operand,
    field_delim: impl Operand,
    use_quote_delim: impl Operand,
    na_value: impl Operand,
    select_cols: impl Operand,
    record_defaults: impl IntoIterator<Item = impl Operand>,
    exclude_cols: impl Operand,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("CSVDatasetV2")
        .input(filenames)
        .input(compression_type)
        .input(buffer_size)
        .input(header)
        .input(field_delim)
        .input(use_quote_delim)
        .input(na_value)
        .input(select_cols)
        .inputs(record_defaults)
        .input(exclude_cols)
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, kept after the first time.
///
/// Op `CacheDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn cache_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    filename: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("CacheDataset")
        .input(input_dataset)
        .input(filename)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, kept after the first time.
///
/// Op `CacheDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn cache_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    filename: impl Operand,
    cache: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("CacheDatasetV2")
        .input(input_dataset)
        .input(filename)
        .input(cache)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements that the fastest of several functions makes of a dataset.
///
/// Op `ChooseFastestBranchDataset`. Output: `handle: variant`.
#[track_caller]
pub fn choose_fastest_branch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    ratio_numerator: impl Operand,
    ratio_denominator: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    num_elements_per_branch: i64,
    branches: &[Func],
    other_arguments_lengths: &[i64],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ChooseFastestBranchDataset")
        .input(input_dataset)
        .input(ratio_numerator)
        .input(ratio_denominator)
        .inputs(other_arguments)
        .attr("num_elements_per_branch", num_elements_per_branch)
        .attr("branches", branches.to_vec())
        .attr("other_arguments_lengths", other_arguments_lengths.to_vec())
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of whichever of several equal datasets is fastest.
///
/// Op `ChooseFastestDataset`. Output: `handle: variant`.
#[track_caller]
pub fn choose_fastest_dataset(
    graph: &Graph,
    input_datasets: impl IntoIterator<Item = impl Operand>,
    num_experiments: i64,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ChooseFastestDataset")
        .inputs(input_datasets)
        .attr("num_experiments", num_experiments)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An element as one small value.
///
/// Op `CompressElement`. Output: `compressed: variant`.
#[track_caller]
pub fn compress_element(
    graph: &Graph,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("CompressElement").inputs(components)
}

/// How many rows the batches of a dataset have; -1 if that cannot be told.
///
/// Op `ComputeBatchSize`. Output: `batch_size: int64`.
#[track_caller]
pub fn compute_batch_size(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("ComputeBatchSize").input(input_dataset)
}

/// One dataset after another.
///
/// Op `ConcatenateDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn concatenate_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    another_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ConcatenateDataset")
        .input(input_dataset)
        .input(another_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// How many elements a dataset has, if that is known.
///
/// Op `DatasetCardinality`. Output: `cardinality: int64`.
///
/// Attributes with defaults: `cardinality_options: string = ""`.
#[track_caller]
pub fn dataset_cardinality(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("DatasetCardinality").input(input_dataset)
}

/// A number that tells pipelines apart by what they compute.
///
/// Op `DatasetFingerprint`. Output: `fingerprint: uint64`.
#[track_caller]
pub fn dataset_fingerprint(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("DatasetFingerprint").input(input_dataset)
}

/// The dataset that a graph makes.
///
/// Op `DatasetFromGraph`. Output: `handle: variant`.
#[track_caller]
pub fn dataset_from_graph(graph: &Graph, graph_def: impl Operand) -> OpBuilder {
    graph.op("DatasetFromGraph").input(graph_def)
}

/// A dataset as the graph that makes it.
///
/// Op `DatasetToGraph`. Output: `graph: string`.
///
/// Attributes with defaults: `stateful_whitelist: list(string) = []`,
/// `allow_stateful: bool = false`, `strip_device_assignment: bool = false`.
#[track_caller]
pub fn dataset_to_graph(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("DatasetToGraph").input(input_dataset)
}

/// A dataset as the graph that makes it.
///
/// Op `DatasetToGraphV2`. Output: `graph: string`.
///
/// Attributes with defaults: `external_state_policy: int = 0`,
/// `strip_device_assignment: bool = false`.
#[track_caller]
pub fn dataset_to_graph_v2(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("DatasetToGraphV2").input(input_dataset)
}

/// The only element of a dataset.
///
/// Op `DatasetToSingleElement`. Output: `components` (a list).
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn dataset_to_single_element(
    graph: &Graph,
    dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("DatasetToSingleElement")
        .input(dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Writes the strings of a dataset to a TFRecord file.
///
/// Op `DatasetToTFRecord`. No outputs.
#[track_caller]
pub fn dataset_to_tf_record(
    graph: &Graph,
    input_dataset: impl Operand,
    filename: impl Operand,
    compression_type: impl Operand,
) -> OpBuilder {
    graph.op("DatasetToTFRecord").input(input_dataset).input(filename).input(compression_type)
}

/// Forgets what the handle stands for.
///
/// Op `DeleteIterator`. No outputs.
#[track_caller]
pub fn delete_iterator(graph: &Graph, handle: impl Operand, deleter: impl Operand) -> OpBuilder {
    graph.op("DeleteIterator").input(handle).input(deleter)
}

/// Forgets what the handle stands for.
///
/// Op `DeleteMemoryCache`. No outputs.
#[track_caller]
pub fn delete_memory_cache(
    graph: &Graph,
    handle: impl Operand,
    deleter: impl Operand,
) -> OpBuilder {
    graph.op("DeleteMemoryCache").input(handle).input(deleter)
}

/// Forgets what the handle stands for.
///
/// Op `DeleteMultiDeviceIterator`. No outputs.
#[track_caller]
pub fn delete_multi_device_iterator(
    graph: &Graph,
    multi_device_iterator: impl Operand,
    iterators: impl IntoIterator<Item = impl Operand>,
    deleter: impl Operand,
) -> OpBuilder {
    graph
        .op("DeleteMultiDeviceIterator")
        .input(multi_device_iterator)
        .inputs(iterators)
        .input(deleter)
}

/// Forgets what the handle stands for.
///
/// Op `DeleteRandomSeedGenerator`. No outputs.
#[track_caller]
pub fn delete_random_seed_generator(
    graph: &Graph,
    handle: impl Operand,
    deleter: impl Operand,
) -> OpBuilder {
    graph.op("DeleteRandomSeedGenerator").input(handle).input(deleter)
}

/// Forgets what the handle stands for.
///
/// Op `DeleteSeedGenerator`. No outputs.
#[track_caller]
pub fn delete_seed_generator(
    graph: &Graph,
    handle: impl Operand,
    deleter: impl Operand,
) -> OpBuilder {
    graph.op("DeleteSeedGenerator").input(handle).input(deleter)
}

/// Runs of elements of different sizes, as sparse tensors.
///
/// Op `DenseToSparseBatchDataset`. Output: `handle: variant`.
#[track_caller]
pub fn dense_to_sparse_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    row_shape: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("DenseToSparseBatchDataset")
        .input(input_dataset)
        .input(batch_size)
        .input(row_shape)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Brings an iterator to a state that was kept.
///
/// Op `DeserializeIterator`. No outputs.
#[track_caller]
pub fn deserialize_iterator(
    graph: &Graph,
    resource_handle: impl Operand,
    serialized: impl Operand,
) -> OpBuilder {
    graph.op("DeserializeIterator").input(resource_handle).input(serialized)
}

/// Elements of several datasets, in the order that another says.
///
/// Op `DirectedInterleaveDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `stop_on_empty_dataset: bool = false`.
#[track_caller]
pub fn directed_interleave_dataset(
    graph: &Graph,
    selector_input_dataset: impl Operand,
    data_input_datasets: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("DirectedInterleaveDataset")
        .input(selector_input_dataset)
        .inputs(data_input_datasets)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A handle to nothing, where one must be given.
///
/// Op `DummyIterationCounter`. Output: `handle: resource`.
#[track_caller]
pub fn dummy_iteration_counter(graph: &Graph) -> OpBuilder {
    graph.op("DummyIterationCounter")
}

/// A handle to nothing, where one must be given.
///
/// Op `DummyMemoryCache`. Output: `handle: resource`.
#[track_caller]
pub fn dummy_memory_cache(graph: &Graph) -> OpBuilder {
    graph.op("DummyMemoryCache")
}

/// A handle to nothing, where one must be given.
///
/// Op `DummySeedGenerator`. Output: `handle: resource`.
#[track_caller]
pub fn dummy_seed_generator(graph: &Graph) -> OpBuilder {
    graph.op("DummySeedGenerator")
}

/// The elements of a dataset; fails unless its neighbours are as said.
///
/// Op `ExperimentalAssertNextDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_assert_next_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    transformations: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalAssertNextDataset")
        .input(input_dataset)
        .input(transformations)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of one worker of several.
///
/// Op `ExperimentalAutoShardDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `auto_shard_policy: int = 0`.
#[track_caller]
pub fn experimental_auto_shard_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_workers: impl Operand,
    index: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalAutoShardDataset")
        .input(input_dataset)
        .input(num_workers)
        .input(index)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which is measured on the way.
///
/// Op `ExperimentalBytesProducedStatsDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_bytes_produced_stats_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    tag: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalBytesProducedStatsDataset")
        .input(input_dataset)
        .input(tag)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The columns of files of comma-separated values.
///
/// Op `ExperimentalCSVDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_csv_dataset(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
    header: impl Operand,
    field_delim: impl Operand,
    use_quote_delim: impl Operand,
    na_value: impl Operand,
    select_cols: impl Operand,
    record_defaults: impl IntoIterator<Item = impl Operand>,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalCSVDataset")
        .input(filenames)
        .input(compression_type)
        .input(buffer_size)
        .input(header)
        .input(field_delim)
        .input(use_quote_delim)
        .input(na_value)
        .input(select_cols)
        .inputs(record_defaults)
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of whichever of several equal datasets is fastest.
///
/// Op `ExperimentalChooseFastestDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_choose_fastest_dataset(
    graph: &Graph,
    input_datasets: impl IntoIterator<Item = impl Operand>,
    num_experiments: i64,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalChooseFastestDataset")
        .inputs(input_datasets)
        .attr("num_experiments", num_experiments)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// How many elements a dataset has, if that is known.
///
/// Op `ExperimentalDatasetCardinality`. Output: `cardinality: int64`.
#[track_caller]
pub fn experimental_dataset_cardinality(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("ExperimentalDatasetCardinality").input(input_dataset)
}

/// Writes the strings of a dataset to a TFRecord file.
///
/// Op `ExperimentalDatasetToTFRecord`. No outputs.
#[track_caller]
pub fn experimental_dataset_to_tf_record(
    graph: &Graph,
    input_dataset: impl Operand,
    filename: impl Operand,
    compression_type: impl Operand,
) -> OpBuilder {
    graph
        .op("ExperimentalDatasetToTFRecord")
        .input(input_dataset)
        .input(filename)
        .input(compression_type)
}

/// Runs of elements of different sizes, as sparse tensors.
///
/// Op `ExperimentalDenseToSparseBatchDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_dense_to_sparse_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    row_shape: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalDenseToSparseBatchDataset")
        .input(input_dataset)
        .input(batch_size)
        .input(row_shape)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements of several datasets, in the order that another says.
///
/// Op `ExperimentalDirectedInterleaveDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_directed_interleave_dataset(
    graph: &Graph,
    selector_input_dataset: impl Operand,
    data_input_datasets: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalDirectedInterleaveDataset")
        .input(selector_input_dataset)
        .inputs(data_input_datasets)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// One element for each key: what all elements of the key are reduced to.
///
/// Op `ExperimentalGroupByReducerDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_group_by_reducer_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    key_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    init_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    reduce_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    finalize_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    key_func: Func,
    init_func: Func,
    reduce_func: Func,
    finalize_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalGroupByReducerDataset")
        .input(input_dataset)
        .inputs(key_func_other_arguments)
        .inputs(init_func_other_arguments)
        .inputs(reduce_func_other_arguments)
        .inputs(finalize_func_other_arguments)
        .attr("key_func", key_func)
        .attr("init_func", init_func)
        .attr("reduce_func", reduce_func)
        .attr("finalize_func", finalize_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Windows of elements with one key, each made into a dataset.
///
/// Op `ExperimentalGroupByWindowDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_group_by_window_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    key_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    reduce_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    window_size_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    key_func: Func,
    reduce_func: Func,
    window_size_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalGroupByWindowDataset")
        .input(input_dataset)
        .inputs(key_func_other_arguments)
        .inputs(reduce_func_other_arguments)
        .inputs(window_size_func_other_arguments)
        .attr("key_func", key_func)
        .attr("reduce_func", reduce_func)
        .attr("window_size_func", window_size_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, without those that fail.
///
/// Op `ExperimentalIgnoreErrorsDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `log_warning: bool = false`.
#[track_caller]
pub fn experimental_ignore_errors_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalIgnoreErrorsDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The device that an iterator is on.
///
/// Op `ExperimentalIteratorGetDevice`. Output: `device: string`.
#[track_caller]
pub fn experimental_iterator_get_device(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("ExperimentalIteratorGetDevice").input(resource)
}

/// The elements of a dataset, which is measured on the way.
///
/// Op `ExperimentalLatencyStatsDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_latency_stats_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    tag: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalLatencyStatsDataset")
        .input(input_dataset)
        .input(tag)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element, stacked.
///
/// Op `ExperimentalMapAndBatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `preserve_cardinality: bool = false`.
#[track_caller]
pub fn experimental_map_and_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    batch_size: impl Operand,
    num_parallel_calls: impl Operand,
    drop_remainder: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalMapAndBatchDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(batch_size)
        .input(num_parallel_calls)
        .input(drop_remainder)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element.
///
/// Op `ExperimentalMapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_inter_op_parallelism: bool = true`,
/// `preserve_cardinality: bool = false`, `force_synchronous: bool = false`.
#[track_caller]
pub fn experimental_map_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalMapDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The names of files that match patterns.
///
/// Op `ExperimentalMatchingFilesDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_matching_files_dataset(graph: &Graph, patterns: impl Operand) -> OpBuilder {
    graph.op("ExperimentalMatchingFilesDataset").input(patterns)
}

/// The elements of a dataset, computed with at most so many threads.
///
/// Op `ExperimentalMaxIntraOpParallelismDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_max_intra_op_parallelism_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    max_intra_op_parallelism: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalMaxIntraOpParallelismDataset")
        .input(input_dataset)
        .input(max_intra_op_parallelism)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset whose state cannot be kept.
///
/// Op `ExperimentalNonSerializableDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_non_serializable_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalNonSerializableDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `ExperimentalParallelInterleaveDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_parallel_interleave_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    sloppy: impl Operand,
    buffer_output_elements: impl Operand,
    prefetch_input_elements: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalParallelInterleaveDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(sloppy)
        .input(buffer_output_elements)
        .input(prefetch_input_elements)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The features of serialized examples.
///
/// Op `ExperimentalParseExampleDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `sloppy: bool = false`.
#[track_caller]
pub fn experimental_parse_example_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_parallel_calls: impl Operand,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    sparse_keys: &[&str],
    dense_keys: &[&str],
    sparse_types: &[DType],
    dense_shapes: &[PartialShape],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalParseExampleDataset")
        .input(input_dataset)
        .input(num_parallel_calls)
        .inputs(dense_defaults)
        .attr("sparse_keys", strings(sparse_keys))
        .attr("dense_keys", strings(dense_keys))
        .attr("sparse_types", sparse_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, computed by threads of its own.
///
/// Op `ExperimentalPrivateThreadPoolDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_private_thread_pool_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_threads: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalPrivateThreadPoolDataset")
        .input(input_dataset)
        .input(num_threads)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Random numbers.
///
/// Op `ExperimentalRandomDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_random_dataset(
    graph: &Graph,
    seed: impl Operand,
    seed2: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalRandomDataset")
        .input(seed)
        .input(seed2)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Batches cut into others.
///
/// Op `ExperimentalRebatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_fallback: bool = true`.
#[track_caller]
pub fn experimental_rebatch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_replicas: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalRebatchDataset")
        .input(input_dataset)
        .input(num_replicas)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element and a state that it hands on.
///
/// Op `ExperimentalScanDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `preserve_cardinality: bool = false`.
#[track_caller]
pub fn experimental_scan_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    initial_state: impl IntoIterator<Item = impl Operand>,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalScanDataset")
        .input(input_dataset)
        .inputs(initial_state)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, after a pause before each.
///
/// Op `ExperimentalSleepDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_sleep_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    sleep_microseconds: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalSleepDataset")
        .input(input_dataset)
        .input(sleep_microseconds)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements that overlap, stacked.
///
/// Op `ExperimentalSlidingWindowDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_sliding_window_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    window_size: impl Operand,
    window_shift: impl Operand,
    window_stride: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalSlidingWindowDataset")
        .input(input_dataset)
        .input(window_size)
        .input(window_shift)
        .input(window_stride)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The rows that a query of an SQLite database gives.
///
/// Op `ExperimentalSqlDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_sql_dataset(
    graph: &Graph,
    driver_name: impl Operand,
    data_source_name: impl Operand,
    query: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalSqlDataset")
        .input(driver_name)
        .input(data_source_name)
        .input(query)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements before the first for which a function says no.
///
/// Op `ExperimentalTakeWhileDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_take_while_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    predicate: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalTakeWhileDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("predicate", predicate)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, made by the threads of a pool.
///
/// Op `ExperimentalThreadPoolDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_thread_pool_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    thread_pool: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalThreadPoolDataset")
        .input(input_dataset)
        .input(thread_pool)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A pool of threads for datasets.
///
/// Op `ExperimentalThreadPoolHandle`. Output: `handle: resource`.
///
/// Attributes with defaults: `max_intra_op_parallelism: int = 1`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn experimental_thread_pool_handle(
    graph: &Graph,
    num_threads: i64,
    display_name: &str,
) -> OpBuilder {
    graph
        .op("ExperimentalThreadPoolHandle")
        .attr("num_threads", num_threads)
        .attr("display_name", display_name)
}

/// The slices of each element.
///
/// Op `ExperimentalUnbatchDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_unbatch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalUnbatchDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements without those that came before.
///
/// Op `ExperimentalUniqueDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_unique_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalUniqueDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements for which a function says yes.
///
/// Op `FilterDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn filter_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    predicate: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("FilterDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("predicate", predicate)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A dataset with its options in force.
///
/// Op `FinalizeDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `has_captured_ref: bool = false`.
#[track_caller]
pub fn finalize_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("FinalizeDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Records of one length from files.
///
/// Op `FixedLengthRecordDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn fixed_length_record_dataset(
    graph: &Graph,
    filenames: impl Operand,
    header_bytes: impl Operand,
    record_bytes: impl Operand,
    footer_bytes: impl Operand,
    buffer_size: impl Operand,
) -> OpBuilder {
    graph
        .op("FixedLengthRecordDataset")
        .input(filenames)
        .input(header_bytes)
        .input(record_bytes)
        .input(footer_bytes)
        .input(buffer_size)
}

/// Records of one length from files.
///
/// Op `FixedLengthRecordDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn fixed_length_record_dataset_v2(
    graph: &Graph,
    filenames: impl Operand,
    header_bytes: impl Operand,
    record_bytes: impl Operand,
    footer_bytes: impl Operand,
    buffer_size: impl Operand,
    compression_type: impl Operand,
) -> OpBuilder {
    graph
        .op("FixedLengthRecordDatasetV2")
        .input(filenames)
        .input(header_bytes)
        .input(record_bytes)
        .input(footer_bytes)
        .input(buffer_size)
        .input(compression_type)
}

/// All elements of the datasets that a function makes of each element.
///
/// Op `FlatMapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn flat_map_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("FlatMapDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements that a function makes, one call for each.
///
/// Op `GeneratorDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn generator_dataset(
    graph: &Graph,
    init_func_other_args: impl IntoIterator<Item = impl Operand>,
    next_func_other_args: impl IntoIterator<Item = impl Operand>,
    finalize_func_other_args: impl IntoIterator<Item = impl Operand>,
    init_func: Func,
    next_func: Func,
    finalize_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("GeneratorDataset")
        .inputs(init_func_other_args)
        .inputs(next_func_other_args)
        .inputs(finalize_func_other_args)
        .attr("init_func", init_func)
        .attr("next_func", next_func)
        .attr("finalize_func", finalize_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// One element of a dataset by its number.
///
/// Op `GetElementAtIndex`. Output: `components` (a list).
#[track_caller]
pub fn get_element_at_index(
    graph: &Graph,
    dataset: impl Operand,
    index: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("GetElementAtIndex")
        .input(dataset)
        .input(index)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The options of a dataset, serialized.
///
/// Op `GetOptions`. Output: `serialized_options: string`.
#[track_caller]
pub fn get_options(graph: &Graph, input_dataset: impl Operand) -> OpBuilder {
    graph.op("GetOptions").input(input_dataset)
}

/// All elements of a dataset in a random order, without a buffer.
///
/// Op `GlobalShuffleDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn global_shuffle_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    seed_generator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("GlobalShuffleDataset")
        .input(input_dataset)
        .input(seed)
        .input(seed2)
        .input(seed_generator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// One element for each key: what all elements of the key are reduced to.
///
/// Op `GroupByReducerDataset`. Output: `handle: variant`.
#[track_caller]
pub fn group_by_reducer_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    key_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    init_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    reduce_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    finalize_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    key_func: Func,
    init_func: Func,
    reduce_func: Func,
    finalize_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("GroupByReducerDataset")
        .input(input_dataset)
        .inputs(key_func_other_arguments)
        .inputs(init_func_other_arguments)
        .inputs(reduce_func_other_arguments)
        .inputs(finalize_func_other_arguments)
        .attr("key_func", key_func)
        .attr("init_func", init_func)
        .attr("reduce_func", reduce_func)
        .attr("finalize_func", finalize_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Windows of elements with one key, each made into a dataset.
///
/// Op `GroupByWindowDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn group_by_window_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    key_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    reduce_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    window_size_func_other_arguments: impl IntoIterator<Item = impl Operand>,
    key_func: Func,
    reduce_func: Func,
    window_size_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("GroupByWindowDataset")
        .input(input_dataset)
        .inputs(key_func_other_arguments)
        .inputs(reduce_func_other_arguments)
        .inputs(window_size_func_other_arguments)
        .attr("key_func", key_func)
        .attr("reduce_func", reduce_func)
        .attr("window_size_func", window_size_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, without those that fail.
///
/// Op `IgnoreErrorsDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `log_warning: bool = false`.
#[track_caller]
pub fn ignore_errors_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IgnoreErrorsDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The rows of what a function makes of elements, which another function finds by number.
///
/// Op `IndexFlatMapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn index_flat_map_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    map_func_other_args: impl IntoIterator<Item = impl Operand>,
    index_map_func_other_args: impl IntoIterator<Item = impl Operand>,
    output_cardinality: impl Operand,
    map_func: Func,
    index_map_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IndexFlatMapDataset")
        .input(input_dataset)
        .inputs(map_func_other_args)
        .inputs(index_map_func_other_args)
        .input(output_cardinality)
        .attr("map_func", map_func)
        .attr("index_map_func", index_map_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes.
///
/// Op `InterleaveDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn interleave_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("InterleaveDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator by name.
///
/// Op `Iterator`. Output: `handle: resource`.
#[track_caller]
pub fn iterator(
    graph: &Graph,
    shared_name: &str,
    container: &str,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("Iterator")
        .attr("shared_name", shared_name)
        .attr("container", container)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The iterator that a string stands for.
///
/// Op `IteratorFromStringHandle`. Output: `resource_handle: resource`.
///
/// Attributes with defaults: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
#[track_caller]
pub fn iterator_from_string_handle(graph: &Graph, string_handle: impl Operand) -> OpBuilder {
    graph.op("IteratorFromStringHandle").input(string_handle)
}

/// The iterator that a string stands for.
///
/// Op `IteratorFromStringHandleV2`. Output: `resource_handle: resource`.
///
/// Attributes with defaults: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
#[track_caller]
pub fn iterator_from_string_handle_v2(graph: &Graph, string_handle: impl Operand) -> OpBuilder {
    graph.op("IteratorFromStringHandleV2").input(string_handle)
}

/// The device that an iterator is on.
///
/// Op `IteratorGetDevice`. Output: `device: string`.
#[track_caller]
pub fn iterator_get_device(graph: &Graph, resource: impl Operand) -> OpBuilder {
    graph.op("IteratorGetDevice").input(resource)
}

/// The next element of an iterator; `OUT_OF_RANGE` at the end.
///
/// Op `IteratorGetNext`. Output: `components` (a list).
#[track_caller]
pub fn iterator_get_next(
    graph: &Graph,
    iterator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IteratorGetNext")
        .input(iterator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The next element of an iterator, or none at the end.
///
/// Op `IteratorGetNextAsOptional`. Output: `optional: variant`.
#[track_caller]
pub fn iterator_get_next_as_optional(
    graph: &Graph,
    iterator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IteratorGetNextAsOptional")
        .input(iterator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The next element of an iterator; `OUT_OF_RANGE` at the end.
///
/// Op `IteratorGetNextSync`. Output: `components` (a list).
#[track_caller]
pub fn iterator_get_next_sync(
    graph: &Graph,
    iterator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IteratorGetNextSync")
        .input(iterator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A string that stands for an iterator.
///
/// Op `IteratorToStringHandle`. Output: `string_handle: string`.
#[track_caller]
pub fn iterator_to_string_handle(graph: &Graph, resource_handle: impl Operand) -> OpBuilder {
    graph.op("IteratorToStringHandle").input(resource_handle)
}

/// An iterator by name.
///
/// Op `IteratorV2`. Output: `handle: resource`.
#[track_caller]
pub fn iterator_v2(
    graph: &Graph,
    shared_name: &str,
    container: &str,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("IteratorV2")
        .attr("shared_name", shared_name)
        .attr("container", container)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which is measured on the way.
///
/// Op `LatencyStatsDataset`. Output: `handle: variant`.
#[track_caller]
pub fn latency_stats_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    tag: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("LatencyStatsDataset")
        .input(input_dataset)
        .input(tag)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `LegacyParallelInterleaveDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `deterministic: string = "default"`, `metadata: string = ""`.
#[track_caller]
pub fn legacy_parallel_interleave_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    buffer_output_elements: impl Operand,
    prefetch_input_elements: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("LegacyParallelInterleaveDatasetV2")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(buffer_output_elements)
        .input(prefetch_input_elements)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The slices of tensors.
///
/// Op `ListDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn list_dataset(
    graph: &Graph,
    tensors: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ListDataset")
        .inputs(tensors)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A dataset that was saved to files.
///
/// Op `LoadDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `compression: string = ""`.
#[track_caller]
pub fn load_dataset(
    graph: &Graph,
    path: impl Operand,
    reader_func_other_args: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
    reader_func: Func,
) -> OpBuilder {
    graph
        .op("LoadDataset")
        .input(path)
        .inputs(reader_func_other_args)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
        .attr("reader_func", reader_func)
}

/// Starts an iterator on a dataset.
///
/// Op `MakeIterator`. No outputs.
#[track_caller]
pub fn make_iterator(graph: &Graph, dataset: impl Operand, iterator: impl Operand) -> OpBuilder {
    graph.op("MakeIterator").input(dataset).input(iterator)
}

/// What a function makes of each element, stacked.
///
/// Op `MapAndBatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `preserve_cardinality: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn map_and_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    batch_size: impl Operand,
    num_parallel_calls: impl Operand,
    drop_remainder: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("MapAndBatchDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(batch_size)
        .input(num_parallel_calls)
        .input(drop_remainder)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element.
///
/// Op `MapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_inter_op_parallelism: bool = true`,
/// `preserve_cardinality: bool = false`, `force_synchronous: bool = false`,
/// `metadata: string = ""`.
#[track_caller]
pub fn map_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("MapDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A function of each row of tensors.
///
/// Op `MapDefun`. Output: `output` (a list).
///
/// Attributes with defaults: `max_intra_op_parallelism: int = 1`.
#[track_caller]
pub fn map_defun(
    graph: &Graph,
    arguments: impl IntoIterator<Item = impl Operand>,
    captured_inputs: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
    f: Func,
) -> OpBuilder {
    graph
        .op("MapDefun")
        .inputs(arguments)
        .inputs(captured_inputs)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
        .attr("f", f)
}

/// The names of files that match patterns.
///
/// Op `MatchingFilesDataset`. Output: `handle: variant`.
#[track_caller]
pub fn matching_files_dataset(graph: &Graph, patterns: impl Operand) -> OpBuilder {
    graph.op("MatchingFilesDataset").input(patterns)
}

/// The elements of a dataset, computed with at most so many threads.
///
/// Op `MaxIntraOpParallelismDataset`. Output: `handle: variant`.
#[track_caller]
pub fn max_intra_op_parallelism_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    max_intra_op_parallelism: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("MaxIntraOpParallelismDataset")
        .input(input_dataset)
        .input(max_intra_op_parallelism)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which may be rewritten to be faster.
///
/// Op `ModelDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `algorithm: int = 0`, `cpu_budget: int = 0`, `ram_budget: int = 0`.
#[track_caller]
pub fn model_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ModelDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator for several devices.
///
/// Op `MultiDeviceIterator`. Output: `handle: resource`.
#[track_caller]
pub fn multi_device_iterator(
    graph: &Graph,
    devices: &[&str],
    shared_name: &str,
    container: &str,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("MultiDeviceIterator")
        .attr("devices", strings(devices))
        .attr("shared_name", shared_name)
        .attr("container", container)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The iterator for several devices that a string stands for.
///
/// Op `MultiDeviceIteratorFromStringHandle`. Output: `multi_device_iterator: resource`.
///
/// Attributes with defaults: `output_types: list(type) = []`, `output_shapes: list(shape) = []`.
#[track_caller]
pub fn multi_device_iterator_from_string_handle(
    graph: &Graph,
    string_handle: impl Operand,
) -> OpBuilder {
    graph.op("MultiDeviceIteratorFromStringHandle").input(string_handle)
}

/// The next element for one of the devices.
///
/// Op `MultiDeviceIteratorGetNextFromShard`. Output: `components` (a list).
#[track_caller]
pub fn multi_device_iterator_get_next_from_shard(
    graph: &Graph,
    multi_device_iterator: impl Operand,
    shard_num: impl Operand,
    incarnation_id: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("MultiDeviceIteratorGetNextFromShard")
        .input(multi_device_iterator)
        .input(shard_num)
        .input(incarnation_id)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Starts an iterator for several devices on a dataset.
///
/// Op `MultiDeviceIteratorInit`. Output: `incarnation_id: int64`.
#[track_caller]
pub fn multi_device_iterator_init(
    graph: &Graph,
    dataset: impl Operand,
    multi_device_iterator: impl Operand,
    max_buffer_size: impl Operand,
) -> OpBuilder {
    graph
        .op("MultiDeviceIteratorInit")
        .input(dataset)
        .input(multi_device_iterator)
        .input(max_buffer_size)
}

/// A string that stands for an iterator for several devices.
///
/// Op `MultiDeviceIteratorToStringHandle`. Output: `string_handle: string`.
#[track_caller]
pub fn multi_device_iterator_to_string_handle(
    graph: &Graph,
    multi_device_iterator: impl Operand,
) -> OpBuilder {
    graph.op("MultiDeviceIteratorToStringHandle").input(multi_device_iterator)
}

/// The elements of a dataset whose state cannot be kept.
///
/// Op `NonSerializableDataset`. Output: `handle: variant`.
#[track_caller]
pub fn non_serializable_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("NonSerializableDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An iterator on the dataset that a function makes.
///
/// Op `OneShotIterator`. Output: `handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn one_shot_iterator(
    graph: &Graph,
    dataset_factory: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("OneShotIterator")
        .attr("dataset_factory", dataset_factory)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which may be rewritten to be faster.
///
/// Op `OptimizeDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `optimization_configs: list(string) = []`.
#[track_caller]
pub fn optimize_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    optimizations: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("OptimizeDataset")
        .input(input_dataset)
        .input(optimizations)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which may be rewritten to be faster.
///
/// Op `OptimizeDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `optimization_configs: list(string) = []`.
#[track_caller]
pub fn optimize_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    optimizations_enabled: impl Operand,
    optimizations_disabled: impl Operand,
    optimizations_default: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("OptimizeDatasetV2")
        .input(input_dataset)
        .input(optimizations_enabled)
        .input(optimizations_disabled)
        .input(optimizations_default)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// An optional with a value.
///
/// Op `OptionalFromValue`. Output: `optional: variant`.
#[track_caller]
pub fn optional_from_value(
    graph: &Graph,
    components: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("OptionalFromValue").inputs(components)
}

/// The value of an optional.
///
/// Op `OptionalGetValue`. Output: `components` (a list).
#[track_caller]
pub fn optional_get_value(
    graph: &Graph,
    optional: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("OptionalGetValue")
        .input(optional)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Whether an optional has a value.
///
/// Op `OptionalHasValue`. Output: `has_value: bool`.
#[track_caller]
pub fn optional_has_value(graph: &Graph, optional: impl Operand) -> OpBuilder {
    graph.op("OptionalHasValue").input(optional)
}

/// An optional without a value.
///
/// Op `OptionalNone`. Output: `optional: variant`.
#[track_caller]
pub fn optional_none(graph: &Graph) -> OpBuilder {
    graph.op("OptionalNone")
}

/// A dataset with other options.
///
/// Op `OptionsDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn options_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    serialized_options: &str,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("OptionsDataset")
        .input(input_dataset)
        .attr("serialized_options", serialized_options)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, filled up to one shape and stacked.
///
/// Op `PaddedBatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn padded_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    padded_shapes: impl IntoIterator<Item = impl Operand>,
    padding_values: impl IntoIterator<Item = impl Operand>,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("PaddedBatchDataset")
        .input(input_dataset)
        .input(batch_size)
        .inputs(padded_shapes)
        .inputs(padding_values)
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, filled up to one shape and stacked.
///
/// Op `PaddedBatchDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `parallel_copy: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn padded_batch_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    padded_shapes: impl IntoIterator<Item = impl Operand>,
    padding_values: impl IntoIterator<Item = impl Operand>,
    drop_remainder: impl Operand,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("PaddedBatchDatasetV2")
        .input(input_dataset)
        .input(batch_size)
        .inputs(padded_shapes)
        .inputs(padding_values)
        .input(drop_remainder)
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, stacked by several threads.
///
/// Op `ParallelBatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `parallel_copy: bool = false`, `deterministic: string = "default"`,
/// `metadata: string = ""`.
#[track_caller]
pub fn parallel_batch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_size: impl Operand,
    num_parallel_calls: impl Operand,
    drop_remainder: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelBatchDataset")
        .input(input_dataset)
        .input(batch_size)
        .input(num_parallel_calls)
        .input(drop_remainder)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements for which a function says yes.
///
/// Op `ParallelFilterDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `deterministic: string = "default"`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_filter_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    num_parallel_calls: impl Operand,
    predicate: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelFilterDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(num_parallel_calls)
        .attr("predicate", predicate)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `ParallelInterleaveDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn parallel_interleave_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    sloppy: impl Operand,
    buffer_output_elements: impl Operand,
    prefetch_input_elements: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelInterleaveDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(sloppy)
        .input(buffer_output_elements)
        .input(prefetch_input_elements)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `ParallelInterleaveDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `sloppy: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_interleave_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    num_parallel_calls: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelInterleaveDatasetV2")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(num_parallel_calls)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `ParallelInterleaveDatasetV3`. Output: `handle: variant`.
///
/// Attributes with defaults: `deterministic: string = "default"`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_interleave_dataset_v3(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    num_parallel_calls: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelInterleaveDatasetV3")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(num_parallel_calls)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Elements in turn from the datasets that a function makes, which run at the same time.
///
/// Op `ParallelInterleaveDatasetV4`. Output: `handle: variant`.
///
/// Attributes with defaults: `deterministic: string = "default"`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_interleave_dataset_v4(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    cycle_length: impl Operand,
    block_length: impl Operand,
    buffer_output_elements: impl Operand,
    prefetch_input_elements: impl Operand,
    num_parallel_calls: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelInterleaveDatasetV4")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(cycle_length)
        .input(block_length)
        .input(buffer_output_elements)
        .input(prefetch_input_elements)
        .input(num_parallel_calls)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element.
///
/// Op `ParallelMapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_inter_op_parallelism: bool = true`, `sloppy: bool = false`,
/// `preserve_cardinality: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_map_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    num_parallel_calls: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelMapDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(num_parallel_calls)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element.
///
/// Op `ParallelMapDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_inter_op_parallelism: bool = true`,
/// `deterministic: string = "default"`, `preserve_cardinality: bool = false`,
/// `use_unbounded_threadpool: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn parallel_map_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    num_parallel_calls: impl Operand,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParallelMapDatasetV2")
        .input(input_dataset)
        .inputs(other_arguments)
        .input(num_parallel_calls)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The features of serialized examples.
///
/// Op `ParseExampleDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `sloppy: bool = false`, `ragged_keys: list(string) = []`,
/// `ragged_value_types: list(type) = []`, `ragged_split_types: list(type) = []`.
#[track_caller]
pub fn parse_example_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_parallel_calls: impl Operand,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    sparse_keys: &[&str],
    dense_keys: &[&str],
    sparse_types: &[DType],
    dense_shapes: &[PartialShape],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParseExampleDataset")
        .input(input_dataset)
        .input(num_parallel_calls)
        .inputs(dense_defaults)
        .attr("sparse_keys", strings(sparse_keys))
        .attr("dense_keys", strings(dense_keys))
        .attr("sparse_types", sparse_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The features of serialized examples.
///
/// Op `ParseExampleDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `deterministic: string = "default"`, `ragged_keys: list(string) = []`,
/// `ragged_value_types: list(type) = []`, `ragged_split_types: list(type) = []`.
#[track_caller]
pub fn parse_example_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    num_parallel_calls: impl Operand,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    sparse_keys: &[&str],
    dense_keys: &[&str],
    sparse_types: &[DType],
    dense_shapes: &[PartialShape],
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParseExampleDatasetV2")
        .input(input_dataset)
        .input(num_parallel_calls)
        .inputs(dense_defaults)
        .attr("sparse_keys", strings(sparse_keys))
        .attr("dense_keys", strings(dense_keys))
        .attr("sparse_types", sparse_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, computed ahead.
///
/// Op `PrefetchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `slack_period: int = 0`, `legacy_autotune: bool = true`,
/// `buffer_size_min: int = 0`, `metadata: string = ""`.
#[track_caller]
pub fn prefetch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("PrefetchDataset")
        .input(input_dataset)
        .input(buffer_size)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, computed by threads of its own.
///
/// Op `PrivateThreadPoolDataset`. Output: `handle: variant`.
#[track_caller]
pub fn private_thread_pool_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_threads: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("PrivateThreadPoolDataset")
        .input(input_dataset)
        .input(num_threads)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Random numbers.
///
/// Op `RandomDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn random_dataset(
    graph: &Graph,
    seed: impl Operand,
    seed2: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RandomDataset")
        .input(seed)
        .input(seed2)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Random numbers.
///
/// Op `RandomDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `rerandomize_each_iteration: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn random_dataset_v2(
    graph: &Graph,
    seed: impl Operand,
    seed2: impl Operand,
    seed_generator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RandomDatasetV2")
        .input(seed)
        .input(seed2)
        .input(seed_generator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The numbers from `start` to `stop`, exclusive.
///
/// Op `RangeDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`, `replicate_on_split: bool = false`.
#[track_caller]
pub fn range_dataset(
    graph: &Graph,
    start: impl Operand,
    stop: impl Operand,
    step: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RangeDataset")
        .input(start)
        .input(stop)
        .input(step)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Batches cut into others.
///
/// Op `RebatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `use_fallback: bool = true`.
#[track_caller]
pub fn rebatch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_replicas: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RebatchDataset")
        .input(input_dataset)
        .input(num_replicas)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Batches cut into others.
///
/// Op `RebatchDatasetV2`. Output: `handle: variant`.
#[track_caller]
pub fn rebatch_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    batch_sizes: impl Operand,
    drop_remainder: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RebatchDatasetV2")
        .input(input_dataset)
        .input(batch_sizes)
        .input(drop_remainder)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of all elements, one after the other.
///
/// Op `ReduceDataset`. Output: `components` (a list).
///
/// Attributes with defaults: `use_inter_op_parallelism: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn reduce_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    initial_state: impl IntoIterator<Item = impl Operand>,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ReduceDataset")
        .input(input_dataset)
        .inputs(initial_state)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The dataset several times, or without end.
///
/// Op `RepeatDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn repeat_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    count: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RepeatDataset")
        .input(input_dataset)
        .input(count)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, which may be rewritten to be faster.
///
/// Op `RewriteDataset`. Output: `handle: variant`.
#[track_caller]
pub fn rewrite_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    rewrite_name: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("RewriteDataset")
        .input(input_dataset)
        .input(rewrite_name)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Each element of a dataset with some chance.
///
/// Op `SamplingDataset`. Output: `handle: variant`.
#[track_caller]
pub fn sampling_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    rate: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SamplingDataset")
        .input(input_dataset)
        .input(rate)
        .input(seed)
        .input(seed2)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Saves a dataset to files.
///
/// Op `SaveDataset`. No outputs.
///
/// Attributes with defaults: `compression: string = ""`, `use_shard_func: bool = true`.
#[track_caller]
pub fn save_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    path: impl Operand,
    shard_func_other_args: impl IntoIterator<Item = impl Operand>,
    shard_func: Func,
) -> OpBuilder {
    graph
        .op("SaveDataset")
        .input(input_dataset)
        .input(path)
        .inputs(shard_func_other_args)
        .attr("shard_func", shard_func)
}

/// The elements of a dataset, which are saved to files on the way.
///
/// Op `SaveDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `compression: string = ""`, `use_shard_func: bool = true`.
#[track_caller]
pub fn save_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    path: impl Operand,
    shard_func_other_args: impl IntoIterator<Item = impl Operand>,
    shard_func: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SaveDatasetV2")
        .input(input_dataset)
        .input(path)
        .inputs(shard_func_other_args)
        .attr("shard_func", shard_func)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// What a function makes of each element and a state that it hands on.
///
/// Op `ScanDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `preserve_cardinality: bool = false`,
/// `use_default_device: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn scan_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    initial_state: impl IntoIterator<Item = impl Operand>,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    f: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ScanDataset")
        .input(input_dataset)
        .inputs(initial_state)
        .inputs(other_arguments)
        .attr("f", f)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The state of an iterator, to be kept.
///
/// Op `SerializeIterator`. Output: `serialized: variant`.
///
/// Attributes with defaults: `external_state_policy: int = 0`.
#[track_caller]
pub fn serialize_iterator(graph: &Graph, resource_handle: impl Operand) -> OpBuilder {
    graph.op("SerializeIterator").input(resource_handle)
}

/// Every so-manieth element.
///
/// Op `ShardDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `require_non_empty: bool = false`, `metadata: string = ""`.
#[track_caller]
pub fn shard_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    num_shards: impl Operand,
    index: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShardDataset")
        .input(input_dataset)
        .input(num_shards)
        .input(index)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements in random order, several times.
///
/// Op `ShuffleAndRepeatDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn shuffle_and_repeat_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    count: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShuffleAndRepeatDataset")
        .input(input_dataset)
        .input(buffer_size)
        .input(seed)
        .input(seed2)
        .input(count)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements in random order, several times.
///
/// Op `ShuffleAndRepeatDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn shuffle_and_repeat_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    count: impl Operand,
    seed_generator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShuffleAndRepeatDatasetV2")
        .input(input_dataset)
        .input(buffer_size)
        .input(seed)
        .input(seed2)
        .input(count)
        .input(seed_generator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements in random order, drawn from a buffer.
///
/// Op `ShuffleDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn shuffle_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShuffleDataset")
        .input(input_dataset)
        .input(buffer_size)
        .input(seed)
        .input(seed2)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements in random order, drawn from a buffer.
///
/// Op `ShuffleDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn shuffle_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    seed_generator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShuffleDatasetV2")
        .input(input_dataset)
        .input(buffer_size)
        .input(seed_generator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements in random order, drawn from a buffer.
///
/// Op `ShuffleDatasetV3`. Output: `handle: variant`.
///
/// Attributes with defaults: `reshuffle_each_iteration: bool = true`, `metadata: string = ""`.
#[track_caller]
pub fn shuffle_dataset_v3(
    graph: &Graph,
    input_dataset: impl Operand,
    buffer_size: impl Operand,
    seed: impl Operand,
    seed2: impl Operand,
    seed_generator: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ShuffleDatasetV3")
        .input(input_dataset)
        .input(buffer_size)
        .input(seed)
        .input(seed2)
        .input(seed_generator)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements after the first so many.
///
/// Op `SkipDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn skip_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    count: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SkipDataset")
        .input(input_dataset)
        .input(count)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, after a pause before each.
///
/// Op `SleepDataset`. Output: `handle: variant`.
#[track_caller]
pub fn sleep_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    sleep_microseconds: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SleepDataset")
        .input(input_dataset)
        .input(sleep_microseconds)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements that overlap, stacked.
///
/// Op `SlidingWindowDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `drop_remainder: bool = true`.
#[track_caller]
pub fn sliding_window_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    window_size: impl Operand,
    window_shift: impl Operand,
    window_stride: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SlidingWindowDataset")
        .input(input_dataset)
        .input(window_size)
        .input(window_shift)
        .input(window_stride)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, made once and read from files ever after.
///
/// Op `SnapshotDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `compression: string = ""`, `reader_path_prefix: string = ""`,
/// `writer_path_prefix: string = ""`, `shard_size_bytes: int = 10737418240`,
/// `pending_snapshot_expiry_seconds: int = 86400`, `num_reader_threads: int = 1`,
/// `reader_buffer_size: int = 1`, `num_writer_threads: int = 1`, `writer_buffer_size: int = 1`,
/// `shuffle_on_read: bool = false`, `seed: int = 0`, `seed2: int = 0`, `mode: string = "auto"`,
/// `snapshot_name: string = ""`.
#[track_caller]
pub fn snapshot_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    path: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SnapshotDataset")
        .input(input_dataset)
        .input(path)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements of a dataset, made once and read from files ever after.
///
/// Op `SnapshotDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `compression: string = ""`, `reader_prefix: string = ""`,
/// `writer_prefix: string = ""`, `hash_valid: bool = false`, `hash: int = 0`,
/// `metadata: string = ""`.
#[track_caller]
pub fn snapshot_dataset_v2(
    graph: &Graph,
    input_dataset: impl Operand,
    path: impl Operand,
    reader_func_other_args: impl IntoIterator<Item = impl Operand>,
    shard_func_other_args: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
    reader_func: Func,
    shard_func: Func,
) -> OpBuilder {
    graph
        .op("SnapshotDatasetV2")
        .input(input_dataset)
        .input(path)
        .inputs(reader_func_other_args)
        .inputs(shard_func_other_args)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
        .attr("reader_func", reader_func)
        .attr("shard_func", shard_func)
}

/// The slices of a sparse tensor.
///
/// Op `SparseTensorSliceDataset`. Output: `handle: variant`.
#[track_caller]
pub fn sparse_tensor_slice_dataset(
    graph: &Graph,
    indices: impl Operand,
    values: impl Operand,
    dense_shape: impl Operand,
) -> OpBuilder {
    graph.op("SparseTensorSliceDataset").input(indices).input(values).input(dense_shape)
}

/// The rows that a query of an SQLite database gives.
///
/// Op `SqlDataset`. Output: `handle: variant`.
#[track_caller]
pub fn sql_dataset(
    graph: &Graph,
    driver_name: impl Operand,
    data_source_name: impl Operand,
    query: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("SqlDataset")
        .input(driver_name)
        .input(data_source_name)
        .input(query)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The records of TFRecord files.
///
/// Op `TFRecordDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn tf_record_dataset(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
) -> OpBuilder {
    graph.op("TFRecordDataset").input(filenames).input(compression_type).input(buffer_size)
}

/// The records of TFRecord files.
///
/// Op `TFRecordDatasetV2`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn tf_record_dataset_v2(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
    byte_offsets: impl Operand,
) -> OpBuilder {
    graph
        .op("TFRecordDatasetV2")
        .input(filenames)
        .input(compression_type)
        .input(buffer_size)
        .input(byte_offsets)
}

/// The first so many elements.
///
/// Op `TakeDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn take_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    count: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("TakeDataset")
        .input(input_dataset)
        .input(count)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements before the first for which a function says no.
///
/// Op `TakeWhileDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn take_while_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    other_arguments: impl IntoIterator<Item = impl Operand>,
    predicate: Func,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("TakeWhileDataset")
        .input(input_dataset)
        .inputs(other_arguments)
        .attr("predicate", predicate)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// One element.
///
/// Op `TensorDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn tensor_dataset(
    graph: &Graph,
    components: impl IntoIterator<Item = impl Operand>,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph.op("TensorDataset").inputs(components).attr("output_shapes", output_shapes.to_vec())
}

/// The slices of tensors.
///
/// Op `TensorSliceDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `is_files: bool = false`, `metadata: string = ""`,
/// `replicate_on_split: bool = false`.
#[track_caller]
pub fn tensor_slice_dataset(
    graph: &Graph,
    components: impl IntoIterator<Item = impl Operand>,
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph.op("TensorSliceDataset").inputs(components).attr("output_shapes", output_shapes.to_vec())
}

/// The lines of files.
///
/// Op `TextLineDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn text_line_dataset(
    graph: &Graph,
    filenames: impl Operand,
    compression_type: impl Operand,
    buffer_size: impl Operand,
) -> OpBuilder {
    graph.op("TextLineDataset").input(filenames).input(compression_type).input(buffer_size)
}

/// The elements of a dataset, made by the threads of a pool.
///
/// Op `ThreadPoolDataset`. Output: `handle: variant`.
#[track_caller]
pub fn thread_pool_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    thread_pool: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ThreadPoolDataset")
        .input(input_dataset)
        .input(thread_pool)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A pool of threads for datasets.
///
/// Op `ThreadPoolHandle`. Output: `handle: resource`.
///
/// Attributes with defaults: `max_intra_op_parallelism: int = 1`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn thread_pool_handle(graph: &Graph, num_threads: i64, display_name: &str) -> OpBuilder {
    graph.op("ThreadPoolHandle").attr("num_threads", num_threads).attr("display_name", display_name)
}

/// The slices of each element.
///
/// Op `UnbatchDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn unbatch_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("UnbatchDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The element in a value that was made small.
///
/// Op `UncompressElement`. Output: `components` (a list).
#[track_caller]
pub fn uncompress_element(
    graph: &Graph,
    compressed: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("UncompressElement")
        .input(compressed)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// The elements without those that came before.
///
/// Op `UniqueDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn unique_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("UniqueDataset")
        .input(input_dataset)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A dataset without, or with, a wrapper that keeps it on its device.
///
/// Op `UnwrapDatasetVariant`. Output: `output_handle: variant`.
#[track_caller]
pub fn unwrap_dataset_variant(graph: &Graph, input_handle: impl Operand) -> OpBuilder {
    graph.op("UnwrapDatasetVariant").input(input_handle)
}

/// Datasets one after the other, of each as much as its weight allows.
///
/// Op `WeightedFlatMapDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn weighted_flat_map_dataset(
    graph: &Graph,
    input_datasets: impl IntoIterator<Item = impl Operand>,
    weights: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("WeightedFlatMapDataset")
        .inputs(input_datasets)
        .inputs(weights)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// Runs of elements, each as a dataset.
///
/// Op `WindowDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn window_dataset(
    graph: &Graph,
    input_dataset: impl Operand,
    size: impl Operand,
    shift: impl Operand,
    stride: impl Operand,
    drop_remainder: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("WindowDataset")
        .input(input_dataset)
        .input(size)
        .input(shift)
        .input(stride)
        .input(drop_remainder)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A dataset without, or with, a wrapper that keeps it on its device.
///
/// Op `WrapDatasetVariant`. Output: `output_handle: variant`.
#[track_caller]
pub fn wrap_dataset_variant(graph: &Graph, input_handle: impl Operand) -> OpBuilder {
    graph.op("WrapDatasetVariant").input(input_handle)
}

/// The elements of several datasets side by side.
///
/// Op `ZipDataset`. Output: `handle: variant`.
///
/// Attributes with defaults: `metadata: string = ""`.
#[track_caller]
pub fn zip_dataset(
    graph: &Graph,
    input_datasets: impl IntoIterator<Item = impl Operand>,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ZipDataset")
        .inputs(input_datasets)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}
