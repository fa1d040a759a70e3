"""More statements that arrange elements: by partitions, segments, indices and axes."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import FLOATS, INTEGERS, NUMBERS

_WHOLE = FLOATS + INTEGERS


@kind()
class partition_stitch(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(NUMBERS), (3,)))
        which = scope.value(Type("int32", (3,)))
        scope.add("partition_stitch", [x.arg.type, Type("int32", ())], [x, which])

    def build(builder, statement, args):
        x, which = tf.ensure_shape(args[0], [3]), tf.math.floormod(tf.ensure_shape(args[1], [3]), 2)
        parts = tf.dynamic_partition(x, which, 2)
        places = tf.dynamic_partition(tf.range(3), which, 2)
        return [tf.dynamic_stitch(places, parts), tf.size(parts[0])]


@kind()
class segments(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(_WHOLE), (3,)))
        ids = scope.value(Type("int32", (3,)))
        function = scope.chance.choice(["sum", "max", "unsorted", "sparse"])
        scope.add("segments", [x.arg.type], [x, ids], {"function": function}, exact=False)

    def build(builder, statement, args):
        x = tf.ensure_shape(args[0], [3])
        ids = tf.math.floormod(tf.ensure_shape(args[1], [3]), 3)
        match statement.params["function"]:
            case "sum":
                made = tf.math.segment_sum(x, tf.sort(ids))
            case "max":
                made = tf.math.segment_max(x, tf.sort(ids))
            case "unsorted":
                return [tf.math.unsorted_segment_sum(x, ids, 3)]
            case _:
                if x.dtype not in (tf.float32, tf.float64):
                    return [tf.math.unsorted_segment_prod(x, ids, 3)]
                made = tf.sparse.segment_sum(x, ids, tf.constant([0, 0, 2]))
        return [tf.pad(made, [[0, 3 - tf.size(made)]])]


@kind(weight=2)
class along_axis(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(_WHOLE), (2, 3)))
        names = ["cumsum", "cumprod", "reverse", "roll", "tile", "transpose", "einsum", "band", "diag"]
        function = scope.chance.choice(names)
        exact = function in ("reverse", "roll", "tile", "transpose", "band")
        scope.add("along_axis", [x.arg.type], [x], {"function": function}, exact=exact)

    def build(builder, statement, args):
        x = tf.ensure_shape(args[0], [2, 3])
        match statement.params["function"]:
            case "cumsum":
                return [tf.cumsum(x, 1, exclusive=True)]
            case "cumprod":
                return [tf.math.cumprod(x, 0, reverse=True)]
            case "reverse":
                return [tf.reverse(x, [1])]
            case "roll":
                return [tf.roll(x, 2, 1)]
            case "tile":
                return [tf.tile(x, [2, 2])[1:3, 1:4]]
            case "transpose":
                return [tf.transpose(tf.transpose(x) + tf.cast(1, x.dtype))]
            case "einsum":
                return [tf.einsum("ij,kj,kl->il", x, x, x)]
            case "band":
                return [tf.linalg.band_part(x, 0, 1)]
            case _:
                return [x + tf.linalg.diag_part(x)[:, None]]


@kind()
class scatter_into(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(_WHOLE), (3,)))
        start = scope.value(Type("int32", ()))
        function = scope.chance.choice(["new", "update", "add", "max"])
        fails = scope.may_fail()
        params = {"function": function, "fails": fails}
        scope.add("scatter_into", [x.arg.type], [x, start], params, exact=False)

    def build(builder, statement, args):
        x, start = args
        x = tf.ensure_shape(x, [3])
        if not statement.params["fails"]:
            start = tf.math.floormod(start, 2)
        indices = tf.reshape(tf.stack([start, start + 1]), [2, 1])
        updates = x[:2]
        match statement.params["function"]:
            case "new":
                return [tf.scatter_nd(indices, updates, [3])]
            case "update":
                return [tf.tensor_scatter_nd_update(x, indices, updates)]
            case "add":
                return [tf.tensor_scatter_nd_add(x, indices, updates)]
            case _:
                return [tf.tensor_scatter_nd_max(x, indices, updates)]


@kind()
class counting(Kind):
    def draw(scope):
        x = scope.value(Type(scope.dtype(INTEGERS), (3,)))
        function = scope.chance.choice(["one_hot", "bincount", "sort", "argsort", "where", "searchsorted"])
        scope.add("counting", [Type("int32", (3,))], [x], {"function": function})

    def build(builder, statement, args):
        x = tf.ensure_shape(args[0], [3])
        match statement.params["function"]:
            case "one_hot":
                made = tf.reduce_sum(tf.one_hot(x, 3, dtype=tf.int32), 0)
            case "bincount":
                small = tf.cast(tf.math.floormod(x, 3), tf.int32)
                made = tf.math.bincount(small, minlength=3, maxlength=3)
            case "sort":
                made = tf.sort(x, direction="DESCENDING")
            case "argsort":
                made = tf.argsort(x, stable=True)
            case "where":
                found = tf.reshape(tf.where(x > tf.cast(0, x.dtype)), [-1])
                made = tf.pad(found, [[0, 3 - tf.size(found)]])
            case _:
                made = tf.searchsorted(tf.sort(x), x)
        return [tf.cast(made, tf.int32)]


@kind()
class texts(Kind):
    """Strings taken apart and read."""

    def draw(scope):
        x = scope.value(Type("string", (3,)))
        function = scope.chance.choice(["substr", "replace", "strip", "hash", "number", "split", "reduce"])
        if function == "number" and not scope.may_fail():
            function = "split"
        result = {"hash": Type("int64", (3,)), "number": Type("float32", (3,)), "split": Type("int32", (3,))}
        scope.add("texts", [result.get(function, Type("string", (3,)))], [x], {"function": function})

    def build(builder, statement, args):
        x = tf.ensure_shape(args[0], [3])
        match statement.params["function"]:
            case "substr":
                return [tf.strings.substr(tf.strings.join([x, "abc"]), 1, 2)]
            case "replace":
                return [tf.strings.regex_replace(x, "[a-c ]", "<\\0>")]
            case "strip":
                return [tf.strings.strip(tf.strings.join([x, " "]))]
            case "hash":
                return [tf.strings.to_hash_bucket_fast(x, 100)]
            case "number":
                return [tf.strings.to_number(x)]
            case "split":
                return [tf.cast(tf.strings.split(x).row_lengths(), tf.int32)]
            case _:
                return [tf.tile(tf.strings.reduce_join(x, keepdims=True, separator="|"), [3])]
