//! Ops of the family `string`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// Numbers as strings.
///
/// Op `AsString`. Output: `output: string`.
///
/// Attributes with defaults: `precision: int = -1`, `scientific: bool = false`,
/// `shortest: bool = false`, `width: int = -1`, `fill: string = ""`.
#[track_caller]
pub fn as_string(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("AsString").input(input)
}

/// Bytes from their web-safe base64 form.
///
/// Op `DecodeBase64`. Output: `output: string`.
#[track_caller]
pub fn decode_base64(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DecodeBase64").input(input)
}

/// Bytes in web-safe base64 form.
///
/// Op `EncodeBase64`. Output: `output: string`.
///
/// Attributes with defaults: `pad: bool = false`.
#[track_caller]
pub fn encode_base64(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("EncodeBase64").input(input)
}

/// A hash of each row.
///
/// Op `Fingerprint`. Output: `fingerprint: uint8`.
#[track_caller]
pub fn fingerprint(graph: &Graph, data: impl Operand, method: impl Operand) -> OpBuilder {
    graph.op("Fingerprint").input(data).input(method)
}

/// Strings joined along some axes.
///
/// Op `ReduceJoin`. Output: `output: string`.
///
/// Attributes with defaults: `keep_dims: bool = false`, `separator: string = ""`.
#[track_caller]
pub fn reduce_join(
    graph: &Graph,
    inputs: impl Operand,
    reduction_indices: impl Operand,
) -> OpBuilder {
    graph.op("ReduceJoin").input(inputs).input(reduction_indices)
}

/// Whether whole strings match a regular expression.
///
/// Op `RegexFullMatch`. Output: `output: bool`.
#[track_caller]
pub fn regex_full_match(graph: &Graph, input: impl Operand, pattern: impl Operand) -> OpBuilder {
    graph.op("RegexFullMatch").input(input).input(pattern)
}

/// Strings with what matches a regular expression replaced.
///
/// Op `RegexReplace`. Output: `output: string`.
///
/// Attributes with defaults: `replace_global: bool = true`.
#[track_caller]
pub fn regex_replace(
    graph: &Graph,
    input: impl Operand,
    pattern: impl Operand,
    rewrite: impl Operand,
) -> OpBuilder {
    graph.op("RegexReplace").input(input).input(pattern).input(rewrite)
}

/// `SdcaFprint`: `output` of `input`.
///
/// Output: `output: int64`.
#[track_caller]
pub fn sdca_fprint(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("SdcaFprint").input(input)
}

/// Whether whole strings match a regular expression.
///
/// Op `StaticRegexFullMatch`. Output: `output: bool`.
#[track_caller]
pub fn static_regex_full_match(graph: &Graph, input: impl Operand, pattern: &str) -> OpBuilder {
    graph.op("StaticRegexFullMatch").input(input).attr("pattern", pattern)
}

/// Strings with what matches a regular expression replaced.
///
/// Op `StaticRegexReplace`. Output: `output: string`.
///
/// Attributes with defaults: `replace_global: bool = true`.
#[track_caller]
pub fn static_regex_replace(
    graph: &Graph,
    input: impl Operand,
    pattern: &str,
    rewrite: &str,
) -> OpBuilder {
    graph.op("StaticRegexReplace").input(input).attr("pattern", pattern).attr("rewrite", rewrite)
}

/// Strings of several tensors joined, element by element.
///
/// Op `StringJoin`. Output: `output: string`.
///
/// Attributes with defaults: `separator: string = ""`.
#[track_caller]
pub fn string_join(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("StringJoin").inputs(inputs)
}

/// The lengths of strings, in bytes or characters.
///
/// Op `StringLength`. Output: `output: int32`.
///
/// Attributes with defaults: `unit: string = "BYTE"`.
#[track_caller]
pub fn string_length(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("StringLength").input(input)
}

/// Strings in lower case.
///
/// Op `StringLower`. Output: `output: string`.
///
/// Attributes with defaults: `encoding: string = ""`.
#[track_caller]
pub fn string_lower(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("StringLower").input(input)
}

/// Runs of neighbouring strings, joined, from ragged rows.
///
/// Op `StringNGrams`. Outputs: `ngrams: string`, `ngrams_splits`.
#[track_caller]
pub fn string_n_grams(
    graph: &Graph,
    data: impl Operand,
    data_splits: impl Operand,
    separator: &str,
    ngram_widths: &[i64],
    left_pad: &str,
    right_pad: &str,
    pad_width: i64,
    preserve_short_sequences: bool,
) -> OpBuilder {
    graph
        .op("StringNGrams")
        .input(data)
        .input(data_splits)
        .attr("separator", separator)
        .attr("ngram_widths", ngram_widths.to_vec())
        .attr("left_pad", left_pad)
        .attr("right_pad", right_pad)
        .attr("pad_width", pad_width)
        .attr("preserve_short_sequences", preserve_short_sequences)
}

/// Strings cut at separators, as a sparse tensor.
///
/// Op `StringSplit`. Outputs: `indices: int64`, `values: string`, `shape: int64`.
///
/// Attributes with defaults: `skip_empty: bool = true`.
#[track_caller]
pub fn string_split(graph: &Graph, input: impl Operand, delimiter: impl Operand) -> OpBuilder {
    graph.op("StringSplit").input(input).input(delimiter)
}

/// Strings cut at separators, as a sparse tensor.
///
/// Op `StringSplitV2`. Outputs: `indices: int64`, `values: string`, `shape: int64`.
///
/// Attributes with defaults: `maxsplit: int = -1`.
#[track_caller]
pub fn string_split_v2(graph: &Graph, input: impl Operand, sep: impl Operand) -> OpBuilder {
    graph.op("StringSplitV2").input(input).input(sep)
}

