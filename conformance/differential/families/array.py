"""Ops that look at the shape of tensors and move their elements."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def scalar(value, dtype=np.int32):
    return np.array(value, dtype)


def index_type(draw):
    return draw.choice([np.int32, np.int64])


@generates("Rank")
def rank(op, draw):
    for shape in draw.shapes():
        yield Case(op, [draw.array(draw.choice([tf.float32, tf.string]), shape)])


@generates("Shape", "Size")
def shape(op, draw):
    for shape in draw.shapes():
        for out_type in (tf.int32, tf.int64):
            x = draw.array(draw.choice([tf.float32, tf.bool, tf.string]), shape)
            yield Case(op, [x], {"out_type": out_type})


@generates("ShapeN")
def shape_n(op, draw):
    for out_type in (tf.int32, tf.int64):
        for count in (1, 3):
            xs = [draw.array(tf.float32) for _ in range(count)]
            yield Case(op, [xs], {"out_type": out_type})


@generates("Reshape")
def reshape(op, draw):
    x = draw.array(tf.float32, (2, 3, 4))
    for dtype in (tf.float32, tf.string, tf.bool, tf.complex128):
        yield Case(op, [draw.array(dtype, (6,)), i32(-1, 2)])
    for target in [(24,), (-1,), (4, -1), (2, -1, 3), (1, 24, 1), (4, 6)]:
        yield Case(op, [x, np.array(target, index_type(draw))])
    for bad in [(5, 5), (-1, 5), (-1, -1), (-2, 12), (0, -1), (2**40, 2**40)]:
        yield Case(op, [x, np.array(bad, np.int64)])
    yield Case(op, [x, scalar(24)])
    yield Case(op, [x, i32([24])])
    yield Case(op, [scalar(3), i32()])
    yield Case(op, [scalar(3), i32(1, 1)])
    empty = draw.array(tf.float32, (2, 0, 3))
    for target in [(0,), (-1,), (-1, 3), (-1, 0), (0, -1), (2, -1, 0), (3, 0, -1), (6, 0), (1,)]:
        yield Case(op, [empty, np.array(target, np.int32)])


@generates("ExpandDims")
def expand_dims(op, draw):
    for dtype in (tf.float32, tf.string, tf.int8):
        for axis in (-4, -3, -1, 0, 1, 2, 3):
            yield Case(op, [draw.array(dtype, (2, 3)), scalar(axis, index_type(draw))])
    yield Case(op, [draw.array(tf.float32, (2, 3)), i32(1)])
    yield Case(op, [draw.array(tf.float32, (2, 3)), i32(1, 0)])
    yield Case(op, [draw.array(tf.float32, ()), scalar(0)])


@generates("Squeeze")
def squeeze(op, draw):
    x = draw.array(tf.float32, (1, 3, 1, 2, 1))
    for axes in [[], [0], [-1], [0, 2], [2, -5], [1], [5], [-6], [0, 0]]:
        yield Case(op, [x], {"squeeze_dims": axes})
    yield Case(op, [draw.array(tf.string, (1, 1))])
    yield Case(op, [draw.array(tf.float32, ())])


@generates("EnsureShape")
def ensure_shape(op, draw):
    x = draw.array(tf.float32, (2, 3))
    for target in [[2, 3], [None, 3], None, [None, None], [2], [2, 4], [2, None, 1]]:
        yield Case(op, [x], {"shape": target})


@generates("Fill")
def fill(op, draw):
    for dtype in draw.types(op, "T"):
        for dims in [(), (0,), (2, 3), (1,)]:
            yield Case(op, [np.array(dims, index_type(draw)), draw.array(dtype, ())])
    one = np.float32(1)
    yield Case(op, [scalar(2), one])
    yield Case(op, [i32([1]), one])
    yield Case(op, [i32(2), np.ones(1, np.float32)])
    yield Case(op, [i32(2), np.ones(2, np.float32)])
    yield Case(op, [i32(2, -1), one])
    yield Case(op, [i64(2**40, 2**40), one])


@generates("OnesLike", "ZerosLike")
def like(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(), (0, 2), (2, 3)]:
            yield Case(op, [draw.array(dtype, shape)])


@generates("Empty")
def empty(op, draw):
    for dtype in draw.types(op, "dtype"):
        yield Case(op, [i32(2, 3)], {"dtype": dtype, "init": True})
    for bad in [i32(2, -1), scalar(2), i32([2])]:
        yield Case(op, [bad], {"dtype": tf.float32, "init": True})


@generates("ConcatV2")
def concat_v2(op, draw):
    for values, axis in concatenations(op, draw):
        yield Case(op, [values, axis])


@generates("Concat")
def concat(op, draw):
    for values, axis in concatenations(op, draw):
        yield Case(op, [axis.astype(np.int32), values])


def concatenations(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        shape = list(draw.shape(draw.integer(1, 4), high=3))
        axis = draw.integer(0, len(shape) - 1)
        values = []
        for _ in range(draw.integer(2, 5)):
            shape[axis] = draw.integer(0, 3)
            values.append(draw.array(dtype, shape))
        axis -= len(shape) if draw.chance() else 0
        yield values, scalar(axis, index_type(draw))
    a, b = draw.array(tf.float32, (2, 3)), draw.array(tf.float32, (2, 2))
    yield [a, b], scalar(0)
    yield [a, b], scalar(1)
    yield [a, b], i32(1)
    yield [a, b], i32(1, 1)
    yield [a, a], scalar(2)
    yield [a, a], scalar(-3)
    yield [a, draw.array(tf.float32, (2,))], scalar(0)
    yield [np.float32(1), np.float32(2)], scalar(0)
    yield [np.zeros((0,), np.float32), a], scalar(0)


@generates("ConcatOffset")
def concat_offset(op, draw):
    for dtype in (np.int32, np.int64):
        shapes = [np.array(s, dtype) for s in [(2, 3, 5), (2, 0, 5), (2, 4, 5)]]
        for axis in (1, -2, 0, 3, -4):
            yield Case(op, [scalar(axis), shapes])
    yield Case(op, [i32(0), [i32(1), i32(2)]])
    yield Case(op, [scalar(0), [i32(1), i32(2, 3)]])
    yield Case(op, [scalar(0), [i32(1), i32([2])]])


@generates("Pack")
def pack(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        shape = draw.shape(draw.integer(0, 3), low=0, high=3)
        axis = draw.integer(-len(shape) - 1, len(shape))
        values = [draw.array(dtype, shape) for _ in range(draw.integer(1, 4))]
        yield Case(op, [values], {"axis": axis})
    a = draw.array(tf.float32, (2, 3))
    yield Case(op, [[a, a]], {"axis": 3})
    yield Case(op, [[a, a]], {"axis": -4})
    yield Case(op, [[a, draw.array(tf.float32, (3, 2))]])


@generates("Unpack")
def unpack(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(1, 4), high=3)
        axis = draw.integer(-len(shape), len(shape) - 1)
        yield Case(op, [draw.array(dtype, shape)], {"axis": axis, "num": shape[axis]})
    a = draw.array(tf.float32, (2, 3))
    yield Case(op, [a], {"axis": 2, "num": 2})
    yield Case(op, [a], {"axis": 0, "num": 3})
    yield Case(op, [np.float32(1)], {"axis": 0, "num": 1})
    yield Case(op, [draw.array(tf.float32, (3, 0))], {"axis": 0, "num": 3})


@generates("Split")
def split(op, draw):
    for dtype in draw.types(op, "T"):
        shape = list(draw.shape(draw.integer(1, 4), high=3))
        axis = draw.integer(-len(shape), len(shape) - 1)
        parts = draw.integer(1, 3)
        shape[axis] = parts * draw.integer(0, 2)
        yield Case(op, [scalar(axis), draw.array(dtype, shape)], {"num_split": parts})
    a = draw.array(tf.float32, (4, 3))
    for axis, parts in [(2, 2), (-3, 2), (0, 3)]:
        yield Case(op, [scalar(axis), a], {"num_split": parts})
    yield Case(op, [i32(0), a], {"num_split": 2})
    yield Case(op, [scalar(0), np.float32(1)], {"num_split": 2})


@generates("SplitV")
def split_v(op, draw):
    for dtype in draw.types(op, "T"):
        shape = list(draw.shape(draw.integer(1, 4), high=3))
        axis = draw.integer(-len(shape), len(shape) - 1)
        sizes = [draw.integer(0, 3) for _ in range(draw.integer(1, 4))]
        shape[axis] = sum(sizes)
        if draw.chance():
            sizes[draw.integer(0, len(sizes) - 1)] = -1
        sizes = np.array(sizes, draw.choice([np.int8, np.int32, np.int64]))
        yield Case(op, [draw.array(dtype, shape), sizes, scalar(axis)], {"num_split": len(sizes)})
    a = draw.array(tf.float32, (4, 3))
    for sizes in [(1, 2), (-1, -1), (5, -1), (6, -2), (3,), (5,)]:
        yield Case(op, [a, np.array(sizes), scalar(0)], {"num_split": len(sizes)})
    yield Case(op, [a, i32(1, 3), scalar(2)], {"num_split": 2})
    yield Case(op, [a, i32(1, 3, 0), scalar(0)], {"num_split": 2})
    yield Case(op, [a, i32([1, 3]), scalar(0)], {"num_split": 2})
    yield Case(op, [a, i32(1, 3), i32(0)], {"num_split": 2})
    yield Case(op, [a, i32(1, 3), i32(0, 0)], {"num_split": 2})
    yield Case(op, [np.float32(4), i32(1, 3), scalar(0)], {"num_split": 2})


@generates("Slice")
def slice_(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        shape = draw.shape(draw.integer(0, 4), high=4)
        begin = [draw.integer(0, size) for size in shape]
        size = [draw.choice([-1, draw.integer(0, n - b)]) for b, n in zip(begin, shape)]
        kind = index_type(draw)
        yield Case(op, [draw.array(dtype, shape), np.array(begin, kind), np.array(size, kind)])
    a = draw.array(tf.float32, (4, 3))
    for begin, size in [((0,), (1,)), ((0, 0), (1,)), ((5, 0), (1, 1)), ((0, 0), (5, 1)),
                        ((4, 0), (-1, 1)), ((-1, 0), (1, 1)), ((0, 0), (-2, 1)), ((5, 0), (-1, 1))]:
        yield Case(op, [a, i32(*begin), i32(*size)])
    yield Case(op, [a, i32([0, 0]), i32([1, 1])])


def random_slice(draw, shape):
    """Draws a slice of a shape: begin, end, strides, and the masks."""
    begin, end, strides = [], [], []
    masks = dict.fromkeys(["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"], 0)
    axes = list(shape)
    if axes and draw.chance(0.4):
        # The ellipsis stands for some axes.
        cut = draw.integer(0, len(axes))
        axes = axes[:cut] + ["..."] + axes[draw.integer(cut, len(axes)) :]
    elif axes and draw.chance(0.3):
        axes = axes[: draw.integer(0, len(axes))]
    for _ in range(draw.choice([0, 0, 1, 2])):
        axes.insert(draw.integer(0, len(axes)), None)
    for i, axis in enumerate(axes):
        bit = 1 << i
        size = axis if isinstance(axis, int) else 1
        begin.append(draw.integer(-size - 1, size + 1))
        end.append(draw.integer(-size - 1, size + 1))
        strides.append(draw.choice([1, 1, 1, 2, -1, -2, 3]))
        if axis == "...":
            masks["ellipsis_mask"] |= bit
        elif axis is None:
            masks["new_axis_mask"] |= bit
        elif draw.chance(0.2) and size:
            masks["shrink_axis_mask"] |= bit
            begin[-1] = draw.integer(-size, size - 1)
            strides[-1] = 1
        if draw.chance(0.3):
            masks["begin_mask"] |= bit
        if draw.chance(0.3):
            masks["end_mask"] |= bit
    return begin, end, strides, masks


BAD_SLICES = [
    ([1], [3, 1], [1], {}),
    ([1, 1, 1], [3, 1, 1], [1, 1, 1], {}),
    ([1], [3], [0], {}),
    ([1, 1], [3, 1], [1, 1], {"ellipsis_mask": 3}),
    ([7], [8], [1], {"shrink_axis_mask": 1}),
    ([-7], [8], [1], {"shrink_axis_mask": 1}),
    ([0], [8], [-1], {"shrink_axis_mask": 1}),
    ([0], [8], [2], {"shrink_axis_mask": 1}),
    ([0] * 33, [1] * 33, [1] * 33, {}),
    ([0, 0], [1, 1], [1, 1], {"new_axis_mask": 1, "shrink_axis_mask": 1}),
    ([2, 0], [1, 1], [1, 1], {"ellipsis_mask": 1, "shrink_axis_mask": 1}),
    ([2, 0], [1, 1], [1, 1], {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 1}),
]


@generates("StridedSlice")
def strided_slice(op, draw):
    for dtype in draw.types(op, "T", quantized=True) + [tf.float32] * 20:
        shape = draw.shape(draw.integer(0, 4), low=0, high=5)
        begin, end, strides, masks = random_slice(draw, shape)
        kind = draw.choice([np.int16, np.int32, np.int64])
        bounds = [np.array(bound, kind) for bound in (begin, end, strides)]
        yield Case(op, [draw.array(dtype, shape), *bounds], masks)
    for begin, end, strides, masks in BAD_SLICES:
        yield Case(op, [draw.array(tf.float32, (4, 3)), i32(*begin), i32(*end), i32(*strides)], masks)
    yield Case(op, [draw.array(tf.float32, (4, 3)), scalar(2), scalar(1), scalar(1)])


def sliced_shape(shape, begin, end, strides, masks):
    bounds = [np.array(bound, np.int32) for bound in (begin, end, strides)]
    return tf.raw_ops.StridedSlice(
        input=np.zeros(shape, np.float32), begin=bounds[0], end=bounds[1], strides=bounds[2], **masks
    ).shape.as_list()


@generates("StridedSliceGrad")
def strided_slice_grad(op, draw):
    for dtype in draw.types(op, "T", quantized=True) + [tf.float32] * 10:
        shape = draw.shape(draw.integer(1, 4), low=0, high=4)
        begin, end, strides, masks = random_slice(draw, shape)
        dy = draw.array(dtype, sliced_shape(shape, begin, end, strides, masks))
        kind = index_type(draw)
        bounds = [np.array(bound, kind) for bound in (shape, begin, end, strides)]
        yield Case(op, [*bounds, dy], masks)
    dy = draw.array(tf.float32, (2, 3))
    yield Case(op, [i32(4, 3), i32(1), i32(3), i32(1), draw.array(tf.float32, (2, 2))])
    yield Case(op, [i32([4, 3]), i32(1), i32(3), i32(1), dy])
    yield Case(op, [i32(-4, 3), i32(1), i32(3), i32(1), dy])
    for begin, end, strides, masks in BAD_SLICES:
        yield Case(op, [i32(4, 3), i32(*begin), i32(*end), i32(*strides), dy], masks)


@generates("TensorStridedSliceUpdate")
def strided_slice_update(op, draw):
    for dtype in draw.types(op, "T", quantized=True) + [tf.float32] * 10:
        shape = draw.shape(draw.integer(1, 4), low=0, high=4)
        begin, end, strides, masks = random_slice(draw, shape)
        part = sliced_shape(shape, begin, end, strides, masks)
        part = [1 if draw.chance(0.2) else size for size in part[draw.integer(0, len(part)) :]]
        kind = index_type(draw)
        bounds = [np.array(bound, kind) for bound in (begin, end, strides)]
        yield Case(op, [draw.array(dtype, shape), *bounds, draw.array(dtype, part)], masks)
    x = draw.array(tf.float32, (4, 3))
    for part in [(2, 2), (3,), (2, 1), (), (1, 2, 3), (2, 2, 3)]:
        yield Case(op, [x, i32(1), i32(3), i32(1), draw.array(tf.float32, part)])
    for begin, end, strides, masks in BAD_SLICES:
        bounds = [i32(*begin), i32(*end), i32(*strides)]
        yield Case(op, [x, *bounds, draw.array(tf.float32, ())], masks)


def variable_slices(op, draw):
    for _ in range(12):
        shape = draw.shape(draw.integer(1, 3), high=4)
        begin, end, strides, masks = random_slice(draw, shape)
        part = sliced_shape(shape, begin, end, strides, masks)
        yield shape, [i32(*begin), i32(*end), i32(*strides)], draw.array(tf.float32, part), masks
    yield (4, 3), [i32(1), i32(3), i32(1)], draw.array(tf.float32, (2, 2)), {}
    yield (4, 3), [i32(7), i32(8), i32(1)], draw.array(tf.float32, (3,)), {"shrink_axis_mask": 1}


@generates("StridedSliceAssign")
def strided_slice_assign(op, draw):
    for shape, bounds, part, masks in variable_slices(op, draw):

        def build(x, begin, end, strides, value, masks=masks, shape=shape):
            variable = tf.compat.v1.get_variable(
                "v" + x.op.name, shape, use_resource=False, initializer=None
            )
            with tf.control_dependencies([tf.compat.v1.assign(variable, x).op]):
                return tf.raw_ops.StridedSliceAssign(
                    ref=variable, begin=begin, end=end, strides=strides, value=value, **masks
                )

        yield Case(op, [draw.array(tf.float32, shape), *bounds, part], build=build)


@generates("ResourceStridedSliceAssign")
def resource_strided_slice_assign(op, draw):
    for shape, bounds, part, masks in variable_slices(op, draw):

        def build(x, begin, end, strides, value, masks=masks, shape=shape):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=shape, shared_name=x.op.name)
            with tf.control_dependencies([tf.raw_ops.AssignVariableOp(resource=handle, value=x)]):
                assign = tf.raw_ops.ResourceStridedSliceAssign(
                    ref=handle, begin=begin, end=end, strides=strides, value=value, **masks
                )
            with tf.control_dependencies([assign]):
                return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

        yield Case(op, [draw.array(tf.float32, shape), *bounds, part], build=build)


@generates("Tile")
def tile(op, draw):
    for dtype in (tf.float32, tf.string, tf.bool, tf.int16, tf.complex128, tf.uint8, tf.int64):
        for _ in range(3):
            shape = draw.shape(draw.integer(0, 4), low=0, high=3)
            multiples = [draw.integer(0, 3) for _ in shape]
            yield Case(op, [draw.array(dtype, shape), np.array(multiples, index_type(draw))])
    x = draw.array(tf.float32, (2, 3))
    for bad in [i32(2), i32(2, -1), i32([2, 1])]:
        yield Case(op, [x, bad])


@generates("BroadcastTo")
def broadcast_to(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(2):
            a, b = draw.broadcast_shapes()
            full, part = (a, b) if len(a) >= len(b) else (b, a)
            full = np.broadcast_shapes(full, part)
            yield Case(op, [draw.array(dtype, part), np.array(full, index_type(draw))])
    x = draw.array(tf.float32, (2, 3))
    for bad in [i32(3), i32(2, 4), i32(-1, 3), i32([2, 3]), scalar(2)]:
        yield Case(op, [x, bad])
    yield Case(op, [draw.array(tf.float32, (1, 3)), i32(0, 3)])
    yield Case(op, [draw.array(tf.float32, (0,)), i32(2, 0)])


@generates("ConjugateTranspose", "Transpose")
def transpose(op, draw):
    for dtype in draw.types(op, "T"):
        for rank in (draw.integer(0, 3), draw.integer(3, 6)):
            perm = [axis - draw.choice([0, rank]) for axis in draw.permutation(rank)]
            x = draw.array(dtype, draw.shape(rank, high=3))
            yield Case(op, [x, np.array(perm, index_type(draw))])
    x = draw.array(tf.float32, (2, 3))
    for bad in [i32(0, 0), i32(0), i32(0, 2), i32([0, 1]), i32(1, 0, 2)]:
        yield Case(op, [x, bad])
    yield Case(op, [draw.array(tf.float32, (0, 3)), i32(1, 0)])
    yield Case(op, [draw.array(tf.float32, (40, 37)), i32(1, 0)])
    yield Case(op, [draw.array(tf.float32, (5, 40, 37)), i32(2, 1, 0)])


@generates("InvertPermutation")
def invert_permutation(op, draw):
    for count in (0, 1, 5, 9):
        yield Case(op, [np.array(draw.permutation(count), index_type(draw))])
    for bad in [i32(1, 1, 0), i32(1, 3, 0), i32(1, -1, 0), i32([1, 0]), scalar(0)]:
        yield Case(op, [bad])


@generates("Reverse")
def reverse(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(0, 4), low=0, high=4)
        yield Case(op, [draw.array(dtype, shape), draw.array(tf.bool, (len(shape),))])
    x = draw.array(tf.float32, (2, 3))
    for bad in [np.array([True]), np.array([[True, True]]), np.array([True] * 3)]:
        yield Case(op, [x, bad])


@generates("ReverseV2")
def reverse_v2(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(0, 4), low=0, high=4)
        axes = [axis - draw.choice([0, len(shape)]) for axis in range(len(shape)) if draw.chance()]
        yield Case(op, [draw.array(dtype, shape), np.array(axes, index_type(draw))])
    x = draw.array(tf.float32, (2, 3))
    for bad in [i32(2), i32(0, -3), i32(1, -1), i32([1]), scalar(1)]:
        yield Case(op, [x, bad])
    yield Case(op, [np.float32(3), i32(7)])


@generates("ReverseSequence")
def reverse_sequence(op, draw):
    for dtype in draw.types(op, "T"):
        shape = draw.shape(draw.integer(2, 4), high=4)
        seq, batch = draw.permutation(len(shape))[:2]
        lengths = draw.integers((shape[batch],), 0, shape[seq], draw.choice([tf.int32, tf.int64]))
        yield Case(op, [draw.array(dtype, shape), lengths], {"seq_dim": seq, "batch_dim": batch})
    x = draw.array(tf.float32, (2, 3))
    for lengths in [i32(1, 4), i32(1, -1), i32(1, 1, 1), i32([1, 1])]:
        yield Case(op, [x, lengths], {"seq_dim": 1, "batch_dim": 0})
    for seq, batch in [(2, 0), (0, 2), (0, 0), (-1, 0), (1, -1)]:
        yield Case(op, [x, i32(1, 1)], {"seq_dim": seq, "batch_dim": batch})


@generates("Gather")
def gather(op, draw):
    for dtype in draw.types(op, "Tparams", quantized=True):
        shape = draw.shape(draw.integer(1, 3), high=4)
        kind = draw.choice([tf.int32, tf.int64])
        indices = draw.integers(draw.shape(max_rank=2), 0, shape[0] - 1, kind)
        yield Case(op, [draw.array(dtype, shape), indices])
    x = draw.array(tf.float32, (4, 3))
    yield Case(op, [x, i32(4)])
    yield Case(op, [x, i32(-1)])
    yield Case(op, [np.float32(3), i32(0)])


@generates("GatherV2")
def gather_v2(op, draw):
    for dtype in draw.types(op, "Tparams", quantized=True) + [tf.float32] * 12:
        shape = draw.shape(draw.integer(1, 4), high=4)
        axis = draw.integer(0, len(shape) - 1)
        batch = draw.integer(0, axis)
        kind = draw.choice([tf.int16, tf.int32, tf.int64])
        index_shape = shape[:batch] + draw.shape(max_rank=2, low=0, high=3)
        indices = draw.integers(index_shape, 0, shape[axis] - 1, kind)
        if draw.chance(0.3):
            axis -= len(shape)
        if draw.chance(0.3) and len(index_shape):
            batch -= len(index_shape)
        inputs = [draw.array(dtype, shape), indices, scalar(axis, index_type(draw))]
        yield Case(op, inputs, {"batch_dims": batch})
    x = draw.array(tf.float32, (4, 3))
    four = i32([0], [0], [0], [0])
    for indices, axis, batch in [
        (i32(4), 0, 0), (i32([0, -1]), 0, 0), (i32(0), 2, 0), (i32(0), -3, 0), (four, 0, 1),
        (four, 1, 2), (four, 1, 3), (four, 1, -3), (four, 1, -1), (four[:3], 1, 1),
        (i32([0], [1], [2], [3]), 1, 1), (scalar(3), 0, 0), (scalar(4), 0, 0),
    ]:
        yield Case(op, [x, indices, scalar(axis)], {"batch_dims": batch})
    yield Case(op, [x, i32(0), i32(0)])
    yield Case(op, [np.float32(3), i32(0), scalar(0)])
    for shape, indices in [((0, 3), i32()), ((0, 3), i32(0)), ((4, 0), i32(7))]:
        yield Case(op, [draw.array(tf.float32, shape), indices, scalar(0)])


@generates("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        row = draw.shape(draw.integer(0, 2), high=3)
        count = draw.integer(0, 8)
        places = np.array(draw.permutation(count), np.int32)
        if op == "DynamicStitch" and count and draw.chance():
            places[0] = places[-1] = 0
            places = np.concatenate([places, np.arange(count, dtype=np.int32)])
        indices, data = [], []
        for part in np.split(places, sorted(draw.integer(0, len(places)) for _ in range(2))):
            part = part[:1].reshape(()) if len(part) == 1 and draw.chance() else part
            part = part.reshape(2, -1) if len(part.shape) and len(part) % 2 == 0 and draw.chance() else part
            indices.append(part)
            data.append(draw.array(dtype, part.shape + row))
        yield Case(op, [indices, data])
    a = draw.array(tf.float32, (2,))
    b = draw.array(tf.float32, (2, 3))
    yield Case(op, [[scalar(0), i32(1, 1)], [a, b]])
    yield Case(op, [[scalar(0), i32(1, 1)], [a, draw.array(tf.float32, (3, 2))]])
    yield Case(op, [[scalar(-1)], [a]])
    yield Case(op, [[i32(0, 1)], [np.float32(2)]])


@generates("Where")
def where(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in [(7,), draw.shape(2, low=0), draw.shape(draw.integer(3, 5), high=3)]:
            yield Case(op, [draw.array(dtype, shape, 0, 1)])
    special = np.array([0.0, -0.0, np.nan, np.inf], np.float32)
    yield Case(op, [special])
    yield Case(op, [np.array(True)])
    yield Case(op, [np.ones((1,) * 9, bool)])


@generates("Unique", "UniqueWithCounts")
def unique(op, draw):
    for dtype in draw.types(op, "T"):
        for count in (0, draw.integer(1, 20)):
            out = draw.choice([tf.int32, tf.int64])
            yield Case(op, [repetitive(draw, dtype, (count,))], {"out_idx": out})
    yield Case(op, [np.array([np.nan, 0.0, -0.0, np.nan, 1.0, np.inf], np.float64)])
    yield Case(op, [np.array([np.nan, 0.0, -0.0, np.nan, 1.0, np.inf], np.float32)])
    yield Case(op, [draw.array(tf.float32, (2, 3))])
    yield Case(op, [np.float32(1)])


def repetitive(draw, dtype, shape):
    """Draws an array in which values occur several times."""
    if dtype == tf.string:
        return draw.strings(shape, alphabet=b"ab", longest=2)
    return draw.array(dtype, shape, 0 if tf.as_dtype(dtype).is_unsigned else -2, 3)


@generates("UniqueV2", "UniqueWithCountsV2")
def unique_v2(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(2):
            shape = draw.shape(draw.integer(1, 3), low=0, high=3)
            axis = draw.integer(-len(shape), len(shape) - 1)
            axes = [] if len(shape) == 1 and draw.chance() else [axis]
            values = repetitive(draw, dtype, shape)
            if draw.chance() and shape[axis] > 1:
                values = np.repeat(values, 2, axis)
            yield Case(op, [values, np.array(axes, index_type(draw))])
    x = draw.array(tf.float32, (2, 3))
    for axes in [i32(), i32(0, 1), i32(2), i32(-3), i32([1]), scalar(0)]:
        yield Case(op, [x, axes])
    yield Case(op, [np.array([[np.nan, 0], [np.nan, 0]], np.float32), i32(0)])
    yield Case(op, [np.array([[-0.0, 0], [0, 0]], np.float32), i32(0)])


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


@generates("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV3", "QuantizeAndDequantizeV4")
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


@generates("QuantizeAndDequantizeV4Grad")
def quantize_and_dequantize_grad(op, draw):
    for dtype in draw.types(op, "T"):
        for axis in (-1, 0, 1):
            shape = draw.shape(2)
            limits = quantized_range(draw, () if axis < 0 else shape[axis : axis + 1])
            limits = [limit.astype(dtype.as_numpy_dtype) for limit in limits]
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape), *limits], {"axis": axis})
    one = np.float32(1)
    yield Case(op, [draw.array(tf.float32, (2,)), draw.array(tf.float32, (3,)), one, one])
