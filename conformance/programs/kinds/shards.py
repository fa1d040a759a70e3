"""Variables in several parts, as parameter servers hold large tables."""

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type, array
from conformance.programs.scope import FLOATS, INTEGERS, Resource

_DEVICES = ["", "/job:ps/task:0", "/job:worker/task:1", "/job:ps/task:0/device:CPU:1"]


@kind(weight=1, inside=("top",))
class shards(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS), (2, 3))
        axis = scope.chance.randrange(2)
        params = {
            "value": scope.literal(type),
            "type": list(type),
            "axis": axis,
            "resource": scope.likely(0.5),
            "devices": [scope.chance.choice(_DEVICES) for _ in range(2)],
        }
        statement = scope.add("shards", [], params=params)
        statement.control, statement.colocate, statement.device = [], None, ""
        scope.local.pop()
        scope.resources.append(Resource(statement.id, "shards", type, axis))

    def build(builder, statement, args):
        params = statement.params
        type, devices = Type(*params["type"]), iter(params["devices"] * 2)
        value = array(params["value"], *type)

        def device(op):
            return next(devices) if op.type in ("VariableV2", "VarHandleOp") else ""

        def initial(shape, dtype=None, partition_info=None):
            start = partition_info.var_offset
            part = value[start[0] : start[0] + shape[0], start[1] : start[1] + shape[1]]
            return tf.constant(part, dtype)

        with v1.device(device):
            made = v1.get_variable(
                f"{builder.prefix}_shards_{statement.id}",
                type.shape,
                type.dtype,
                initializer=initial,
                partitioner=v1.fixed_size_partitioner(2, params["axis"]),
                use_resource=params["resource"],
            )
        builder.resources[statement.id] = list(made)
        builder.initializers += [part.initializer for part in made]
        return tf.no_op()


@kind(weight=2, inside=("top",))
class read_shards(Kind):
    def draw(scope):
        if of := scope.resource("shards"):
            scope.add("read_shards", [of.type], [], {"of": of.id, "axis": of.count}, [of])

    def build(builder, statement, args):
        parts = builder.resources[statement.params["of"]]
        return [_copy(parts, statement.params["axis"])]


@kind(weight=2, inside=("top",))
class lookup_shards(Kind):
    """Rows of a table whose rows are in several parts."""

    def draw(scope):
        of = scope.resource("shards")
        if of is None or of.count != 0:
            return
        ids = scope.value(Type(scope.dtype(INTEGERS), (2, 3)))
        how = scope.chance.choice(["mod", "div"])
        scope.add("lookup_shards", [of.type], [ids], {"of": of.id, "strategy": how}, [of])

    def build(builder, statement, args):
        parts = [part.read_value() for part in builder.resources[statement.params["of"]]]
        ids = tf.math.floormod(args[0][:, 0], 2)
        found = v1.nn.embedding_lookup(parts, ids, partition_strategy=statement.params["strategy"])
        return [found * tf.cast(2, found.dtype)]


@kind(weight=1.5, inside=("top",))
class train_shards(Kind):
    def draw(scope):
        if of := scope.resource("shards"):
            optimizer = scope.chance.choice(["GradientDescent", "Adagrad", "Adam", "Ftrl"])
            params = {"of": of.id, "axis": of.count, "optimizer": optimizer}
            scope.add("train_shards", [of.type], [scope.value(of.type)], params, [of], exact=False)

    def build(builder, statement, args):
        params = statement.params
        parts = builder.resources[params["of"]]
        optimizer = getattr(v1.train, f"{params['optimizer']}Optimizer")(0.5)
        value = tf.concat([part.read_value() for part in parts], params["axis"])
        loss = tf.reduce_sum(tf.tanh(value * tf.cast(0.1, value.dtype)) * tf.tanh(args[0]))
        before = set(v1.global_variables())
        done = optimizer.minimize(loss, var_list=parts)
        builder.initializers += [v.initializer for v in v1.global_variables() if v not in before]
        with tf.control_dependencies([done]):
            return [_copy(parts, params["axis"])]


def _copy(parts, axis):
    value = tf.concat([part.read_value() for part in parts], axis)
    return tf.add(value, tf.cast(1, value.dtype))
