//! Ops of the family `io`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// The pairs of LMDB's stores: refused, as in TensorFlow.
///
/// Op `ExperimentalLMDBDataset`. Output: `handle: variant`.
#[track_caller]
pub fn experimental_lmdb_dataset(
    graph: &Graph,
    filenames: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ExperimentalLMDBDataset")
        .input(filenames)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A reader of records of one length.
///
/// Op `FixedLengthRecordReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `header_bytes: int = 0`, `footer_bytes: int = 0`,
/// `hop_bytes: int = 0`, `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn fixed_length_record_reader(graph: &Graph, record_bytes: i64) -> OpBuilder {
    graph.op("FixedLengthRecordReader").attr("record_bytes", record_bytes)
}

/// A reader of records of one length.
///
/// Op `FixedLengthRecordReaderV2`. Output: `reader_handle: resource`.
///
/// Attributes with defaults: `header_bytes: int = 0`, `footer_bytes: int = 0`,
/// `hop_bytes: int = 0`, `container: string = ""`, `shared_name: string = ""`,
/// `encoding: string = ""`.
#[track_caller]
pub fn fixed_length_record_reader_v2(graph: &Graph, record_bytes: i64) -> OpBuilder {
    graph.op("FixedLengthRecordReaderV2").attr("record_bytes", record_bytes)
}

/// Which lines of an old vocabulary the lines of a new one are.
///
/// Op `GenerateVocabRemapping`. Outputs: `remapping: int64`, `num_present: int32`.
///
/// Attributes with defaults: `old_vocab_size: int = -1`.
#[track_caller]
pub fn generate_vocab_remapping(
    graph: &Graph,
    new_vocab_file: impl Operand,
    old_vocab_file: impl Operand,
    new_vocab_offset: i64,
    num_new_vocab: i64,
) -> OpBuilder {
    graph
        .op("GenerateVocabRemapping")
        .input(new_vocab_file)
        .input(old_vocab_file)
        .attr("new_vocab_offset", new_vocab_offset)
        .attr("num_new_vocab", num_new_vocab)
}

/// A reader that returns the names of files themselves.
///
/// Op `IdentityReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn identity_reader(graph: &Graph) -> OpBuilder {
    graph.op("IdentityReader")
}

/// A reader that returns the names of files themselves.
///
/// Op `IdentityReaderV2`. Output: `reader_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn identity_reader_v2(graph: &Graph) -> OpBuilder {
    graph.op("IdentityReaderV2")
}

/// A tensor whose elements are the bytes of a file.
///
/// Op `ImmutableConst`. Output: `tensor`.
#[track_caller]
pub fn immutable_const(
    graph: &Graph,
    dtype: DType,
    shape: PartialShape,
    memory_region_name: &str,
) -> OpBuilder {
    graph
        .op("ImmutableConst")
        .attr("dtype", dtype)
        .attr("shape", shape)
        .attr("memory_region_name", memory_region_name)
}

/// The pairs of LMDB's stores: refused, as in TensorFlow.
///
/// Op `LMDBDataset`. Output: `handle: variant`.
#[track_caller]
pub fn lmdb_dataset(
    graph: &Graph,
    filenames: impl Operand,
    output_types: &[DType],
    output_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("LMDBDataset")
        .input(filenames)
        .attr("output_types", output_types.to_vec())
        .attr("output_shapes", output_shapes.to_vec())
}

/// A reader of LMDB's stores: refused, as in TensorFlow.
///
/// Op `LMDBReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn lmdb_reader(graph: &Graph) -> OpBuilder {
    graph.op("LMDBReader")
}

