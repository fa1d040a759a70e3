"""Numbers stored as integers with a scale and a zero point."""

import numpy as np
import tensorflow as tf
from tensorflow.core.util.quantization import uniform_quant_ops_attr_pb2

from conformance.differential.cases import Case, Tolerance, generates
from conformance.differential.families.quantized_math import integers

FUSED = Tolerance(ulps=4, reason="products in another order")
BYTES = {"quantization_min_val": -128, "quantization_max_val": 127}
WORDS = {"quantization_min_val": -(2**31), "quantization_max_val": 2**31 - 1}


def scales(draw, shape=()):
    return np.asarray(draw.random.uniform(0.05, 2, shape), np.float32)


def zeros(draw, shape=()):
    return np.asarray(draw.random.integers(-20, 20, shape), np.int32)


def small(draw, shape):
    """Draws 32-bit integers of which sums of a few are no larger."""
    values = np.asarray(draw.random.integers(-(2**27), 2**27, shape), np.int32)
    return values.astype(tf.qint32.as_numpy_dtype)


def prefixed(prefix, bounds):
    return {f"{prefix}_{name}": value for name, value in bounds.items()}


@generates("UniformQuantize", tolerance=FUSED)
def quantize(op, draw):
    for dtype, bounds in [(tf.qint8, BYTES), (tf.quint8, {"quantization_min_val": 0, "quantization_max_val": 255})]:
        for shape, axis in [((), -1), ((7,), -1), ((2, 3), 0), ((2, 3), 1), ((2, 3, 2), 1), ((0, 2), 1)]:
            count = () if axis == -1 else (shape[axis],)
            x = draw.array(tf.float32, shape, -30, 30)
            attrs = {"Tout": dtype, "quantization_axis": axis} | bounds
            yield Case(op, [x, scales(draw, count), zeros(draw, count)], attrs)
    x = draw.array(tf.float32, (2, 3), -3, 3)
    yield Case(op, [x, scales(draw), zeros(draw)], {"Tout": tf.qint32} | WORDS)
    yield Case(op, [x, scales(draw), zeros(draw)], {"Tout": tf.qint8, "quantization_min_val": -3, "quantization_max_val": 4})
    yield from wrong_scales(op, draw, lambda *inputs: [x, *inputs], {"Tout": tf.qint8} | BYTES)


@generates("UniformDequantize", tolerance=FUSED)
def dequantize(op, draw):
    for dtype in (tf.qint8, tf.quint8, tf.qint32):
        for shape, axis in [((), -1), ((7,), -1), ((2, 3), 0), ((2, 3, 2), 1)]:
            count = () if axis == -1 else (shape[axis],)
            attrs = {"Tout": tf.float32, "quantization_axis": axis} | BYTES
            yield Case(op, [integers(draw, dtype, shape), scales(draw, count), zeros(draw, count)], attrs)
    x = integers(draw, tf.qint8, (2, 3))
    yield from wrong_scales(op, draw, lambda *inputs: [x, *inputs], {"Tout": tf.float32} | BYTES)


def wrong_scales(op, draw, inputs, attrs):
    """Yields cases of a 2 x 3 tensor whose scales do not fit."""
    for count, other, axis in [((), (2,), -1), ((2,), (2,), -1), ((2,), (2,), 1), ((), (), 0), ((3,), (3,), 2)]:
        yield Case(op, inputs(scales(draw, count), zeros(draw, other)), attrs | {"quantization_axis": axis})
    yield Case(op, inputs(scales(draw), zeros(draw)), attrs | {"quantization_axis": -2})


@generates("UniformRequantize")
def requantize(op, draw):
    def case(x, have, want, axes, **attrs):
        attrs = {"Tout": tf.qint8, "input_quantization_axis": axes[0], "output_quantization_axis": axes[1]} | attrs
        attrs = prefixed("input", BYTES) | prefixed("output", BYTES) | attrs
        return Case(op, [x, *have, *want], attrs)

    def maps(shape, axes):
        counts = [() if axis == -1 else (shape[axis],) for axis in axes]
        return [(scales(draw, count), zeros(draw, count)) for count in counts]

    for dtype in (tf.qint8, tf.qint32):
        for shape, axes in [((7,), (-1, -1)), ((2, 3), (0, -1)), ((2, 3), (-1, 1)), ((2, 3, 2), (1, 1)), ((), (-1, -1))]:
            x = integers(draw, tf.qint8, shape) if dtype == tf.qint8 else small(draw, shape)
            yield case(x, *maps(shape, axes), axes)
            yield case(x, *maps(shape, axes), axes, output_quantization_min_val=-5, output_quantization_max_val=9)
    shape = (2, 3)
    x = integers(draw, tf.qint8, shape)
    yield case(x, *maps(shape, (0, 1)), (0, 1))
    yield case(x, *maps(shape, (0, 0)), (-2, 0))
    yield case(x, *maps(shape, (0, 0)), (0, 1))
    yield case(x, *maps(shape, (-1, 1)), (-1, -1))
    have, want = maps(shape, (-1, -1))
    yield case(x, (-have[0], have[1]), want, (-1, -1))
    yield case(x, have, (want[0] * 0, want[1]), (-1, -1))


