"""Tables of keys and values, which stand beside variables and queues."""

import tensorflow as tf

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import Type
from conformance.programs.scope import Resource

_KEYS = ["int64", "string"]
_VALUES = {"int64": ["float32", "int64", "string"], "string": ["int64", "float32"]}


@kind(weight=1, inside=("top",))
class table(Kind):
    """A table that steps fill."""

    def draw(scope):
        key = scope.chance.choice(_KEYS)
        value = scope.chance.choice(_VALUES[key])
        statement = scope.add("table", [], params={"key": key, "value": value})
        statement.control, statement.colocate = [], None
        scope.local.pop()
        scope.resources.append(Resource(statement.id, "table", Type(value, (3,)), key))

    def build(builder, statement, args):
        key, value = (tf.as_dtype(statement.params[name]) for name in ("key", "value"))
        default = tf.constant("?" if value == tf.string else -1, value)
        made = tf.lookup.experimental.MutableHashTable(
            key, value, default, name=f"{builder.prefix}_table_{statement.id}"
        )
        builder.resources[statement.id] = made
        return made.resource_handle.op


@kind(weight=2, inside=("top",))
class table_insert(Kind):
    def draw(scope):
        if of := scope.resource("table"):
            keys, values = scope.value(Type(of.count, (3,))), scope.value(of.type)
            function = scope.chance.choice(["insert", "insert", "remove"])
            scope.add("table_insert", [], [keys, values], {"of": of.id, "function": function}, [of])

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        keys, values = args
        if statement.params["function"] == "remove":
            return of.remove(keys[:1])
        # Each key once: which of two values stays is nobody's promise.
        return of.insert(keys[:1], values[:1])


@kind(weight=2, inside=("top",))
class table_lookup(Kind):
    def draw(scope):
        if of := scope.resource("table"):
            keys = scope.value(Type(of.count, (3,)))
            scope.add("table_lookup", [of.type, Type("int64", ())], [keys], {"of": of.id}, [of])

    def build(builder, statement, args):
        of = builder.resources[statement.params["of"]]
        return [of.lookup(args[0]), of.size()]


@kind(weight=1, inside=("top", "cond", "function"))
class constant_table(Kind):
    """A table that its initialiser fills once, looked up wherever it is."""

    def draw(scope):
        keys = scope.value(Type("string", scope.shape()))
        params = {"default": scope.chance.randint(-3, 3)}
        scope.add("constant_table", [Type("int64", keys.arg.type.shape)], [keys], params)

    def build(builder, statement, args):
        with tf.init_scope(), builder.graph.as_default(), tf.device(statement.device or None):
            entries = tf.lookup.KeyValueTensorInitializer(
                tf.constant(["", "a", "42"]), tf.constant([3, -4, 5], tf.int64)
            )
            table = tf.lookup.StaticHashTable(entries, statement.params["default"])
            builder.initializers.append(table._init_op)
        return [table.lookup(args[0])]
