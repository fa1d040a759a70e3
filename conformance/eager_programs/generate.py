"""From seeds to programs."""

import random

from conformance.programs import kinds
from conformance.programs.program import Part, Program
from conformance.programs.scope import Scope

_MOST_STATEMENTS = 15
# Kinds that are for graphs alone.
_GRAPH_ONLY = {"constant_table", "gradients", "nothing", "stack"}
# What these programs are for.
_OFTEN = {"again", "assign", "cond", "function", "loop", "read", "tape"}


def generate(seed):
    """Returns the program of a seed."""
    scope = Scope(random.Random(seed), inside="eager")
    variable = kinds.kinds()["variable"]
    for _ in range(scope.chance.randint(0, 3)):
        variable.draw(scope)
        scope.resources[-1].kind = "resource"
    fitting = {name: each for name, each in kinds.kinds().items() if _fits(name, each)}
    weights = [each.weight * (3 if name in _OFTEN else 1) for name, each in fitting.items()]
    fitting = list(fitting.values())
    for _ in range(scope.chance.randint(3, _MOST_STATEMENTS)):
        (drawn,) = scope.chance.choices(fitting, weights)
        drawn.draw(scope)
    return Program([Part(scope.statements, [])])


def _fits(name, kind):
    return ("eager" in kind.inside or "function" in kind.inside) and name not in _GRAPH_ONLY
