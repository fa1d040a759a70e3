"""Iterators over datasets: each step that comes to one takes the next element."""

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import Resource

_STAGES = ["map", "parallel_map", "batch", "filter", "shuffle", "prefetch"]
_STAGES += ["skip", "concatenate", "zip", "interleave", "scan", "window"]


@kind(weight=1, inside=("top",))
class iterator(Kind):
    def draw(scope):
        stages = [scope.chance.choice(_STAGES) for _ in range(scope.chance.randint(0, 4))]
        params = {
            "stages": stages,
            "seed": scope.chance.randint(1, 100),
            "ends": scope.may_fail(),
            "one_shot": scope.likely(0.3),
        }
        statement = scope.add("iterator", [], params=params)
        statement.control, statement.colocate = [], None
        scope.local.pop()
        scope.resources.append(Resource(statement.id, "iterator", Type("int64", ())))

    def build(builder, statement, args):
        params = statement.params
        data = tf.data.Dataset.range(12)
        for stage in params["stages"]:
            data = _stage(data, stage, params["seed"])
        if not params["ends"]:
            data = data.repeat()
        if params["one_shot"]:
            made = v1.data.make_one_shot_iterator(data)
        else:
            made = v1.data.make_initializable_iterator(data)
            builder.initializers.append(made.initializer)
        builder.resources[statement.id] = made
        return made._iterator_resource.op


@kind(weight=2, inside=("top",))
class next_element(Kind):
    def draw(scope):
        if of := scope.resource("iterator"):
            scope.add("next_element", [of.type], [], {"of": of.id}, [of])

    def build(builder, statement, args):
        return [builder.resources[statement.params["of"]].get_next()]


def _stage(data, stage, seed):
    match stage:
        case "map":
            return data.map(lambda x: x * 3 + 1)
        case "parallel_map":
            return data.map(lambda x: x - 2, num_parallel_calls=2, deterministic=True)
        case "batch":
            return data.batch(2).map(tf.reduce_sum)
        case "filter":
            return data.filter(lambda x: tf.equal(x % 2, 0)).concatenate(tf.data.Dataset.range(1))
        case "shuffle":
            return data.shuffle(5, seed=seed, reshuffle_each_iteration=False)
        case "prefetch":
            return data.prefetch(2)
        case "skip":
            return data.skip(1).concatenate(tf.data.Dataset.range(2))
        case "concatenate":
            return data.concatenate(data.take(2))
        case "zip":
            return tf.data.Dataset.zip((data, data.skip(0))).map(lambda x, y: x + y)
        case "interleave":
            return data.interleave(lambda x: tf.data.Dataset.range(x, x + 2), cycle_length=2)
        case "scan":
            return data.scan(tf.constant(0, tf.int64), lambda state, x: (state + x, state - x))
        case _:
            return data.window(2).flat_map(lambda window: window)
