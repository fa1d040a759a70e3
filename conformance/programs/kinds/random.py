"""Random numbers. Equal seeds are equal numbers, also where a generator goes on from step to step."""

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import FLOATS, INTEGERS

_STATELESS = {
    "uniform": tf.random.stateless_uniform,
    "normal": tf.random.stateless_normal,
    "truncated_normal": tf.random.stateless_truncated_normal,
}
_STATEFUL = {
    "uniform": v1.random_uniform,
    "normal": v1.random_normal,
    "truncated_normal": v1.truncated_normal,
}


@kind(weight=1)
class stateless_random(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS + ["half"]), scope.shape())
        seed = scope.value(Type(scope.dtype(INTEGERS), ()))
        function = scope.chance.choice(list(_STATELESS))
        scope.add("stateless_random", [type], [seed], {"function": function}, exact=False)

    def build(builder, statement, args):
        (type,) = statement.results
        seed = tf.stack([args[0], tf.cast(7, args[0].dtype)])
        return [_STATELESS[statement.params["function"]](type.shape, seed, dtype=type.dtype)]


@kind(weight=1)
class stateless_integers(Kind):
    def draw(scope):
        type = Type(scope.dtype(INTEGERS), scope.shape())
        seed = scope.value(Type("int32", ()))
        scope.add("stateless_integers", [type], [seed])

    def build(builder, statement, args):
        (type,) = statement.results
        return [tf.random.stateless_uniform(type.shape, tf.stack([args[0], 3]), -5, 6, type.dtype)]


@kind(weight=1, inside=("top",))
class random(Kind):
    """A generator of its own, which goes on whenever a step comes here."""

    def draw(scope):
        type = Type(scope.dtype(FLOATS), scope.shape())
        function = scope.chance.choice([*_STATEFUL, "integers", "shuffle"])
        args = []
        if function == "integers":
            type = type._replace(dtype=scope.dtype(INTEGERS))
        elif function == "shuffle":
            type = scope.type()._replace(shape=(3,))
            args = [scope.value(type)]
        params = {"function": function, "seed": scope.chance.randint(1, 1000)}
        scope.add("random", [type], args, params, exact=False)

    def build(builder, statement, args):
        (type,), seed = statement.results, statement.params["seed"]
        match statement.params["function"]:
            case "integers":
                made = v1.random_uniform(type.shape, -5, 6, type.dtype, seed)
            case "shuffle":
                made = v1.random_shuffle(args[0], seed)
            case name:
                made = _STATEFUL[name](type.shape, dtype=type.dtype, seed=seed)
        # After a failed step nobody knows how far a generator is.
        builder.resources[statement.id] = made
        return [made]
