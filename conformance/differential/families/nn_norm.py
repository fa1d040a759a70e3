"""Normalisations, and the convolution of any rank."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library, op_def_registry

from conformance.differential.cases import Case, Tolerance, generates
from conformance.differential.families.nn import whole

NORMALISED = Tolerance(ulps=64, atol=1e-5, reason="statistics are sums in another order")

FORMATS = {4: ["NHWC", "NCHW"], 5: ["NDHWC", "NCDHW"]}


def image(draw, op, rank=4):
    """Draws a shape, its format and its channels."""
    form = draw.choice(FORMATS[rank])
    shape = list(draw.shape(rank, low=2, high=3))
    return shape, form, shape[-1] if form.endswith("C") else shape[1]


def opaque(op, dtype, rank):
    """Tells whether some outputs are what only TensorFlow's own gradient understands."""
    if "Grad" in op:
        return dtype != tf.half or op != "FusedBatchNormGradV2"
    return dtype == tf.half or rank == 5 or op == "_FusedBatchNormEx"


def statistics(op, attrs):
    """Builds an op of which only the first three outputs are compared."""

    def build(*inputs):
        names = [arg.name for arg in op_def_registry.get(op).input_arg]
        defaults = {"epsilon": 1e-4}
        if op == "_FusedBatchNormEx":
            inputs, defaults["exponential_avg_factor"] = [*inputs, []], 1.0
        elif "Grad" not in op:
            defaults["exponential_avg_factor"] = 1.0
        _, _, operation, _ = op_def_library._apply_op_helper(op, **dict(zip(names, inputs)), **(defaults | attrs))
        return operation.outputs[:3]

    return build


@generates("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3", "_FusedBatchNormEx", tolerance=NORMALISED)
def batch_norm(op, draw):
    wide = op == "FusedBatchNorm"
    for dtype in draw.types(op, "T"):
        if dtype == tf.bfloat16:
            # oneDNN rounds otherwise.
            continue
        ranks = [4, 5] if op == "FusedBatchNormV3" else [4]
        for rank in ranks:
            for training in [False, True]:
                for factor in [1.0, 0.25]:
                    shape, form, channels = image(draw, op, rank)
                    if op == "_FusedBatchNormEx" or dtype == tf.half:
                        shape, form, channels = [*shape[:-1], channels], FORMATS[rank][0], channels
                    scale, offset, mean, variance = (
                        draw.array(dtype if wide else tf.float32, [channels], 0.5, 2) for _ in range(4)
                    )
                    if training and factor == 1.0:
                        mean, variance = mean[:0], variance[:0]
                    attrs = {"is_training": training, "exponential_avg_factor": factor, "data_format": form}
                    inputs = [draw.array(dtype, shape), scale, offset, mean, variance]
                    if op == "_FusedBatchNormEx":
                        attrs["activation_mode"] = draw.choice(["Identity", "Relu"])
                    if not training:
                        attrs.pop("exponential_avg_factor")
                    build = statistics(op, attrs) if opaque(op, dtype, rank) else None
                    yield Case(op, inputs, attrs, build=build, compared=3)
    if op in ("FusedBatchNorm", "FusedBatchNormV2"):
        nothing, vector = np.zeros([0, 2, 2, 3], np.float32), np.ones([3], np.float32)
        attrs = {"epsilon": 1e-3, "data_format": "NHWC", "exponential_avg_factor": 1.0, "is_training": True}
        inputs = [nothing, vector, vector, vector[:0], vector[:0]]
        yield Case(op, inputs, attrs, build=statistics(op, attrs))


@generates("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3", tolerance=NORMALISED)
def batch_norm_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype == tf.bfloat16:
            continue
        for rank in [4, 5] if op.endswith("V3") else [4]:
            for training in [False, True]:
                for _ in range(2):
                    shape, form, channels = image(draw, op, rank)
                    if dtype == tf.half:
                        shape, form = [*shape[:-1], channels], FORMATS[rank][0]
                    vectors = [draw.array(tf.float32, [channels], 0.5, 2) for _ in range(3)]
                    if op.endswith("V3"):
                        vectors.append(np.zeros([0], np.float32))
                    attrs = {"is_training": training, "data_format": form}
                    inputs = [draw.array(dtype, shape, -2, 2), draw.array(dtype, shape, -2, 2), *vectors]
                    yield Case(op, inputs, attrs, build=statistics(op, attrs) if opaque(op, dtype, rank) else None)


@generates("LRN", "LRNGrad", tolerance=NORMALISED)
def local_response(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype == tf.bfloat16 and op == "LRNGrad":
            continue
        for radius in [0, 1, 2, 5]:
            shape = [draw.integer(1, 2), draw.integer(1, 2), draw.integer(1, 3), draw.integer(1, 6)]
            count = 3 if op == "LRNGrad" else 1
            attrs = {"depth_radius": radius, "alpha": draw.choice([1.0, 0.5]), "beta": draw.choice([0.5, 0.75, 1.0]), "bias": draw.choice([1.0, 2.0])}
            yield Case(op, [draw.array(dtype, shape, -2, 2) for _ in range(count)], attrs)
    yield Case(op, [draw.array(tf.float32, [2, 3, 4])] * count)


@generates("Conv")
def conv(op, draw):
    for dtype in draw.types(op, "T"):
        for spatial in [2] if dtype == tf.int32 else [2, 3]:
            for batch_dims in [1, 2]:
                batch = list(draw.shape(batch_dims, high=2))
                size = [draw.integer(2, 4) for _ in range(spatial)]
                window = [draw.integer(1, 2) for _ in range(spatial)]
                stride = draw.integer(1, 2)
                depth, out = draw.integer(1, 2), draw.integer(1, 2)
                x = whole(draw, dtype, [*batch, *size, depth])
                attrs = {"strides": [1, *[stride] * spatial, 1], "padding": draw.choice(["SAME", "VALID"]), "batch_dims": batch_dims}
                yield Case(op, [x, whole(draw, dtype, [*window, depth, out])], attrs)
    yield Case(op, [x, np.zeros([2, 2], dtype.as_numpy_dtype)], attrs)
