"""Poolings of volumes, with places, of random windows, and morphological ones."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates
from conformance.differential.families.nn import SUMMED, slid, whole


def laid(draw, spatial):
    """Draws the attributes and shapes of a pooling: of input and output."""
    size = [draw.integer(2, 4) for _ in range(spatial)]
    window = [draw.integer(1, 2) for _ in range(spatial)]
    stride, padding = [draw.integer(1, 2) for _ in range(spatial)], draw.choice(["SAME", "VALID"])
    result = [slid(*sizes, 1, padding) for sizes in zip(size, window, stride)]
    batch, depth = draw.integer(1, 2), draw.integer(1, 2)
    attrs = {"ksize": [1, *window, 1], "strides": [1, *stride, 1], "padding": padding}
    return attrs, [batch, *size, depth], [batch, *result, depth]


def maxima(x, attrs, shape):
    """Returns the maxima of windows."""
    starts = []
    for at, (size, window, stride) in enumerate(zip(x.shape[1:-1], attrs["ksize"][1:-1], attrs["strides"][1:-1])):
        pad = 0
        if attrs["padding"] == "SAME":
            pad = max((shape[at + 1] - 1) * stride + window - size, 0) // 2
        starts.append([(max(i * stride - pad, 0), min(i * stride - pad + window, size)) for i in range(shape[at + 1])])
    result = np.empty(shape, x.dtype)
    for index in np.ndindex(*shape[1:-1]):
        cut = tuple(slice(*starts[at][i]) for at, i in enumerate(index))
        part = x[(slice(None), *cut, slice(None))]
        result[(slice(None), *index, slice(None))] = part.max(axis=tuple(range(1, x.ndim - 1)))
    return result


@generates("AvgPool3D", "AvgPool3DGrad", "MaxPool3D", tolerance=SUMMED)
def volumes(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(6):
            attrs, image, result = laid(draw, 3)
            if op == "AvgPool3DGrad":
                yield Case(op, [np.int32(image), whole(draw, dtype, result)], attrs)
            else:
                yield Case(op, [whole(draw, dtype, image)], attrs)
    attrs, image, result = laid(draw, 3)
    for wrong in ({"ksize": [2, 1, 1, 1, 1]}, {"ksize": [1, 1, 1, 1, 2]}):
        if op == "AvgPool3DGrad":
            yield Case(op, [np.int32(image), whole(draw, tf.float32, result)], attrs | wrong)
        else:
            yield Case(op, [whole(draw, tf.float32, image)], attrs | wrong)


def with_windows(op, inputs, attrs):
    """Moves the windows of the second versions to the inputs."""
    if not op.endswith("V2"):
        return Case(op, inputs, attrs)
    sizes = [np.int32(attrs["ksize"]), np.int32(attrs["strides"])]
    return Case(op, inputs + sizes, {name: attrs[name] for name in attrs if name not in ("ksize", "strides")})


@generates("MaxPoolV2")
def max_pool(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype in (tf.uint32, tf.uint64):
            continue
        for _ in range(2):
            attrs, image, _ = laid(draw, 2)
            yield with_windows(op, [draw.array(dtype, image)], attrs)
        attrs = {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"}
        yield with_windows(op, [draw.array(dtype, [1, 2, 2, 4])], attrs)
    x = draw.array(tf.float64, [1, 2, 2, 4])
    yield with_windows(op, [x[0]], {"ksize": [1, 1, 1, 1], "strides": [1, 1, 1, 1], "padding": "VALID"})
    for ksize, strides in [([1, 1, 1, 3], [1, 1, 1, 3]), ([1, 1, 1, 1], [1, 1, 1, 2]), ([1, 0, 1, 1], [1, 1, 1, 1]), ([1, 1, 1, 2], [1, 1, 1, 1]), ([1, 2, 1, 2], [1, 1, 1, 2]), ([2, 1, 1, 1], [1, 1, 1, 1]), ([1, 1, 1], [1, 1, 1])]:
        yield with_windows(op, [x], {"ksize": ksize, "strides": strides, "padding": "VALID"})


@generates("MaxPool3DGrad", "MaxPool3DGradGrad", "MaxPoolGradGrad", "MaxPoolGradGradV2", "MaxPoolGradV2")
def maximum_gradients(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(3):
            attrs, image, result = laid(draw, 3 if "3D" in op else 2)
            x = whole(draw, dtype, image)
            y = maxima(x, attrs, result)
            gradient = whole(draw, dtype, image if "GradGrad" in op else result)
            yield with_windows(op, [x, y, gradient], attrs)
    wrong = [y[:, :0], gradient[:, :0]]
    yield with_windows(op, [x, wrong[0], gradient], attrs)
    yield with_windows(op, [x, y, wrong[1]], attrs)


@generates("MaxPoolWithArgmax")
def with_argmax(op, draw):
    for dtype in draw.types(op, "T"):
        for index in [tf.int32, tf.int64]:
            attrs, image, _ = laid(draw, 2)
            attrs |= {"Targmax": index, "include_batch_in_index": draw.chance()}
            yield Case(op, [whole(draw, dtype, image)], attrs)
    attrs, image, _ = laid(draw, 2)
    x = whole(draw, tf.float32, image)
    x[0, 0, 0] = np.nan
    yield Case(op, [x], attrs)
    yield Case(op, [x[0]], attrs)


@generates("MaxPoolGradWithArgmax")
def with_argmax_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for batched in [False, True]:
            attrs, image, result = laid(draw, 2)
            count = int(np.prod(image if batched else image[1:]))
            places = draw.integers(result, 0, count - 1, tf.int64)
            inputs = [whole(draw, dtype, image), whole(draw, dtype, result), places]
            yield Case(op, inputs, attrs | {"include_batch_in_index": batched})
    yield Case(op, [inputs[0], inputs[1][:, :0], places], attrs)
    yield Case(op, [inputs[0], inputs[1], places[:, :0]], attrs)


@generates("FractionalAvgPool", "FractionalMaxPool", tolerance=SUMMED)
def fractional(op, draw):
    for dtype in draw.types(op, "T"):
        for index in range(8):
            size = [draw.integer(3, 7), draw.integer(3, 7)]
            ratio = [1.0, draw.choice([1.2, 1.44, 1.73, 2.0]), draw.choice([1.0, 1.5, 2.3]), 1.0]
            attrs = {"pooling_ratio": ratio, "pseudo_random": index % 2 == 0, "overlapping": index % 4 < 2}
            attrs |= {"deterministic": True, "seed": draw.integer(1, 99), "seed2": draw.integer(0, 99)}
            yield Case(op, [draw.array(dtype, [1, *size, 1], 0, 9)], attrs)
    x = draw.array(tf.float32, [1, 3, 3, 1])
    for attrs in (
        {"pooling_ratio": [1.0, 1.5, 1.5, 1.0], "seed": 3},
        {"pooling_ratio": [1.0, 4.0, 1.5, 1.0]},
        {"pooling_ratio": [1.5, 1.5, 1.5, 1.0]},
    ):
        yield Case(op, [x], attrs)


@generates("FractionalAvgPoolGrad", "FractionalMaxPoolGrad", tolerance=SUMMED)
def fractional_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for overlapping in [False, True]:
            rows, columns = [0, 1, 3, 4], [0, 2, 3]
            x = draw.array(dtype, [2, 4, 3, 2], 0, 9)
            shape = [2, 3, 2, 2]
            gradient = whole(draw, dtype, shape)
            y = np.empty(shape, x.dtype)
            for i in range(3):
                for j in range(2):
                    more = int(overlapping)
                    y[:, i, j] = x[:, rows[i] : rows[i + 1] + more, columns[j] : columns[j + 1] + more].max(axis=(1, 2))
            first = [np.int64(x.shape)] if op == "FractionalAvgPoolGrad" else [x, y]
            sequences = [np.int64(rows), np.int64(columns)]
            yield Case(op, [*first, gradient, *sequences], {"overlapping": overlapping})
    if op == "FractionalMaxPoolGrad":
        yield Case(op, [x, y + 1, gradient, *sequences], {"overlapping": overlapping})
    else:
        yield Case(op, [*first, gradient[0], *sequences], {"overlapping": overlapping})


@generates("Dilation2D", "Dilation2DBackpropFilter", "Dilation2DBackpropInput", tolerance=Tolerance(ulps=1, reason="sums in another order"))
def dilation(op, draw):
    for dtype in draw.types(op, "T"):
        for padding in ["SAME", "VALID"]:
            size, window = [draw.integer(4, 6), draw.integer(4, 6)], [draw.integer(1, 2), draw.integer(1, 3)]
            stride, rate = [draw.integer(1, 2), draw.integer(1, 2)], [draw.integer(1, 2), 1]
            batch, depth = draw.integer(1, 2), draw.integer(1, 2)
            result = [slid(*sizes, padding) for sizes in zip(size, window, stride, rate)]
            inputs = [whole(draw, dtype, [batch, *size, depth]), whole(draw, dtype, [*window, depth])]
            if op != "Dilation2D":
                inputs.append(whole(draw, dtype, [batch, *result, depth]))
            yield Case(op, inputs, {"strides": [1, *stride, 1], "rates": [1, *rate, 1], "padding": padding})
    attrs = {"strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"}
    for wrong in ({"strides": [2, 1, 1, 1]}, {"rates": [1, 1, 1, 2]}, {"strides": [1, 0, 1, 1]}):
        yield Case(op, inputs, attrs | wrong)
    yield Case(op, [inputs[0], inputs[1][:, :, :0], *inputs[2:]], attrs)
    yield Case(op, [inputs[0][0], *inputs[1:]], attrs)
