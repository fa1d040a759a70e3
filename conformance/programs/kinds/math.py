"""Arithmetic, comparisons and casts; some fail on some values."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import ALL, FLOATS, INTEGERS, NUMBERS, SMALL_FLOATS, SMALL_INTEGERS

_UNARY = {
    "neg": tf.negative,
    "square": tf.square,
    "abs": tf.abs,
    "sign": tf.sign,
    "zeros_like": tf.zeros_like,
    "ones_like": tf.ones_like,
}
_UNARY_FLOAT = {
    "tanh": tf.tanh,
    "sigmoid": tf.sigmoid,
    "relu": tf.nn.relu,
    "exp_tanh": lambda x: tf.exp(tf.tanh(x)),
    "softplus": tf.nn.softplus,
    "rsqrt": lambda x: tf.math.rsqrt(tf.square(tf.tanh(x)) + tf.cast(1, x.dtype)),
    "softmax": lambda x: tf.nn.softmax(tf.reshape(tf.tanh(x), [1, -1])) * tf.ones_like(tf.reshape(x, [1, -1])),
}
_BINARY = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "max": tf.maximum,
    "min": tf.minimum,
    "squared_difference": tf.math.squared_difference,
}


@kind(weight=4)
class unary(Kind):
    def draw(scope):
        x = scope.value(scope.type(NUMBERS))
        names = list(_UNARY)
        if x.arg.type.dtype in FLOATS + SMALL_FLOATS:
            names += _UNARY_FLOAT
        name = scope.chance.choice(names)
        scope.add("unary", [x.arg.type], [x], {"function": name}, exact=name in _UNARY)

    def build(builder, statement, args):
        name = statement.params["function"]
        y = (_UNARY.get(name) or _UNARY_FLOAT[name])(args[0])
        return [tf.reshape(y, tf.shape(args[0])) if name == "softmax" else y]


@kind(weight=8)
class binary(Kind):
    def draw(scope):
        type = scope.type(FLOATS if scope.likely(0.5) else NUMBERS)
        x = scope.value(type)
        y = scope.value(type if scope.likely(0.7) else Type(type.dtype, ()))
        if x.arg == y.arg:
            return  # TensorFlow's rewrite of such a product overlooks feeds of it.
        if scope.likely(0.2):
            x, y = y, x
        shape = max(x.arg.type.shape, y.arg.type.shape, key=len)
        name = scope.chance.choice(list(_BINARY))
        scope.add("binary", [Type(type.dtype, shape)], [x, y], {"function": name})

    def build(builder, statement, args):
        return [_BINARY[statement.params["function"]](*args)]


@kind(weight=1)
class divide(Kind):
    """Integers by what may be zero, which is an error; or by what is not."""

    def draw(scope):
        type = scope.type(INTEGERS + SMALL_INTEGERS)
        function = scope.chance.choice(["floordiv", "floormod", "truncatediv"])
        args = [scope.value(type), scope.value(type)]
        params = {"function": function, "fails": scope.may_fail()}
        scope.add("divide", [type], args, params)

    def build(builder, statement, args):
        x, y = args
        if not statement.params["fails"]:
            y = tf.maximum(y, tf.ones_like(y))
        functions = {
            "floordiv": tf.math.floordiv,
            "floormod": tf.math.floormod,
            "truncatediv": lambda x, y: tf.raw_ops.TruncateDiv(x=x, y=y),
        }
        return [functions[statement.params["function"]](x, y)]


@kind(weight=1)
class check(Kind):
    """A value that passes on if it is as it should be, and is an error otherwise."""

    def draw(scope):
        x = scope.any_value(lambda v: v.exact and v.arg.type.dtype in FLOATS + INTEGERS)
        if x is None:
            return
        how = scope.chance.choice(["numerics", "assert", "shape"])
        if how == "numerics" and x.arg.type.dtype not in FLOATS:
            how = "shape"
        fails = scope.may_fail()
        scope.add("check", [x.arg.type], [x], {"how": how, "fails": fails})

    def build(builder, statement, args):
        (x,), fails = args, statement.params["fails"]
        match statement.params["how"]:
            case "numerics":
                y = x / tf.zeros_like(x) if fails else x
                return [tf.debugging.check_numerics(y, "drawn")]
            case "assert":
                bound = tf.cast(0 if fails else -(10**6), x.dtype)
                y = x if fails else tf.zeros_like(x)
                good = tf.reduce_all(y > bound)
                with tf.control_dependencies([tf.raw_ops.Assert(condition=good, data=[x], summarize=3)]):
                    return [tf.identity(x)]
            case _:
                shape = [7, None] if fails else list(statement.results[0].shape)
                return [tf.ensure_shape(tf.raw_ops.Identity(input=builder.unknown(x)), shape)]


@kind(weight=2)
class compare(Kind):
    def draw(scope):
        accept = lambda v: v.exact and v.arg.type.dtype in NUMBERS
        x = scope.any_value(accept)
        if x is None:
            return
        if x.arg.type.dtype in FLOATS + SMALL_FLOATS:
            y = None
        else:
            y = scope.value(x.arg.type)
        name = scope.chance.choice(["less", "greater", "equal"] if y else ["less", "greater"])
        args = [x, y] if y else [x]
        scope.add("compare", [Type("bool", x.arg.type.shape)], args, {"function": name})

    def build(builder, statement, args):
        x = args[0]
        # No value is near such a bound, whatever the order of its additions was.
        y = args[1] if len(args) > 1 else tf.cast(0.37, x.dtype)
        return [getattr(tf, statement.params["function"])(x, y)]


@kind(weight=1)
class logical(Kind):
    def draw(scope):
        type = Type("bool", scope.shape())
        name = scope.chance.choice(["and", "or", "xor", "not"])
        args = [scope.value(type) for _ in range(1 if name == "not" else 2)]
        scope.add("logical", [type], args, {"function": name})

    def build(builder, statement, args):
        functions = {
            "and": tf.logical_and,
            "or": tf.logical_or,
            "xor": tf.math.logical_xor,
            "not": tf.logical_not,
        }
        return [functions[statement.params["function"]](*args)]


@kind(weight=2)
class select(Kind):
    def draw(scope):
        type = scope.type()
        condition = scope.value(Type("bool", type.shape))
        values = [scope.value(type) for _ in range(2)]
        scope.add("select", [type], [condition, *values])

    def build(builder, statement, args):
        return [tf.where(*args)]


@kind(weight=3)
class cast(Kind):
    def draw(scope):
        whole = INTEGERS + SMALL_INTEGERS + ["bool"]
        x = scope.any_value(lambda v: v.arg.type.dtype in NUMBERS + ["bool"])
        if x is None:
            return
        floats = FLOATS + SMALL_FLOATS + ["complex64"]
        to = scope.dtype(floats if scope.likely(0.7) else whole)
        if x.arg.type.dtype in FLOATS + SMALL_FLOATS and to not in floats and not x.exact:
            return
        # What is rounded away may be a matter of order.
        exact = not (x.arg.type.dtype in FLOATS and to in SMALL_FLOATS)
        scope.add("cast", [Type(to, x.arg.type.shape)], [x], exact=exact)

    def build(builder, statement, args):
        (x,), to = args, tf.as_dtype(statement.results[0].dtype)
        if x.dtype.is_floating and not (to.is_floating or to.is_complex):
            # Others than these are undefined.
            low = 0 if to.is_unsigned else -100
            x = tf.where(tf.math.is_finite(x), tf.round(x), tf.zeros_like(x))
            x = tf.clip_by_value(x, tf.cast(low, x.dtype), tf.cast(100, x.dtype))
        return [tf.cast(x, to)]


@kind(weight=2)
class reduce(Kind):
    def draw(scope):
        x = scope.value(scope.type(FLOATS + INTEGERS)._replace(shape=scope.chance.choice([(3,), (2, 3)])))
        name = scope.chance.choice(["sum", "mean", "max", "prod"])
        shape = () if len(x.arg.type.shape) == 1 or scope.likely(0.5) else (3,)
        params = {"function": name, "axis": None if shape == () else 0}
        exact = name == "max"
        scope.add("reduce", [Type(x.arg.type.dtype, shape)], [x], params, exact=exact)

    def build(builder, statement, args):
        function = getattr(tf, f"reduce_{statement.params['function']}")
        return [function(args[0], statement.params["axis"])]


@kind(weight=2)
class matmul(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS), (2, 3))
        scope.add("matmul", [type], [scope.value(type) for _ in range(3)], exact=False)

    def build(builder, statement, args):
        a, b, c = args
        return [tf.matmul(tf.matmul(a, b, transpose_b=True), c)]


@kind(weight=1)
class add_n(Kind):
    def draw(scope):
        type = scope.type(NUMBERS)
        count = scope.chance.randint(1, 4)
        scope.add("add_n", [type], [scope.value(type) for _ in range(count)], exact=False)

    def build(builder, statement, args):
        return [tf.add_n(args)]


@kind(weight=1)
class complex_parts(Kind):
    def draw(scope):
        x = scope.value(Type("complex64", scope.shape()))
        scope.add("complex_parts", [x.arg.type, Type("float32", x.arg.type.shape)], [x], exact=False)

    def build(builder, statement, args):
        real, imaginary = tf.math.real(args[0]), tf.math.imag(args[0])
        return [tf.complex(imaginary, real + 1), real * imaginary]


@kind(weight=1)
class nothing(Kind):
    """An operation without results, after others."""

    def draw(scope):
        if scope.local:
            statement = scope.add("nothing", [])
            statement.control += scope.chance.sample(scope.local[:-1], min(2, len(scope.local) - 1))

    def build(builder, statement, args):
        return tf.no_op()


@kind(weight=0.5, inside=("top",))
class switch(Kind):
    """A switch by hand, and the merge of what becomes of its ends, one of which is dead."""

    def draw(scope):
        x = scope.value(scope.type(ALL))
        condition = scope.value(Type("bool", ()))
        scope.add("switch", [x.arg.type, Type("int32", ())], [x, condition])

    def build(builder, statement, args):
        false, true = tf.raw_ops.Switch(data=args[0], pred=args[1])
        return list(tf.raw_ops.Merge(inputs=[tf.identity(false), tf.identity(true)]))