/// A matrix of a checkpoint with rows and columns in new places.
///
/// Op `LoadAndRemapMatrix`. Output: `output_matrix: float`.
///
/// Attributes with defaults: `max_rows_in_memory: int = -1`.
#[track_caller]
pub fn load_and_remap_matrix(
    graph: &Graph,
    ckpt_path: impl Operand,
    old_tensor_name: impl Operand,
    row_remapping: impl Operand,
    col_remapping: impl Operand,
    initializing_values: impl Operand,
    num_rows: i64,
    num_cols: i64,
) -> OpBuilder {
    graph
        .op("LoadAndRemapMatrix")
        .input(ckpt_path)
        .input(old_tensor_name)
        .input(row_remapping)
        .input(col_remapping)
        .input(initializing_values)
        .attr("num_rows", num_rows)
        .attr("num_cols", num_cols)
}

/// The names of files that match patterns.
///
/// Op `MatchingFiles`. Output: `filenames: string`.
#[track_caller]
pub fn matching_files(graph: &Graph, pattern: impl Operand) -> OpBuilder {
    graph.op("MatchingFiles").input(pattern)
}

/// Makes parts of a checkpoint one.
///
/// Op `MergeV2Checkpoints`. No outputs.
///
/// Attributes with defaults: `delete_old_dirs: bool = true`, `allow_missing_files: bool = false`.
#[track_caller]
pub fn merge_v2_checkpoints(
    graph: &Graph,
    checkpoint_prefixes: impl Operand,
    destination_prefix: impl Operand,
) -> OpBuilder {
    graph.op("MergeV2Checkpoints").input(checkpoint_prefixes).input(destination_prefix)
}

/// The content of a file.
///
/// Op `ReadFile`. Output: `contents: string`.
#[track_caller]
pub fn read_file(graph: &Graph, filename: impl Operand) -> OpBuilder {
    graph.op("ReadFile").input(filename)
}

/// How many records a reader has returned.
///
/// Op `ReaderNumRecordsProduced`. Output: `records_produced: int64`.
#[track_caller]
pub fn reader_num_records_produced(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderNumRecordsProduced").input(reader_handle)
}

/// How many records a reader has returned.
///
/// Op `ReaderNumRecordsProducedV2`. Output: `records_produced: int64`.
#[track_caller]
pub fn reader_num_records_produced_v2(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderNumRecordsProducedV2").input(reader_handle)
}

/// How many files a reader has finished.
///
/// Op `ReaderNumWorkUnitsCompleted`. Output: `units_completed: int64`.
#[track_caller]
pub fn reader_num_work_units_completed(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderNumWorkUnitsCompleted").input(reader_handle)
}

/// How many files a reader has finished.
///
/// Op `ReaderNumWorkUnitsCompletedV2`. Output: `units_completed: int64`.
#[track_caller]
pub fn reader_num_work_units_completed_v2(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderNumWorkUnitsCompletedV2").input(reader_handle)
}

/// The next record of a reader, with the files of a queue.
///
/// Op `ReaderRead`. Outputs: `key: string`, `value: string`.
#[track_caller]
pub fn reader_read(
    graph: &Graph,
    reader_handle: impl Operand,
    queue_handle: impl Operand,
) -> OpBuilder {
    graph.op("ReaderRead").input(reader_handle).input(queue_handle)
}

/// The next records of a reader, at most as many as asked for.
///
/// Op `ReaderReadUpTo`. Outputs: `keys: string`, `values: string`.
#[track_caller]
pub fn reader_read_up_to(
    graph: &Graph,
    reader_handle: impl Operand,
    queue_handle: impl Operand,
    num_records: impl Operand,
) -> OpBuilder {
    graph.op("ReaderReadUpTo").input(reader_handle).input(queue_handle).input(num_records)
}

/// The next records of a reader, at most as many as asked for.
///
/// Op `ReaderReadUpToV2`. Outputs: `keys: string`, `values: string`.
#[track_caller]
pub fn reader_read_up_to_v2(
    graph: &Graph,
    reader_handle: impl Operand,
    queue_handle: impl Operand,
    num_records: impl Operand,
) -> OpBuilder {
    graph.op("ReaderReadUpToV2").input(reader_handle).input(queue_handle).input(num_records)
}

