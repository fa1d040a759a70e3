//! Ops of the family `parsing`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// The columns of lines of comma-separated values.
///
/// Op `DecodeCSV`. Output: `output` (a list).
///
/// Attributes with defaults: `field_delim: string = ","`, `use_quote_delim: bool = true`,
/// `na_value: string = ""`, `select_cols: list(int) = []`.
#[track_caller]
pub fn decode_csv(
    graph: &Graph,
    records: impl Operand,
    record_defaults: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph.op("DecodeCSV").input(records).inputs(record_defaults)
}

/// The content of compressed strings.
///
/// Op `DecodeCompressed`. Output: `output: string`.
///
/// Attributes with defaults: `compression_type: string = ""`.
#[track_caller]
pub fn decode_compressed(graph: &Graph, bytes: impl Operand) -> OpBuilder {
    graph.op("DecodeCompressed").input(bytes)
}

/// Serialized examples from their JSON form.
///
/// Op `DecodeJSONExample`. Output: `binary_examples: string`.
#[track_caller]
pub fn decode_json_example(graph: &Graph, json_examples: impl Operand) -> OpBuilder {
    graph.op("DecodeJSONExample").input(json_examples)
}

/// Strings of bytes as numbers, cut or filled up to one length.
///
/// Op `DecodePaddedRaw`. Output: `output`.
///
/// Attributes with defaults: `little_endian: bool = true`.
#[track_caller]
pub fn decode_padded_raw(
    graph: &Graph,
    input_bytes: impl Operand,
    fixed_length: impl Operand,
    out_type: DType,
) -> OpBuilder {
    graph.op("DecodePaddedRaw").input(input_bytes).input(fixed_length).attr("out_type", out_type)
}

/// `DecodeProtoV2`: `sizes`, `values` of `bytes`.
///
/// Outputs: `sizes: int32`, `values` (a list).
///
/// Attributes with defaults: `descriptor_source: string = "local://"`,
/// `message_format: string = "binary"`, `sanitize: bool = false`.
#[track_caller]
pub fn decode_proto_v2(
    graph: &Graph,
    bytes: impl Operand,
    message_type: &str,
    field_names: &[&str],
    output_types: &[DType],
) -> OpBuilder {
    graph
        .op("DecodeProtoV2")
        .input(bytes)
        .attr("message_type", message_type)
        .attr("field_names", strings(field_names))
        .attr("output_types", output_types.to_vec())
}

/// Strings of bytes as numbers.
///
/// Op `DecodeRaw`. Output: `output`.
///
/// Attributes with defaults: `little_endian: bool = true`.
#[track_caller]
pub fn decode_raw(graph: &Graph, bytes: impl Operand, out_type: DType) -> OpBuilder {
    graph.op("DecodeRaw").input(bytes).attr("out_type", out_type)
}

/// `EncodeProto`: `bytes` of `sizes`, `values`.
///
/// Output: `bytes: string`.
///
/// Attributes with defaults: `descriptor_source: string = "local://"`.
#[track_caller]
pub fn encode_proto(
    graph: &Graph,
    sizes: impl Operand,
    values: impl IntoIterator<Item = impl Operand>,
    field_names: &[&str],
    message_type: &str,
) -> OpBuilder {
    graph
        .op("EncodeProto")
        .input(sizes)
        .inputs(values)
        .attr("field_names", strings(field_names))
        .attr("message_type", message_type)
}

