"""Makes a program that shows a difference as small as it gets while it still shows one."""

import copy
import time

from conformance.programs.options import MASTERS


def shrink(program, shows, seconds=60):
    """Returns the smallest program found for which `shows` holds, within some time."""
    end = time.monotonic() + seconds
    best, changed = program, True
    while changed and time.monotonic() < end:
        changed = False
        for change in _changes(best):
            if time.monotonic() > end:
                break
            smaller = copy.deepcopy(best)
            if change(smaller) is not False and shows(smaller):
                best, changed = smaller, True
                break
    return best


def _changes(program):
    """Yields ways to make a program smaller, those that save most first."""
    statements = [each for part in program.parts for each in part.statements]
    placeholders = {each.id for each in statements if each.kind == "placeholder"}
    for part in reversed(range(len(program.parts))):
        if len(program.parts) > 1:
            yield lambda p, part=part: p.parts.pop(part)
    for part, each in enumerate(program.parts):
        yield from _cuts(len(each.steps), lambda p, part=part: p.parts[part].steps)
    for path in _levels(program):
        count = len(_at(program, path))
        yield from _cuts(count, lambda p, path=path: _at(p, path))
    for part, each in enumerate(program.parts):
        for index, step in enumerate(each.steps):
            # A placeholder that is missing is another difference.
            at = lambda p, part=part, index=index: p.parts[part].steps[index]
            for feed in step.feeds:
                if feed.arg.id not in placeholders:
                    yield lambda p, at=at, feed=feed: at(p).feeds.remove(feed)
            yield from _cuts(len(step.fetches), lambda p, at=at: at(p).fetches)
            yield from _cuts(len(step.targets), lambda p, at=at: at(p).targets)
            if step.mode != "run":
                yield lambda p, at=at: setattr(at(p), "mode", "run")
    for option in program.options:
        yield lambda p, option=option: p.options.remove(option)
    if program.master != MASTERS[0]:
        yield lambda p: setattr(p, "master", MASTERS[0])
    for path in _levels(program):
        for index, statement in enumerate(_at(program, path)):
            for field, plain in [("device", ""), ("control", []), ("colocate", None)]:
                if getattr(statement, field) != plain:
                    yield lambda p, path=path, index=index, field=field, plain=plain: setattr(
                        _at(p, path)[index], field, copy.copy(plain)
                    )


def _cuts(count, items):
    """Ways to take items out of a list: halves, quarters, and so on down to single ones."""
    size = count
    while size >= 1:
        for start in range(0, count, size):
            stop = min(start + size, count)
            yield lambda p, start=start, stop=stop: items(p).__delitem__(slice(start, stop))
        size //= 2


def _levels(program):
    """Yields a path to each list of statements."""

    def walk(statements, path):
        yield path
        for index, statement in enumerate(statements):
            for body_index, body in enumerate(statement.bodies):
                yield from walk(body.statements, path + ((index, body_index),))

    for index, part in enumerate(program.parts):
        yield from walk(part.statements, (index,))


def _at(program, path):
    part, *rest = path
    statements = program.parts[part].statements
    for index, body in rest:
        statements = statements[index].bodies[body].statements
    return statements
