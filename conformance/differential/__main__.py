"""Compares a server with TensorFlow: random programs, single ops; or records golden vectors."""

import argparse
import collections
import os
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# As in the tests: TensorFlow computes the same on every machine. Golden vectors are recorded with
# all the kernels that it has.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", str(int("record" in sys.argv)))

from conformance.differential import golden, runner
from conformance.differential.cases import generators
from conformance.differential.reference import Reference
from conformance.eager_programs import command as eager_command
from conformance.programs import command
from conformance.rig import servers


def main():
    arguments = _parse()
    with tempfile.TemporaryDirectory() as directory:
        owner = servers.Servers(directory)
        try:
            failed = arguments.run(arguments, owner)
        finally:
            owner.close()
    sys.exit(failed)


def _ops(arguments, owner):
    chosen = _choose(arguments.only)
    target = arguments.target or owner.start_single(arguments.engine).target
    start = time.monotonic()
    cases, different = 0, collections.Counter()
    seconds = 60 * arguments.minutes
    compared = runner.run_for(chosen, Reference(), target, seconds, arguments.seed)
    for case, difference in compared:
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


def _record(arguments, owner):
    chosen = _choose(None)
    unknown = set(arguments.families) - {generator.family for generator in chosen}
    if unknown:
        sys.exit(f"no family {', '.join(sorted(unknown))}")
    wanted = [g for g in chosen if not arguments.families or g.family in arguments.families]
    for path, count in golden.record(wanted, Reference()):
        print(f"{path.relative_to(servers.ROOT)}: {count} cases")


def _choose(only):
    known = generators()
    names = [name for name in (only or "").split(",") if name]
    if missing := [name for name in names if name not in known]:
        sys.exit(f"no generator for {', '.join(missing)}")
    return [known[name] for name in names or known]


def _parse():
    parser = argparse.ArgumentParser(prog="cargo xtask differential", description=__doc__)
    commands = parser.add_subparsers(required=True)
    programs = commands.add_parser("programs", help="whole programs, drawn from seeds")
    command.add_arguments(programs)
    eager = commands.add_parser("eager", help="programs of TensorFlow 2, drawn from seeds")
    eager_command.add_arguments(eager)
    ops = commands.add_parser("ops", help="single ops, on drawn inputs")
    ops.add_argument("--target", help="a running server; one is started if there is none")
    ops.add_argument("--engine", choices=servers.ENGINES, default="tensorfleet")
    ops.add_argument("--only", metavar="OP,...", help="ops to try instead of all")
    ops.add_argument("--minutes", type=float, default=0, help="go on with new seeds so long")
    ops.add_argument("--seed", type=int, default=1)
    ops.add_argument("--show", type=int, default=5, help="differences to show of each op")
    ops.set_defaults(run=_ops)
    record = commands.add_parser("record", help="write golden vectors for the Rust tests")
    record.add_argument("families", nargs="*", help="families to write instead of all")
    record.set_defaults(run=_record)
    words = sys.argv[1:]
    if not words or words[0].startswith("--") and words[0] != "--help":
        words.insert(0, "programs")
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
