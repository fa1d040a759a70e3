"""Ragged tensors."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates
from conformance.differential.families.sparse import whole


def splits(draw, rows, dtype):
    """Draws where rows end."""
    lengths = draw.random.integers(0, 4, rows)
    return np.concatenate([[0], np.cumsum(lengths)]).astype(dtype)


def nested(draw, levels, dtype):
    """Draws nested splits, and returns how many values they are of."""
    result, rows = [], draw.integer(1, 3)
    for _ in range(levels):
        result.append(splits(draw, rows, dtype))
        rows = int(result[-1][-1])
    return result, rows


def split_type(draw):
    return draw.choice([np.int32, np.int64])


@generates("RaggedRange")
def ragged_range(op, draw):
    for dtype in draw.types(op, "T"):
        kind = dtype.as_numpy_dtype
        for kinds in (tf.int32, tf.int64):
            starts, limits = whole(draw, dtype, [4]), whole(draw, dtype, [4], 9)
            for deltas in (kind(1), np.asarray([1, 2, -1, 3], kind), kind(-2)):
                yield Case(op, [starts, limits, deltas], {"Tsplits": kinds})
        yield Case(op, [kind(0), kind(5), kind(2)])
        yield Case(op, [kind(0), whole(draw, dtype, [0]), kind(2)])
        yield Case(op, [kind(0), kind(5), kind(0)])
    yield Case(op, [np.int32([0, 1]), np.int32([1, 2, 3]), np.int32(1)])
    yield Case(op, [np.int32([[0, 1]]), np.int32(2), np.int32(1)])


@generates("RaggedTensorToSparse")
def to_sparse(op, draw):
    for dtype in (tf.float32, tf.string, tf.bool):
        for levels in (1, 2, 3):
            parts, rows = nested(draw, levels, split_type(draw))
            inner = draw.shape(draw.integer(0, 2), high=2)
            yield Case(op, [parts, draw.array(dtype, [rows, *inner])])
    x = np.float32([1, 2, 3])
    for bad in ([1, 3], [0, 2], [0, 4], [0, 3, 2, 3], []):
        yield Case(op, [[np.int64(bad)], x])
    yield Case(op, [[np.int64([0, 1])], np.float32(1)])


@generates("RaggedGather")
def gather(op, draw):
    for dtype in (tf.float32, tf.string, tf.int8):
        for levels in (1, 2):
            for shape in ((), (3,), (2, 2), (0,)):
                parts, rows = nested(draw, levels, split_type(draw))
                inner = draw.shape(draw.integer(0, 1), high=2)
                indices = draw.integers(shape, 0, len(parts[0]) - 2)
                attrs = {"OUTPUT_RAGGED_RANK": levels + len(shape) - 1}
                yield Case(op, [parts, draw.array(dtype, [rows, *inner]), indices], attrs)
    for index in (5, -1):
        yield Case(op, [[np.int64([0, 1, 3])], np.float32([1, 2, 3]), np.int32([index])], {"OUTPUT_RAGGED_RANK": 1})
    yield Case(op, [[np.int64([0, 1, 4])], np.float32([1, 2, 3]), np.int32([0])], {"OUTPUT_RAGGED_RANK": 1})


@generates("RaggedTensorToTensor")
def to_tensor(op, draw):
    for dtype in (tf.float32, tf.string, tf.int64, tf.bool, tf.uint8):
        for levels in (1, 2):
            index = split_type(draw)
            parts, rows = nested(draw, levels, index)
            inner = draw.shape(draw.integer(0, 1), high=2)
            rank = levels + 1 + len(inner)
            shape = draw.choice([np.int64(-1), np.int64([-1] * rank), np.int32([2] * (levels + 1) + [-1] * len(inner)), np.int32([4] + [-1] * (rank - 1))])
            default = draw.array(dtype, inner if draw.chance() else ())
            types = ["ROW_SPLITS"] * levels
            yield Case(op, [shape, draw.array(dtype, [rows, *inner]), default, parts], {"row_partition_types": types})
            ids = [np.repeat(np.arange(len(part) - 1), np.diff(part)).astype(index) for part in parts]
            first = np.asarray(len(parts[0]) - 1, index)
            types = ["FIRST_DIM_SIZE"] + ["VALUE_ROWIDS"] * levels
            yield Case(op, [shape, draw.array(dtype, [rows, *inner]), default, [first, *ids]], {"row_partition_types": types})
    x, attrs = np.float32([1, 2, 3]), {"row_partition_types": ["ROW_SPLITS"]}
    any_shape = np.int64(-1)
    for bad in ([1, 3], [0, 2, 1, 3]):
        yield Case(op, [any_shape, x, np.float32(0), [np.int64(bad)]], attrs)
    yield Case(op, [np.int64([1, 2, 3, 4]), x, np.float32(0), [np.int64([0, 3])]], attrs)
    yield Case(op, [any_shape, x, np.float32([0, 1]), [np.int64([0, 3])]], attrs)


@generates("RaggedFillEmptyRows")
def fill_empty_rows(op, draw):
    for dtype in (tf.float32, tf.string, tf.int64, tf.bool):
        for count in (0, 2, 5):
            ids = np.sort(draw.random.integers(0, 5, count)).astype(np.int64)
            yield Case(op, [ids, draw.array(dtype, [count]), np.int64(5), draw.array(dtype, [])])
    yield Case(op, [np.int64([7]), np.float32([1]), np.int64(5), np.float32(0)])
    yield Case(op, [np.int64([1, 2]), np.float32([1]), np.int64(5), np.float32(0)])


@generates("RaggedFillEmptyRowsGrad")
def fill_empty_rows_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        yield Case(op, [np.int64([0, 2]), whole(draw, dtype, [4])])
    yield Case(op, [np.int64([0, 9]), np.float32([1, 2])])


@generates("RaggedCross")
def cross(op, draw):
    for values in (tf.int64, tf.string):
        for hashed in (False, True):
            for order in ("RD", "DR", "RR", "RDR"):
                # TensorFlow does not check that these are the same.
                split = split_type(draw)
                ragged = [splits(draw, 2, split) for kind in order if kind == "R"]
                attrs = {
                    "input_order": order,
                    "hashed_output": hashed,
                    "num_buckets": draw.choice([0, 50]),
                    "hash_key": draw.integer(1, 1 << 40),
                    "out_values_type": tf.int64 if hashed else tf.string,
                    "out_row_splits_type": split,
                }
                dense = [draw.array(values, [2, 2]) for kind in order if kind == "D"]
                inputs = [[draw.array(values, [int(part[-1])]) for part in ragged], ragged, [], [], [], dense]
                yield Case(op, inputs, attrs)


@generates("RaggedTensorFromVariant", "RaggedTensorToVariant")
def variants(op, draw):
    for levels in (1, 2):
        for batched in (False, True):

            def build(values, *parts, levels=levels, batched=batched):
                encoded = tf.raw_ops.RaggedTensorToVariant(
                    rt_nested_splits=list(parts), rt_dense_values=values, batched_input=batched
                )
                return list(
                    tf.nest.flatten(
                        tf.raw_ops.RaggedTensorFromVariant(
                            encoded_ragged=encoded,
                            input_ragged_rank=levels - 1 if batched else levels,
                            output_ragged_rank=levels,
                            Tvalues=tf.float32,
                            Tsplits=tf.int64,
                        )
                    )
                )

            parts, rows = nested(draw, levels, np.int64)
            yield Case(op, [draw.array(tf.float32, [rows, 2]), *parts], build=build)
