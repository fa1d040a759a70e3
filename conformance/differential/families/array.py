"""Ops that look at the shape of tensors and move their elements."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, generates


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
    yield [np.float32(1), np.float32(2)], scalar(0)
    yield [np.float32(1), np.float32(2)], scalar(1)
    yield [a[0], np.float32(2)], scalar(0)
    yield [a, b], np.int32([[1]])
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


@generates("_ListToArray", "_ArrayToList")
def list_and_array(op, draw):
    for count in [1, 3]:
        values = [draw.array(tf.float32, draw.shape()) for _ in range(count)]
        to_list = {"out_types": [tf.float32] * count}
        yield Case(op, [values], to_list if op == "_ArrayToList" else {"T": tf.float32, "N": count})
    if op == "_ListToArray":
        yield Case(op, [[draw.array(tf.int32, ()), draw.array(tf.int32, (2,))]], {"T": tf.int32, "N": 3})
