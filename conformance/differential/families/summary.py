"""Summaries."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates


def text(value):
    return np.asarray(value if isinstance(value, bytes) else value.encode(), dtype=object)


@generates("AudioSummaryV2")
def audio(op, draw):
    for shape in [(1, 4), (2, 3), (2, 3, 2), (0, 3), (2, 0), (4, 2, 1)]:
        sound = draw.array(tf.float32, shape, -1.2, 1.2)
        for most in (1, 3):
            yield Case(op, [text("tag"), sound, np.float32(8000.6)], {"max_outputs": most})
    special = np.float32([[np.nan, np.inf, -np.inf, 0.99999, -0.3]])
    yield Case(op, [text("tag"), special, np.float32(44100)])
    yield Case(op, [text("tag"), special[0], np.float32(44100)])
    yield Case(op, [text("tag"), special, np.float32(-1)])


@generates("ScalarSummary")
def scalar(op, draw):
    for dtype in draw.types(op, "T"):
        yield Case(op, [text("tag"), draw.array(dtype, ())])
    tags = np.array([b"a", b"b"], dtype=object)
    yield Case(op, [tags, np.float32([1, 2])])
    yield Case(op, [tags, np.float32([1, 2, 3])])


@generates("HistogramSummary")
def histogram(op, draw):
    for dtype in draw.types(op, "T"):
        yield Case(op, [text("tag"), draw.array(dtype, (7,))])
    yield Case(op, [text("tag"), np.float32([])])
    yield Case(op, [text("tag"), np.float32([np.nan])])
    yield Case(op, [text("tag"), np.float32([np.inf])])


@generates("TensorSummaryV2")
def tensor(op, draw):
    metadata = tf.compat.v1.SummaryMetadata(display_name="shown", summary_description="text")
    for dtype in [tf.float32, tf.int64, tf.string, tf.bool]:
        yield Case(op, [text("tag"), draw.array(dtype, (2, 2)), text(metadata.SerializeToString())])


@generates("MergeSummary")
def merge(op, draw):
    def summary(tag, value):
        value = tf.compat.v1.Summary.Value(tag=tag, simple_value=value)
        return text(tf.compat.v1.Summary(value=[value]).SerializeToString())

    yield Case(op, [[summary("a", 1), summary("b", 2)]])
    yield Case(op, [[summary("a", 1), summary("a", 2)]])
    yield Case(op, [[summary("a", 1), text(b"\xff")]])


UNWELL = np.float32([[1, -2, 0], [np.inf, -np.inf, np.nan]])


@generates("Copy", "CopyHost")
def copy(op, draw):
    for dtype in [tf.float32, tf.int64, tf.bool, tf.complex64]:
        yield Case(op, [draw.array(dtype, draw.shape())])
    yield Case(op, [draw.strings((2, 2))])


@generates("DebugIdentity", "DebugIdentityV3", "DebugNanCount")
def debug(op, draw):
    for name in ["a:0", "a", "x/y:12", "a:-1", "", "a:b", "a:", "a:0:1"]:
        yield Case(op, [UNWELL], {"tensor_name": name})
    types = draw.types(op, "T") if op == "DebugNanCount" else [tf.float32, tf.uint8, tf.bool]
    for dtype in types:
        yield Case(op, [draw.array(dtype, draw.shape(), special=True)], {"tensor_name": "a:0"})
    yield Case(op, [UNWELL], {"tensor_name": "a:0", "debug_urls": ["nowhere://x"]})
    yield Case(op, [UNWELL], {"tensor_name": "a:0", "debug_urls": ["grpc://x"], "gated_grpc": True})


@generates("DebugIdentityV2")
def debug_v2(op, draw):
    yield Case(op, [UNWELL])
    yield Case(op, [draw.strings((3,))])
    yield Case(op, [UNWELL], {"debug_urls": ["nowhere://x"]})


@generates("DebugNumericSummary", tolerance=Tolerance(ulps=16, reason="sums in another order"))
def numeric_summary(op, draw):
    for bounds in [{}, {"lower_bound": -1.5, "upper_bound": 0.5}, {"lower_bound": 1.5, "upper_bound": 0.5}]:
        yield Case(op, [UNWELL], {"tensor_name": "a:0", **bounds})
    for dtype in draw.types(op, "T"):
        for shape in [(), (0,), (5,), (2, 3)]:
            yield Case(op, [draw.array(dtype, shape, -50 if dtype.is_floating else 0, 50)], {"tensor_name": "a:0"})


@generates("DebugNumericSummaryV2")
def numeric_summary_v2(op, draw):
    for output in [tf.float32, tf.float64]:
        for mode in [2, 3, 4, 5, 8, 1]:
            attrs = {"tensor_debug_mode": mode, "tensor_id": 7, "output_dtype": output}
            yield Case(op, [UNWELL], attrs)
            yield Case(op, [draw.array(draw.choice(draw.types(op, "T")), draw.shape())], attrs)
        yield Case(op, [np.zeros([1, 2, 1, 2, 3, 1, 2, 1], np.int32)], {**attrs, "tensor_debug_mode": 5})
        yield Case(op, [UNWELL], {**attrs, "tensor_debug_mode": 2, "tensor_id": 2**25})
