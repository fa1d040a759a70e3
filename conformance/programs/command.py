"""`cargo xtask differential programs`: random programs until the time is up."""

import itertools
import pathlib
import time

from conformance.programs import run
from conformance.programs.generate import generate
from conformance.programs.program import from_json
from conformance.programs.shrink import shrink

# Programs leave variables behind; servers forget them so often.
RESET_EVERY = 50


def add_arguments(parser):
    parser.add_argument("--minutes", type=float, default=0, help="go on with new seeds so long")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=300, help="programs to run at least")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="to make one small")
    parser.add_argument("--most", type=int, default=20, help="differences to show before the end")
    parser.add_argument("--replay", metavar="FILE", help="run a program that was printed as JSON")
    parser.add_argument("--show", action="store_true", help="print each program before it runs")
    parser.set_defaults(run=command)


def command(arguments, owner):
    engines = run.Engines(owner, "programs")
    if arguments.replay:
        program = from_json(pathlib.Path(arguments.replay).read_text())
        difference = engines.difference(program)
        print(f"{program}\n{difference or 'no difference'}")
        return bool(difference)
    start, found = time.monotonic(), 0
    end = start + 60 * arguments.minutes
    for count in itertools.count():
        if found >= arguments.most or count >= arguments.count and time.monotonic() > end:
            break
        seed = arguments.seed + count
        if count % RESET_EVERY == RESET_EVERY - 1:
            engines.reset()
        program = generate(seed)
        if arguments.show:
            print(f"seed {seed}\n{program}", flush=True)
        if difference := engines.difference(program):
            found += 1
            print(report(engines, seed, program, difference, arguments.shrink_seconds), flush=True)
    taken = time.monotonic() - start
    print(
        f"{count} programs, {engines.steps} steps ({engines.failures} of them failures) "
        f"in {taken:.0f} s: {found} differences"
    )
    return bool(found)


def report(engines, seed, program, difference, seconds):
    """Returns a difference with the smallest program that shows it."""
    small = shrink(program, lambda smaller: engines.difference(smaller) is not None, seconds)
    again = engines.difference(small)
    return "\n".join([
        f"seed {seed}: {difference}",
        f"shrunk to:\n{small}",
        f"which shows: {again or 'no difference: it depends on chance'}",
        f"{small.to_json()}\n",
    ])