/// The next record of a reader, with the files of a queue.
///
/// Op `ReaderReadV2`. Outputs: `key: string`, `value: string`.
#[track_caller]
pub fn reader_read_v2(
    graph: &Graph,
    reader_handle: impl Operand,
    queue_handle: impl Operand,
) -> OpBuilder {
    graph.op("ReaderReadV2").input(reader_handle).input(queue_handle)
}

/// Brings a reader back to its beginning.
///
/// Op `ReaderReset`. No outputs.
#[track_caller]
pub fn reader_reset(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderReset").input(reader_handle)
}

/// Brings a reader back to its beginning.
///
/// Op `ReaderResetV2`. No outputs.
#[track_caller]
pub fn reader_reset_v2(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderResetV2").input(reader_handle)
}

/// Brings a reader to a state that was kept.
///
/// Op `ReaderRestoreState`. No outputs.
#[track_caller]
pub fn reader_restore_state(
    graph: &Graph,
    reader_handle: impl Operand,
    state: impl Operand,
) -> OpBuilder {
    graph.op("ReaderRestoreState").input(reader_handle).input(state)
}

/// Brings a reader to a state that was kept.
///
/// Op `ReaderRestoreStateV2`. No outputs.
#[track_caller]
pub fn reader_restore_state_v2(
    graph: &Graph,
    reader_handle: impl Operand,
    state: impl Operand,
) -> OpBuilder {
    graph.op("ReaderRestoreStateV2").input(reader_handle).input(state)
}

/// The state of a reader, to be kept.
///
/// Op `ReaderSerializeState`. Output: `state: string`.
#[track_caller]
pub fn reader_serialize_state(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderSerializeState").input(reader_handle)
}

/// The state of a reader, to be kept.
///
/// Op `ReaderSerializeStateV2`. Output: `state: string`.
#[track_caller]
pub fn reader_serialize_state_v2(graph: &Graph, reader_handle: impl Operand) -> OpBuilder {
    graph.op("ReaderSerializeStateV2").input(reader_handle)
}

/// Records of many files, mixed, epoch after epoch.
///
/// Op `RecordInput`. Output: `records: string`.
///
/// Attributes with defaults: `file_random_seed: int = 301`, `file_shuffle_shift_ratio: float = 0`,
/// `file_buffer_size: int = 10000`, `file_parallelism: int = 16`, `batch_size: int = 32`,
/// `compression_type: string = ""`.
#[track_caller]
pub fn record_input(graph: &Graph, file_pattern: &str) -> OpBuilder {
    graph.op("RecordInput").attr("file_pattern", file_pattern)
}

/// A tensor of a checkpoint of the first format.
///
/// Op `Restore`. Output: `tensor`.
///
/// Attributes with defaults: `preferred_shard: int = -1`.
#[track_caller]
pub fn restore(
    graph: &Graph,
    file_pattern: impl Operand,
    tensor_name: impl Operand,
    dt: DType,
) -> OpBuilder {
    graph.op("Restore").input(file_pattern).input(tensor_name).attr("dt", dt)
}

/// A tensor of a checkpoint of the first format.
///
/// Op `RestoreSlice`. Output: `tensor`.
///
/// Attributes with defaults: `preferred_shard: int = -1`.
#[track_caller]
pub fn restore_slice(
    graph: &Graph,
    file_pattern: impl Operand,
    tensor_name: impl Operand,
    shape_and_slice: impl Operand,
    dt: DType,
) -> OpBuilder {
    graph
        .op("RestoreSlice")
        .input(file_pattern)
        .input(tensor_name)
        .input(shape_and_slice)
        .attr("dt", dt)
}