@generates("UniformQuantizedAdd")
def add(op, draw):
    def case(shapes, axes, **changed):
        inputs = {"lhs": small(draw, shapes[0]), "rhs": small(draw, shapes[1])}
        attrs = {}
        for name, shape, axis in zip(("lhs", "rhs", "output"), shapes, axes):
            count = () if axis == -1 else (shape[axis],)
            inputs |= {f"{name}_scales": scales(draw, count), f"{name}_zero_points": zeros(draw, count)}
            attrs |= {f"{name}_quantization_axis": axis} | prefixed(name, WORDS)
        return Case(op, inputs | changed, attrs)

    for shapes in [[(3,)] * 3, [(2, 3)] * 3, [(), (3,), (3,)], [(2, 3), (3,), (2, 3)], [(2, 1), (1, 3), (2, 3)]]:
        yield case(shapes, (-1, -1, -1))
    whole = [(2, 3)] * 3
    yield case(whole, (1, -1, -1))
    yield case(whole, (1, 1, 1))
    yield case(whole, (0, 0, -1))
    yield case([(2, 3), (3,), (2, 3)], (1, 0, 1))
    yield case([(2, 3), (2,), (2, 3)], (-1, -1, -1))
    yield case(whole, (0, 1, 1))
    yield case(whole, (-1, 0, 1))
    yield case(whole, (-1, -1, -1), lhs_scales=np.float32(-1))
    yield case(whole, (-1, -1, -1), output_scales=np.float32(0))


@generates("UniformQuantizedClipByValue")
def clip(op, draw):
    for shape, axis in [((), -1), ((7,), -1), ((2, 3), 0), ((2, 3, 2), 1)]:
        count = () if axis == -1 else (shape[axis],)
        low, high = small(draw, count), small(draw, count)
        inputs = [small(draw, shape), low, high, scales(draw, count), zeros(draw, count)]
        yield Case(op, inputs, {"quantization_axis": axis} | WORDS)
    inputs = [small(draw, (2, 3)), low, high, scales(draw), zeros(draw)]
    yield Case(op, inputs, {"quantization_axis": -1} | WORDS)
    x, end = small(draw, (2, 3)), small(draw, ())
    yield from wrong_scales(op, draw, lambda *inputs: [x, end, end, *inputs], WORDS)


def _dot_attrs(rhs=-1, output=-1, **attrs):
    axes = {"lhs_quantization_axis": -1, "rhs_quantization_axis": rhs, "output_quantization_axis": output}
    return {"Tout": tf.qint32} | prefixed("lhs", BYTES) | prefixed("rhs", BYTES) | prefixed("output", WORDS) | axes | attrs


@generates("UniformQuantizedDot")
def dot(op, draw):
    def case(a, b, rhs, output, **attrs):
        columns = (b[-1],)
        counts = [(), columns if rhs else (), columns if output else ()]
        inputs = [integers(draw, tf.qint8, a), integers(draw, tf.qint8, b)]
        for count in counts:
            inputs += [scales(draw, count), zeros(draw, count)]
        return Case(op, inputs, _dot_attrs(1 if rhs else -1, 1 if output else -1, **attrs))

    for a, b in [((2, 3), (3, 4)), ((1, 5), (5, 1)), ((3, 1), (1, 2)), ((0, 2), (2, 3))]:
        for rhs, output in [(False, False), (True, False), (True, True)]:
            yield case(a, b, rhs, output)
    yield case((2, 3), (3, 2), True, True, output_quantization_min_val=-50, output_quantization_max_val=60)
    yield case((2, 3), (3, 2), False, True)
    yield case((2, 3), (2, 2), False, False)
    yield case((2, 3, 1), (3, 2), False, False)
    yield case((2, 3), (3,), False, False)
    yield case((2, 3), (3, 2), False, False, lhs_quantization_axis=0)
    yield case((2, 3), (3, 2), False, False, rhs_quantization_axis=0)
    yield case((2, 3), (3, 2), False, False, output_quantization_axis=0)


@generates("UniformQuantizedDotHybrid", tolerance=Tolerance(ulps=8, reason="scales in another order"))
def dot_hybrid(op, draw):
    def case(a, b, count, low=-2, high=3, **attrs):
        inputs = [draw.array(tf.float32, a, low, high), integers(draw, tf.qint8, b), scales(draw, count), zeros(draw, count)]
        attrs = {"Tout": tf.float32, "rhs_quantization_axis": 1 if count else -1} | prefixed("rhs", BYTES) | attrs
        return Case(op, inputs, attrs)

    for a, b in [((2, 3), (3, 4)), ((1, 5), (5, 1)), ((3, 1), (1, 2)), ((0, 2), (2, 3))]:
        for count in ((), b[1:]):
            for low, high in [(-2, 3), (1, 2), (-5, -1), (0, 0)]:
                yield case(a, b, count, low, high)
    yield case((2, 3), (2, 3), ())
    yield case((2, 3), (3,), ())
    yield case((2, 3), (3, 2), (3,))
    yield case((2, 3), (3, 2), (), rhs_quantization_axis=0)


