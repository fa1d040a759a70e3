//! Ops of the family `nn`, @generated from the registry by `tests/it/generated`.

use super::prelude::*;

/// All classes as candidates, for testing a sampled loss.
///
/// Op `AllCandidateSampler`. Outputs: `sampled_candidates: int64`, `true_expected_count: float`,
/// `sampled_expected_count: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn all_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
) -> OpBuilder {
    graph
        .op("AllCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
}

/// The largest values of each row, and where they are.
///
/// Op `ApproxTopK`. Outputs: `values`, `indices: int32`.
///
/// Attributes with defaults: `reduction_dimension: int = -1`, `recall_target: float = 0.95`,
/// `is_max_k: bool = true`, `reduction_input_size_override: int = -1`,
/// `aggregate_to_topk: bool = true`.
#[track_caller]
pub fn approx_top_k(graph: &Graph, input: impl Operand, k: i64) -> OpBuilder {
    graph.op("ApproxTopK").input(input).attr("k", k)
}

/// The means of windows of images.
///
/// Op `AvgPool`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn avg_pool(
    graph: &Graph,
    value: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("AvgPool")
        .input(value)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The means of windows of volumes.
///
/// Op `AvgPool3D`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`.
#[track_caller]
pub fn avg_pool3d(
    graph: &Graph,
    input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("AvgPool3D")
        .input(input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of the means of windows.
///
/// Op `AvgPool3DGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`.
#[track_caller]
pub fn avg_pool3d_grad(
    graph: &Graph,
    orig_input_shape: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("AvgPool3DGrad")
        .input(orig_input_shape)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of the means of windows.
///
/// Op `AvgPoolGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn avg_pool_grad(
    graph: &Graph,
    orig_input_shape: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("AvgPoolGrad")
        .input(orig_input_shape)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// Batch normalisation by given moments; the older form.
///
/// Op `BatchNormWithGlobalNormalization`. Output: `result`.
#[track_caller]
pub fn batch_norm_with_global_normalization(
    graph: &Graph,
    t: impl Operand,
    m: impl Operand,
    v: impl Operand,
    beta: impl Operand,
    gamma: impl Operand,
    variance_epsilon: f32,
    scale_after_normalization: bool,
) -> OpBuilder {
    graph
        .op("BatchNormWithGlobalNormalization")
        .input(t)
        .input(m)
        .input(v)
        .input(beta)
        .input(gamma)
        .attr("variance_epsilon", variance_epsilon)
        .attr("scale_after_normalization", scale_after_normalization)
}

/// The gradient of the older batch normalisation.
///
/// Op `BatchNormWithGlobalNormalizationGrad`. Outputs: `dx`, `dm`, `dv`, `db`, `dg`.
#[track_caller]
pub fn batch_norm_with_global_normalization_grad(
    graph: &Graph,
    t: impl Operand,
    m: impl Operand,
    v: impl Operand,
    gamma: impl Operand,
    backprop: impl Operand,
    variance_epsilon: f32,
    scale_after_normalization: bool,
) -> OpBuilder {
    graph
        .op("BatchNormWithGlobalNormalizationGrad")
        .input(t)
        .input(m)
        .input(v)
        .input(gamma)
        .input(backprop)
        .attr("variance_epsilon", variance_epsilon)
        .attr("scale_after_normalization", scale_after_normalization)
}

/// A vector added to every place, by channel.
///
/// Op `BiasAdd`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn bias_add(graph: &Graph, value: impl Operand, bias: impl Operand) -> OpBuilder {
    graph.op("BiasAdd").input(value).input(bias)
}

/// The gradient of a bias: the sum over all but the channels.
///
/// Op `BiasAddGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn bias_add_grad(graph: &Graph, out_backprop: impl Operand) -> OpBuilder {
    graph.op("BiasAddGrad").input(out_backprop)
}

/// A vector added to every place, by channel.
///
/// Op `BiasAddV1`. Output: `output`.
#[track_caller]
pub fn bias_add_v1(graph: &Graph, value: impl Operand, bias: impl Operand) -> OpBuilder {
    graph.op("BiasAddV1").input(value).input(bias)
}

/// A whole sequence through an LSTM cell.
///
/// Op `BlockLSTM`. Outputs: `i`, `cs`, `f`, `o`, `ci`, `co`, `h`.
///
/// Attributes with defaults: `forget_bias: float = 1`, `cell_clip: float = 3`,
/// `use_peephole: bool = false`.
#[track_caller]
pub fn block_lstm(
    graph: &Graph,
    seq_len_max: impl Operand,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
) -> OpBuilder {
    graph
        .op("BlockLSTM")
        .input(seq_len_max)
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
}

/// The gradient of a sequence through an LSTM cell.
///
/// Op `BlockLSTMGrad`. Outputs: `x_grad`, `cs_prev_grad`, `h_prev_grad`, `w_grad`, `wci_grad`,
/// `wcf_grad`, `wco_grad`, `b_grad`.
#[track_caller]
pub fn block_lstm_grad(
    graph: &Graph,
    seq_len_max: impl Operand,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
    i: impl Operand,
    cs: impl Operand,
    f: impl Operand,
    o: impl Operand,
    ci: impl Operand,
    co: impl Operand,
    h: impl Operand,
    cs_grad: impl Operand,
    h_grad: impl Operand,
    use_peephole: bool,
) -> OpBuilder {
    graph
        .op("BlockLSTMGrad")
        .input(seq_len_max)
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
        .input(i)
        .input(cs)
        .input(f)
        .input(o)
        .input(ci)
        .input(co)
        .input(h)
        .input(cs_grad)
        .input(h_grad)
        .attr("use_peephole", use_peephole)
}

/// The gradient of a sequence through an LSTM cell.
///
/// Op `BlockLSTMGradV2`. Outputs: `x_grad`, `cs_prev_grad`, `h_prev_grad`, `w_grad`, `wci_grad`,
/// `wcf_grad`, `wco_grad`, `b_grad`.
#[track_caller]
pub fn block_lstm_grad_v2(
    graph: &Graph,
    seq_len_max: impl Operand,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
    i: impl Operand,
    cs: impl Operand,
    f: impl Operand,
    o: impl Operand,
    ci: impl Operand,
    co: impl Operand,
    h: impl Operand,
    cs_grad: impl Operand,
    h_grad: impl Operand,
    use_peephole: bool,
) -> OpBuilder {
    graph
        .op("BlockLSTMGradV2")
        .input(seq_len_max)
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
        .input(i)
        .input(cs)
        .input(f)
        .input(o)
        .input(ci)
        .input(co)
        .input(h)
        .input(cs_grad)
        .input(h_grad)
        .attr("use_peephole", use_peephole)
}

/// A whole sequence through an LSTM cell.
///
/// Op `BlockLSTMV2`. Outputs: `i`, `cs`, `f`, `o`, `ci`, `co`, `h`.
///
/// Attributes with defaults: `cell_clip: float = 0`, `use_peephole: bool = false`.
#[track_caller]
pub fn block_lstmv2(
    graph: &Graph,
    seq_len_max: impl Operand,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
) -> OpBuilder {
    graph
        .op("BlockLSTMV2")
        .input(seq_len_max)
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
}

/// The likeliest label sequences, by beam search.
///
/// Op `CTCBeamSearchDecoder`. Outputs: `decoded_indices: int64` (a list), `decoded_values: int64`
/// (a list), `decoded_shape: int64` (a list), `log_probability`.
///
/// Attributes with defaults: `merge_repeated: bool = true`.
#[track_caller]
pub fn ctc_beam_search_decoder(
    graph: &Graph,
    inputs: impl Operand,
    sequence_length: impl Operand,
    beam_width: i64,
    top_paths: i64,
) -> OpBuilder {
    graph
        .op("CTCBeamSearchDecoder")
        .input(inputs)
        .input(sequence_length)
        .attr("beam_width", beam_width)
        .attr("top_paths", top_paths)
}

/// The label sequence of the likeliest class at each time.
///
/// Op `CTCGreedyDecoder`. Outputs: `decoded_indices: int64`, `decoded_values: int64`,
/// `decoded_shape: int64`, `log_probability`.
///
/// Attributes with defaults: `merge_repeated: bool = false`, `blank_index: int = -1`.
#[track_caller]
pub fn ctc_greedy_decoder(
    graph: &Graph,
    inputs: impl Operand,
    sequence_length: impl Operand,
) -> OpBuilder {
    graph.op("CTCGreedyDecoder").input(inputs).input(sequence_length)
}

/// The connectionist temporal classification loss, and its gradient.
///
/// Op `CTCLoss`. Outputs: `loss`, `gradient`.
///
/// Attributes with defaults: `preprocess_collapse_repeated: bool = false`,
/// `ctc_merge_repeated: bool = true`, `ignore_longer_outputs_than_inputs: bool = false`.
#[track_caller]
pub fn ctc_loss(
    graph: &Graph,
    inputs: impl Operand,
    labels_indices: impl Operand,
    labels_values: impl Operand,
    sequence_length: impl Operand,
) -> OpBuilder {
    graph
        .op("CTCLoss")
        .input(inputs)
        .input(labels_indices)
        .input(labels_values)
        .input(sequence_length)
}

/// The connectionist temporal classification loss, and its gradient.
///
/// Op `CTCLossV2`. Outputs: `loss: float`, `gradient: float`.
///
/// Attributes with defaults: `preprocess_collapse_repeated: bool = false`,
/// `ctc_merge_repeated: bool = true`, `ignore_longer_outputs_than_inputs: bool = false`.
#[track_caller]
pub fn ctc_loss_v2(
    graph: &Graph,
    inputs: impl Operand,
    labels_indices: impl Operand,
    labels_values: impl Operand,
    sequence_length: impl Operand,
) -> OpBuilder {
    graph
        .op("CTCLossV2")
        .input(inputs)
        .input(labels_indices)
        .input(labels_values)
        .input(sequence_length)
}

/// Where drawn candidates are true classes after all.
///
/// Op `ComputeAccidentalHits`. Outputs: `indices: int32`, `ids: int64`, `weights: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn compute_accidental_hits(
    graph: &Graph,
    true_classes: impl Operand,
    sampled_candidates: impl Operand,
    num_true: i64,
) -> OpBuilder {
    graph
        .op("ComputeAccidentalHits")
        .input(true_classes)
        .input(sampled_candidates)
        .attr("num_true", num_true)
}

/// A convolution over any number of spatial axes.
///
/// Op `Conv`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`,
/// `data_format: string = "CHANNELS_LAST"`, `dilations: list(int) = []`, `batch_dims: int = 1`,
/// `groups: int = 1`.
#[track_caller]
pub fn conv(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv")
        .input(input)
        .input(filter)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// A convolution of images.
///
/// Op `Conv2D`. Output: `output`.
///
/// Attributes with defaults: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`,
/// `data_format: string = "NHWC"`, `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn conv2d(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv2D")
        .input(input)
        .input(filter)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of images by the filter.
///
/// Op `Conv2DBackpropFilter`. Output: `output`.
///
/// Attributes with defaults: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`,
/// `data_format: string = "NHWC"`, `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn conv2d_backprop_filter(
    graph: &Graph,
    input: impl Operand,
    filter_sizes: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv2DBackpropFilter")
        .input(input)
        .input(filter_sizes)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of images by the images.
///
/// Op `Conv2DBackpropInput`. Output: `output`.
///
/// Attributes with defaults: `use_cudnn_on_gpu: bool = true`, `explicit_paddings: list(int) = []`,
/// `data_format: string = "NHWC"`, `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn conv2d_backprop_input(
    graph: &Graph,
    input_sizes: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv2DBackpropInput")
        .input(input_sizes)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// A convolution of volumes.
///
/// Op `Conv3D`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1, 1]`.
#[track_caller]
pub fn conv3d(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv3D")
        .input(input)
        .input(filter)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of volumes by the filter.
///
/// Op `Conv3DBackpropFilter`. Output: `output`.
///
/// Attributes with defaults: `dilations: list(int) = [1, 1, 1, 1, 1]`.
#[track_caller]
pub fn conv3d_backprop_filter(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv3DBackpropFilter")
        .input(input)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of volumes by the filter.
///
/// Op `Conv3DBackpropFilterV2`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1, 1]`.
#[track_caller]
pub fn conv3d_backprop_filter_v2(
    graph: &Graph,
    input: impl Operand,
    filter_sizes: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv3DBackpropFilterV2")
        .input(input)
        .input(filter_sizes)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of volumes by the volumes.
///
/// Op `Conv3DBackpropInput`. Output: `output`.
///
/// Attributes with defaults: `dilations: list(int) = [1, 1, 1, 1, 1]`.
#[track_caller]
pub fn conv3d_backprop_input(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv3DBackpropInput")
        .input(input)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a convolution of volumes by the volumes.
///
/// Op `Conv3DBackpropInputV2`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1, 1]`.
#[track_caller]
pub fn conv3d_backprop_input_v2(
    graph: &Graph,
    input_sizes: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Conv3DBackpropInputV2")
        .input(input_sizes)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The numbers of axes in another data format.
///
/// Op `DataFormatDimMap`. Output: `y`.
///
/// Attributes with defaults: `src_format: string = "NHWC"`, `dst_format: string = "NCHW"`.
#[track_caller]
pub fn data_format_dim_map(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("DataFormatDimMap").input(x)
}

/// A vector with one entry for each axis in another data format.
///
/// Op `DataFormatVecPermute`. Output: `y`.
///
/// Attributes with defaults: `src_format: string = "NHWC"`, `dst_format: string = "NCHW"`.
#[track_caller]
pub fn data_format_vec_permute(graph: &Graph, x: impl Operand) -> OpBuilder {
    graph.op("DataFormatVecPermute").input(x)
}

/// A convolution of images that keeps channels apart.
///
/// Op `DepthwiseConv2dNative`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn depthwise_conv2d_native(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("DepthwiseConv2dNative")
        .input(input)
        .input(filter)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a depthwise convolution by the filter.
///
/// Op `DepthwiseConv2dNativeBackpropFilter`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn depthwise_conv2d_native_backprop_filter(
    graph: &Graph,
    input: impl Operand,
    filter_sizes: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("DepthwiseConv2dNativeBackpropFilter")
        .input(input)
        .input(filter_sizes)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of a depthwise convolution by the images.
///
/// Op `DepthwiseConv2dNativeBackpropInput`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`,
/// `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn depthwise_conv2d_native_backprop_input(
    graph: &Graph,
    input_sizes: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("DepthwiseConv2dNativeBackpropInput")
        .input(input_sizes)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The greatest sums of windows and a filter: greyscale dilation.
///
/// Op `Dilation2D`. Output: `output`.
#[track_caller]
pub fn dilation2d(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    strides: &[i64],
    rates: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Dilation2D")
        .input(input)
        .input(filter)
        .attr("strides", strides.to_vec())
        .attr("rates", rates.to_vec())
        .attr("padding", padding)
}

/// The gradient of a dilation by the filter.
///
/// Op `Dilation2DBackpropFilter`. Output: `filter_backprop`.
#[track_caller]
pub fn dilation2d_backprop_filter(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    rates: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Dilation2DBackpropFilter")
        .input(input)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("rates", rates.to_vec())
        .attr("padding", padding)
}

/// The gradient of a dilation by the images.
///
/// Op `Dilation2DBackpropInput`. Output: `in_backprop`.
#[track_caller]
pub fn dilation2d_backprop_input(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    out_backprop: impl Operand,
    strides: &[i64],
    rates: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("Dilation2DBackpropInput")
        .input(input)
        .input(filter)
        .input(out_backprop)
        .attr("strides", strides.to_vec())
        .attr("rates", rates.to_vec())
        .attr("padding", padding)
}

/// `x` where it is positive, `e^x - 1` elsewhere.
///
/// Op `Elu`. Output: `activations`.
#[track_caller]
pub fn elu(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Elu").input(features)
}

/// The gradient of the exponential linear unit.
///
/// Op `EluGrad`. Output: `backprops`.
#[track_caller]
pub fn elu_grad(graph: &Graph, gradients: impl Operand, outputs: impl Operand) -> OpBuilder {
    graph.op("EluGrad").input(gradients).input(outputs)
}

/// Candidate classes drawn by given weights.
///
/// Op `FixedUnigramCandidateSampler`. Outputs: `sampled_candidates: int64`,
/// `true_expected_count: float`, `sampled_expected_count: float`.
///
/// Attributes with defaults: `vocab_file: string = ""`, `distortion: float = 1`,
/// `num_reserved_ids: int = 0`, `num_shards: int = 1`, `shard: int = 0`,
/// `unigrams: list(float) = []`, `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn fixed_unigram_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range_max: i64,
) -> OpBuilder {
    graph
        .op("FixedUnigramCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
        .attr("range_max", range_max)
}

/// The means of windows whose sizes vary at random.
///
/// Op `FractionalAvgPool`. Outputs: `output`, `row_pooling_sequence: int64`,
/// `col_pooling_sequence: int64`.
///
/// Attributes with defaults: `pseudo_random: bool = false`, `overlapping: bool = false`,
/// `deterministic: bool = false`, `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn fractional_avg_pool(graph: &Graph, value: impl Operand, pooling_ratio: &[f32]) -> OpBuilder {
    graph.op("FractionalAvgPool").input(value).attr("pooling_ratio", pooling_ratio.to_vec())
}

/// The gradient of the means of varying windows.
///
/// Op `FractionalAvgPoolGrad`. Output: `output`.
///
/// Attributes with defaults: `overlapping: bool = false`.
#[track_caller]
pub fn fractional_avg_pool_grad(
    graph: &Graph,
    orig_input_tensor_shape: impl Operand,
    out_backprop: impl Operand,
    row_pooling_sequence: impl Operand,
    col_pooling_sequence: impl Operand,
) -> OpBuilder {
    graph
        .op("FractionalAvgPoolGrad")
        .input(orig_input_tensor_shape)
        .input(out_backprop)
        .input(row_pooling_sequence)
        .input(col_pooling_sequence)
}

/// The greatest elements of windows whose sizes vary at random.
///
/// Op `FractionalMaxPool`. Outputs: `output`, `row_pooling_sequence: int64`,
/// `col_pooling_sequence: int64`.
///
/// Attributes with defaults: `pseudo_random: bool = false`, `overlapping: bool = false`,
/// `deterministic: bool = false`, `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn fractional_max_pool(graph: &Graph, value: impl Operand, pooling_ratio: &[f32]) -> OpBuilder {
    graph.op("FractionalMaxPool").input(value).attr("pooling_ratio", pooling_ratio.to_vec())
}

/// The gradient of the greatest elements of varying windows.
///
/// Op `FractionalMaxPoolGrad`. Output: `output`.
///
/// Attributes with defaults: `overlapping: bool = false`.
#[track_caller]
pub fn fractional_max_pool_grad(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    out_backprop: impl Operand,
    row_pooling_sequence: impl Operand,
    col_pooling_sequence: impl Operand,
) -> OpBuilder {
    graph
        .op("FractionalMaxPoolGrad")
        .input(orig_input)
        .input(orig_output)
        .input(out_backprop)
        .input(row_pooling_sequence)
        .input(col_pooling_sequence)
}

/// Batch normalisation, with the moments of the batch or given ones.
///
/// Op `FusedBatchNorm`. Outputs: `y`, `batch_mean`, `batch_variance`, `reserve_space_1`,
/// `reserve_space_2`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1`,
/// `data_format: string = "NHWC"`, `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm(
    graph: &Graph,
    x: impl Operand,
    scale: impl Operand,
    offset: impl Operand,
    mean: impl Operand,
    variance: impl Operand,
) -> OpBuilder {
    graph.op("FusedBatchNorm").input(x).input(scale).input(offset).input(mean).input(variance)
}

/// The gradient of batch normalisation.
///
/// Op `FusedBatchNormGrad`. Outputs: `x_backprop`, `scale_backprop`, `offset_backprop`,
/// `reserve_space_3`, `reserve_space_4`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`,
/// `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm_grad(
    graph: &Graph,
    y_backprop: impl Operand,
    x: impl Operand,
    scale: impl Operand,
    reserve_space_1: impl Operand,
    reserve_space_2: impl Operand,
) -> OpBuilder {
    graph
        .op("FusedBatchNormGrad")
        .input(y_backprop)
        .input(x)
        .input(scale)
        .input(reserve_space_1)
        .input(reserve_space_2)
}

/// The gradient of batch normalisation.
///
/// Op `FusedBatchNormGradV2`. Outputs: `x_backprop`, `scale_backprop`, `offset_backprop`,
/// `reserve_space_3`, `reserve_space_4`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`,
/// `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm_grad_v2(
    graph: &Graph,
    y_backprop: impl Operand,
    x: impl Operand,
    scale: impl Operand,
    reserve_space_1: impl Operand,
    reserve_space_2: impl Operand,
) -> OpBuilder {
    graph
        .op("FusedBatchNormGradV2")
        .input(y_backprop)
        .input(x)
        .input(scale)
        .input(reserve_space_1)
        .input(reserve_space_2)
}

/// The gradient of batch normalisation.
///
/// Op `FusedBatchNormGradV3`. Outputs: `x_backprop`, `scale_backprop`, `offset_backprop`,
/// `reserve_space_4`, `reserve_space_5`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `data_format: string = "NHWC"`,
/// `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm_grad_v3(
    graph: &Graph,
    y_backprop: impl Operand,
    x: impl Operand,
    scale: impl Operand,
    reserve_space_1: impl Operand,
    reserve_space_2: impl Operand,
    reserve_space_3: impl Operand,
) -> OpBuilder {
    graph
        .op("FusedBatchNormGradV3")
        .input(y_backprop)
        .input(x)
        .input(scale)
        .input(reserve_space_1)
        .input(reserve_space_2)
        .input(reserve_space_3)
}

/// Batch normalisation, with the moments of the batch or given ones.
///
/// Op `FusedBatchNormV2`. Outputs: `y`, `batch_mean`, `batch_variance`, `reserve_space_1`,
/// `reserve_space_2`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1`,
/// `data_format: string = "NHWC"`, `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm_v2(
    graph: &Graph,
    x: impl Operand,
    scale: impl Operand,
    offset: impl Operand,
    mean: impl Operand,
    variance: impl Operand,
) -> OpBuilder {
    graph.op("FusedBatchNormV2").input(x).input(scale).input(offset).input(mean).input(variance)
}

