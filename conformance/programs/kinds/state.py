"""Variables of both kinds and queues. Whatever touches one is in one chain of control edges."""

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type, array
from conformance.programs.scope import FLOATS, INTEGERS, Resource

_DTYPES = FLOATS + INTEGERS + ["bool", "string", "half"]
_NUMBERS = FLOATS + INTEGERS


def _variable(scope, accept=lambda resource: True):
    """Draws a variable that may be touched here: functions take none by reference."""
    kinds = ["resource"]
    if scope.inside == "top":
        kinds.append("ref")
    have = [r for r in scope.resources if r.kind in kinds and accept(r)]
    if not have or scope.inside == "defun":
        return None
    return scope.chance.choice(have)


@kind(weight=2.5, inside=("top",))
class variable(Kind):
    def draw(scope):
        resource = scope.chance.choice(["ref", "resource"])
        type = scope.type(_DTYPES)
        params = {"variable": resource, "value": scope.literal(type)}
        statement = scope.add("variable", [], params=params)
        if not statement.device and scope.likely(0.6):
            statement.device = "/job:ps/task:0"
        statement.control, statement.colocate = [], None
        statement.params["type"] = list(type)
        scope.local.pop()
        scope.resources.append(Resource(statement.id, resource, type))

    def build(builder, statement, args):
        params = statement.params
        type = Type(*params["type"])
        made = v1.Variable(
            v1.constant(array(params["value"], *type), type.dtype),
            use_resource=params["variable"] == "resource",
            name=f"{builder.prefix}_variable_{statement.id}",
            trainable=True,
        )
        builder.resources[statement.id] = made
        builder.initializers.append(made.initializer)
        return made.initializer


@kind(weight=3)
class read(Kind):
    def draw(scope):
        if resource := _variable(scope):
            scope.add("read", [resource.type], params={"of": resource.id}, touches=[resource])

    def build(builder, statement, args):
        return [_copy(builder.resources[statement.params["of"]])]


@kind(weight=3)
class assign(Kind):
    def draw(scope):
        resource = _variable(scope)
        if resource is None:
            return
        functions = ["assign"]
        if resource.type.dtype in _NUMBERS:
            functions += ["assign_add", "assign_sub"]
        params = {"of": resource.id, "function": scope.chance.choice(functions)}
        scope.add("assign", [resource.type], [scope.value(resource.type)], params, [resource])

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        changed = getattr(v1, statement.params["function"])(of, args[0])
        with tf.control_dependencies([changed]):
            return [_copy(of)]


@kind(weight=1)
class scatter(Kind):
    """Changes rows of a variable."""

    def draw(scope):
        resource = _variable(scope, lambda r: r.type.dtype in _NUMBERS and r.type.shape)
        if resource is None:
            return
        indices = scope.value(Type(scope.dtype(INTEGERS), (3,)))
        updates = scope.value(resource.type)
        function = scope.chance.choice(["scatter_update", "scatter_add", "scatter_sub"])
        params = {"of": resource.id, "function": function}
        scope.add("scatter", [resource.type], [indices, updates], params, [resource])

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        (type,) = statement.results
        rows = type.shape[0]
        # Each row once: the order of updates of one row is nobody's promise.
        indices = tf.math.floormod(args[0][0], rows) + tf.range(0, rows, dtype=args[0].dtype)
        indices = tf.math.floormod(indices, rows)
        changed = getattr(v1, statement.params["function"])(of, indices, args[1])
        with tf.control_dependencies([changed]):
            return [_copy(of)]


@kind(weight=1)
class rows_of(Kind):
    """Reads rows of a variable."""

    def draw(scope):
        resource = _variable(scope, lambda r: r.type.dtype in _NUMBERS and r.type.shape == (3,))
        if resource is not None:
            indices = scope.value(Type(scope.dtype(INTEGERS), (3,)))
            scope.add("rows_of", [resource.type], [indices], {"of": resource.id}, [resource])

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        return [tf.gather(of.read_value(), tf.math.floormod(args[0], 3)) + tf.cast(1, of.dtype)]


@kind(weight=1.5, inside=("top",))
class train(Kind):
    """One update of a variable by an optimiser, by the gradient of what was computed with it."""

    def draw(scope):
        accept = lambda r: r.kind in ("ref", "resource") and r.type.dtype in FLOATS
        resource = _variable(scope, accept)
        if resource is None:
            return
        x = scope.value(resource.type)
        optimizer = scope.chance.choice(["GradientDescent", "Momentum", "Adagrad", "Adam", "RMSProp"])
        params = {"of": resource.id, "optimizer": optimizer, "sparse": scope.likely(0.3)}
        scope.add("train", [resource.type], [x], params, [resource], exact=False)

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        name = statement.params["optimizer"]
        optimizer = getattr(v1.train, f"{name}Optimizer")
        optimizer = optimizer(0.5, 0.9) if name == "Momentum" else optimizer(0.5)
        # Read now: a variable by reference as such stands for what it was when it was made.
        value = of.read_value()
        if statement.params["sparse"] and of.shape.rank:
            value = tf.gather(value, [0])
        loss = tf.reduce_sum(tf.tanh(value * tf.cast(0.1, of.dtype)) * tf.tanh(args[0]))
        before = set(v1.global_variables())
        done = optimizer.minimize(loss, var_list=[of])
        builder.initializers += [v.initializer for v in v1.global_variables() if v not in before]
        with tf.control_dependencies([done]):
            return [_copy(of)]


@kind(weight=1, inside=("top",))
class queue(Kind):
    def draw(scope):
        type = scope.type()
        kind = scope.chance.choice(["FIFOQueue", "PaddingFIFOQueue"])
        statement = scope.add("queue", [], params={"queue": kind, "type": list(type)})
        statement.control, statement.colocate = [], None
        scope.local.pop()
        scope.resources.append(Resource(statement.id, "queue", type))

    def build(builder, statement, args):
        dtype, shape = statement.params["type"]
        made = getattr(v1, statement.params["queue"])(
            1000, [dtype], [shape], shared_name=f"{builder.prefix}_queue_{statement.id}"
        )
        builder.resources[statement.id] = made
        return made.queue_ref.op


@kind(weight=3, inside=("top",))
class enqueue(Kind):
    def draw(scope):
        if resource := scope.resource("queue"):
            value = scope.value(resource.type)
            scope.add("enqueue", [], [value], {"of": resource.id}, [resource])
            resource.count += 1

    def build(builder, statement, args):
        return builder.resources[statement.params["of"]].enqueue(args[0])


@kind(weight=2, inside=("top",))
class dequeue(Kind):
    """As many have been put in before, in every step that comes here."""

    def draw(scope):
        resource = scope.resource("queue")
        if resource is None or not resource.count:
            return
        resource.count -= 1
        scope.add("dequeue", [resource.type], [], {"of": resource.id}, [resource], exact=False)

    def build(builder, statement, args):
        return [builder.resources[statement.params["of"]].dequeue()]


@kind(weight=1, inside=("top",))
class queue_size(Kind):
    def draw(scope):
        if resource := scope.resource("queue"):
            scope.add("queue_size", [Type("int32", ())], [], {"of": resource.id}, [resource])

    def build(builder, statement, args):
        return [builder.resources[statement.params["of"]].size()]


def _copy(of):
    """A value that later changes of a variable by reference do not reach."""
    value, dtype = of.read_value(), of.dtype.base_dtype
    if dtype == tf.string:
        return tf.strings.join([value, "!"])
    if dtype == tf.bool:
        return tf.logical_not(value)
    return tf.add(value, tf.cast(1, dtype))
