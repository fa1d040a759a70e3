"""Branches, loops and functions of both versions, and gradients of all of it."""

import contextlib

import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.framework import function as v1_function

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Body, Type
from conformance.programs.scope import FLOATS, INTEGERS, Value


def draw_body(scope, inside, types, results, size):
    """Draws a body and returns it with the resources that it touches."""
    from conformance.programs.generate import draw_statements

    inner, params = scope.body(inside, types)
    draw_statements(inner, size)
    returned = [inner.value(type) for type in results]
    touched = [r for r in scope.resources if r.id in inner.touched]
    tied = None
    if touched and len(results) > 1 and inside == "cond" and scope.likely(0.5):
        tied = scope.chance.randrange(len(results))
    effects = [inner.touched[resource.id] for resource in touched]
    returned = [value.arg for value in returned]
    return Body(params, list(types), inner.statements, returned, effects, tied), touched


def _calls(body):
    """Whether there are calls of functions in a body."""
    return any(
        each.kind in ("function", "defun") or any(map(_calls, each.bodies)) for each in body.statements
    )


def _union(*lists):
    return list({resource.id: resource for each in lists for resource in each}.values())


@contextlib.contextmanager
def _version(version):
    enabled = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if version == 2 else v1.disable_control_flow_v2)()
    try:
        yield
    finally:
        (v1.enable_control_flow_v2 if enabled else v1.disable_control_flow_v2)()


@kind(weight=3)
class cond(Kind):
    def draw(scope):
        if scope.depth > 1:
            return
        types = [scope.type() for _ in range(scope.chance.randint(1, 3))]
        condition = scope.value(Type("bool", ()))
        branches, touched = [], []
        for _ in range(2):
            body, touches = draw_body(scope, "cond", [], types, scope.chance.randint(0, 4))
            branches.append(body)
            touched = _union(touched, touches)
        branches[1].tied = branches[0].tied
        version = scope.chance.choice([1, 2, 2])
        if any(_calls(body) for body in branches):
            # A constant that a function returns TensorFlow takes for the result, whichever branch is taken.
            version = 2
        scope.add("cond", types, [condition], {"version": version}, touched, False, branches)

    def build(builder, statement, args):
        branches = [builder.callable(body, statement.results) for body in statement.bodies]
        with _version(statement.params["version"]):
            made = v1.cond(args[0], branches[0], branches[1], strict=True)
        builder.tie(statement, made)
        return list(made)


@kind(weight=2.5)
class loop(Kind):
    def draw(scope):
        if scope.depth > 1:
            return
        types = [scope.type() for _ in range(scope.chance.randint(1, 3))]
        first = [scope.value(type) for type in types]
        times = scope.value(Type("int32", ()))
        counter = Type("int32", ())
        size = scope.chance.randint(1, 4)
        body, touched = draw_body(scope, "loop", [counter, *types], types, size)
        params = {
            "version": scope.chance.choice([1, 2]),
            "parallel": scope.chance.choice([1, 2, 10]),
            "most": scope.chance.choice([None, 3]),
        }
        scope.add("loop", types, [times, *first], params, touched, False, [body])

    def build(builder, statement, args):
        (body,), params = statement.bodies, statement.params
        times, first = tf.math.floormod(args[0], 4), args[1:]
        run = builder.callable(body, statement.results)
        shapes = [tf.TensorShape([])] + [tf.TensorShape(None)] * len(first)
        with _version(params["version"]):
            _, *made = v1.while_loop(
                lambda i, *values: i < times,
                lambda i, *values: [i + 1, *run(i, *values)],
                [tf.constant(0), *first],
                shape_invariants=shapes,
                parallel_iterations=params["parallel"],
                maximum_iterations=params["most"],
            )
        return made


