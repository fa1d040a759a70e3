//! Ops of the family `summary`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// A serialized summary of audio clips.
///
/// Op `AudioSummary`. Output: `summary: string`.
///
/// Attributes with defaults: `max_outputs: int = 3`.
#[track_caller]
pub fn audio_summary(
    graph: &Graph,
    tag: impl Operand,
    tensor: impl Operand,
    sample_rate: f32,
) -> OpBuilder {
    graph.op("AudioSummary").input(tag).input(tensor).attr("sample_rate", sample_rate)
}

/// A serialized summary of audio clips.
///
/// Op `AudioSummaryV2`. Output: `summary: string`.
///
/// Attributes with defaults: `max_outputs: int = 3`.
#[track_caller]
pub fn audio_summary_v2(
    graph: &Graph,
    tag: impl Operand,
    tensor: impl Operand,
    sample_rate: impl Operand,
) -> OpBuilder {
    graph.op("AudioSummaryV2").input(tag).input(tensor).input(sample_rate)
}

/// Writes what is left and forgets a summary writer.
///
/// Op `CloseSummaryWriter`. No outputs.
#[track_caller]
pub fn close_summary_writer(graph: &Graph, writer: impl Operand) -> OpBuilder {
    graph.op("CloseSummaryWriter").input(writer)
}

/// `Copy`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `tensor_name: string = ""`, `debug_ops_spec: list(string) = []`.
#[track_caller]
pub fn copy(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("Copy").input(input)
}

/// `CopyHost`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `tensor_name: string = ""`, `debug_ops_spec: list(string) = []`.
#[track_caller]
pub fn copy_host(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("CopyHost").input(input)
}

/// Makes a summary writer for an event file.
///
/// Op `CreateSummaryFileWriter`. No outputs.
#[track_caller]
pub fn create_summary_file_writer(
    graph: &Graph,
    writer: impl Operand,
    logdir: impl Operand,
    max_queue: impl Operand,
    flush_millis: impl Operand,
    filename_suffix: impl Operand,
) -> OpBuilder {
    graph
        .op("CreateSummaryFileWriter")
        .input(writer)
        .input(logdir)
        .input(max_queue)
        .input(flush_millis)
        .input(filename_suffix)
}

/// `DebugIdentity`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `device_name: string = ""`, `tensor_name: string = ""`,
/// `debug_urls: list(string) = []`, `gated_grpc: bool = false`.
#[track_caller]
pub fn debug_identity(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugIdentity").input(input)
}

/// `DebugIdentityV2`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `tfdbg_context_id: string = ""`, `op_name: string = ""`,
/// `output_slot: int = -1`, `tensor_debug_mode: int = -1`, `debug_urls: list(string) = []`,
/// `circular_buffer_size: int = 1000`, `tfdbg_run_id: string = ""`.
#[track_caller]
pub fn debug_identity_v2(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugIdentityV2").input(input)
}

/// `DebugIdentityV3`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `device_name: string = ""`, `tensor_name: string = ""`,
/// `io_of_node: string = ""`, `is_input: bool = false`, `io_index: int = -1`,
/// `debug_urls: list(string) = []`, `gated_grpc: bool = false`.
#[track_caller]
pub fn debug_identity_v3(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugIdentityV3").input(input)
}

/// `DebugNanCount`: `output` of `input`.
///
/// Output: `output: int64`.
///
/// Attributes with defaults: `device_name: string = ""`, `tensor_name: string = ""`,
/// `debug_urls: list(string) = []`, `gated_grpc: bool = false`.
#[track_caller]
pub fn debug_nan_count(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugNanCount").input(input)
}

/// `DebugNumericSummary`: `output` of `input`.
///
/// Output: `output: double`.
///
/// Attributes with defaults: `device_name: string = ""`, `tensor_name: string = ""`,
/// `debug_urls: list(string) = []`, `lower_bound: float = -inf`, `upper_bound: float = inf`,
/// `mute_if_healthy: bool = false`, `gated_grpc: bool = false`.
#[track_caller]
pub fn debug_numeric_summary(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugNumericSummary").input(input)
}

/// `DebugNumericSummaryV2`: `output` of `input`.
///
/// Output: `output`.
///
/// Attributes with defaults: `output_dtype: type = DT_FLOAT`, `tensor_debug_mode: int = -1`,
/// `tensor_id: int = -1`.
#[track_caller]
pub fn debug_numeric_summary_v2(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("DebugNumericSummaryV2").input(input)
}

/// Writes what a summary writer still holds.
///
/// Op `FlushSummaryWriter`. No outputs.
#[track_caller]
pub fn flush_summary_writer(graph: &Graph, writer: impl Operand) -> OpBuilder {
    graph.op("FlushSummaryWriter").input(writer)
}

/// A serialized summary of how values are spread.
///
/// Op `HistogramSummary`. Output: `summary: string`.
#[track_caller]
pub fn histogram_summary(graph: &Graph, tag: impl Operand, values: impl Operand) -> OpBuilder {
    graph.op("HistogramSummary").input(tag).input(values)
}

