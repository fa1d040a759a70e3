"""`cargo xtask differential eager`: random programs of TensorFlow 2 until the time is up."""

import itertools
import pathlib
import time

from conformance.eager_programs.generate import generate
from conformance.eager_programs.run import Clients
from conformance.programs.program import from_json
from conformance.programs.shrink import shrink


def add_arguments(parser):
    parser.add_argument("--minutes", type=float, default=0, help="go on with new seeds so long")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="programs to run at least")
    parser.add_argument("--shrink-seconds", type=float, default=60, help="to make one small")
    parser.add_argument("--most", type=int, default=20, help="differences to show before the end")
    parser.add_argument("--replay", metavar="FILE", help="run a program that was printed as JSON")
    parser.set_defaults(run=command)


def command(arguments, owner):
    clients = Clients(owner)
    try:
        if arguments.replay:
            program = from_json(pathlib.Path(arguments.replay).read_text())
            difference = clients.difference(program)
            print(f"{program}\n{difference or 'no difference'}")
            return bool(difference)
        return _many(arguments, clients)
    finally:
        clients.close()


def _many(arguments, clients):
    start, found = time.monotonic(), 0
    end = start + 60 * arguments.minutes
    for count in itertools.count():
        if found >= arguments.most or count >= arguments.count and time.monotonic() > end:
            break
        seed = arguments.seed + count
        program = generate(seed)
        if difference := clients.difference(program):
            found += 1
            shows = lambda smaller: clients.difference(smaller) is not None
            small = shrink(program, shows, arguments.shrink_seconds)
            again = clients.difference(small) or "no difference: it depends on chance"
            print(f"seed {seed}: {difference}\nshrunk to:\n{small}\nwhich shows: {again}", flush=True)
            print(f"{small.to_json()}\n", flush=True)
    print(
        f"{count} programs, {clients.statements} statements ({clients.failures} of them failures) "
        f"in {time.monotonic() - start:.0f} s: {found} differences"
    )
    return bool(found)