@kind(weight=1)
class scan(Kind):
    """A loop over the rows of a value, with a tensor array."""

    def draw(scope):
        if scope.depth > 1:
            return
        dtype = scope.dtype(FLOATS)
        row, state = Type(dtype, ()), Type(dtype, ())
        x = scope.value(Type(dtype, (3,)))
        size = scope.chance.randint(1, 3)
        body, _ = draw_body(_stateless(scope), "loop", [state, row], [state], size)
        params = {"version": scope.chance.choice([1, 2]), "function": scope.chance.choice(["scan", "map_fn", "foldl"])}
        result = Type(dtype, () if params["function"] == "foldl" else (3,))
        scope.add("scan", [result], [x], params, exact=False, bodies=[body])

    def build(builder, statement, args):
        (body,) = statement.bodies
        run = builder.callable(body, [Type(statement.results[0].dtype, ())])
        x = tf.ensure_shape(args[0], [3])

        @tf.autograph.experimental.do_not_convert
        def scalar(state, row):
            return tf.ensure_shape(run(state, row)[0], [])

        zero = tf.zeros([], x.dtype)
        with _version(statement.params["version"]):
            match statement.params["function"]:
                case "scan":
                    return [tf.scan(scalar, x, zero)]
                case "foldl":
                    return [tf.foldl(scalar, x, zero)]
                case _:
                    return [tf.map_fn(lambda row: scalar(row, row), x)]


@kind(weight=2)
class function(Kind):
    """A function of version 2, called once or twice."""

    def draw(scope):
        if scope.depth > 1:
            return
        arguments = [scope.value(scope.type()) for _ in range(scope.chance.randint(0, 3))]
        types = [value.arg.type for value in arguments]
        results = [scope.type() for _ in range(scope.chance.randint(1, 2))]
        size = scope.chance.randint(1, 4)
        body, touched = draw_body(scope, "function", types, results, size)
        params = {"twice": scope.likely(0.3) and not touched}
        scope.add("function", results, arguments, params, touched, False, [body])

    def build(builder, statement, args):
        (body,) = statement.bodies
        call = tf.function(builder.callable(body, statement.results), autograph=False)
        builder.functions[statement.id] = call
        made = call(*args)
        if statement.params["twice"]:
            again = call(*args)
            made = [tf.where(tf.equal(one, one), one, two) for one, two in zip(made, again)]
        return made


@kind(weight=1, inside=("top", "cond", "loop"))
class defun(Kind):
    """A function of version 1."""

    def draw(scope):
        if scope.depth > 1:
            return
        arguments = [scope.value(scope.type()) for _ in range(scope.chance.randint(1, 3))]
        types = [value.arg.type for value in arguments]
        results = [scope.type() for _ in range(scope.chance.randint(1, 2))]
        body, _ = draw_body(_stateless(scope), "defun", types, results, scope.chance.randint(1, 4))
        params = {"noinline": scope.likely(0.5)}
        scope.add("defun", results, arguments, params, exact=False, bodies=[body])

    def build(builder, statement, args):
        (body,) = statement.bodies
        run = builder.callable(body, statement.results)
        types = [type.dtype for type in body.types]
        name = f"{builder.prefix}_defun_{statement.id}"
        noinline = statement.params["noinline"]
        made = v1_function.Defun(*types, func_name=name, noinline=noinline)(lambda *a: tuple(run(*a)))(*args)
        return list(made) if isinstance(made, (list, tuple)) else [made]


@kind(weight=3)
class gradients(Kind):
    def draw(scope):
        floats = lambda v: v.arg.type.dtype in FLOATS
        y = scope.any_value(floats)
        if y is None:
            return
        count = scope.chance.randint(1, 3)
        have = [v for v in scope.values if floats(v) and v.arg.id <= y.arg.id]
        xs = scope.chance.sample(have, min(count, len(have)))
        params = {"colocate": scope.likely(0.2), "gate": scope.chance.choice([0, 1, 2])}
        scope.add("gradients", [x.arg.type for x in xs], [y, *xs], params, exact=False)

    def build(builder, statement, args):
        y, *xs = args
        found = v1.gradients(
            y,
            xs,
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
            colocate_gradients_with_ops=statement.params["colocate"],
            gate_gradients=bool(statement.params["gate"]),
        )
        return [tf.convert_to_tensor(each) for each in found]


