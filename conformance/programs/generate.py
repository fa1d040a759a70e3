"""From seeds to programs."""

from conformance.programs import kinds, options
from conformance.programs.program import Feed, Part, Program, Step
from conformance.programs.scope import seeded

_MOST_STATEMENTS = 25
_MOST_STEPS = 6


def generate(seed):
    """Returns the program of a seed."""
    scope = seeded(seed)
    parts, placeholders = [], set()
    for _ in range(1 if scope.likely(0.8) else 2):
        scope.statements = []
        draw_statements(scope, scope.chance.randint(3, _MOST_STATEMENTS))
        placeholders |= {each.id for each in scope.statements if each.kind == "placeholder"}
        count = scope.chance.randint(2, _MOST_STEPS)
        parts.append(Part(scope.statements, [_step(scope, placeholders) for _ in range(count)]))
    return Program(parts, *options.draw(scope.chance))


def draw_statements(scope, count):
    """Draws statements into a scope."""
    fitting = [each for each in kinds.kinds().values() if scope.inside in each.inside]
    weights = [each.weight for each in fitting]
    for _ in range(count):
        (drawn,) = scope.chance.choices(fitting, weights)
        drawn.draw(scope)


def _step(scope, placeholders):
    chance = scope.chance
    values = [value.arg for value in scope.values]
    fetches = _some(chance, values, 0, 4)
    # To run a placeholder is an error even if it is fed, and two errors race.
    runnable = [id for id in scope.local if id not in placeholders]
    targets = _some(chance, runnable, 0, 2) if scope.likely(0.5) else []
    if not fetches and not targets and values:
        fetches = [chance.choice(values)]
    # Nearly always everything that could be needed is fed, and often more than that.
    fed = {arg for arg in values if arg.id in placeholders}
    if fed and scope.likely(0.1) and not scope.failures[0]:
        # One that is missing is an error; two would race for it.
        fed.remove(chance.choice(sorted(fed)))
    if scope.likely(0.4):
        fed.update(_some(chance, values, 1, 3))
    order = sorted(fed)
    chance.shuffle(order)
    feeds = [Feed(arg, scope.literal(arg.type), arg.type.shape) for arg in order]
    (mode,) = chance.choices(["run", "callable", "partial"], [16, 2, 1])
    first = (chance.randint(0, len(feeds)), chance.randint(0, len(fetches)))
    return Step(fetches, targets, feeds, mode, first if mode == "partial" else (0, 0))


def _some(chance, items, least, most):
    return chance.sample(items, min(len(items), chance.randint(least, most)))
