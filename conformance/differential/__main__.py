"""Compares a server's ops with TensorFlow's on random cases, or records golden vectors."""

import argparse
import collections
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from conformance.differential import golden, runner
from conformance.differential.cases import generators
from conformance.rig import cluster, servers


def main():
    arguments = _parse()
    chosen = _choose(arguments.only)
    if arguments.command == "record":
        unknown = set(arguments.families) - {generator.family for generator in chosen}
        if unknown:
            sys.exit(f"no family {', '.join(sorted(unknown))}")
        wanted = [g for g in chosen if not arguments.families or g.family in arguments.families]
        for path, count in golden.record(wanted):
            print(f"{path.relative_to(servers.ROOT)}: {count} cases")
        return
    if arguments.target:
        sys.exit(_compare(chosen, arguments.target, arguments))
    with tempfile.TemporaryDirectory() as directory:
        owner = servers.Servers(directory)
        try:
            single = cluster.Cluster(owner, {"worker": 1}, {"worker": arguments.engine})
            failed = _compare(chosen, single.target(), arguments)
        finally:
            owner.close()
    sys.exit(failed)


def _compare(chosen, target, arguments):
    start = time.monotonic()
    cases, different = 0, collections.Counter()
    for case, difference in runner.run_for(chosen, target, arguments.seconds, arguments.seed):
        cases += 1
        if difference:
            different[case.op] += 1
            if different[case.op] <= arguments.show:
                print(f"{difference}\n", flush=True)
    for op, count in sorted(different.items()):
        print(f"{op}: {count} differences")
    print(
        f"{len(chosen)} ops, {cases} cases in {time.monotonic() - start:.0f} s: "
        f"{different.total()} differences in {len(different)} ops"
    )
    return bool(different)


def _choose(only):
    known = generators()
    names = [name for name in (only or "").split(",") if name]
    if missing := [name for name in names if name not in known]:
        sys.exit(f"no generator for {', '.join(missing)}")
    return [known[name] for name in names or known]


def _parse():
    parser = argparse.ArgumentParser(prog="python -m conformance.differential", description=__doc__)
    parser.add_argument("--target", help="a running server; one is started if there is none")
    parser.add_argument("--engine", choices=servers.ENGINES, default="tensorfleet")
    parser.add_argument("--only", metavar="OP,...", help="ops to try instead of all")
    parser.add_argument("--seconds", type=float, default=0, help="go on with new seeds so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=5, help="differences to show of each op")
    commands = parser.add_subparsers(dest="command")
    record = commands.add_parser("record", help="write golden vectors for the Rust tests")
    record.add_argument("families", nargs="*", help="families to write instead of all")
    return parser.parse_args()


if __name__ == "__main__":
    main()
