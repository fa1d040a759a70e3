"""Array ops that arrange elements anew: padding, blocks, diagonals, patches, scattering."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates
from conformance.differential.families.array import i32, i64, index_type, repetitive, scalar


@generates("Pad", "PadV2")
def pad(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        shape = draw.shape(draw.integer(0, 4), low=0, high=3)
        paddings = np.array([[draw.integer(0, 2) for _ in range(2)] for _ in shape], index_type(draw))
        inputs = [draw.array(dtype, shape), paddings.reshape(-1, 2)]
        yield Case(op, inputs + [draw.array(dtype, ())] * (op == "PadV2"))
    x = draw.array(tf.float32, (2, 2))
    value = [np.float32(7)] * (op == "PadV2")
    for paddings in [i32([1, 1]), i32([1, 1], [1, -1]), i32(1, 1), i32([1, 1, 1], [1, 1, 1])]:
        yield Case(op, [x, paddings] + value)
    yield Case(op, [x, i32([0, 0], [0, 0])] + value)
    if op == "PadV2":
        yield Case(op, [x, i32([1, 1], [1, 1]), np.ones(1, np.float32)])


@generates("SpaceToBatchND")
def space_to_batch_nd(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(2):
            blocks = [draw.integer(1, 3) for _ in range(draw.integer(0, 3))]
            spaces, paddings = [], []
            for block in blocks:
                padding = [draw.integer(0, 3) for _ in range(2)]
                padded = block * draw.integer(0, 3)
                spaces.append(max(padded - sum(padding), 0))
                padding[1] += -(spaces[-1] + sum(padding)) % block
                paddings.append(padding)
            shape = (draw.integer(0, 2), *spaces, *draw.shape(max_rank=1))
            yield Case(op, [
                draw.array(dtype, shape),
                np.array(blocks, index_type(draw)),
                np.array(paddings, index_type(draw)).reshape(-1, 2),
            ], known_shapes=True)
    yield Case(op, [draw.array(tf.float32, (1, 3, 3)), i32(2, 2), i32([0, 1], [0, 0])], known_shapes=True)


@generates("BatchToSpaceND")
def batch_to_space_nd(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(2):
            blocks = [draw.integer(1, 3) for _ in range(draw.integer(0, 3))]
            spaces = [draw.integer(1, 3) for _ in blocks]
            crops = []
            for block, space in zip(blocks, spaces):
                before = draw.integer(0, block * space)
                crops.append([before, draw.integer(0, block * space - before)])
            batch = int(np.prod(blocks, dtype=int)) * draw.integer(0, 2)
            yield Case(op, [
                draw.array(dtype, (batch, *spaces, *draw.shape(max_rank=1))),
                np.array(blocks, index_type(draw)),
                np.array(crops, index_type(draw)).reshape(-1, 2),
            ], known_shapes=True)
    yield Case(op, [draw.array(tf.float32, (4, 1, 1)), i32(2, 2), i32([2, 1], [0, 0])], known_shapes=True)


@generates("BatchToSpace", "SpaceToBatch")
def space_to_batch(op, draw):
    for dtype in draw.types(op, "T"):
        block = draw.integer(2, 3)
        borders = np.array([[0, 0], [1, block - 1]], index_type(draw))
        size = block if op == "SpaceToBatch" else 2
        shape = (block * block, size, size, draw.integer(1, 2))
        yield Case(op, [draw.array(dtype, shape), borders], {"block_size": block})
    zeros = i32([0, 0], [0, 0])
    for shape in [(1, 2, 2), (3, 2, 3, 1)]:
        yield Case(op, [draw.array(tf.float32, shape), zeros], {"block_size": 2})


@generates("DepthToSpace", "SpaceToDepth")
def space_to_depth(op, draw):
    for dtype in draw.types(op, "T"):
        block = draw.integer(2, 3)
        batch, height, width, depth = draw.shape(4, low=0, high=2)
        if op == "SpaceToDepth":
            shape = (batch, height * block, width * block, depth)
        else:
            shape = (batch, height, width, depth * block * block)
        yield Case(op, [draw.array(dtype, shape)], {"block_size": block})
    for shape in [(1, 2, 2), (1, 2, 3, 3)]:
        yield Case(op, [draw.array(tf.float32, shape)], {"block_size": 2})


@generates("Diag")
def diag(op, draw):
    for dtype in draw.types(op, "T"):
        for rank in (1, 2, 3):
            yield Case(op, [draw.array(dtype, draw.shape(rank, low=0, high=3))])
    yield Case(op, [np.float32(1)])


@generates("DiagPart")
def diag_part(op, draw):
    for dtype in draw.types(op, "T"):
        for rank in (0, 1, 2):
            shape = draw.shape(rank, low=0, high=3)
            yield Case(op, [draw.array(dtype, shape + shape)])
    for shape in [(2, 3), (2,), (2, 2, 2)]:
        yield Case(op, [draw.array(tf.float32, shape)])


@generates("MatrixBandPart")
def band_part(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(2, 4), low=0, high=5)
        kind = index_type(draw)
        lower, upper = draw.integer(-1, shape[-2]), draw.integer(-1, shape[-1])
        yield Case(op, [draw.array(dtype, shape), scalar(lower, kind), scalar(upper, kind)])
    x = draw.array(tf.float32, (3, 4))
    for lower, upper in [(4, 0), (0, 5), (-3, -3), (3, 4)]:
        yield Case(op, [x, scalar(lower, np.int64), scalar(upper, np.int64)])
    yield Case(op, [x, i64(1), scalar(0, np.int64)])
    yield Case(op, [x[0], scalar(1, np.int64), scalar(0, np.int64)])


@generates("OneHot")
def one_hot(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(0, 3), low=0, high=3)
        kind = draw.choice([tf.uint8, tf.int8, tf.int32, tf.int64])
        indices = draw.integers(shape, 0 if kind == tf.uint8 else -1, 4, kind)
        values = [draw.array(dtype, ()), draw.array(dtype, ())]
        axis = draw.integer(-1, len(shape))
        yield Case(op, [indices, scalar(draw.integer(0, 4)), *values], {"axis": axis})
    on, off = np.float32(1), np.float32(0)
    for inputs, axis in [
        ([i32(0, 1), scalar(-1), on, off], -1), ([i32(0, 1), i32(2), on, off], -1),
        ([i32(0, 1), scalar(2), np.ones(1, np.float32), off], -1),
        ([i32(0, 1), scalar(2), on, np.ones(1, np.float32)], -1),
        ([i32(0, 1), scalar(2), on, off], 2),
    ]:
        yield Case(op, inputs, {"axis": axis})


@generates("DynamicPartition")
def dynamic_partition(op, draw):
    for dtype in draw.types(op, "T"):
        outer, inner = draw.shape(max_rank=2, low=0, high=5), draw.shape(max_rank=2)
        count = draw.integer(1, 3)
        partitions = draw.integers(outer, 0, count - 1)
        yield Case(op, [draw.array(dtype, outer + inner), partitions], {"num_partitions": count})
    x = draw.array(tf.float32, (3,))
    for partitions in [i32(0, 1, 2), i32(0, -1, 1), i32(0, 1), scalar(1), scalar(2)]:
        yield Case(op, [x, partitions], {"num_partitions": 2})


@generates("GatherNd")
def gather_nd(op, draw):
    for dtype in draw.types(op, "Tparams", quantized=True) + [tf.float32] * 6:
        shape = draw.shape(draw.integer(1, 4), high=4)
        depth = draw.integer(0, len(shape))
        outer = draw.shape(max_rank=2, low=0, high=3)
        kind = draw.choice([np.int16, np.int32, np.int64])
        parts = [draw.integers(outer, 0, size - 1) for size in shape[:depth]]
        indices = np.stack(parts, -1) if parts else np.zeros(outer + (0,))
        yield Case(op, [draw.array(dtype, shape), indices.astype(kind)])
    x = draw.array(tf.float32, (4, 3))
    for indices in [i32([4]), i32([0, 0, 0]), i32([0, 0], [1, 7]), scalar(1), i32([-1]), i32(1, 2)]:
        yield Case(op, [x, indices])
    for policy in ("ERROR", "IGNORE", ""):
        yield Case(op, [x, i32([4], [1], [-1])], {"bad_indices_policy": policy})
    yield Case(op, [np.float32(1), i32(0)])
    yield Case(op, [draw.array(tf.float32, (0, 3)), i32([0])])
    yield Case(op, [draw.array(tf.float32, (0, 3)), np.zeros((0, 1), np.int32)])


def scatters(op, draw, types, unique=False):
    """Yields a shape, indices into it, and updates."""
    for dtype in types:
        shape = draw.shape(draw.integer(1, 4), high=3)
        depth = draw.integer(1, len(shape))
        outer = draw.shape(draw.integer(1, 2), low=0, high=4)
        parts = [draw.integers(outer, 0, size - 1) for size in shape[:depth]]
        indices = np.stack(parts, -1).astype(index_type(draw))
        updates = draw.array(dtype, outer + shape[depth:])
        if unique and len(np.unique(indices.reshape(-1, depth), axis=0)) < np.prod(outer):
            indices, updates = indices[:1, ..., :][:, :1] if len(outer) == 2 else indices[:1], None
            updates = draw.array(dtype, indices.shape[:-1] + shape[depth:])
        yield dtype, shape, indices, updates


BAD_SCATTERS = [
    ((4, 3), i32([0], [5]), (2, 3)), ((4, 3), i32([0], [-1]), (2, 3)),
    ((4, 3), i32([0], [1]), (2, 2)), ((4, 3), i32([0], [1]), (3, 3)),
    ((4, 3), i32([0, 0, 0]), (1,)), ((4, 3), scalar(1), (3,)), ((4, 3), i32(1), (3,)),
    ((4, 3), i32([0], [1]), ()), ((0, 3), i32([0], [1]), (2, 3)), ((), i32([0]), (1,)),
    ((4, 3), np.zeros((2, 0), np.int32), (2, 4, 3)), ((4,), i32(1), (1,)), ((4, 1), i32(1), (1,)),
    ((4, 1), i32(1), (1, 1)),
]


@generates("ScatterNd")
def scatter_nd(op, draw):
    for dtype, shape, indices, updates in scatters(op, draw, draw.types(op, "T")):
        yield Case(op, [indices, updates, np.array(shape, indices.dtype)])
    for shape, indices, updates in BAD_SCATTERS:
        yield Case(op, [indices, draw.array(tf.float32, updates), np.array(shape, np.int32)])
    updates = draw.array(tf.float32, (2, 3))
    for shape in [i32([4, 3]), i32(-4, 3), i32()]:
        yield Case(op, [i32([0], [1]), updates, shape])
    yield Case(op, [i32([0], [9]), updates, i32(4, 3)], {"bad_indices_policy": "IGNORE"})
    yield Case(op, [i32([0], [0]), np.array([b"a", b"b"], object), i32(2)])
    yield Case(op, [i32([0], [0]), np.array([True, False]), i32(2)])


@generates(
    "ScatterNdNonAliasingAdd", "TensorScatterAdd", "TensorScatterMax", "TensorScatterMin",
    "TensorScatterSub", "TensorScatterUpdate",
)
def tensor_scatter(op, draw):
    unique = op == "TensorScatterUpdate"
    for dtype, shape, indices, updates in scatters(op, draw, draw.types(op, "T"), unique):
        yield Case(op, [draw.array(dtype, shape), indices, updates])
    for shape, indices, updates in BAD_SCATTERS:
        if np.ndim(indices):
            yield Case(op, [draw.array(tf.float32, shape), indices, draw.array(tf.float32, updates)])
    x, updates = draw.array(tf.float32, (4, 3)), draw.array(tf.float32, (2, 3))
    yield Case(op, [x, i32([0], [9]), updates], {"bad_indices_policy": "IGNORE"})
    nan = np.array([1, np.nan, 3], np.float32)
    yield Case(op, [nan, i32([0], [1], [2]), np.array([np.nan, 1, 4], np.float32)])


@generates("Roll")
def roll(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(1, 4), low=0, high=4)
        count = draw.integer(0, 3)
        axes = [draw.integer(-len(shape), len(shape) - 1) for _ in range(count)]
        shifts = [draw.integer(-7, 7) for _ in axes]
        inputs = [np.array(shifts, index_type(draw)), np.array(axes, index_type(draw))]
        yield Case(op, [draw.array(dtype, shape), *inputs])
    x = draw.array(tf.float32, (2, 3))
    for shift, axis in [
        (scalar(1), scalar(0)), (i32(1, 1), scalar(0)), (i32([1, 1]), i32([1, 1])),
        (i32(1), i32([1])), (scalar(1), scalar(2)), (scalar(1), scalar(-3)), (scalar(1), i32(0)),
    ]:
        yield Case(op, [x, shift, axis])
    yield Case(op, [np.float32(3), scalar(1), scalar(0)])


@generates("MirrorPad", "MirrorPadGrad")
def mirror_pad(op, draw):
    for dtype in draw.types(op, "T", quantized=op == "MirrorPad"):
        for mode, edge in (("REFLECT", 1), ("SYMMETRIC", 0)):
            shape = draw.shape(draw.integer(0, 4), high=4)
            paddings = [[draw.integer(0, size - edge) for _ in range(2)] for size in shape]
            if op == "MirrorPadGrad":
                shape = [size + sum(pair) for size, pair in zip(shape, paddings)]
            paddings = np.array(paddings, index_type(draw)).reshape(-1, 2)
            yield Case(op, [draw.array(dtype, shape), paddings], {"mode": mode})
    for paddings in [([2, 1], [0, 0]), ([3, 1], [0, 0]), ([-1, 1], [0, 0]), ([1, 1],), ([1, 1, 0], [1, 1, 0])]:
        for mode in ("REFLECT", "SYMMETRIC"):
            yield Case(op, [draw.array(tf.float32, (2, 2)), i32(*paddings)], {"mode": mode})


@generates("ListDiff")
def list_diff(op, draw):
    for dtype in draw.types(op, "T"):
        for count in (0, draw.integer(1, 12)):
            x, y = repetitive(draw, dtype, (count,)), repetitive(draw, dtype, (draw.integer(0, 4),))
            yield Case(op, [x, y], {"out_idx": draw.choice([tf.int32, tf.int64])})
    yield Case(op, [np.array([np.nan, 0, 1], np.float32), np.array([np.nan, -0.0], np.float32)])
    yield Case(op, [i32([1, 2]), i32(3)])
    yield Case(op, [i32(1), i32([3])])


@generates("Bitcast")
def bitcast(op, draw):
    types = draw.types(op, "T")
    for source in types:
        for _ in range(3):
            target = draw.choice(types)
            shape = draw.shape(draw.integer(0, 3), low=0, high=3)
            if draw.chance(0.7) and target.size > source.size:
                shape += (target.size // source.size,)
            yield Case(op, [draw.array(source, shape, 0, 10)], {"type": target})


def bands(draw, rows, columns):
    """Draws a range of diagonals of a matrix: one number or two."""
    lower = draw.integer(-max(rows - 1, 0), max(columns - 1, 0))
    upper = draw.integer(lower, max(columns - 1, 0))
    return scalar(lower) if draw.chance(0.3) else i32(lower) if draw.chance(0.2) else i32(lower, upper)


ALIGNMENTS = ["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT"]


def aligned(op, draw):
    return {"align": draw.choice(ALIGNMENTS)} if op.endswith("V3") else {}


def band_sizes(band, rows, columns):
    """Returns the number of diagonals in a band and the length of the longest."""
    lower, upper = int(band.reshape(-1)[0]), int(band.reshape(-1)[-1])
    return upper - lower + 1, min(rows + min(upper, 0), columns - max(lower, 0))


@generates("MatrixDiag", "MatrixDiagPart", "MatrixSetDiag")
def matrix_diag(op, draw):
    for dtype in draw.types(op, "T"):
        *outer, rows, columns = draw.shape(draw.integer(2, 4), low=0, high=4)
        x = draw.array(dtype, (*outer, rows, columns))
        diagonal = draw.array(dtype, (*outer, min(rows, columns)))
        yield Case(op, {"MatrixDiag": [diagonal], "MatrixDiagPart": [x]}.get(op, [x, diagonal]))
    x, vector = draw.array(tf.float32, (3, 4)), draw.array(tf.float32, (2,))
    yield Case(op, {"MatrixDiag": [vector[0]], "MatrixDiagPart": [vector]}.get(op, [x, vector]))


@generates("MatrixDiagPartV2", "MatrixDiagPartV3")
def matrix_diag_part(op, draw):
    for dtype in draw.types(op, "T") * 2:
        shape = draw.shape(draw.integer(2, 4), high=5)
        x = draw.array(dtype, shape)
        yield Case(op, [x, bands(draw, *shape[-2:]), draw.array(dtype, ())], aligned(op, draw))
    x, zero = draw.array(tf.float32, (3, 4)), np.float32(0)
    for band in [scalar(4), scalar(-3), i32(1, -1), i32(-1, 4), i32(1, 2, 3), i32([1]), i32()]:
        yield Case(op, [x, band, zero])
    yield Case(op, [x, scalar(0), np.zeros(2, np.float32)])
    yield Case(op, [x[0], scalar(0), zero])
    yield Case(op, [draw.array(tf.float32, (2, 0, 4)), scalar(0), zero])


@generates("MatrixDiagV2", "MatrixDiagV3")
def matrix_diag_v3(op, draw):
    for dtype in draw.types(op, "T") * 2:
        rows, columns = draw.integer(1, 5), draw.integer(1, 5)
        band = bands(draw, rows, columns)
        count, longest = band_sizes(band, rows, columns)
        outer = draw.shape(max_rank=2, high=2)
        diagonal = draw.array(dtype, outer + (count,) * (count > 1) + (longest,))
        sizes = [scalar(draw.choice([-1, rows])), scalar(draw.choice([-1, columns]))]
        yield Case(op, [diagonal, band, *sizes, draw.array(dtype, ())], aligned(op, draw))
    x, zero = draw.array(tf.float32, (3,)), np.float32(0)
    for band, rows, columns in [
        (scalar(0), scalar(2), scalar(2)), (scalar(0), scalar(4), scalar(5)),
        (scalar(0), scalar(3), scalar(2)), (scalar(-7), scalar(3), scalar(5)),
        (scalar(0), i32(3), scalar(5)), (scalar(0), scalar(3), i32(5)), (i32(0, 1), scalar(-1), scalar(-1)),
        (scalar(0), scalar(-2), scalar(-3)), (i32(1, 0), scalar(3), scalar(3)), (i32(), scalar(3), scalar(3)),
    ]:
        yield Case(op, [x, band, rows, columns, zero])
    yield Case(op, [x, scalar(0), scalar(3), scalar(3), np.zeros(1, np.float32)])
    yield Case(op, [x[0], scalar(0), scalar(3), scalar(3), zero])


@generates("MatrixSetDiagV2", "MatrixSetDiagV3")
def matrix_set_diag(op, draw):
    for dtype in draw.types(op, "T") * 2:
        *outer, rows, columns = draw.shape(draw.integer(2, 4), high=5)
        band = bands(draw, rows, columns)
        count, longest = band_sizes(band, rows, columns)
        diagonal = draw.array(dtype, (*outer, *(count,) * (count > 1), longest))
        x = draw.array(dtype, (*outer, rows, columns))
        yield Case(op, [x, diagonal, band], aligned(op, draw))
    x = draw.array(tf.float32, (3, 4))
    for shape, band in [
        ((2,), scalar(0)), ((2, 3), scalar(0)), ((3, 3), i32(0, 1)), ((2, 2), i32(0, 1)),
        ((3,), scalar(5)), ((3,), i32(1, 0)), ((), scalar(0)), ((3,), i32([0])), ((3,), i32(0, 1, 2)),
    ]:
        yield Case(op, [x, draw.array(tf.float32, shape), band])
    yield Case(op, [x[0], x[0], scalar(0)])


@generates("ParallelConcat")
def parallel_concat(op, draw):
    for dtype in draw.types(op, "T"):
        shape, count = draw.shape(max_rank=2), draw.integer(1, 4)
        values = [draw.array(dtype, (1, *shape)) for _ in range(count)]
        yield Case(op, [values], {"shape": (count, *shape)}, known_shapes=True)


@generates("DebugGradientIdentity", "DeepCopy", "GuaranteeConst")
def pass_through(op, draw):
    for dtype in (tf.float32, tf.int8, tf.bool):
        yield Case(op, [draw.array(dtype)])


@generates("InplaceAdd", "InplaceSub", "InplaceUpdate")
def inplace(op, draw):
    # Without the copy TensorFlow writes into the array that was fed.
    def build(x, i, v):
        return getattr(tf.raw_ops, op)(x=tf.raw_ops.DeepCopy(x=x), i=i, v=v)

    for dtype in (tf.float32, tf.float64, tf.int32, tf.int64, tf.uint8, tf.complex64, tf.bool):
        shape = draw.shape(draw.integer(1, 3), high=4)
        count = draw.integer(0, 3)
        rows = np.array(draw.permutation(9)[:count], np.int32) % shape[0]
        if op == "InplaceUpdate":
            rows = np.unique(rows)
        updates = draw.array(dtype, (len(rows), *shape[1:]))
        yield Case(op, [draw.array(dtype, shape), rows, updates], build=build)
    x = draw.array(tf.float32, (4, 3))
    for rows, shape in [
        (i32(0, 5), (2, 3)), (i32(0, -1), (2, 3)), (scalar(1), (1, 3)), (i32(0, 1), (2, 2)),
        (i32(0), (2, 3)), (i32([0]), (1, 3)), (i32(0, 1), (2, 3, 1)),
    ]:
        yield Case(op, [x, rows, draw.array(tf.float32, shape)], build=build)


@generates("LowerBound", "UpperBound")
def bounds(op, draw):
    for dtype in draw.types(op, "T"):
        rows = draw.integer(0, 3)
        table = np.sort(draw.array(dtype, (rows, draw.integer(0, 7)), 0, 9), axis=1)
        values = draw.array(dtype, (rows, draw.integer(0, 5)), 0, 9)
        yield Case(op, [table, values], {"out_type": draw.choice([tf.int32, tf.int64])})
    table = np.array([[1, 3, 3, 5]], np.float32)
    yield Case(op, [table, np.array([[0, 3, 6, np.nan]], np.float32)])
    yield Case(op, [table[0], table[0]])
    yield Case(op, [table, table[0]])
    yield Case(op, [table, draw.array(tf.float32, (2, 2))])


@generates("UnravelIndex")
def unravel_index(op, draw):
    for _ in range(6):
        kind = index_type(draw)
        dims = draw.shape(draw.integer(1, 4))
        indices = draw.integers(draw.choice([(), (3,)]), 0, int(np.prod(dims)) - 1, kind)
        yield Case(op, [indices, np.array(dims, kind)])
    for indices, dims in [
        (i32(6), i32(2, 3)), (i32(-1), i32(2, 3)), (i32([1]), i32(2, 3)), (i32(1), i32(2, 0)),
        (i32(1), scalar(7)), (i32(1), i32([7])), (i32(1), i32(2, -3)), (i32(), i32(2, 3)),
        (i32(1), i32()), (i32(1), i32(2**20, 2**20)),
    ]:
        yield Case(op, [indices, dims])


@generates("ExtractImagePatches")
def image_patches(op, draw):
    for dtype in draw.types(op, "T"):
        for padding in ("SAME", "VALID"):
            x = draw.array(dtype, draw.shape(4, high=5))
            attrs = {name: [1, draw.integer(1, 3), draw.integer(1, 3), 1] for name in ("ksizes", "strides")}
            attrs["rates"] = [1, draw.integer(1, 2), draw.integer(1, 2), 1]
            yield Case(op, [x], attrs | {"padding": padding})
    attrs = {"ksizes": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    yield Case(op, [draw.array(tf.float32, (1, 4, 4))], attrs)
    yield Case(op, [draw.array(tf.float32, (1, 1, 4, 1))], attrs)
    x = draw.array(tf.float32, (1, 4, 4, 1))
    yield Case(op, [x], attrs | {"ksizes": [1, 9, 9, 1]})
    yield Case(op, [x], attrs | {"ksizes": [1, 9, 9, 1], "padding": "SAME"})


@generates("ExtractVolumePatches")
def volume_patches(op, draw):
    for dtype in draw.types(op, "T"):
        for padding in ("SAME", "VALID"):
            x = draw.array(dtype, draw.shape(5, high=3))
            attrs = {
                name: [1, *(draw.integer(1, 2) for _ in range(3)), 1] for name in ("ksizes", "strides")
            }
            yield Case(op, [x], attrs | {"padding": padding})
    attrs = {"ksizes": [1, 2, 2, 2, 1], "strides": [1, 1, 1, 1, 1], "padding": "VALID"}
    yield Case(op, [draw.array(tf.float32, (1, 4, 4, 1))], attrs)


def sequences(draw, dtype, shape):
    """Draws a sparse tensor with rows from the left."""
    indices = []
    for outer in np.ndindex(*shape[:-1]):
        indices += [(*outer, at) for at in range(draw.integer(0, shape[-1]))]
    values = repetitive(draw, dtype, (len(indices),))
    return [np.array(indices, np.int64).reshape(-1, len(shape)), values, np.array(shape, np.int64)]


@generates("EditDistance")
def edit_distance(op, draw):
    for dtype in draw.types(op, "T"):
        for normalize in (True, False):
            rank = draw.integer(2, 3)
            a = sequences(draw, dtype, draw.shape(rank, high=4))
            b = sequences(draw, dtype, draw.shape(rank, high=4))
            yield Case(op, [*a, *b], {"normalize": normalize})
    good = [i64([0, 0]), i32(1), i64(1, 1)]
    for bad in [
        [i64([0, 0]), i32(1), i64(1, 1, 1)], [i64([0, 0]), i32(1, 2), i64(1, 1)],
        [i64([5, 0]), i32(1), i64(1, 1)], [i64(0), i32(1), i64(1, 1)],
        [i64([0, 0]), i32([1]), i64(1, 1)], [i64([0, 0]), i32(1), i64([1, 1])],
        [i64([0, 0, 0]), i32(1), i64(1, 1)],
    ]:
        yield Case(op, [*bad, *good])
        yield Case(op, [*good, *bad])


BITS = [2, 4, 8, 16]
FUSED = Tolerance(ulps=4, reason="TensorFlow's vector code joins a product and a sum in one rounding")


def quantized_range(draw, shape=()):
    low = draw.array(tf.float32, shape, -4, 1)
    return low, (low + draw.array(tf.float32, shape, 0.5, 6)).astype(np.float32)


@generates("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxArgsGradient", tolerance=FUSED)
def fake_quant_args(op, draw):
    gradient = op.endswith("Gradient")
    for bits in BITS:
        low, high = quantized_range(draw)
        attrs = {"min": float(low), "max": float(high), "num_bits": bits, "narrow_range": draw.chance()}
        shape = draw.shape(max_rank=2)
        yield Case(op, [draw.array(tf.float32, shape) for _ in range(1 + gradient)], attrs)
    if gradient:
        yield Case(op, [draw.array(tf.float32, (2,)), draw.array(tf.float32, (3,))])


@generates(
    "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsGradient", "FakeQuantWithMinMaxVarsPerChannel",
    "FakeQuantWithMinMaxVarsPerChannelGradient", tolerance=FUSED,
)
def fake_quant_vars(op, draw):
    gradient, per_channel = op.endswith("Gradient"), "PerChannel" in op
    for bits in BITS:
        shape = draw.shape(draw.integer(1, 3))
        limits = quantized_range(draw, shape[-1:] if per_channel else ())
        values = [draw.array(tf.float32, shape) for _ in range(1 + gradient)]
        yield Case(op, [*values, *limits], {"num_bits": bits, "narrow_range": draw.chance()})
    values = [draw.array(tf.float32, (2, 3)) for _ in range(1 + gradient)]
    zero = np.zeros((3,) if per_channel else (), np.float32)
    yield Case(op, [*values, zero, zero])
    yield Case(op, [*values, np.zeros(2, np.float32), zero])
    yield Case(op, [*values, zero, np.zeros(2, np.float32)])
    low, high = zero - 1, zero + 2
    yield Case(op, [*values, high, low])
    odd = np.float32([[np.nan, np.inf, -np.inf]] * 2)
    yield Case(op, [*[odd] * (1 + gradient), low, high])


ZERO_SIGN = Tolerance(reason="a value that becomes zero loses its sign")


@generates(
    "QuantizeAndDequantizeV2",
    "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4",
    tolerance=ZERO_SIGN,
)
def quantize_and_dequantize(op, draw):
    for dtype in draw.types(op, "T"):
        for bits in BITS:
            for given in (True, False):
                low, high = (limit.astype(dtype.as_numpy_dtype) for limit in quantized_range(draw))
                inputs = [draw.array(dtype, draw.shape(max_rank=3)), low, high]
                attrs = {"range_given": given, "narrow_range": draw.chance(), "signed_input": draw.chance()}
                if op.endswith("V3"):
                    inputs.append(scalar(bits))
                else:
                    attrs |= {"num_bits": bits, "round_mode": draw.choice(["HALF_TO_EVEN", "HALF_UP"])}
                yield Case(op, inputs, attrs)
        limits = [scalar(0, dtype.as_numpy_dtype)] * 2 + [scalar(8)] * op.endswith("V3")
        yield Case(op, [draw.array(dtype, (2, 3)), *limits], {"range_given": False, "axis": 0})
        limits[:2] = [scalar(-1, dtype.as_numpy_dtype), scalar(2, dtype.as_numpy_dtype)]
        odd = np.asarray([np.nan, np.inf, -np.inf, 0.5], dtype.as_numpy_dtype)
        yield Case(op, [odd, *limits], {"range_given": True})


@generates("QuantizeAndDequantizeV4Grad", tolerance=ZERO_SIGN)
def quantize_and_dequantize_grad(op, draw):
    for dtype in draw.types(op, "T"):
        for axis in (-1, 0, 1):
            shape = draw.shape(2)
            limits = quantized_range(draw, () if axis < 0 else shape[axis : axis + 1])
            limits = [limit.astype(dtype.as_numpy_dtype) for limit in limits]
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape), *limits], {"axis": axis})
    one = np.float32(1)
    odd = np.float32([np.nan, np.inf, -np.inf, 0.5])
    yield Case(op, [odd, odd[::-1].copy(), -one, one])
    yield Case(op, [draw.array(tf.float32, (2,)), draw.array(tf.float32, (3,)), one, one])