/// Tensors of a checkpoint.
///
/// Op `RestoreV2`. Output: `tensors` (a list).
#[track_caller]
pub fn restore_v2(
    graph: &Graph,
    prefix: impl Operand,
    tensor_names: impl Operand,
    shape_and_slices: impl Operand,
    dtypes: &[DType],
) -> OpBuilder {
    graph
        .op("RestoreV2")
        .input(prefix)
        .input(tensor_names)
        .input(shape_and_slices)
        .attr("dtypes", dtypes.to_vec())
}

/// Writes a checkpoint of the first format.
///
/// Op `Save`. No outputs.
#[track_caller]
pub fn save(
    graph: &Graph,
    filename: impl Operand,
    tensor_names: impl Operand,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("Save").input(filename).input(tensor_names).inputs(data)
}

/// Writes a checkpoint of the first format.
///
/// Op `SaveSlices`. No outputs.
#[track_caller]
pub fn save_slices(
    graph: &Graph,
    filename: impl Operand,
    tensor_names: impl Operand,
    shapes_and_slices: impl Operand,
    data: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("SaveSlices").input(filename).input(tensor_names).input(shapes_and_slices).inputs(data)
}

/// Writes a checkpoint.
///
/// Op `SaveV2`. No outputs.
#[track_caller]
pub fn save_v2(
    graph: &Graph,
    prefix: impl Operand,
    tensor_names: impl Operand,
    shape_and_slices: impl Operand,
    tensors: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("SaveV2").input(prefix).input(tensor_names).input(shape_and_slices).inputs(tensors)
}

/// The name of one part of a file.
///
/// Op `ShardedFilename`. Output: `filename: string`.
#[track_caller]
pub fn sharded_filename(
    graph: &Graph,
    basename: impl Operand,
    shard: impl Operand,
    num_shards: impl Operand,
) -> OpBuilder {
    graph.op("ShardedFilename").input(basename).input(shard).input(num_shards)
}

/// The pattern of the names of all parts of a file.
///
/// Op `ShardedFilespec`. Output: `filename: string`.
#[track_caller]
pub fn sharded_filespec(
    graph: &Graph,
    basename: impl Operand,
    num_shards: impl Operand,
) -> OpBuilder {
    graph.op("ShardedFilespec").input(basename).input(num_shards)
}

/// A reader of TFRecord files.
///
/// Op `TFRecordReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `compression_type: string = ""`.
#[track_caller]
pub fn tf_record_reader(graph: &Graph) -> OpBuilder {
    graph.op("TFRecordReader")
}

/// A reader of TFRecord files.
///
/// Op `TFRecordReaderV2`. Output: `reader_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `compression_type: string = ""`.
#[track_caller]
pub fn tf_record_reader_v2(graph: &Graph) -> OpBuilder {
    graph.op("TFRecordReaderV2")
}

/// A reader of lines of text.
///
/// Op `TextLineReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `skip_header_lines: int = 0`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn text_line_reader(graph: &Graph) -> OpBuilder {
    graph.op("TextLineReader")
}

/// A reader of lines of text.
///
/// Op `TextLineReaderV2`. Output: `reader_handle: resource`.
///
/// Attributes with defaults: `skip_header_lines: int = 0`, `container: string = ""`,
/// `shared_name: string = ""`.
#[track_caller]
pub fn text_line_reader_v2(graph: &Graph) -> OpBuilder {
    graph.op("TextLineReaderV2")
}

/// A reader of whole files.
///
/// Op `WholeFileReader`. Output: `reader_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn whole_file_reader(graph: &Graph) -> OpBuilder {
    graph.op("WholeFileReader")
}

/// A reader of whole files.
///
/// Op `WholeFileReaderV2`. Output: `reader_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`.
#[track_caller]
pub fn whole_file_reader_v2(graph: &Graph) -> OpBuilder {
    graph.op("WholeFileReaderV2")
}

/// Writes a file.
///
/// Op `WriteFile`. No outputs.
#[track_caller]
pub fn write_file(graph: &Graph, filename: impl Operand, contents: impl Operand) -> OpBuilder {
    graph.op("WriteFile").input(filename).input(contents)
}