/// The features of a batch of serialized examples.
///
/// Op `ParseExample`. Outputs: `sparse_indices: int64` (a list), `sparse_values` (a list),
/// `sparse_shapes: int64` (a list), `dense_values` (a list).
#[track_caller]
pub fn parse_example(
    graph: &Graph,
    serialized: impl Operand,
    names: impl Operand,
    sparse_keys: impl IntoIterator<Item = impl Operand>,
    dense_keys: impl IntoIterator<Item = impl Operand>,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    sparse_types: &[DType],
    dense_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParseExample")
        .input(serialized)
        .input(names)
        .inputs(sparse_keys)
        .inputs(dense_keys)
        .inputs(dense_defaults)
        .attr("sparse_types", sparse_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
}

/// The features of a batch of serialized examples.
///
/// Op `ParseExampleV2`. Outputs: `sparse_indices: int64` (a list), `sparse_values` (a list),
/// `sparse_shapes: int64` (a list), `dense_values` (a list), `ragged_values` (a list),
/// `ragged_row_splits` (a list).
#[track_caller]
pub fn parse_example_v2(
    graph: &Graph,
    serialized: impl Operand,
    names: impl Operand,
    sparse_keys: impl Operand,
    dense_keys: impl Operand,
    ragged_keys: impl Operand,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    num_sparse: i64,
    sparse_types: &[DType],
    ragged_value_types: &[DType],
    ragged_split_types: &[DType],
    dense_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParseExampleV2")
        .input(serialized)
        .input(names)
        .input(sparse_keys)
        .input(dense_keys)
        .input(ragged_keys)
        .inputs(dense_defaults)
        .attr("num_sparse", num_sparse)
        .attr("sparse_types", sparse_types.to_vec())
        .attr("ragged_value_types", ragged_value_types.to_vec())
        .attr("ragged_split_types", ragged_split_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
}

/// The features of a batch of serialized sequence examples.
///
/// Op `ParseSequenceExample`. Outputs: `context_sparse_indices: int64` (a list),
/// `context_sparse_values` (a list), `context_sparse_shapes: int64` (a list),
/// `context_dense_values` (a list), `feature_list_sparse_indices: int64` (a list),
/// `feature_list_sparse_values` (a list), `feature_list_sparse_shapes: int64` (a list),
/// `feature_list_dense_values` (a list), `feature_list_dense_lengths: int64` (a list).
///
/// Attributes with defaults: `Ncontext_sparse: int = 0`, `Ncontext_dense: int = 0`,
/// `Nfeature_list_sparse: int = 0`, `Nfeature_list_dense: int = 0`,
/// `context_sparse_types: list(type) = []`, `feature_list_dense_types: list(type) = []`,
/// `context_dense_shapes: list(shape) = []`, `feature_list_sparse_types: list(type) = []`,
/// `feature_list_dense_shapes: list(shape) = []`.
#[track_caller]
pub fn parse_sequence_example(
    graph: &Graph,
    serialized: impl Operand,
    debug_name: impl Operand,
    context_dense_defaults: impl IntoIterator<Item = impl Operand>,
    feature_list_dense_missing_assumed_empty: &[&str],
    context_sparse_keys: &[&str],
    context_dense_keys: &[&str],
    feature_list_sparse_keys: &[&str],
    feature_list_dense_keys: &[&str],
) -> OpBuilder {
    graph
        .op("ParseSequenceExample")
        .input(serialized)
        .input(debug_name)
        .inputs(context_dense_defaults)
        .attr("feature_list_dense_missing_assumed_empty", strings(feature_list_dense_missing_assumed_empty))
        .attr("context_sparse_keys", strings(context_sparse_keys))
        .attr("context_dense_keys", strings(context_dense_keys))
        .attr("feature_list_sparse_keys", strings(feature_list_sparse_keys))
        .attr("feature_list_dense_keys", strings(feature_list_dense_keys))
}

/// The features of a batch of serialized sequence examples.
///
/// Op `ParseSequenceExampleV2`. Outputs: `context_sparse_indices: int64` (a list),
/// `context_sparse_values` (a list), `context_sparse_shapes: int64` (a list),
/// `context_dense_values` (a list), `context_ragged_values` (a list), `context_ragged_row_splits`
/// (a list), `feature_list_sparse_indices: int64` (a list), `feature_list_sparse_values` (a list),
/// `feature_list_sparse_shapes: int64` (a list), `feature_list_dense_values` (a list),
/// `feature_list_dense_lengths: int64` (a list), `feature_list_ragged_values` (a list),
/// `feature_list_ragged_outer_splits` (a list), `feature_list_ragged_inner_splits` (a list).
///
/// Attributes with defaults: `Ncontext_sparse: int = 0`, `context_sparse_types: list(type) = []`,
/// `context_ragged_value_types: list(type) = []`, `context_ragged_split_types: list(type) = []`,
/// `context_dense_shapes: list(shape) = []`, `Nfeature_list_sparse: int = 0`,
/// `Nfeature_list_dense: int = 0`, `feature_list_dense_types: list(type) = []`,
/// `feature_list_sparse_types: list(type) = []`,
/// `feature_list_ragged_value_types: list(type) = []`,
/// `feature_list_ragged_split_types: list(type) = []`,
/// `feature_list_dense_shapes: list(shape) = []`.
#[track_caller]
pub fn parse_sequence_example_v2(
    graph: &Graph,
    serialized: impl Operand,
    debug_name: impl Operand,
    context_sparse_keys: impl Operand,
    context_dense_keys: impl Operand,
    context_ragged_keys: impl Operand,
    feature_list_sparse_keys: impl Operand,
    feature_list_dense_keys: impl Operand,
    feature_list_ragged_keys: impl Operand,
    feature_list_dense_missing_assumed_empty: impl Operand,
    context_dense_defaults: impl IntoIterator<Item = impl Operand>,
) -> OpBuilder {
    graph
        .op("ParseSequenceExampleV2")
        .input(serialized)
        .input(debug_name)
        .input(context_sparse_keys)
        .input(context_dense_keys)
        .input(context_ragged_keys)
        .input(feature_list_sparse_keys)
        .input(feature_list_dense_keys)
        .input(feature_list_ragged_keys)
        .input(feature_list_dense_missing_assumed_empty)
        .inputs(context_dense_defaults)
}

/// The features of one serialized example.
///
/// Op `ParseSingleExample`. Outputs: `sparse_indices: int64` (a list), `sparse_values` (a list),
/// `sparse_shapes: int64` (a list), `dense_values` (a list).
#[track_caller]
pub fn parse_single_example(
    graph: &Graph,
    serialized: impl Operand,
    dense_defaults: impl IntoIterator<Item = impl Operand>,
    num_sparse: i64,
    sparse_keys: &[&str],
    dense_keys: &[&str],
    sparse_types: &[DType],
    dense_shapes: &[PartialShape],
) -> OpBuilder {
    graph
        .op("ParseSingleExample")
        .input(serialized)
        .inputs(dense_defaults)
        .attr("num_sparse", num_sparse)
        .attr("sparse_keys", strings(sparse_keys))
        .attr("dense_keys", strings(dense_keys))
        .attr("sparse_types", sparse_types.to_vec())
        .attr("dense_shapes", dense_shapes.to_vec())
}

/// The features of one serialized sequence example.
///
/// Op `ParseSingleSequenceExample`. Outputs: `context_sparse_indices: int64` (a list),
/// `context_sparse_values` (a list), `context_sparse_shapes: int64` (a list),
/// `context_dense_values` (a list), `feature_list_sparse_indices: int64` (a list),
/// `feature_list_sparse_values` (a list), `feature_list_sparse_shapes: int64` (a list),
/// `feature_list_dense_values` (a list).
///
/// Attributes with defaults: `context_sparse_types: list(type) = []`,
/// `feature_list_dense_types: list(type) = []`, `context_dense_shapes: list(shape) = []`,
/// `feature_list_sparse_types: list(type) = []`, `feature_list_dense_shapes: list(shape) = []`.
#[track_caller]
pub fn parse_single_sequence_example(
    graph: &Graph,
    serialized: impl Operand,
    feature_list_dense_missing_assumed_empty: impl Operand,
    context_sparse_keys: impl IntoIterator<Item = impl Operand>,
    context_dense_keys: impl IntoIterator<Item = impl Operand>,
    feature_list_sparse_keys: impl IntoIterator<Item = impl Operand>,
    feature_list_dense_keys: impl IntoIterator<Item = impl Operand>,
    context_dense_defaults: impl IntoIterator<Item = impl Operand>,
    debug_name: impl Operand,
) -> OpBuilder {
    graph
        .op("ParseSingleSequenceExample")
        .input(serialized)
        .input(feature_list_dense_missing_assumed_empty)
        .inputs(context_sparse_keys)
        .inputs(context_dense_keys)
        .inputs(feature_list_sparse_keys)
        .inputs(feature_list_dense_keys)
        .inputs(context_dense_defaults)
        .input(debug_name)
}

/// The tensor in a serialized `TensorProto`.
///
/// Op `ParseTensor`. Output: `output`.
#[track_caller]
pub fn parse_tensor(graph: &Graph, serialized: impl Operand, out_type: DType) -> OpBuilder {
    graph.op("ParseTensor").input(serialized).attr("out_type", out_type)
}

/// A tensor as a serialized `TensorProto`.
///
/// Op `SerializeTensor`. Output: `serialized: string`.
#[track_caller]
pub fn serialize_tensor(graph: &Graph, tensor: impl Operand) -> OpBuilder {
    graph.op("SerializeTensor").input(tensor)
}
