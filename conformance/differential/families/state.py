"""Variables: assigning, counting, and scattering into them."""

import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_resource_variable_ops, gen_state_ops

from conformance.differential.cases import Case, generates

# Left out is what TensorFlow's kernels do not survive (integers divided by zero, shapes that they
# do not check) and indices of rank 1 for `ScatterNd`, of which they use only the first.


@generates("AssignAdd", "AssignSub")
def update(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape)])
        yield Case(op, [draw.array(dtype, (2, 3)), draw.array(dtype, (3,))])
    yield Case(op, [np.array([120, -128], np.int8), np.array([120, 120], np.int8)])


@generates("AssignAddVariableOp", "AssignSubVariableOp")
def resource_update(op, draw):
    for dtype in draw.types(op, "dtype"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape)])
        yield Case(op, [draw.array(dtype, (2, 3)), draw.array(dtype, (3,))])


@generates("Assign")
def assign(op, draw):
    for dtype in draw.types(op, "T"):
        for validate_shape in (True, False):
            for old, new in (((2, 3), (2, 3)), ((2, 3), (3, 2)), ((), (0,))):
                inputs = [draw.array(dtype, old), draw.array(dtype, new)]
                yield Case(op, inputs, {"validate_shape": validate_shape})


@generates("AssignVariableOp")
def assign_variable(op, draw):
    for dtype in draw.types(op, "dtype"):
        for validate_shape in (True, False):
            for old, new in (((2, 3), (2, 3)), ((2, 3), (3, 2)), ((), (0,))):
                inputs = [draw.array(dtype, old), draw.array(dtype, new)]
                yield Case(op, inputs, {"validate_shape": validate_shape})


@generates("ReadVariableOp")
def read(op, draw):
    for dtype in draw.types("AssignVariableOp", "dtype"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape)], {"dtype": dtype})


@generates("VariableShape")
def shape(op, draw):
    for shape in draw.shapes():
        for out_type in (tf.int32, tf.int64):
            yield Case(op, [draw.array(tf.float32, shape)], {"out_type": out_type})


@generates("VarIsInitializedOp", "IsVariableInitialized")
def is_initialized(op, draw):
    yield Case(op, [draw.array(tf.float32, (2,))])


@generates("CountUpTo", "ResourceCountUpTo")
def count_up_to(op, draw):
    for dtype in (tf.int32, tf.int64):
        for value in (-3, 0, 4, 5, 6):
            attrs = {"limit": 5, **({"T": dtype} if op.startswith("Resource") else {})}
            yield Case(op, [np.array(value, dtype.as_numpy_dtype)], attrs)


@generates(
    *[
        prefix + name
        for prefix in ("Scatter", "ResourceScatter")
        for name in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")
    ]
)
def scatter(op, draw):
    attr = "dtype" if op.startswith("Resource") else "T"
    low = 1 if op.endswith("Div") else None
    for dtype in draw.types(op, attr):
        for params, index_shape in (((5,), (3,)), ((4, 3), (2, 2)), ((3, 2, 2), ()), ((4, 0), (2,))):
            index_type = draw.choice([tf.int32, tf.int64])
            indices = draw.integers(index_shape, 0, params[0] - 1, index_type)
            updates = draw.array(dtype, index_shape + params[1:], low)
            yield Case(op, [draw.array(dtype, params), indices, updates])
            yield Case(op, [draw.array(dtype, params), indices, draw.array(dtype, (), low)])
    params = draw.array(tf.float32, (4, 3))
    for indices in ([0, 4], [-1, 0], [[1, 2], [3, 9]]):
        indices = np.array(indices, np.int32)
        updates = draw.array(tf.float32, indices.shape + (3,), low)
        yield Case(op, [params, indices, updates])
    yield Case(op, [params, np.array([0, 1], np.int32), draw.array(tf.float32, (3, 3), low)])
    yield Case(op, [params, np.array([0, 1], np.int32), draw.array(tf.float32, (2,), low)])
    yield Case(op, [params, np.zeros([0], np.int32), draw.array(tf.float32, (0, 3), low)])
    yield Case(op, [draw.array(tf.float32, ()), np.array([0], np.int32), np.ones([1], np.float32)])