@kind(weight=1)
class tensor_array(Kind):
    """Values written into an array and read in another way."""

    def draw(scope):
        type = scope.type(FLOATS + INTEGERS)
        values = [scope.value(type) for _ in range(3)]
        how = scope.chance.choice(["stack", "read", "gather", "concat", "unstack", "missing"])
        if how == "missing" and not scope.may_fail():
            how = "read"
        version = scope.chance.choice([1, 2])
        scope.add("tensor_array", [type], values, {"how": how, "version": version}, exact=False)

    def build(builder, statement, args):
        (type,), how = statement.results, statement.params["how"]
        with _version(statement.params["version"]):
            array = tf.TensorArray(type.dtype, 3, dynamic_size=how == "read", clear_after_read=False)
            if how == "unstack":
                return [array.unstack(tf.stack([tf.reshape(x, type.shape) for x in args])).read(1)]
            for index, x in enumerate(args):
                array = array.write(index, tf.reshape(x, type.shape))
            match how:
                case "stack":
                    return [tf.reduce_sum(array.stack(), 0)]
                case "gather":
                    return [tf.reduce_max(array.gather([2, 0]), 0)]
                case "concat" if type.shape:
                    return [array.concat()[: type.shape[0]]]
                case "missing":
                    return [array.read(tf.size(args[0]) + 7)]
                case _:
                    return [array.read(2)]


@kind(weight=1)
class tensor_list(Kind):
    """A list that is filled and emptied on several devices."""

    def draw(scope):
        type = scope.type()
        values = [scope.value(type) for _ in range(3)]
        how = scope.chance.choice(["pop", "stack", "get", "from_tensor", "set", "empty"])
        if how == "empty" and not scope.may_fail():
            how = "pop"
        devices = [scope.chance.choice(["", "/job:ps/task:0", "/job:worker/task:1"]) for _ in range(2)]
        scope.add("tensor_list", [type], values, {"how": how, "devices": devices}, exact=False)

    def build(builder, statement, args):
        (type,), params = statement.results, statement.params
        ops, shape = tf.raw_ops, tf.constant(type.shape, tf.int32)
        args = [tf.reshape(x, type.shape) for x in args]
        with tf.device(params["devices"][0]):
            if params["how"] == "from_tensor":
                made = ops.TensorListFromTensor(tensor=tf.stack(args), element_shape=shape)
            elif params["how"] == "set":
                made = ops.TensorListReserve(element_shape=shape, num_elements=3, element_dtype=type.dtype)
                for index, x in enumerate(args):
                    made = ops.TensorListSetItem(input_handle=made, index=index, item=x)
            else:
                made = ops.EmptyTensorList(element_shape=shape, max_num_elements=-1, element_dtype=type.dtype)
                for x in [] if params["how"] == "empty" else args:
                    made = ops.TensorListPushBack(input_handle=made, tensor=x)
        with tf.device(params["devices"][1]):
            match params["how"]:
                case "stack" | "from_tensor":
                    stacked = ops.TensorListStack(
                        input_handle=made, element_shape=shape, element_dtype=type.dtype, num_elements=-1
                    )
                    return [stacked[1]]
                case "get" | "set":
                    return [
                        ops.TensorListGetItem(
                            input_handle=made, index=2, element_shape=shape, element_dtype=type.dtype
                        )
                    ]
                case _:
                    made, last = ops.TensorListPopBack(
                        input_handle=made, element_shape=shape, element_dtype=type.dtype
                    )
                    size = tf.cast(ops.TensorListLength(input_handle=made), tf.int32)
                    with tf.control_dependencies([size]):
                        return [tf.identity(last)]


def _stateless(scope):
    """A view of a scope without state, for bodies that must not have effects."""
    view = type(scope)(scope.chance, scope, scope.inside)
    view.depth, view.resources = scope.depth, []
    return view