/// Strings without white space at their ends.
///
/// Op `StringStrip`. Output: `output: string`.
#[track_caller]
pub fn string_strip(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("StringStrip").input(input)
}

/// The hash of each string, modulo `num_buckets`.
///
/// Op `StringToHashBucket`. Output: `output: int64`.
#[track_caller]
pub fn string_to_hash_bucket(
    graph: &Graph,
    string_tensor: impl Operand,
    num_buckets: i64,
) -> OpBuilder {
    graph.op("StringToHashBucket").input(string_tensor).attr("num_buckets", num_buckets)
}

/// The hash of each string, modulo `num_buckets`.
///
/// Op `StringToHashBucketFast`. Output: `output: int64`.
#[track_caller]
pub fn string_to_hash_bucket_fast(
    graph: &Graph,
    input: impl Operand,
    num_buckets: i64,
) -> OpBuilder {
    graph.op("StringToHashBucketFast").input(input).attr("num_buckets", num_buckets)
}

/// A keyed hash of each string, modulo `num_buckets`, that is hard to foresee.
///
/// Op `StringToHashBucketStrong`. Output: `output: int64`.
#[track_caller]
pub fn string_to_hash_bucket_strong(
    graph: &Graph,
    input: impl Operand,
    num_buckets: i64,
    key: &[i64],
) -> OpBuilder {
    graph
        .op("StringToHashBucketStrong")
        .input(input)
        .attr("num_buckets", num_buckets)
        .attr("key", key.to_vec())
}

/// Numbers from strings.
///
/// Op `StringToNumber`. Output: `output`.
///
/// Attributes with defaults: `out_type: type = DT_FLOAT`.
#[track_caller]
pub fn string_to_number(graph: &Graph, string_tensor: impl Operand) -> OpBuilder {
    graph.op("StringToNumber").input(string_tensor)
}

/// Strings in upper case.
///
/// Op `StringUpper`. Output: `output: string`.
///
/// Attributes with defaults: `encoding: string = ""`.
#[track_caller]
pub fn string_upper(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("StringUpper").input(input)
}

/// Parts of strings.
///
/// Op `Substr`. Output: `output: string`.
///
/// Attributes with defaults: `unit: string = "BYTE"`.
#[track_caller]
pub fn substr(
    graph: &Graph,
    input: impl Operand,
    pos: impl Operand,
    len: impl Operand,
) -> OpBuilder {
    graph.op("Substr").input(input).input(pos).input(len)
}

/// The code points of strings, as ragged rows.
///
/// Op `UnicodeDecode`. Outputs: `row_splits`, `char_values: int32`.
///
/// Attributes with defaults: `errors: string = "replace"`, `replacement_char: int = 65533`,
/// `replace_control_characters: bool = false`, `Tsplits: type = DT_INT64`.
#[track_caller]
pub fn unicode_decode(graph: &Graph, input: impl Operand, input_encoding: &str) -> OpBuilder {
    graph.op("UnicodeDecode").input(input).attr("input_encoding", input_encoding)
}

/// The code points of strings and where they begin, as ragged rows.
///
/// Op `UnicodeDecodeWithOffsets`. Outputs: `row_splits`, `char_values: int32`,
/// `char_to_byte_starts: int64`.
///
/// Attributes with defaults: `errors: string = "replace"`, `replacement_char: int = 65533`,
/// `replace_control_characters: bool = false`, `Tsplits: type = DT_INT64`.
#[track_caller]
pub fn unicode_decode_with_offsets(
    graph: &Graph,
    input: impl Operand,
    input_encoding: &str,
) -> OpBuilder {
    graph.op("UnicodeDecodeWithOffsets").input(input).attr("input_encoding", input_encoding)
}

/// Strings from ragged rows of code points.
///
/// Op `UnicodeEncode`. Output: `output: string`.
///
/// Attributes with defaults: `errors: string = "replace"`, `replacement_char: int = 65533`.
#[track_caller]
pub fn unicode_encode(
    graph: &Graph,
    input_values: impl Operand,
    input_splits: impl Operand,
    output_encoding: &str,
) -> OpBuilder {
    graph
        .op("UnicodeEncode")
        .input(input_values)
        .input(input_splits)
        .attr("output_encoding", output_encoding)
}

/// The script that each code point belongs to, by its ICU number.
///
/// Op `UnicodeScript`. Output: `output: int32`.
#[track_caller]
pub fn unicode_script(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("UnicodeScript").input(input)
}

/// Strings in another encoding.
///
/// Op `UnicodeTranscode`. Output: `output: string`.
///
/// Attributes with defaults: `errors: string = "replace"`, `replacement_char: int = 65533`,
/// `replace_control_characters: bool = false`.
#[track_caller]
pub fn unicode_transcode(
    graph: &Graph,
    input: impl Operand,
    input_encoding: &str,
    output_encoding: &str,
) -> OpBuilder {
    graph
        .op("UnicodeTranscode")
        .input(input)
        .attr("input_encoding", input_encoding)
        .attr("output_encoding", output_encoding)
}

/// The strings of each segment, joined.
///
/// Op `UnsortedSegmentJoin`. Output: `output: string`.
///
/// Attributes with defaults: `separator: string = ""`.
#[track_caller]
pub fn unsorted_segment_join(
    graph: &Graph,
    inputs: impl Operand,
    segment_ids: impl Operand,
    num_segments: impl Operand,
) -> OpBuilder {
    graph.op("UnsortedSegmentJoin").input(inputs).input(segment_ids).input(num_segments)
}