/// Batch normalisation, with the moments of the batch or given ones.
///
/// Op `FusedBatchNormV3`. Outputs: `y`, `batch_mean`, `batch_variance`, `reserve_space_1`,
/// `reserve_space_2`, `reserve_space_3`.
///
/// Attributes with defaults: `epsilon: float = 0.0001`, `exponential_avg_factor: float = 1`,
/// `data_format: string = "NHWC"`, `is_training: bool = true`.
#[track_caller]
pub fn fused_batch_norm_v3(
    graph: &Graph,
    x: impl Operand,
    scale: impl Operand,
    offset: impl Operand,
    mean: impl Operand,
    variance: impl Operand,
) -> OpBuilder {
    graph.op("FusedBatchNormV3").input(x).input(scale).input(offset).input(mean).input(variance)
}

/// A convolution of images surrounded by their reflection.
///
/// Op `FusedPadConv2D`. Output: `output`.
#[track_caller]
pub fn fused_pad_conv2d(
    graph: &Graph,
    input: impl Operand,
    paddings: impl Operand,
    filter: impl Operand,
    mode: &str,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("FusedPadConv2D")
        .input(input)
        .input(paddings)
        .input(filter)
        .attr("mode", mode)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// A convolution of resized images surrounded by their reflection.
///
/// Op `FusedResizeAndPadConv2D`. Output: `output`.
///
/// Attributes with defaults: `resize_align_corners: bool = false`.
#[track_caller]
pub fn fused_resize_and_pad_conv2d(
    graph: &Graph,
    input: impl Operand,
    size: impl Operand,
    paddings: impl Operand,
    filter: impl Operand,
    mode: &str,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("FusedResizeAndPadConv2D")
        .input(input)
        .input(size)
        .input(paddings)
        .input(filter)
        .attr("mode", mode)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// One step of a GRU cell.
///
/// Op `GRUBlockCell`. Outputs: `r`, `u`, `c`, `h`.
#[track_caller]
pub fn gru_block_cell(
    graph: &Graph,
    x: impl Operand,
    h_prev: impl Operand,
    w_ru: impl Operand,
    w_c: impl Operand,
    b_ru: impl Operand,
    b_c: impl Operand,
) -> OpBuilder {
    graph.op("GRUBlockCell").input(x).input(h_prev).input(w_ru).input(w_c).input(b_ru).input(b_c)
}

/// The gradient of one step of a GRU cell.
///
/// Op `GRUBlockCellGrad`. Outputs: `d_x`, `d_h_prev`, `d_c_bar`, `d_r_bar_u_bar`.
#[track_caller]
pub fn gru_block_cell_grad(
    graph: &Graph,
    x: impl Operand,
    h_prev: impl Operand,
    w_ru: impl Operand,
    w_c: impl Operand,
    b_ru: impl Operand,
    b_c: impl Operand,
    r: impl Operand,
    u: impl Operand,
    c: impl Operand,
    d_h: impl Operand,
) -> OpBuilder {
    graph
        .op("GRUBlockCellGrad")
        .input(x)
        .input(h_prev)
        .input(w_ru)
        .input(w_c)
        .input(b_ru)
        .input(b_c)
        .input(r)
        .input(u)
        .input(c)
        .input(d_h)
}

/// Whether each target is among the `k` greatest predictions.
///
/// Op `InTopK`. Output: `precision: bool`.
#[track_caller]
pub fn in_top_k(
    graph: &Graph,
    predictions: impl Operand,
    targets: impl Operand,
    k: i64,
) -> OpBuilder {
    graph.op("InTopK").input(predictions).input(targets).attr("k", k)
}

/// Whether each target is among the `k` greatest predictions.
///
/// Op `InTopKV2`. Output: `precision: bool`.
#[track_caller]
pub fn in_top_kv2(
    graph: &Graph,
    predictions: impl Operand,
    targets: impl Operand,
    k: impl Operand,
) -> OpBuilder {
    graph.op("InTopKV2").input(predictions).input(targets).input(k)
}

/// The nearest rows that never rise, and which values share a level.
///
/// Op `IsotonicRegression`. Outputs: `output`, `segments: int32`.
///
/// Attributes with defaults: `output_dtype: type = DT_FLOAT`.
#[track_caller]
pub fn isotonic_regression(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("IsotonicRegression").input(input)
}

/// `KMC2ChainInitialization`: `index` of `distances`, `seed`.
///
/// Output: `index: int64`.
#[track_caller]
pub fn kmc2_chain_initialization(
    graph: &Graph,
    distances: impl Operand,
    seed: impl Operand,
) -> OpBuilder {
    graph.op("KMC2ChainInitialization").input(distances).input(seed)
}

/// `KmeansPlusPlusInitialization`: `samples` of `points`, `num_to_sample`, `seed`,
/// `num_retries_per_sample`.
///
/// Output: `samples: float`.
#[track_caller]
pub fn kmeans_plus_plus_initialization(
    graph: &Graph,
    points: impl Operand,
    num_to_sample: impl Operand,
    seed: impl Operand,
    num_retries_per_sample: impl Operand,
) -> OpBuilder {
    graph
        .op("KmeansPlusPlusInitialization")
        .input(points)
        .input(num_to_sample)
        .input(seed)
        .input(num_retries_per_sample)
}

/// Half of the sum of squares.
///
/// Op `L2Loss`. Output: `output`.
#[track_caller]
pub fn l2_loss(graph: &Graph, t: impl Operand) -> OpBuilder {
    graph.op("L2Loss").input(t)
}

/// Each element divided by a norm of its neighbours along the channels.
///
/// Op `LRN`. Output: `output`.
///
/// Attributes with defaults: `depth_radius: int = 5`, `bias: float = 1`, `alpha: float = 1`,
/// `beta: float = 0.5`.
#[track_caller]
pub fn lrn(graph: &Graph, input: impl Operand) -> OpBuilder {
    graph.op("LRN").input(input)
}

/// The gradient of local response normalisation.
///
/// Op `LRNGrad`. Output: `output`.
///
/// Attributes with defaults: `depth_radius: int = 5`, `bias: float = 1`, `alpha: float = 1`,
/// `beta: float = 0.5`.
#[track_caller]
pub fn lrn_grad(
    graph: &Graph,
    input_grads: impl Operand,
    input_image: impl Operand,
    output_image: impl Operand,
) -> OpBuilder {
    graph.op("LRNGrad").input(input_grads).input(input_image).input(output_image)
}

/// One step of an LSTM cell.
///
/// Op `LSTMBlockCell`. Outputs: `i`, `cs`, `f`, `o`, `ci`, `co`, `h`.
///
/// Attributes with defaults: `forget_bias: float = 1`, `cell_clip: float = 3`,
/// `use_peephole: bool = false`.
#[track_caller]
pub fn lstm_block_cell(
    graph: &Graph,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
) -> OpBuilder {
    graph
        .op("LSTMBlockCell")
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
}

/// The gradient of one step of an LSTM cell.
///
/// Op `LSTMBlockCellGrad`. Outputs: `cs_prev_grad`, `dicfo`, `wci_grad`, `wcf_grad`, `wco_grad`.
#[track_caller]
pub fn lstm_block_cell_grad(
    graph: &Graph,
    x: impl Operand,
    cs_prev: impl Operand,
    h_prev: impl Operand,
    w: impl Operand,
    wci: impl Operand,
    wcf: impl Operand,
    wco: impl Operand,
    b: impl Operand,
    i: impl Operand,
    cs: impl Operand,
    f: impl Operand,
    o: impl Operand,
    ci: impl Operand,
    co: impl Operand,
    cs_grad: impl Operand,
    h_grad: impl Operand,
    use_peephole: bool,
) -> OpBuilder {
    graph
        .op("LSTMBlockCellGrad")
        .input(x)
        .input(cs_prev)
        .input(h_prev)
        .input(w)
        .input(wci)
        .input(wcf)
        .input(wco)
        .input(b)
        .input(i)
        .input(cs)
        .input(f)
        .input(o)
        .input(ci)
        .input(co)
        .input(cs_grad)
        .input(h_grad)
        .attr("use_peephole", use_peephole)
}

/// `x` where it is positive, `alpha x` elsewhere.
///
/// Op `LeakyRelu`. Output: `activations`.
///
/// Attributes with defaults: `alpha: float = 0.2`.
#[track_caller]
pub fn leaky_relu(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("LeakyRelu").input(features)
}

/// The gradient of the leaky rectifier.
///
/// Op `LeakyReluGrad`. Output: `backprops`.
///
/// Attributes with defaults: `alpha: float = 0.2`.
#[track_caller]
pub fn leaky_relu_grad(
    graph: &Graph,
    gradients: impl Operand,
    features: impl Operand,
) -> OpBuilder {
    graph.op("LeakyReluGrad").input(gradients).input(features)
}

/// Candidate classes drawn by how often they were seen so far.
///
/// Op `LearnedUnigramCandidateSampler`. Outputs: `sampled_candidates: int64`,
/// `true_expected_count: float`, `sampled_expected_count: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn learned_unigram_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range_max: i64,
) -> OpBuilder {
    graph
        .op("LearnedUnigramCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
        .attr("range_max", range_max)
}

/// The logarithm of softmax, without loss of precision.
///
/// Op `LogSoftmax`. Output: `logsoftmax`.
#[track_caller]
pub fn log_softmax(graph: &Graph, logits: impl Operand) -> OpBuilder {
    graph.op("LogSoftmax").input(logits)
}

/// Candidate classes drawn by Zipf's law.
///
/// Op `LogUniformCandidateSampler`. Outputs: `sampled_candidates: int64`,
/// `true_expected_count: float`, `sampled_expected_count: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn log_uniform_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range_max: i64,
) -> OpBuilder {
    graph
        .op("LogUniformCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
        .attr("range_max", range_max)
}

/// The greatest elements of windows of images.
///
/// Op `MaxPool`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool(
    graph: &Graph,
    input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPool")
        .input(input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The greatest elements of windows of volumes.
///
/// Op `MaxPool3D`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`.
#[track_caller]
pub fn max_pool3d(
    graph: &Graph,
    input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPool3D")
        .input(input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of the greatest elements of windows.
///
/// Op `MaxPool3DGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`.
#[track_caller]
pub fn max_pool3d_grad(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPool3DGrad")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The second gradient of the greatest elements of windows.
///
/// Op `MaxPool3DGradGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NDHWC"`.
#[track_caller]
pub fn max_pool3d_grad_grad(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPool3DGradGrad")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of the greatest elements of windows.
///
/// Op `MaxPoolGrad`. Output: `output`.
///
/// Attributes with defaults: `explicit_paddings: list(int) = []`, `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool_grad(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGrad")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The second gradient of the greatest elements of windows.
///
/// Op `MaxPoolGradGrad`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool_grad_grad(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGradGrad")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The second gradient of the greatest elements of windows.
///
/// Op `MaxPoolGradGradV2`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool_grad_grad_v2(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: impl Operand,
    strides: impl Operand,
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGradGradV2")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .input(ksize)
        .input(strides)
        .attr("padding", padding)
}

/// The second gradient of the greatest elements of windows.
///
/// Op `MaxPoolGradGradWithArgmax`. Output: `output`.
///
/// Attributes with defaults: `include_batch_in_index: bool = false`.
#[track_caller]
pub fn max_pool_grad_grad_with_argmax(
    graph: &Graph,
    input: impl Operand,
    grad: impl Operand,
    argmax: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGradGradWithArgmax")
        .input(input)
        .input(grad)
        .input(argmax)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The gradient of the greatest elements of windows.
///
/// Op `MaxPoolGradV2`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool_grad_v2(
    graph: &Graph,
    orig_input: impl Operand,
    orig_output: impl Operand,
    grad: impl Operand,
    ksize: impl Operand,
    strides: impl Operand,
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGradV2")
        .input(orig_input)
        .input(orig_output)
        .input(grad)
        .input(ksize)
        .input(strides)
        .attr("padding", padding)
}

/// The gradient of the greatest elements of windows.
///
/// Op `MaxPoolGradWithArgmax`. Output: `output`.
///
/// Attributes with defaults: `include_batch_in_index: bool = false`.
#[track_caller]
pub fn max_pool_grad_with_argmax(
    graph: &Graph,
    input: impl Operand,
    grad: impl Operand,
    argmax: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolGradWithArgmax")
        .input(input)
        .input(grad)
        .input(argmax)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The greatest elements of windows of images.
///
/// Op `MaxPoolV2`. Output: `output`.
///
/// Attributes with defaults: `data_format: string = "NHWC"`.
#[track_caller]
pub fn max_pool_v2(
    graph: &Graph,
    input: impl Operand,
    ksize: impl Operand,
    strides: impl Operand,
    padding: &str,
) -> OpBuilder {
    graph.op("MaxPoolV2").input(input).input(ksize).input(strides).attr("padding", padding)
}

/// The greatest elements of windows of images, and where they are.
///
/// Op `MaxPoolWithArgmax`. Outputs: `output`, `argmax`.
///
/// Attributes with defaults: `Targmax: type = DT_INT64`, `include_batch_in_index: bool = false`.
#[track_caller]
pub fn max_pool_with_argmax(
    graph: &Graph,
    input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("MaxPoolWithArgmax")
        .input(input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// `NearestNeighbors`: `nearest_center_indices`, `nearest_center_distances` of `points`, `centers`,
/// `k`.
///
/// Outputs: `nearest_center_indices: int64`, `nearest_center_distances: float`.
#[track_caller]
pub fn nearest_neighbors(
    graph: &Graph,
    points: impl Operand,
    centers: impl Operand,
    k: impl Operand,
) -> OpBuilder {
    graph.op("NearestNeighbors").input(points).input(centers).input(k)
}

/// The element of each row that sorting would put at place `n`.
///
/// Op `NthElement`. Output: `values`.
///
/// Attributes with defaults: `reverse: bool = false`.
#[track_caller]
pub fn nth_element(graph: &Graph, input: impl Operand, n: impl Operand) -> OpBuilder {
    graph.op("NthElement").input(input).input(n)
}

/// The means of windows of quantized images.
///
/// Op `QuantizedAvgPool`. Outputs: `output`, `min_output: float`, `max_output: float`.
#[track_caller]
pub fn quantized_avg_pool(
    graph: &Graph,
    input: impl Operand,
    min_input: impl Operand,
    max_input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("QuantizedAvgPool")
        .input(input)
        .input(min_input)
        .input(max_input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// A convolution of quantized images.
///
/// Op `QuantizedConv2D`. Outputs: `output`, `min_output: float`, `max_output: float`.
///
/// Attributes with defaults: `out_type: type = DT_QINT32`, `dilations: list(int) = [1, 1, 1, 1]`.
#[track_caller]
pub fn quantized_conv2d(
    graph: &Graph,
    input: impl Operand,
    filter: impl Operand,
    min_input: impl Operand,
    max_input: impl Operand,
    min_filter: impl Operand,
    max_filter: impl Operand,
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("QuantizedConv2D")
        .input(input)
        .input(filter)
        .input(min_input)
        .input(max_input)
        .input(min_filter)
        .input(max_filter)
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// The maxima of windows of quantized images.
///
/// Op `QuantizedMaxPool`. Outputs: `output`, `min_output: float`, `max_output: float`.
#[track_caller]
pub fn quantized_max_pool(
    graph: &Graph,
    input: impl Operand,
    min_input: impl Operand,
    max_input: impl Operand,
    ksize: &[i64],
    strides: &[i64],
    padding: &str,
) -> OpBuilder {
    graph
        .op("QuantizedMaxPool")
        .input(input)
        .input(min_input)
        .input(max_input)
        .attr("ksize", ksize.to_vec())
        .attr("strides", strides.to_vec())
        .attr("padding", padding)
}

/// `x` where it is positive, zero elsewhere.
///
/// Op `Relu`. Output: `activations`.
#[track_caller]
pub fn relu(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Relu").input(features)
}

/// `min(max(x, 0), 6)`.
///
/// Op `Relu6`. Output: `activations`.
#[track_caller]
pub fn relu6(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Relu6").input(features)
}

/// The gradient of the rectifier with a ceiling of 6.
///
/// Op `Relu6Grad`. Output: `backprops`.
#[track_caller]
pub fn relu6_grad(graph: &Graph, gradients: impl Operand, features: impl Operand) -> OpBuilder {
    graph.op("Relu6Grad").input(gradients).input(features)
}

/// The gradient of the rectifier.
///
/// Op `ReluGrad`. Output: `backprops`.
#[track_caller]
pub fn relu_grad(graph: &Graph, gradients: impl Operand, features: impl Operand) -> OpBuilder {
    graph.op("ReluGrad").input(gradients).input(features)
}

/// The scaled exponential linear unit.
///
/// Op `Selu`. Output: `activations`.
#[track_caller]
pub fn selu(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Selu").input(features)
}

/// The gradient of the scaled exponential linear unit.
///
/// Op `SeluGrad`. Output: `backprops`.
#[track_caller]
pub fn selu_grad(graph: &Graph, gradients: impl Operand, outputs: impl Operand) -> OpBuilder {
    graph.op("SeluGrad").input(gradients).input(outputs)
}

/// Exponentials that add up to one in each row.
///
/// Op `Softmax`. Output: `softmax`.
#[track_caller]
pub fn softmax(graph: &Graph, logits: impl Operand) -> OpBuilder {
    graph.op("Softmax").input(logits)
}

/// The cross entropy of rows of probabilities, and its gradient.
///
/// Op `SoftmaxCrossEntropyWithLogits`. Outputs: `loss`, `backprop`.
#[track_caller]
pub fn softmax_cross_entropy_with_logits(
    graph: &Graph,
    features: impl Operand,
    labels: impl Operand,
) -> OpBuilder {
    graph.op("SoftmaxCrossEntropyWithLogits").input(features).input(labels)
}

/// `ln(1 + e^x)`.
///
/// Op `Softplus`. Output: `activations`.
#[track_caller]
pub fn softplus(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Softplus").input(features)
}

/// The gradient of softplus.
///
/// Op `SoftplusGrad`. Output: `backprops`.
#[track_caller]
pub fn softplus_grad(graph: &Graph, gradients: impl Operand, features: impl Operand) -> OpBuilder {
    graph.op("SoftplusGrad").input(gradients).input(features)
}

/// `x / (1 + |x|)`.
///
/// Op `Softsign`. Output: `activations`.
#[track_caller]
pub fn softsign(graph: &Graph, features: impl Operand) -> OpBuilder {
    graph.op("Softsign").input(features)
}

/// The gradient of softsign.
///
/// Op `SoftsignGrad`. Output: `backprops`.
#[track_caller]
pub fn softsign_grad(graph: &Graph, gradients: impl Operand, features: impl Operand) -> OpBuilder {
    graph.op("SoftsignGrad").input(gradients).input(features)
}

/// The cross entropy of class numbers, and its gradient.
///
/// Op `SparseSoftmaxCrossEntropyWithLogits`. Outputs: `loss`, `backprop`.
#[track_caller]
pub fn sparse_softmax_cross_entropy_with_logits(
    graph: &Graph,
    features: impl Operand,
    labels: impl Operand,
) -> OpBuilder {
    graph.op("SparseSoftmaxCrossEntropyWithLogits").input(features).input(labels)
}

/// Candidate classes drawn by how often they were seen so far.
///
/// Op `ThreadUnsafeUnigramCandidateSampler`. Outputs: `sampled_candidates: int64`,
/// `true_expected_count: float`, `sampled_expected_count: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn thread_unsafe_unigram_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range_max: i64,
) -> OpBuilder {
    graph
        .op("ThreadUnsafeUnigramCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
        .attr("range_max", range_max)
}

/// The `k` greatest elements of each row, and where they are.
///
/// Op `TopK`. Outputs: `values`, `indices: int32`.
///
/// Attributes with defaults: `sorted: bool = true`.
#[track_caller]
pub fn top_k(graph: &Graph, input: impl Operand, k: i64) -> OpBuilder {
    graph.op("TopK").input(input).attr("k", k)
}

/// The `k` greatest elements of each row, and where they are.
///
/// Op `TopKV2`. Outputs: `values`, `indices`.
///
/// Attributes with defaults: `sorted: bool = true`, `index_type: type = DT_INT32`.
#[track_caller]
pub fn top_kv2(graph: &Graph, input: impl Operand, k: impl Operand) -> OpBuilder {
    graph.op("TopKV2").input(input).input(k)
}

/// Candidate classes drawn evenly.
///
/// Op `UniformCandidateSampler`. Outputs: `sampled_candidates: int64`,
/// `true_expected_count: float`, `sampled_expected_count: float`.
///
/// Attributes with defaults: `seed: int = 0`, `seed2: int = 0`.
#[track_caller]
pub fn uniform_candidate_sampler(
    graph: &Graph,
    true_classes: impl Operand,
    num_true: i64,
    num_sampled: i64,
    unique: bool,
    range_max: i64,
) -> OpBuilder {
    graph
        .op("UniformCandidateSampler")
        .input(true_classes)
        .attr("num_true", num_true)
        .attr("num_sampled", num_sampled)
        .attr("unique", unique)
        .attr("range_max", range_max)
}
