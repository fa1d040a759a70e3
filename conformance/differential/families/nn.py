"""Neural networks."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

APPROXIMATE = Tolerance(ulps=6, atol=1e-6, reason="both sides approximate by polynomials, but not the same")
SUMMED = Tolerance(ulps=16, atol=1e-6, reason="sums in another order")


def whole(draw, dtype, shape, most=4):
    """Draws whole numbers, whose products and short sums every type holds exactly."""
    dtype = tf.as_dtype(dtype)
    low = 0 if dtype.is_unsigned else -most
    return draw.array(tf.int32, shape, low, most).astype(dtype.as_numpy_dtype)


@generates("Relu", "Relu6", tolerance=Tolerance(reason="the sign of zero differs from type to type"))
def rectifier(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, special=True)])


@generates("Elu", "Selu", "Softplus", "Softsign", tolerance=APPROXIMATE)
def smooth_activation(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape)])
        if op != "Softsign":
            yield Case(op, [draw.array(dtype, [40], special=True)])


@generates("ReluGrad", "Relu6Grad")
def rectifier_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape, special=True)])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [3, 2])])


@generates("EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", tolerance=APPROXIMATE)
def smooth_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape)])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [6])])


@generates("LeakyRelu")
def leaky_relu(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            alpha = draw.choice([0.2, 0.0, 1.5, -1.0])
            yield Case(op, [draw.array(dtype, shape, special=alpha != 0)], {"alpha": alpha})


@generates("LeakyReluGrad")
def leaky_relu_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            inputs = [draw.array(dtype, shape), draw.array(dtype, shape, special=True)]
            yield Case(op, inputs, {"alpha": draw.choice([0.2, 1.5, -1.0])})
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [2])])


@generates("BiasAdd", "BiasAddV1")
def bias_add(op, draw):
    formats = ["NHWC", "NCHW"] if op == "BiasAdd" else [None]
    for dtype in draw.types(op, "T"):
        for rank in range(2, 6):
            for data_format in formats:
                shape = draw.shape(rank, low=draw.choice([0, 1, 1]))
                channels = shape[1] if data_format == "NCHW" else shape[-1]
                if draw.chance(0.1):
                    channels += 1
                attrs = {"data_format": data_format} if data_format else {}
                yield Case(op, [draw.array(dtype, shape), draw.array(dtype, [channels])], attrs)
        yield Case(op, [draw.array(dtype, [3]), draw.array(dtype, [3])])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [1, 3])])


@generates("BiasAddGrad")
def bias_add_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for rank in range(2, 6):
            for data_format in ["NHWC", "NCHW"]:
                shape = draw.shape(rank, low=draw.choice([0, 1, 1]))
                yield Case(op, [whole(draw, dtype, shape)], {"data_format": data_format})
        yield Case(op, [whole(draw, dtype, [3])])


@generates("TopKV2")
def top_k(op, draw):
    for dtype in draw.types(op, "T"):
        for index in range(6):
            shape = draw.shape(draw.integer(1, 3), low=draw.choice([0, 1, 1, 1]), high=6)
            k = draw.integer(0, shape[-1])
            attrs = {"sorted": index % 3 > 0, "index_type": draw.choice([tf.int16, tf.int32, tf.int64])}
            k = np.array(k, draw.choice([np.int16, np.int32, np.int64]))
            yield Case(op, [draw.array(dtype, shape, 0, 9), k], attrs)
        attrs = {"sorted": draw.chance()}
        yield Case(op, [draw.array(dtype, [2, 60], 0, 99), np.int32(draw.integer(2, 60))], attrs)
    yield Case(op, [np.float32(1), np.int32(1)])
    yield Case(op, [draw.array(tf.float32, [3]), np.int32(4)])
    yield Case(op, [draw.array(tf.float32, [3]), np.int32(-1)])
    yield Case(op, [draw.array(tf.float32, [3]), np.int32([1])])
    yield Case(op, [np.zeros([1, 40000], np.float32), np.int32(1)], {"index_type": tf.int16})


@generates("ApproxTopK")
def approximate_top_k(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(6):
            shape = draw.shape(draw.integer(1, 3), low=1, high=6)
            yield Case(op, [draw.array(dtype, shape, 0, 9)], {"k": draw.integer(0, shape[-1])}, known_shapes=True)
    yield Case(op, [draw.array(tf.float32, [2, 60])], {"k": 7, "aggregate_to_topk": False, "recall_target": 0.5}, known_shapes=True)


@generates("IsotonicRegression", tolerance=Tolerance(ulps=8, atol=1e-5, reason="TensorFlow rounds sums to the type"))
def isotonic(op, draw):
    pairs = [(tf.half, tf.half), (tf.bfloat16, tf.bfloat16), (tf.float32, tf.float32), (tf.float64, tf.float64)]
    pairs += [(tf.int8, tf.float32), (tf.int16, tf.float32), (tf.int32, tf.float64), (tf.int64, tf.float64)]
    for dtype, output in pairs:
        for shape in ([7], [2, 5], [2, 2, 3], [], [0], [3, 0]):
            yield Case(op, [draw.array(dtype, shape, -9, 9)], {"output_dtype": output})


@generates("InTopK", "InTopKV2")
def in_top_k(op, draw):
    def case(predictions, targets, k):
        if op == "InTopK":
            return Case(op, [predictions, targets], {"k": int(k)})
        return Case(op, [predictions, targets, targets.dtype.type(k)])

    for dtype in [tf.int32, tf.int64]:
        for _ in range(10):
            rows, classes = draw.integer(0, 5), draw.integer(1, 6)
            predictions = draw.array(tf.float32, [rows, classes], 0, 4, special=draw.chance(0.3))
            targets = draw.integers([rows], -1 if draw.chance(0.2) else 0, classes - 1, dtype)
            yield case(predictions.round(), targets, draw.integer(-1, classes + 1))
        yield case(draw.array(tf.float32, [3]), draw.integers([3], 0, 2, dtype), 1)
        yield case(draw.array(tf.float32, [3, 2]), draw.integers([3, 1], 0, 1, dtype), 1)
        yield case(draw.array(tf.float32, [3, 2]), draw.integers([2], 0, 1, dtype), 1)


@generates("NthElement")
def nth_element(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(4):
            shape = draw.shape(draw.integer(1, 3), low=draw.choice([0, 1, 1, 1]), high=6)
            n = draw.integer(0, max(shape[-1] - 1, 0))
            yield Case(op, [draw.array(dtype, shape), np.int32(n)], {"reverse": draw.chance()})
    yield Case(op, [np.float32(1), np.int32(0)])
    yield Case(op, [draw.array(tf.float32, [2, 3]), np.int32(3)])
    yield Case(op, [draw.array(tf.float32, [2, 3]), np.int32(-1)])
    yield Case(op, [draw.array(tf.float32, [2, 3]), np.int32([1])])


@generates("DataFormatDimMap", "DataFormatVecPermute")
def data_format(op, draw):
    spellings = [("NHWC", "NCHW"), ("NCHW", "NHWC"), ("NDHWC", "NCDHW"), ("HWIO", "OIHW"), ("NHWC", "NHWC")]
    for dtype in draw.types(op, "T"):
        for source, target in spellings:
            attrs = {"src_format": source, "dst_format": target}
            rank = len(source)
            if op == "DataFormatDimMap":
                yield Case(op, [draw.integers(draw.shape(), -rank, rank - 1, dtype)], attrs)
                yield Case(op, [draw.integers([9], -rank - 3, rank + 3, dtype)], attrs)
            else:
                for shape in ([rank], [rank - 2], [rank, 2], [rank - 2, 2]):
                    yield Case(op, [draw.integers(shape, 0, 99, dtype)], attrs)
        for shape in ([], [3], [4, 3], [1, 2, 2]):
            yield Case(op, [draw.integers(shape, 0, 3, dtype)])
        for source, target in [("NHW", "NWH"), ("NHWC", "NHWX"), ("NHHC", "NCHH"), ("NHWC", "NDHWC")]:
            attrs = {"src_format": source, "dst_format": target}
            yield Case(op, [draw.integers([4], 0, 3, dtype)], attrs)


@generates("Softmax", "LogSoftmax", tolerance=APPROXIMATE)
def softmax(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes()[1:]:
            yield Case(op, [draw.array(dtype, shape)])
        yield Case(op, [draw.array(dtype, [3, 40], -30, 30)])
        yield Case(op, [np.array([-np.inf, 0, 3]).astype(dtype.as_numpy_dtype)])


@generates("SoftmaxCrossEntropyWithLogits", tolerance=SUMMED)
def cross_entropy(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(4):
            shape = draw.shape(2, low=draw.choice([0, 1, 1, 1]), high=6)
            yield Case(op, [draw.array(dtype, shape, -3, 3), draw.array(dtype, shape, 0, 1)])
        for one, other in [([2, 3], [1, 3]), ([3], [2, 3]), ([2, 1], [1, 3]), ([], [2, 3]), ([2, 3], [1, 1])]:
            yield Case(op, [draw.array(dtype, one, -3, 3), draw.array(dtype, other, 0, 1)])
        for one, other in [([2, 3], [2, 2]), ([3], [3]), ([2, 2, 3], [2, 2, 3]), ([1, 2, 3], [2, 3])]:
            yield Case(op, [draw.array(dtype, one, -3, 3), draw.array(dtype, other, 0, 1)])


@generates("SparseSoftmaxCrossEntropyWithLogits", tolerance=SUMMED)
def sparse_cross_entropy(op, draw):
    for dtype in draw.types(op, "T"):
        for labels in [tf.int32, tf.int64]:
            for _ in range(4):
                rows, classes = draw.integer(0, 4), draw.integer(1, 6)
                inputs = [draw.array(dtype, [rows, classes], -3, 3), draw.integers([rows], 0, classes - 1, labels)]
                yield Case(op, inputs)
            logits = draw.array(dtype, [2, 3], -3, 3)
            for bad in ([0, 3], [-1, 1], [0], [[0], [1]], [0, 2**31 - 1]):
                yield Case(op, [logits, np.array(bad, labels.as_numpy_dtype)])
            yield Case(op, [logits[0], np.array([0, 1, 2], labels.as_numpy_dtype)])
            yield Case(op, [logits[:, :0], np.array([0, 0], labels.as_numpy_dtype)])


@generates("L2Loss", tolerance=SUMMED)
def l2_loss(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [whole(draw, dtype, shape)])


SAMPLED = Tolerance(ulps=8, reason="chances are computed with the platform's logarithms")


@generates(
    "AllCandidateSampler",
    "FixedUnigramCandidateSampler",
    "LearnedUnigramCandidateSampler",
    "LogUniformCandidateSampler",
    "ThreadUnsafeUnigramCandidateSampler",
    "UniformCandidateSampler",
    tolerance=SAMPLED,
)
def candidate_sampler(op, draw):
    for index in range(12):
        classes = draw.choice([3, 8, 30])
        num_true, unique = draw.integer(1, 2), draw.chance()
        attrs = {
            "num_true": num_true,
            "num_sampled": draw.integer(1, classes),
            "unique": unique,
            "seed": draw.integer(0, 9),
            "seed2": draw.integer(1, 9),
        }
        if op == "AllCandidateSampler":
            attrs["num_sampled"] = classes
        else:
            attrs["range_max"] = classes
        if op == "FixedUnigramCandidateSampler":
            reserved = draw.choice([0, 0, 1])
            attrs["num_sampled"] = min(attrs["num_sampled"], classes - reserved)
            attrs["num_reserved_ids"] = reserved
            attrs["unigrams"] = [draw.integer(1, 20) / 2 for _ in range(classes - reserved)]
            attrs["distortion"] = draw.choice([1.0, 0.75])
        yield Case(op, [draw.integers([draw.integer(0, 4), num_true], 0, classes - 1, tf.int64)], attrs)
        if index % 4 == 0:
            yield Case(op, [np.full([1, num_true], classes)], attrs)
            yield Case(op, [np.zeros([1, num_true + 1], np.int64)], attrs)
            yield Case(op, [np.zeros([num_true], np.int64)], attrs)
            if op != "AllCandidateSampler":
                too_many = attrs | {"unique": True, "num_sampled": classes + 1}
                yield Case(op, [np.zeros([1, num_true], np.int64)], too_many)
    if op == "FixedUnigramCandidateSampler":
        attrs = {"num_true": 1, "num_sampled": 1, "unique": False, "range_max": 3, "seed": 1}
        yield Case(op, [np.int64([[0]])], attrs)
        yield Case(op, [np.int64([[0]])], attrs | {"unigrams": [1.0, 2.0]})
        yield Case(op, [np.int64([[0]])], attrs | {"vocab_file": "/no/such/file"})
        sharded = {"unigrams": [1.0, 2.0, 3.0, 4.0, 5.0], "num_shards": 2, "shard": 0}
        yield Case(op, [np.int64([[0], [2]])], attrs | sharded)


@generates("ComputeAccidentalHits")
def accidental_hits(op, draw):
    for _ in range(8):
        num_true = draw.integer(1, 3)
        classes = draw.integers([draw.integer(0, 5), num_true], 0, 9, tf.int64)
        sampled = draw.integers([draw.integer(0, 8)], 0, 9, tf.int64)
        yield Case(op, [classes, sampled], {"num_true": num_true})
    yield Case(op, [np.zeros([2, 3], np.int64), np.zeros([2], np.int64)], {"num_true": 2})
    yield Case(op, [np.zeros([2, 3], np.int64), np.zeros([2, 1], np.int64)], {"num_true": 3})


RECURRENT = Tolerance(ulps=64, atol=1e-5, reason="long chains of sums and approximated functions")


def lstm_inputs(draw, dtype, time, op):
    """Draws the inputs of an op of the LSTM family, by name."""
    batch, size, cell = draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)
    steps = [time] if "BlockLSTM" in op else []
    shapes = {
        "x": steps + [batch, size],
        "cs_prev": [batch, cell],
        "h_prev": [batch, cell],
        "w": [size + cell, 4 * cell],
        "wci": [cell],
        "wcf": [cell],
        "wco": [cell],
        "b": [4 * cell],
    }
    if "Grad" in op:
        names = ["i", "cs", "f", "o", "ci", "co"] + (["h"] if steps else []) + ["cs_grad", "h_grad"]
        shapes |= {name: steps + [batch, cell] for name in names}
    inputs = {name: draw.array(dtype, shape, -1, 1) for name, shape in shapes.items()}
    return ({"seq_len_max": np.int64(time)} if steps else {}) | inputs


@generates(
    "BlockLSTM", "BlockLSTMGrad", "BlockLSTMGradV2", "BlockLSTMV2", "LSTMBlockCell", "LSTMBlockCellGrad",
    tolerance=RECURRENT,
)
def lstm(op, draw):
    for dtype in draw.types(op, "T"):
        for peephole in [False, True]:
            for _ in range(4):
                attrs = {"use_peephole": peephole}
                if "Grad" not in op:
                    attrs["cell_clip"] = draw.choice([0.0, 0.5, -1.0])
                yield Case(op, lstm_inputs(draw, dtype, draw.integer(1, 3), op), attrs)
        if "BlockLSTM" in op:
            attrs = {"use_peephole": True} if "Grad" in op else {}
            yield Case(op, lstm_inputs(draw, dtype, 2, op) | {"seq_len_max": np.int64([1])}, attrs)
        if "BlockLSTM" in op and "Grad" in op:
            yield Case(op, lstm_inputs(draw, dtype, 3, op) | {"seq_len_max": np.int64(1)}, attrs)
            yield Case(op, lstm_inputs(draw, dtype, 3, op) | {"seq_len_max": np.int64(0)}, attrs)
        # TensorFlow's gradients read past the end of other bad inputs.
        for name in ["cs_prev", "h_prev", "w", "b"] if "Grad" not in op else []:
            inputs = lstm_inputs(draw, dtype, 2, op)
            shape = [size + 1 for size in inputs[name].shape]
            yield Case(op, inputs | {name: draw.array(dtype, shape)})


@generates("GRUBlockCell", "GRUBlockCellGrad", tolerance=RECURRENT)
def gru(op, draw):
    for _ in range(8):
        batch, size, cell = draw.integer(1, 3), draw.integer(1, 3), draw.integer(1, 3)
        shapes = [
            [batch, size],
            [batch, cell],
            [size + cell, 2 * cell],
            [size + cell, cell],
            [2 * cell],
            [cell],
        ]
        if op == "GRUBlockCellGrad":
            shapes += [[batch, cell]] * 4
        yield Case(op, [draw.array(tf.float32, shape, -1, 1) for shape in shapes])
    for index in range(1, len(shapes)):
        wrong = [[n + 1 for n in shape] if at == index else shape for at, shape in enumerate(shapes)]
        yield Case(op, [draw.array(tf.float32, shape, -1, 1) for shape in wrong])


def slid(size, window, stride, dilation, padding, around=(0, 0)):
    """Returns the positions of a window on a line."""
    if padding == "SAME":
        return -(-size // stride)
    return max(0, (size + sum(around) - (window - 1) * dilation - 1) // stride + 1)


def convolution(draw, spatial, *, dilated=False, first=False, groups=1, explicit=False, square=False):
    """Draws the attributes and shapes of a convolution: of input, filter and output."""
    size = [draw.integer(5 if dilated or explicit else 3, 6) for _ in range(spatial)]
    window = [draw.integer(1, 5 if explicit else 3) for _ in range(spatial)]
    stride = [draw.integer(1, 3 if explicit else 2) for _ in range(spatial)]
    if spatial == 3 or square:
        # Where they differ, oneDNN's volumes are wrong.
        stride = stride[:1] * spatial
    dilation = [draw.integer(1, 2) if dilated else 1 for _ in range(spatial)]
    padding = "EXPLICIT" if explicit else draw.choice(["SAME", "VALID"])
    # Windows may lie in padding alone.
    around = [tuple(draw.choice([0, 1, 2, 7]) for _ in "ab") if explicit else (0, 0) for _ in range(spatial)]
    batch, depth, out = draw.integer(1, 2), draw.integer(1, 3), draw.integer(1, 3) * groups

    def laid_out(space, channels, edge=1):
        return [edge, channels, *space] if first else [edge, *space, channels]

    attrs = {"strides": laid_out(stride, 1), "dilations": laid_out(dilation, 1), "padding": padding}
    if first:
        attrs["data_format"] = "NCHW" if spatial == 2 else "NCDHW"
    if explicit:
        attrs["explicit_paddings"] = [n for pair in laid_out(around, (0, 0), (0, 0)) for n in pair]
    result = [slid(*sizes, padding, a) for *sizes, a in zip(size, window, stride, dilation, around)]
    shapes = laid_out(size, depth * groups, batch), [*window, depth, out], laid_out(result, out, batch)
    return attrs, *shapes


def conv_case(op, draw, dtype, attrs, image, filter, result):
    """Returns a convolution, or a gradient of one, of whole numbers."""
    if op.endswith(("BackpropInput", "BackpropInputV2")):
        inputs = [np.int32(image), whole(draw, dtype, filter), whole(draw, dtype, result)]
    elif op.endswith(("BackpropFilter", "BackpropFilterV2")):
        inputs = [whole(draw, dtype, image), np.int32(filter), whole(draw, dtype, result)]
    else:
        inputs = [whole(draw, dtype, image), whole(draw, dtype, filter)]
    return Case(op, inputs, attrs)


@generates(
    "Conv2D", "Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3D", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"
)
def conv(op, draw):
    spatial = 2 if "2D" in op else 3
    for dtype in draw.types(op, "T"):
        # Only with oneDNN, which has these types, are these computed.
        fast = dtype in (tf.float32, tf.bfloat16)
        for index in range(8):
            attrs, *shapes = convolution(
                draw,
                spatial,
                dilated=index % 4 == 1 and (fast or op == "Conv2D"),
                first=index % 4 == 2 and fast,
                explicit=index % 4 == 3 and spatial == 2,
            )
            yield conv_case(op, draw, dtype, attrs, *shapes)
    if op == "Conv2D":
        for dtype in [tf.float64, tf.int32]:
            attrs, *shapes = convolution(draw, 2, groups=2)
            yield conv_case(op, draw, dtype, attrs, *shapes)
    yield from bad_convolutions(op, draw, spatial)


def bad_convolutions(op, draw, spatial):
    """Draws what cannot be; not of types for which oneDNN ends the process."""
    dtype = tf.float64
    attrs, image, filter, result = convolution(draw, spatial)
    # The client itself refuses other bad attributes.
    for wrong in ([1] * (spatial + 1) + [2], [2] + [1] * (spatial + 1)):
        yield conv_case(op, draw, dtype, attrs | {"strides": wrong}, image, filter, result)
        yield conv_case(op, draw, dtype, attrs | {"dilations": wrong}, image, filter, result)
    yield conv_case(op, draw, dtype, attrs, image[1:], filter, result)
    yield conv_case(op, draw, dtype, attrs, image, filter[1:], result)
    yield conv_case(op, draw, dtype, attrs, image[:-1] + [image[-1] * 2 + 1], [*filter[:-2], filter[-2] * 2, 1], result)
    valid = attrs | {"padding": "VALID", "strides": [1] * (spatial + 2)}
    yield conv_case(op, draw, dtype, valid, [1] + [1] * spatial + [2], [4] * spatial + [2, 2], [1] * (spatial + 1) + [2])
    yield conv_case(op, draw, dtype, attrs, image, [*filter[:-2], 0, 2], result)
    if "Backprop" in op:
        yield conv_case(op, draw, dtype, attrs, image, filter, [result[0] + 1, *result[1:]])
        yield conv_case(op, draw, dtype, attrs, image, filter, [*result[:-1], result[-1] + 1])
        yield conv_case(op, draw, dtype, attrs, image, filter, [result[0], result[1] + 1, *result[2:]])
        if "Input" in op:
            yield conv_case(op, draw, dtype, attrs, [-1, *image[1:]], filter, result)
        else:
            yield conv_case(op, draw, dtype, attrs, image, [-1, *filter[1:]], result)
    else:
        yield conv_case(op, draw, dtype, attrs, [0, *image[1:]], filter, result)


@generates("DepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropFilter", "DepthwiseConv2dNativeBackpropInput")
def depthwise(op, draw):
    def case(dtype, attrs, image, filter, result):
        # The channels of the output are those of the input, each with all of its own filters.
        axis = 1 if "data_format" in attrs else 3
        result = [*result[:axis], image[axis] * filter[3], *result[axis + 1 :]]
        return conv_case(op, draw, dtype, attrs, image, filter, result)

    for dtype in draw.types(op, "T"):
        for index in range(6):
            first = index % 3 == 1 and dtype in (tf.float32, tf.bfloat16)
            attrs, *shapes = convolution(draw, 2, first=first, explicit=index % 3 == 2, square=True)
            yield case(dtype, attrs, *shapes)
    # With other types oneDNN ends the process.
    attrs, image, filter, result = convolution(draw, 2, square=True)
    bad = [
        (attrs | {"strides": [1, 1, 2, 1]}, image, filter, result),
        (attrs | {"strides": [2, 1, 1, 1]}, image, filter, result),
        (attrs, image[1:], filter, result),
        (attrs, image, filter[1:], result),
        (attrs, image, [*filter[:2], filter[2] + 1, filter[3]], result),
    ]
    if "Backprop" in op:
        bad.append((attrs, image, filter, [result[0] + 1, *result[1:]]))
        bad.append((attrs, image, filter, [result[0], result[1] + 1, *result[2:]]))
    for attrs, *shapes in bad:
        yield conv_case(op, draw, tf.float64, attrs, *shapes)


# TensorFlow has no kernel of `_FusedDepthwiseConv2dNative` that works outside its own rewriting.
@generates("_FusedConv2D", "_FusedConv3D", tolerance=APPROXIMATE)
def fused_conv(op, draw):
    spatial = 3 if "3D" in op else 2
    for dtype in [tf.float32, tf.float64] if spatial == 2 else [tf.float32]:
        for fused in (
            ["BiasAdd"],
            ["BiasAdd", "Relu"],
            ["BiasAdd", "Relu6"],
            ["BiasAdd", "Elu"],
            ["BiasAdd", "LeakyRelu"],
            ["FusedBatchNorm"],
            ["FusedBatchNorm", "Relu"],
        ):
            if fused[0] == "FusedBatchNorm" and op != "_FusedConv2D":
                continue
            attrs, image, filter, _ = convolution(draw, spatial)
            count = 1 if fused[0] == "BiasAdd" else 4
            args = [draw.array(dtype, filter[-1:], 0.5, 3) for _ in range(count)]
            attrs |= {"fused_ops": fused, "epsilon": 0.01, "leakyrelu_alpha": 0.3}
            inputs = [whole(draw, dtype, image), whole(draw, dtype, filter), args]
            if op == "_FusedConv2D":
                inputs.append([])
                attrs["num_args"] = count
            yield Case(op, inputs, attrs)


def label_sequences(draw, lengths, classes):
    """Draws a sparse tensor of labels, each sequence short enough for its input."""
    sequences = [draw.integers([draw.integer(1, max(1, n // 2))], 0, classes - 2) for n in lengths]
    indices = [[b, t] for b, sequence in enumerate(sequences) for t in range(len(sequence))]
    return np.int64(indices).reshape(-1, 2), np.concatenate(sequences).astype(np.int32)


@generates("CTCLoss", tolerance=Tolerance(ulps=64, atol=1e-6, reason="long sums of logarithms"))
def ctc_loss(op, draw):
    for dtype in draw.types(op, "T"):
        for index in range(8):
            time, batch, classes = draw.integer(3, 6), draw.integer(1, 3), draw.integer(2, 4)
            lengths = draw.integers([batch], 2, time)
            labels = label_sequences(draw, lengths, classes)
            attrs = {
                "preprocess_collapse_repeated": draw.chance(),
                "ctc_merge_repeated": draw.chance(),
                "ignore_longer_outputs_than_inputs": draw.chance(),
            }
            yield Case(op, [draw.array(dtype, [time, batch, classes], -3, 3), *labels, lengths], attrs)
        inputs = draw.array(dtype, [4, 2, 3], -3, 3)
        indices, values, lengths = np.int64([[0, 0], [1, 0]]), np.int32([0, 1]), np.int32([4, 3])
        yield Case(op, [inputs[0], indices, values, lengths])
        yield Case(op, [inputs, indices[0], values, lengths])
        yield Case(op, [inputs, indices, values[:1], lengths])
        yield Case(op, [inputs, indices, values, lengths[:1]])
        yield Case(op, [inputs, indices, values, np.int32([5, 3])])
        yield Case(op, [inputs, indices, values, np.int32([4, -1])])
        yield Case(op, [inputs, indices[::-1].copy(), values, lengths])
        yield Case(op, [inputs, np.int64([[0, 0], [2, 0]]), values, lengths])
        yield Case(op, [inputs, indices[:1], values[:1], lengths])
        yield Case(op, [inputs, indices, np.int32([0, -1]), lengths])
        yield Case(op, [inputs, np.int64([[0, 0], [0, 1], [1, 0]]), np.int32([2, 0, 1]), lengths])
        long = np.int64([[0, 0], [1, 0], [1, 1]]), np.int32([0, 1, 0]), np.int32([4, 1])
        yield Case(op, [inputs, *long])
        yield Case(op, [inputs, *long], {"ignore_longer_outputs_than_inputs": True})


@generates("CTCBeamSearchDecoder", "CTCGreedyDecoder", tolerance=SUMMED)
def ctc_decoder(op, draw):
    for dtype in draw.types(op, "T"):
        attrs = {} if op == "CTCGreedyDecoder" else {"beam_width": 4, "top_paths": 1}
        for _ in range(8):
            time, batch, classes = draw.integer(1, 5), draw.integer(1, 3), draw.integer(2, 4)
            lengths = draw.integers([batch], 1, time)
            own = {"merge_repeated": draw.chance()}
            if op == "CTCGreedyDecoder":
                own["blank_index"] = draw.integer(-classes, classes - 1)
            else:
                own |= {"beam_width": draw.integer(2, 6), "top_paths": draw.integer(1, 2)}
            yield Case(op, [draw.array(dtype, [time, batch, classes], -3, 3), lengths], own)
        inputs = draw.array(dtype, [4, 2, 3], -3, 3)
        yield Case(op, [inputs[0], np.int32([4, 3])], attrs)
        yield Case(op, [inputs, np.int32([4])], attrs)
        yield Case(op, [inputs, np.int32([[4, 3]])], attrs)
        yield Case(op, [inputs, np.int32([5, 3])], attrs)
        yield Case(op, [inputs[:, :0], np.int32([])], attrs)
        if op == "CTCGreedyDecoder":
            yield Case(op, [inputs, np.int32([4, 3])], {"blank_index": 3})
        else:
            yield Case(op, [inputs, np.int32([4, 3])], {"beam_width": 2, "top_paths": 3})
            yield Case(op, [inputs[:, :, :2], np.int32([1, 1])], {"beam_width": 9, "top_paths": 5})


@generates("AvgPool", "AvgPoolGrad", "MaxPool", "MaxPoolGrad")
def pool(op, draw):
    for dtype in draw.types(op, "T"):
        if op == "MaxPoolGrad" and not dtype.is_floating:
            continue
        for _ in range(4):
            size, window = [[draw.integer(3, 5), draw.integer(3, 5)], [draw.choice([1, 2]), draw.choice([2, 4])]]
            stride, padding = [draw.integer(1, 2), draw.integer(1, 2)], draw.choice(["SAME", "VALID"])
            image = [draw.integer(1, 2), *size, draw.integer(1, 3)]
            result = [slid(*sizes, 1, padding) for sizes in zip(size, window, stride)]
            if 0 in result:
                continue
            result = [image[0], *result, image[3]]
            attrs = {"ksize": [1, *window, 1], "strides": [1, *stride, 1], "padding": padding}
            if op == "AvgPoolGrad":
                yield Case(op, [np.int32(image), draw.array(dtype, result)], attrs, tolerance=SUMMED)
            elif op == "MaxPoolGrad":
                # The output itself is not looked at by all of TensorFlow's kernels, only its shape.
                x = draw.permutation(int(np.prod(image)))
                x = np.reshape(x, image).astype(dtype.as_numpy_dtype)
                with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                    pooled = tf.nn.max_pool2d(
                        tf.cast(x, tf.float32), attrs["ksize"], attrs["strides"], padding
                    )
                    y = session.run(pooled).astype(dtype.as_numpy_dtype)
                yield Case(op, [x, y, whole(draw, dtype, result)], attrs)
            else:
                yield Case(op, [draw.array(dtype, image)], attrs, tolerance=SUMMED)
    yield from bad_pools(op, draw)


def bad_pools(op, draw):
    """Draws poolings that cannot be; not of a type for which oneDNN has kernels."""
    image, result = [1, 4, 4, 2], [1, 3, 3, 2]

    def case(**attrs):
        attrs = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "VALID"} | attrs
        x, y = whole(draw, tf.float64, image), whole(draw, tf.float64, result)
        inputs = {"AvgPool": [x], "MaxPool": [x], "AvgPoolGrad": [np.int32(image), y], "MaxPoolGrad": [x, y, y]}
        return Case(op, inputs[op], attrs)

    yield case(strides=[1, 1, 1, 2])
    yield case(ksize=[1, 1, 1, 2])
    yield case(ksize=[1, 1, 1, 2], strides=[1, 1, 1, 2])
    yield case(ksize=[2, 2, 2, 1])
    if "Max" in op:
        for around in ([0, 1, 0, 2], [0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 2, 0]):
            yield case(padding="EXPLICIT", explicit_paddings=[0, 0, *around, 0, 0])


@generates("FusedPadConv2D", "FusedResizeAndPadConv2D")
def padded_conv(op, draw):
    def case(dtype, image, filter, paddings, **attrs):
        inputs = [whole(draw, dtype, image), np.int32(paddings), whole(draw, dtype, filter)]
        if op == "FusedResizeAndPadConv2D":
            # Twice or half as large, so that pixels stay exact.
            inputs.insert(1, np.int32([image[1] * 2, max(image[2] // 2, 1)]))
        attrs = {"mode": "REFLECT", "strides": [1, 1, 1, 1], "padding": "VALID"} | attrs
        return Case(op, inputs, attrs, known_shapes=True)

    types = [tf.float32] if op == "FusedResizeAndPadConv2D" else draw.types(op, "T")
    for dtype in types:
        for mode in ("REFLECT", "SYMMETRIC"):
            for padding in ("SAME", "VALID"):
                # TensorFlow repeats what it computes of the first image.
                image = [1, draw.integer(3, 5), draw.choice([4, 6]), draw.integer(1, 3)]
                filter = [draw.integer(1, 3), draw.integer(1, 3), image[3], draw.integer(1, 3)]
                around = [[0, 0], [draw.integer(0, 2), 1], [1, draw.integer(0, 1)], [0, 0]]
                stride = draw.integer(1, 2)
                attrs = {"mode": mode, "padding": padding, "strides": [1, stride, stride, 1]}
                yield case(dtype, image, filter, around, **attrs)
    image, filter, none = [1, 4, 4, 1], [2, 2, 1, 1], [0, 0]
    yield case(tf.float32, image, filter, [none, [9, 0], none, none])
    yield case(tf.float32, image, filter, [none, none, [0, 9], none], mode="SYMMETRIC")


@generates("NearestNeighbors", tolerance=Tolerance(ulps=16, atol=1e-3, reason="sums in another order"))
def nearest_neighbors(op, draw):
    for points, centers, columns in [(1, 1, 1), (5, 3, 2), (7, 6, 4), (3, 0, 2), (4, 5, 0)]:
        for k in [0, 1, 2, 9]:
            some = [whole(draw, tf.float32, (count, columns), 40) for count in (points, centers)]
            yield Case(op, [*some, np.int64(k)])
    some = np.float32([[1, 2], [3, 4]])
    yield Case(op, [some[:0], some, np.int64(1)])
    yield Case(op, [some[0], some, np.int64(1)])
    yield Case(op, [some, some[0], np.int64(1)])
    yield Case(op, [some, some[:, :1], np.int64(1)])
    yield Case(op, [some, some, np.int64([1])])


@generates("KmeansPlusPlusInitialization")
def kmeans_plus_plus(op, draw):
    for retries in [0, 3, -1]:
        for count in [1, 2, 5]:
            points = np.float32(draw.permutation(60)).reshape(30, 2)
            yield Case(op, [points, np.int64(count), np.int64(draw.integer(0, 99)), np.int64(retries)])
    one, some = np.int64(1), np.float32([[1, 2], [3, 4]])
    for case in [
        [some[0], one, one, one], [some[:0], one, one, one], [some, np.int64(0), one, one],
        [some, np.int64(3), one, one], [some, np.int64([1]), one, one], [some, one, np.int64([1]), one],
        [some, one, one, np.int64([1])],
    ]:
        yield Case(op, case)


@generates("KMC2ChainInitialization")
def kmc2_chain(op, draw):
    for length in [1, 2, 9, 30]:
        for seed in [0, draw.integer(1, 999), -3]:
            yield Case(op, [draw.array(tf.float32, (length,), 0, 9), np.int64(seed)])
    yield Case(op, [np.float32([]), np.int64(1)])
    yield Case(op, [np.float32([[1]]), np.int64(1)])
    yield Case(op, [np.float32([1]), np.int64([1])])