def numbers(rank, last):
    """The dimensions of tensors whose channels are last, encoded; nothing for the usual order."""
    if not last:
        return ""
    attr = uniform_quant_ops_attr_pb2.UniformQuantizedConvolutionDimensionNumbersAttr(
        input_batch_dimension=0,
        input_feature_dimension=rank - 1,
        input_spatial_dimensions=range(1, rank - 1),
        kernel_output_feature_dimension=rank - 1,
        kernel_input_feature_dimension=rank - 2,
        kernel_spatial_dimensions=range(rank - 2),
        output_batch_dimension=0,
        output_feature_dimension=rank - 1,
        output_spatial_dimensions=range(1, rank - 1),
    )
    return attr.SerializeToString()


CONVOLUTIONS = [
    ([4], [2], {}),
    ([5, 4], [2, 3], {}),
    ([5, 4], [2, 3], {"window_strides": [2, 1]}),
    ([5, 4], [3, 2], {"rhs_dilation": [1, 2], "padding": "SAME"}),
    ([3, 4], [2, 2], {"lhs_dilation": [2, 1], "padding": "SAME", "window_strides": [1, 3]}),
    ([3, 2], [2, 2], {"padding": "EXPLICIT", "explicit_padding": [1, 0, 2, 1]}),
    ([2, 3, 2], [1, 2, 2], {"padding": "SAME"}),
]


def _convolution(draw, size, window, last, features=2, groups=1, batch=2, outputs=4):
    """Draws the shapes of an input and of a kernel."""
    channels = features // groups
    if last:
        return (batch, *size, features), (*window, channels, outputs)
    return (batch, features, *size), (outputs, channels, *window)


def _all_convolutions(draw):
    for size, window, attrs in CONVOLUTIONS:
        for last in (False, True):
            yield _convolution(draw, size, window, last), last, attrs
    groups = {"feature_group_count": 2}
    yield _convolution(draw, [4, 3], [2, 2], False, 4, 2), False, groups
    yield _convolution(draw, [4, 3], [2, 2], False, batch=4), False, {"batch_group_count": 2}


def _wrong_convolutions(draw):
    shapes = _convolution(draw, [4, 3], [2, 2], False)
    yield shapes, False, {"padding": "OTHER"}
    yield shapes, False, {"explicit_padding": [1, 1, 1, 1]}
    yield shapes, False, {"padding": "EXPLICIT", "explicit_padding": [1, 1]}
    yield shapes, False, {"window_strides": [1]}
    yield shapes, False, {"window_strides": [0, 1]}
    yield shapes, False, {"lhs_dilation": [1, 0]}
    yield shapes, False, {"feature_group_count": 3}
    yield shapes, False, {"feature_group_count": 0}
    yield shapes, False, {"batch_group_count": 3}
    yield shapes, False, {"dimension_numbers": b"\x08"}
    yield shapes, False, {"dimension_numbers": numbers(3, True)}
    yield ((2, 2), (2, 2)), False, {}
    yield ((2, 2, 3, 3), (2, 2, 3)), False, {}
    yield ((2, 3, 4, 4), (2, 2, 2, 2)), False, {}


@generates("UniformQuantizedConvolution")
def convolution(op, draw):
    def case(shapes, last, attrs, rhs=False, output=False):
        lhs, kernel = shapes
        count = (kernel[-1 if last else 0],)
        inputs = [integers(draw, tf.qint8, shape) for shape in shapes]
        for many in (False, rhs, output):
            shape = count if many else ()
            inputs += [scales(draw, shape), zeros(draw, shape)]
        axis = len(lhs) - 1 if last else 0
        axes = {"rhs": axis if rhs else -1, "output": (axis if last else 1) if output else -1}
        standard = _dot_attrs(**axes) | {"padding": "VALID", "dimension_numbers": numbers(len(lhs), last)}
        return Case(op, inputs, standard | attrs)

    for drawn in _all_convolutions(draw):
        for rhs, output in [(False, False), (True, True), (True, False)]:
            yield case(*drawn, rhs, output)
    for drawn in _wrong_convolutions(draw):
        yield case(*drawn)


@generates("UniformQuantizedConvolutionHybrid", tolerance=Tolerance(ulps=8, reason="scales in another order"))
def convolution_hybrid(op, draw):
    def case(shapes, last, attrs, many=False):
        lhs, kernel = shapes
        count = (kernel[-1 if last else 0],) if many else ()
        inputs = [draw.array(tf.float32, lhs, -2, 3), integers(draw, tf.qint8, kernel)]
        inputs += [scales(draw, count), zeros(draw, count)]
        axis = (len(lhs) - 1 if last else 0) if many else -1
        standard = {"Tout": tf.float32, "rhs_quantization_axis": axis, "padding": "VALID"} | prefixed("rhs", BYTES)
        return Case(op, inputs, standard | {"dimension_numbers": numbers(len(lhs), last)} | attrs)

    for drawn in _all_convolutions(draw):
        yield case(*drawn)
        yield case(*drawn, many=True)
    for drawn in _wrong_convolutions(draw):
        yield case(*drawn)
