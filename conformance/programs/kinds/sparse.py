"""Sparse and ragged tensors, made of dense ones and dense again in the end."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import FLOATS, INTEGERS

_MATRIX = (2, 3)


@kind(weight=1)
class sparse(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS + INTEGERS), _MATRIX)
        function = scope.chance.choice(["round", "add", "reduce", "slice", "concat", "maximum", "retain", "fill"])
        if function == "maximum" and type.dtype not in FLOATS:
            function = "add"
        result = Type(type.dtype, (3,)) if function == "reduce" else type
        args = [scope.value(type), scope.value(type)]
        scope.add("sparse", [result], args, {"function": function}, exact=function in ("round", "slice", "fill"))

    def build(builder, statement, args):
        dense = [tf.ensure_shape(each, _MATRIX) for each in args]
        x, y = (tf.sparse.from_dense(each) for each in dense)
        match statement.params["function"]:
            case "add":
                made = tf.sparse.add(x, y)
            case "reduce":
                return [tf.reshape(tf.sparse.reduce_sum(x, 0), [3])]
            case "slice":
                made = tf.sparse.slice(x, [0, 1], [2, 2])
                return [tf.pad(tf.sparse.to_dense(made), [[0, 0], [0, 1]])]
            case "concat":
                made = tf.sparse.concat(0, [x, y])
                return [tf.sparse.to_dense(tf.sparse.slice(made, [1, 0], [2, 3]))]
            case "maximum":
                made = tf.sparse.maximum(x, y)
            case "retain":
                made = tf.sparse.retain(x, x.values > tf.cast(0, x.dtype))
            case "fill":
                filled, _ = tf.sparse.fill_empty_rows(x, tf.cast(7, x.dtype))
                return [tf.sparse.to_dense(tf.sparse.reorder(filled))]
            case _:
                made = x
        return [tf.sparse.to_dense(made, tf.cast(2, x.dtype))]


@kind(weight=1)
class sparse_product(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS), _MATRIX)
        args = [scope.value(type) for _ in range(3)]
        scope.add("sparse_product", [type], args, exact=False)

    def build(builder, statement, args):
        a, b, c = (tf.ensure_shape(each, _MATRIX) for each in args)
        square = tf.matmul(a, b, transpose_b=True)
        return [tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(square), c)]


@kind(weight=1)
class embedding(Kind):
    """Rows of a table, summed up by the segments of sparse ids."""

    def draw(scope):
        table = scope.value(Type(scope.dtype(FLOATS), (3,)))
        ids = scope.value(Type(scope.dtype(INTEGERS), _MATRIX))
        combiner = scope.chance.choice(["sum", "mean", "sqrtn"])
        scope.add("embedding", [table.arg.type], [table, ids], {"combiner": combiner}, exact=False)

    def build(builder, statement, args):
        table, ids = args
        ids = tf.sparse.from_dense(tf.math.floormod(tf.ensure_shape(ids, _MATRIX), 3) + 1)
        ids = tf.sparse.map_values(lambda values: values - 1, ids)
        rows = tf.nn.safe_embedding_lookup_sparse(
            tf.reshape(table, [3, 1]), ids, combiner=statement.params["combiner"]
        )
        return [tf.pad(tf.reshape(rows, [2]), [[0, 1]])]


@kind(weight=1)
class ragged(Kind):
    def draw(scope):
        type = Type(scope.dtype(FLOATS + INTEGERS), (3,))
        lengths = scope.value(Type(scope.dtype(INTEGERS), ()))
        function = scope.chance.choice(["reduce", "map", "concat", "to_tensor", "gather"])
        args = [scope.value(type), lengths]
        scope.add("ragged", [type], args, {"function": function}, exact=False)

    def build(builder, statement, args):
        x, first = args
        first = tf.math.floormod(first, 4)
        rest = tf.constant(3, first.dtype) - first
        lengths = tf.stack([first, tf.zeros_like(first), rest])
        rows = tf.RaggedTensor.from_row_lengths(tf.ensure_shape(x, [3]), lengths)
        match statement.params["function"]:
            case "map":
                return [tf.map_fn(tf.reduce_sum, rows, fn_output_signature=x.dtype)]
            case "concat":
                return [tf.reduce_sum(tf.concat([rows, rows + tf.cast(1, x.dtype)], 1), 1)]
            case "to_tensor":
                return [tf.reduce_sum(rows.to_tensor(tf.cast(2, x.dtype)), 1)]
            case "gather":
                return [tf.reduce_sum(tf.gather(rows, [2, 0, 1]), 1)]
            case _:
                return [tf.reduce_sum(rows, 1)]
