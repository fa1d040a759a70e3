"""Gradients as TensorFlow 2 takes them, and functions that are called once more."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.kinds.control import draw_body
from conformance.programs.scope import FLOATS


@kind(weight=2, inside=("eager", "function"))
class tape(Kind):
    """The gradient of a function's result by its arguments and by a variable that it captures."""

    def draw(scope):
        if scope.depth > 1:
            return
        floats = lambda value: value.arg.type.dtype in FLOATS
        arguments = [x for x in (scope.any_value(floats) for _ in range(2)) if x is not None]
        if not arguments:
            return
        types = [x.arg.type for x in arguments]
        size = scope.chance.randint(1, 4)
        body, touched = draw_body(scope, "function", types, [types[0]], size)
        params = {"function": scope.likely(0.5), "persistent": scope.likely(0.3)}
        results = [types[0], *types]
        scope.add("tape", results, arguments, params, touched, False, [body])

    def build(builder, statement, args):
        (body,), params = statement.bodies, statement.params
        call = builder.callable(body, statement.results[:1])
        if params["function"]:
            call = tf.function(call, autograph=False)
        with tf.GradientTape(persistent=params["persistent"]) as recorded:
            recorded.watch(args)
            (value,) = call(*args)
            # Something depends on every argument, whatever the body does.
            total = tf.reduce_sum(tf.tanh(value))
            for x in args:
                total += tf.cast(tf.reduce_sum(tf.tanh(x)), total.dtype)
        found = recorded.gradient(total, args, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        return [value, *(tf.convert_to_tensor(each) for each in found)]


@kind(weight=2, inside=("eager",))
class again(Kind):
    """An earlier function, called with other arguments."""

    def draw(scope):
        functions = [each for each in scope.statements if each.kind == "function"]
        if functions:
            of = scope.chance.choice(functions)
            args = [scope.value(arg.type) for arg in of.args]
            scope.add("again", of.results, args, {"function": of.id}, exact=False)

    def build(builder, statement, args):
        return builder.functions[statement.params["function"]](*args)