@generates(
    *[
        prefix + name
        for prefix in ("ScatterNd", "ResourceScatterNd")
        for name in ("Add", "Max", "Min", "Sub", "Update")
    ]
)
def scatter_nd(op, draw):
    for dtype in draw.types(op, "T"):
        for params, batch, depth in (((5,), (3,), 1), ((4, 3), (2, 2), 2), ((3, 2, 2), (4,), 2)):
            indices = _places(draw, params, batch, depth)
            updates = draw.array(dtype, batch + params[depth:])
            yield Case(op, [draw.array(dtype, params), indices, updates])
    params = draw.array(tf.float32, (4, 3))
    for indices in ([[0, 3]], [[-1, 0]], [[1, 2], [4, 0]]):
        for policy in ("", "ERROR", "IGNORE", "DEFAULT", "nonsense"):
            indices = np.array(indices, np.int32)
            updates = draw.array(tf.float32, indices.shape[:1])
            yield Case(op, [params, indices, updates], {"bad_indices_policy": policy})
    for indices, updates in (
        ((2, 1), (3, 3)),
        ((2, 1), (2, 2)),
        ((2, 1), (2,)),
        ((2, 1), (2, 3, 1)),
        ((2, 3), (2,)),
        ((2, 0), (2, 4, 3)),
        ((0, 1), (0, 3)),
        ((0, 1), (0, 2)),
        ((2, 1), ()),
        ((), (4, 3)),
    ):
        indices = np.zeros(indices, np.int32)
        yield Case(op, [params, indices, draw.array(tf.float32, updates)])
    yield Case(op, [draw.array(tf.float32, ()), np.zeros([1, 1], np.int32), np.ones([1], np.float32)])
    empty = draw.array(tf.float32, (0, 3))
    yield Case(op, [empty, np.zeros([1, 1], np.int32), draw.array(tf.float32, (1, 3))])
    yield Case(op, [empty, np.zeros([0, 1], np.int32), draw.array(tf.float32, (0, 3))])


def _places(draw, params, batch, depth):
    columns = [draw.integers(batch, 0, params[axis] - 1) for axis in range(depth)]
    return np.stack(columns, axis=-1).astype(draw.choice([np.int32, np.int64]))


@generates("ResourceGather")
def gather(op, draw):
    for dtype in draw.types(op, "dtype"):
        for params, indices, batch_dims in (
            ((5,), (3,), 0),
            ((4, 3), (2, 2), 0),
            ((3, 2, 2), (), 0),
            ((2, 3, 4), (2, 5), 1),
            ((2, 2, 3, 2), (2, 2), 2),
            ((4, 0), (2,), 0),
            ((4, 2), (0,), 0),
        ):
            limit = params[batch_dims]
            indices = draw.integers(indices, 0, limit - 1, draw.choice([tf.int32, tf.int64]))
            attrs = {"dtype": dtype, "batch_dims": batch_dims}
            yield Case(op, [draw.array(dtype, params), indices], attrs)
    params = draw.array(tf.float32, (4, 3))
    for bad in ([0, 4], [-1], [[1], [9]]):
        yield Case(op, [params, np.array(bad, np.int32)], {"dtype": tf.float32})
    yield Case(op, [draw.array(tf.float32, ()), np.array([0], np.int32)], {"dtype": tf.float32})
    wrong = {"dtype": tf.float32, "batch_dims": 3}
    yield Case(op, [params, np.zeros([4, 3, 1], np.int32)], wrong)


@generates("ResourceGatherNd")
def gather_nd(op, draw):
    for dtype in draw.types(op, "dtype"):
        attrs = {"dtype": dtype}
        for params, batch, depth in (((5,), (3,), 1), ((4, 3), (2, 2), 2), ((3, 2, 2), (4,), 2)):
            indices = _places(draw, params, batch, depth)
            yield Case(op, [draw.array(dtype, params), indices], attrs)
    attrs = {"dtype": tf.float32}
    params = draw.array(tf.float32, (4, 3))
    for indices in ([[0, 3]], [[-1, 0]], [[0, 0, 0]], 0, [3], np.zeros([2, 0]), np.zeros([0, 2])):
        yield Case(op, [params, np.array(indices, np.int32)], attrs)
    for shape in ((), (0, 3)):
        yield Case(op, [draw.array(tf.float32, shape), np.zeros([1, 1], np.int32)], attrs)


@generates("TemporaryVariable")
def temporary_variable(op, draw):
    def build(first, second):
        ref = gen_state_ops.temporary_variable([2, 3], first.dtype, var_name="sum")
        ref = gen_state_ops.assign(ref, first)
        ref = gen_state_ops.assign_add(ref, second)
        return gen_state_ops.destroy_temporary_variable(ref, var_name="sum")

    for _ in range(3):
        arrays = [draw.array(tf.float32, (2, 3)), draw.array(tf.float32, (2, 3))]
        yield Case(op, arrays, build=build)
    yield Case(op, [draw.array(tf.float32, (3,)), draw.array(tf.float32, (2, 3))], build=build)


@generates("DestroyResourceOp")
def destroy(op, draw):
    def build(ignore):
        def graph(value):
            handle = gen_resource_variable_ops.var_handle_op(value.dtype, None, shared_name="gone")
            assign = gen_resource_variable_ops.assign_variable_op(handle, value)
            with tf.control_dependencies([assign]):
                first = gen_resource_variable_ops.destroy_resource_op(handle)
            with tf.control_dependencies([first]):
                second = gen_resource_variable_ops.destroy_resource_op(handle, ignore)
            with tf.control_dependencies([second]):
                return gen_resource_variable_ops.var_is_initialized_op(handle)

        return graph

    for ignore in (True, False):
        yield Case(op, [draw.array(tf.float32, (2,))], build=build(ignore))


@generates("RefSelect")
def ref_select(op, draw):
    values = [draw.array(tf.float32, (2,)) for _ in range(3)]
    for index in [0, 2, 3, -1]:
        yield Case(op, [np.int32(index), values])
    yield Case(op, [np.int32(0), [draw.strings((2,))]])
