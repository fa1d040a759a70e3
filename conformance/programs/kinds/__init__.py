"""The kinds of statements. Each draws itself from a scope and builds itself in a graph.

    @kind(weight=3)
    class negative(Kind):
        def draw(scope):                     # adds a statement, or nothing if it cannot
            x = scope.value(scope.type(NUMBERS))
            scope.add("negative", [x.arg.type], [x])

        def build(builder, statement, args):    # returns its tensors, or an operation
            return [-args[0]]

Whatever `build` raises, the statement becomes constants of the types that it promised.
"""

import importlib
import pkgutil

_KINDS = {}


class Kind:
    """Both methods are static; the class is a namespace."""

    weight = 1
    # Where it may be drawn: at the top, or in branches, loops and functions.
    inside = ("top", "cond", "loop", "function", "defun")


def kind(weight=1, inside=None):
    """Registers a kind under the name of its class."""

    def register(definition):
        definition.weight = weight
        if inside is not None:
            definition.inside = inside
        _KINDS[definition.__name__] = definition
        return definition

    return register


def kinds():
    """Returns all kinds by name."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_KINDS.items()))
