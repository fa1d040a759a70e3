//! Ops of the family `lookup`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// A table that only its handle knows.
///
/// Op `AnonymousHashTable`. Output: `table_handle: resource`.
#[track_caller]
pub fn anonymous_hash_table(graph: &Graph, key_dtype: DType, value_dtype: DType) -> OpBuilder {
    graph.op("AnonymousHashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype)
}

/// A table that only its handle knows.
///
/// Op `AnonymousMutableDenseHashTable`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `value_shape: shape = []`, `initial_num_buckets: int = 131072`,
/// `max_load_factor: float = 0.8`.
#[track_caller]
pub fn anonymous_mutable_dense_hash_table(
    graph: &Graph,
    empty_key: impl Operand,
    deleted_key: impl Operand,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("AnonymousMutableDenseHashTable")
        .input(empty_key)
        .input(deleted_key)
        .attr("value_dtype", value_dtype)
}

/// A table that only its handle knows.
///
/// Op `AnonymousMutableHashTable`. Output: `table_handle: resource`.
#[track_caller]
pub fn anonymous_mutable_hash_table(
    graph: &Graph,
    key_dtype: DType,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("AnonymousMutableHashTable")
        .attr("key_dtype", key_dtype)
        .attr("value_dtype", value_dtype)
}

/// A table that only its handle knows.
///
/// Op `AnonymousMutableHashTableOfTensors`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `value_shape: shape = []`.
#[track_caller]
pub fn anonymous_mutable_hash_table_of_tensors(
    graph: &Graph,
    key_dtype: DType,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("AnonymousMutableHashTableOfTensors")
        .attr("key_dtype", key_dtype)
        .attr("value_dtype", value_dtype)
}

/// A table that is filled once.
///
/// Op `HashTable`. Output: `table_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`.
#[track_caller]
pub fn hash_table(graph: &Graph, key_dtype: DType, value_dtype: DType) -> OpBuilder {
    graph.op("HashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype)
}

/// A table that is filled once.
///
/// Op `HashTableV2`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`.
#[track_caller]
pub fn hash_table_v2(graph: &Graph, key_dtype: DType, value_dtype: DType) -> OpBuilder {
    graph.op("HashTableV2").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype)
}

/// Fills a table with keys and values.
///
/// Op `InitializeTable`. No outputs.
#[track_caller]
pub fn initialize_table(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("InitializeTable").input(table_handle).input(keys).input(values)
}

/// Fills a table with the elements of a dataset.
///
/// Op `InitializeTableFromDataset`. No outputs.
#[track_caller]
pub fn initialize_table_from_dataset(
    graph: &Graph,
    table_handle: impl Operand,
    dataset: impl Operand,
) -> OpBuilder {
    graph.op("InitializeTableFromDataset").input(table_handle).input(dataset)
}

/// Fills a table from the lines of a file.
///
/// Op `InitializeTableFromTextFile`. No outputs.
///
/// Attributes with defaults: `vocab_size: int = -1`, `delimiter: string = "\t"`, `offset: int = 0`.
#[track_caller]
pub fn initialize_table_from_text_file(
    graph: &Graph,
    table_handle: impl Operand,
    filename: impl Operand,
    key_index: i64,
    value_index: i64,
) -> OpBuilder {
    graph
        .op("InitializeTableFromTextFile")
        .input(table_handle)
        .input(filename)
        .attr("key_index", key_index)
        .attr("value_index", value_index)
}

/// Fills a table from the lines of a file.
///
/// Op `InitializeTableFromTextFileV2`. No outputs.
///
/// Attributes with defaults: `vocab_size: int = -1`, `delimiter: string = "\t"`, `offset: int = 0`.
#[track_caller]
pub fn initialize_table_from_text_file_v2(
    graph: &Graph,
    table_handle: impl Operand,
    filename: impl Operand,
    key_index: i64,
    value_index: i64,
) -> OpBuilder {
    graph
        .op("InitializeTableFromTextFileV2")
        .input(table_handle)
        .input(filename)
        .attr("key_index", key_index)
        .attr("value_index", value_index)
}

/// Fills a table with keys and values.
///
/// Op `InitializeTableV2`. No outputs.
#[track_caller]
pub fn initialize_table_v2(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("InitializeTableV2").input(table_handle).input(keys).input(values)
}

/// All keys and values of a table.
///
/// Op `LookupTableExport`. Outputs: `keys`, `values`.
#[track_caller]
pub fn lookup_table_export(
    graph: &Graph,
    table_handle: impl Operand,
    tkeys: DType,
    tvalues: DType,
) -> OpBuilder {
    graph.op("LookupTableExport").input(table_handle).attr("Tkeys", tkeys).attr("Tvalues", tvalues)
}

/// All keys and values of a table.
///
/// Op `LookupTableExportV2`. Outputs: `keys`, `values`.
#[track_caller]
pub fn lookup_table_export_v2(
    graph: &Graph,
    table_handle: impl Operand,
    tkeys: DType,
    tvalues: DType,
) -> OpBuilder {
    graph
        .op("LookupTableExportV2")
        .input(table_handle)
        .attr("Tkeys", tkeys)
        .attr("Tvalues", tvalues)
}

/// The values of keys; a default for those that are not there.
///
/// Op `LookupTableFind`. Output: `values`.
#[track_caller]
pub fn lookup_table_find(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    default_value: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableFind").input(table_handle).input(keys).input(default_value)
}

/// The values of keys; a default for those that are not there.
///
/// Op `LookupTableFindV2`. Output: `values`.
#[track_caller]
pub fn lookup_table_find_v2(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    default_value: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableFindV2").input(table_handle).input(keys).input(default_value)
}

/// Replaces all that a table holds.
///
/// Op `LookupTableImport`. No outputs.
#[track_caller]
pub fn lookup_table_import(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableImport").input(table_handle).input(keys).input(values)
}

/// Replaces all that a table holds.
///
/// Op `LookupTableImportV2`. No outputs.
#[track_caller]
pub fn lookup_table_import_v2(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableImportV2").input(table_handle).input(keys).input(values)
}

/// Puts entries into a table.
///
/// Op `LookupTableInsert`. No outputs.
#[track_caller]
pub fn lookup_table_insert(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableInsert").input(table_handle).input(keys).input(values)
}

/// Puts entries into a table.
///
/// Op `LookupTableInsertV2`. No outputs.
#[track_caller]
pub fn lookup_table_insert_v2(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableInsertV2").input(table_handle).input(keys).input(values)
}

/// Takes keys out of a table.
///
/// Op `LookupTableRemoveV2`. No outputs.
#[track_caller]
pub fn lookup_table_remove_v2(
    graph: &Graph,
    table_handle: impl Operand,
    keys: impl Operand,
) -> OpBuilder {
    graph.op("LookupTableRemoveV2").input(table_handle).input(keys)
}

/// The number of entries of a table.
///
/// Op `LookupTableSize`. Output: `size: int64`.
#[track_caller]
pub fn lookup_table_size(graph: &Graph, table_handle: impl Operand) -> OpBuilder {
    graph.op("LookupTableSize").input(table_handle)
}

/// The number of entries of a table.
///
/// Op `LookupTableSizeV2`. Output: `size: int64`.
#[track_caller]
pub fn lookup_table_size_v2(graph: &Graph, table_handle: impl Operand) -> OpBuilder {
    graph.op("LookupTableSizeV2").input(table_handle)
}

/// `MutableDenseHashTable`: `table_handle` of `empty_key`.
///
/// Output: `table_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`, `value_shape: shape = []`,
/// `initial_num_buckets: int = 131072`, `max_load_factor: float = 0.8`.
#[track_caller]
pub fn mutable_dense_hash_table(
    graph: &Graph,
    empty_key: impl Operand,
    value_dtype: DType,
) -> OpBuilder {
    graph.op("MutableDenseHashTable").input(empty_key).attr("value_dtype", value_dtype)
}

/// A table that keeps keys and values in one tensor each.
///
/// Op `MutableDenseHashTableV2`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`, `value_shape: shape = []`,
/// `initial_num_buckets: int = 131072`, `max_load_factor: float = 0.8`.
#[track_caller]
pub fn mutable_dense_hash_table_v2(
    graph: &Graph,
    empty_key: impl Operand,
    deleted_key: impl Operand,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("MutableDenseHashTableV2")
        .input(empty_key)
        .input(deleted_key)
        .attr("value_dtype", value_dtype)
}

/// A table that can be changed.
///
/// Op `MutableHashTable`. Output: `table_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`.
#[track_caller]
pub fn mutable_hash_table(graph: &Graph, key_dtype: DType, value_dtype: DType) -> OpBuilder {
    graph.op("MutableHashTable").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype)
}

