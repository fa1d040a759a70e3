"""Statements that arrange elements, several of them with more than one result."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import ALL, FLOATS, INTEGERS, NUMBERS


@kind(weight=1.5)
class identity(Kind):
    def draw(scope):
        x = scope.value(scope.type())
        functions = ["identity", "stop_gradient", "copy", "snapshot"]
        function = scope.chance.choice(functions[: 4 if x.arg.type.dtype in NUMBERS else 3])
        scope.add("identity", [x.arg.type], [x], {"function": function}, exact=x.exact)

    def build(builder, statement, args):
        functions = {
            "identity": tf.identity,
            "stop_gradient": tf.stop_gradient,
            "copy": lambda x: tf.raw_ops.DeepCopy(x=x),
            "snapshot": lambda x: tf.raw_ops.Snapshot(input=x),
        }
        return [functions[statement.params["function"]](args[0])]


@kind()
class identity_n(Kind):
    def draw(scope):
        values = [scope.value(scope.type()) for _ in range(scope.chance.randint(1, 3))]
        scope.add("identity_n", [value.arg.type for value in values], values)

    def build(builder, statement, args):
        return tf.identity_n(args)


@kind()
class reshape(Kind):
    def draw(scope):
        x = scope.value(scope.type())
        like = scope.value(Type(scope.dtype(ALL), x.arg.type.shape))
        scope.add("reshape", [x.arg.type], [x, like])

    def build(builder, statement, args):
        return [tf.reshape(tf.reshape(args[0], [-1]), tf.shape(args[1]))]


@kind()
class concat_split(Kind):
    """Joins two values and takes them apart again."""

    def draw(scope):
        type = scope.type()._replace(shape=scope.chance.choice([(3,), (2, 3)]))
        values = [scope.value(type) for _ in range(2)]
        axis = scope.chance.randrange(len(type.shape))
        scope.add("concat_split", [type, type], values, {"axis": axis})

    def build(builder, statement, args):
        axis = statement.params["axis"]
        return tf.split(tf.concat(args, axis), 2, axis)


@kind()
class stack_unstack(Kind):
    def draw(scope):
        type = scope.type()._replace(shape=scope.chance.choice([(), (3,)]))
        values = [scope.value(type) for _ in range(2)]
        scope.add("stack_unstack", [type, type], values)

    def build(builder, statement, args):
        return tf.unstack(tf.stack(args), 2)


@kind()
class gather(Kind):
    """Takes rows; indices out of range are an error."""

    def draw(scope):
        x = scope.value(scope.type()._replace(shape=scope.chance.choice([(3,), (2, 3)])))
        indices = scope.value(Type(scope.dtype(INTEGERS), (3,)))
        fails = scope.may_fail()
        row = Type(x.arg.type.dtype, (3,) + x.arg.type.shape[1:])
        if row.shape == (3, 3):
            row = Type(row.dtype, (2, 3))
        scope.add("gather", [row], [x, indices], {"fails": fails})

    def build(builder, statement, args):
        x, indices = args
        if not statement.params["fails"]:
            indices = tf.math.floormod(indices, tf.cast(tf.shape(x)[0], indices.dtype))
        rows = statement.results[0].shape[0]
        return [tf.gather(x, indices[:rows])]


@kind()
class shape_of(Kind):
    def draw(scope):
        x = scope.value(scope.type())
        function = scope.chance.choice(["shape", "size", "rank"])
        rank = len(x.arg.type.shape)
        if function == "shape" and rank != 2:
            function = "size"
        dtype = "int32"
        shape = () if function != "shape" else (3,)
        scope.add("shape_of", [Type(dtype, shape)], [x], {"function": function})

    def build(builder, statement, args):
        match statement.params["function"]:
            case "shape":
                return [tf.concat([tf.shape(args[0]), [5]], 0)]
            case "size":
                return [tf.size(args[0])]
            case _:
                return [tf.rank(args[0])]


@kind()
class unique(Kind):
    """Two results, the first of a shape that nobody knows beforehand."""

    def draw(scope):
        x = scope.value(Type(scope.dtype(INTEGERS), (3,)))
        scope.add("unique", [Type(x.arg.type.dtype, ()), Type("int32", (3,))], [x])

    def build(builder, statement, args):
        values, indices = tf.unique(args[0])
        return [tf.reduce_sum(values), indices]


@kind()
class top_k(Kind):
    def draw(scope):
        x = scope.any_value(lambda v: v.exact and v.arg.type.dtype in FLOATS + INTEGERS and v.arg.type.shape == (3,))
        if x is not None:
            scope.add("top_k", [x.arg.type, Type("int32", (3,))], [x])

    def build(builder, statement, args):
        return list(tf.nn.top_k(args[0], 3))


@kind()
class mask(Kind):
    """Rows that a condition picks, summed up: nobody knows how many there are."""

    def draw(scope):
        x = scope.value(Type(scope.dtype(FLOATS + INTEGERS), (3,)))
        condition = scope.value(Type("bool", (3,)))
        scope.add("mask", [Type(x.arg.type.dtype, ())], [x, condition], exact=False)

    def build(builder, statement, args):
        return [tf.reduce_sum(tf.boolean_mask(tf.ensure_shape(args[0], [3]), tf.ensure_shape(args[1], [3])))]


@kind()
class slice_pad(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(NUMBERS), (3,)))
        start = scope.value(Type("int32", ()))
        scope.add("slice_pad", [x.arg.type], [x, start])

    def build(builder, statement, args):
        x, start = args
        start = tf.math.floormod(start, 3)
        return [tf.pad(x[start:], [[start, 0]])]


@kind()
class strings(Kind):
    def draw(scope):
        function = scope.chance.choice(["join", "length", "as_string", "upper"])
        shape = scope.shape()
        if function == "as_string":
            x = scope.value(Type(scope.dtype(INTEGERS + ["bool"]), shape))
        else:
            x = scope.value(Type("string", shape))
        y = scope.value(Type("string", shape))
        result = Type("int32" if function == "length" else "string", shape)
        scope.add("strings", [result], [x, y], {"function": function})

    def build(builder, statement, args):
        match statement.params["function"]:
            case "join":
                return [tf.strings.join(args, "-")]
            case "length":
                return [tf.strings.length(args[0])]
            case "as_string":
                return [tf.strings.as_string(args[0])]
            case _:
                return [tf.strings.upper(args[0])]
