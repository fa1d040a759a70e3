"""Where values come from."""

import tensorflow.compat.v1 as v1

from conformance.programs.kinds import Kind, kind
from conformance.programs.program import array


@kind(weight=2)
class const(Kind):
    def draw(scope):
        scope.source(scope.type())

    def build(builder, statement, args):
        (type,) = statement.results
        return [v1.constant(array(statement.params["value"], *type), type.dtype)]


@kind(weight=4, inside=("top",))
class placeholder(Kind):
    def draw(scope):
        type = scope.type()
        scope.add("placeholder", [type], params={"shape": scope.static(type.shape)})

    def build(builder, statement, args):
        return [v1.placeholder(statement.results[0].dtype, statement.params["shape"])]


@kind(weight=1, inside=("top",))
class default(Kind):
    """A placeholder with a default."""

    def draw(scope):
        type = scope.type()
        static = scope.static(type.shape)
        scope.add("default", [type], [scope.value(type)], params={"shape": static})

    def build(builder, statement, args):
        return [v1.placeholder_with_default(args[0], statement.params["shape"])]