/// A table with a tensor for each key that can be changed.
///
/// Op `MutableHashTableOfTensors`. Output: `table_handle: string`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`, `value_shape: shape = []`.
#[track_caller]
pub fn mutable_hash_table_of_tensors(
    graph: &Graph,
    key_dtype: DType,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("MutableHashTableOfTensors")
        .attr("key_dtype", key_dtype)
        .attr("value_dtype", value_dtype)
}

/// A table with a tensor for each key that can be changed.
///
/// Op `MutableHashTableOfTensorsV2`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`, `value_shape: shape = []`.
#[track_caller]
pub fn mutable_hash_table_of_tensors_v2(
    graph: &Graph,
    key_dtype: DType,
    value_dtype: DType,
) -> OpBuilder {
    graph
        .op("MutableHashTableOfTensorsV2")
        .attr("key_dtype", key_dtype)
        .attr("value_dtype", value_dtype)
}

/// A table that can be changed.
///
/// Op `MutableHashTableV2`. Output: `table_handle: resource`.
///
/// Attributes with defaults: `container: string = ""`, `shared_name: string = ""`,
/// `use_node_name_sharing: bool = false`.
#[track_caller]
pub fn mutable_hash_table_v2(graph: &Graph, key_dtype: DType, value_dtype: DType) -> OpBuilder {
    graph.op("MutableHashTableV2").attr("key_dtype", key_dtype).attr("value_dtype", value_dtype)
}
