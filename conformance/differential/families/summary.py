"""Summaries."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates


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