/// A serialized summary of images.
///
/// Op `ImageSummary`. Output: `summary: string`.
///
/// Attributes with defaults: `max_images: int = 3`,
/// `bad_color: tensor = Tensor<type: uint8 shape: [4]>`.
#[track_caller]
pub fn image_summary(graph: &Graph, tag: impl Operand, tensor: impl Operand) -> OpBuilder {
    graph.op("ImageSummary").input(tag).input(tensor)
}

/// Writes a serialized event.
///
/// Op `ImportEvent`. No outputs.
#[track_caller]
pub fn import_event(graph: &Graph, writer: impl Operand, event: impl Operand) -> OpBuilder {
    graph.op("ImportEvent").input(writer).input(event)
}

/// Several serialized summaries as one.
///
/// Op `MergeSummary`. Output: `summary: string`.
#[track_caller]
pub fn merge_summary(graph: &Graph, inputs: impl IntoIterator<Item = impl Operand>) -> OpBuilder {
    graph.op("MergeSummary").inputs(inputs)
}

/// A serialized summary of numbers.
///
/// Op `ScalarSummary`. Output: `summary: string`.
#[track_caller]
pub fn scalar_summary(graph: &Graph, tags: impl Operand, values: impl Operand) -> OpBuilder {
    graph.op("ScalarSummary").input(tags).input(values)
}

/// The handle of a summary writer.
///
/// Op `SummaryWriter`. Output: `writer: resource`.
///
/// Attributes with defaults: `shared_name: string = ""`, `container: string = ""`.
#[track_caller]
pub fn summary_writer(graph: &Graph) -> OpBuilder {
    graph.op("SummaryWriter")
}

/// A serialized summary of a tensor.
///
/// Op `TensorSummary`. Output: `summary: string`.
///
/// Attributes with defaults: `description: string = ""`, `labels: list(string) = []`,
/// `display_name: string = ""`.
#[track_caller]
pub fn tensor_summary(graph: &Graph, tensor: impl Operand) -> OpBuilder {
    graph.op("TensorSummary").input(tensor)
}

/// A serialized summary of a tensor.
///
/// Op `TensorSummaryV2`. Output: `summary: string`.
#[track_caller]
pub fn tensor_summary_v2(
    graph: &Graph,
    tag: impl Operand,
    tensor: impl Operand,
    serialized_summary_metadata: impl Operand,
) -> OpBuilder {
    graph.op("TensorSummaryV2").input(tag).input(tensor).input(serialized_summary_metadata)
}

/// Writes audio clips for a step.
///
/// Op `WriteAudioSummary`. No outputs.
///
/// Attributes with defaults: `max_outputs: int = 3`.
#[track_caller]
pub fn write_audio_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tag: impl Operand,
    tensor: impl Operand,
    sample_rate: impl Operand,
) -> OpBuilder {
    graph
        .op("WriteAudioSummary")
        .input(writer)
        .input(step)
        .input(tag)
        .input(tensor)
        .input(sample_rate)
}

/// Writes a serialized graph for a step.
///
/// Op `WriteGraphSummary`. No outputs.
#[track_caller]
pub fn write_graph_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tensor: impl Operand,
) -> OpBuilder {
    graph.op("WriteGraphSummary").input(writer).input(step).input(tensor)
}

/// Writes how values are spread for a step.
///
/// Op `WriteHistogramSummary`. No outputs.
#[track_caller]
pub fn write_histogram_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tag: impl Operand,
    values: impl Operand,
) -> OpBuilder {
    graph.op("WriteHistogramSummary").input(writer).input(step).input(tag).input(values)
}

/// Writes images for a step.
///
/// Op `WriteImageSummary`. No outputs.
///
/// Attributes with defaults: `max_images: int = 3`.
#[track_caller]
pub fn write_image_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tag: impl Operand,
    tensor: impl Operand,
    bad_color: impl Operand,
) -> OpBuilder {
    graph
        .op("WriteImageSummary")
        .input(writer)
        .input(step)
        .input(tag)
        .input(tensor)
        .input(bad_color)
}

/// Writes serialized summaries for a step.
///
/// Op `WriteRawProtoSummary`. No outputs.
#[track_caller]
pub fn write_raw_proto_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tensor: impl Operand,
) -> OpBuilder {
    graph.op("WriteRawProtoSummary").input(writer).input(step).input(tensor)
}

/// Writes a number for a step.
///
/// Op `WriteScalarSummary`. No outputs.
#[track_caller]
pub fn write_scalar_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tag: impl Operand,
    value: impl Operand,
) -> OpBuilder {
    graph.op("WriteScalarSummary").input(writer).input(step).input(tag).input(value)
}

/// Writes a tensor with metadata for a step.
///
/// Op `WriteSummary`. No outputs.
#[track_caller]
pub fn write_summary(
    graph: &Graph,
    writer: impl Operand,
    step: impl Operand,
    tensor: impl Operand,
    tag: impl Operand,
    summary_metadata: impl Operand,
) -> OpBuilder {
    graph
        .op("WriteSummary")
        .input(writer)
        .input(step)
        .input(tensor)
        .input(tag)
        .input(summary_metadata)
}
