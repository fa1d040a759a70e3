"""The command line of the benchmarks; `cargo xtask bench` builds what it needs and calls it."""

import argparse
import datetime
import os
import pathlib
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), "127.0.0.1,localhost"]))

from conformance.bench import results
from conformance.rig import servers as rig


def main(arguments=None):
    options = _parse(arguments)
    if options.page:
        # Several files would put times of different runs beside each other.
        results.write_page(results.load_one(options.page), rig.ROOT / "docs")
        return 0
    out = _new_directory(options.out)

    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    from conformance.bench import cases

    chosen = [each for each in cases.load(_sizes(options)) if _is_chosen(each, options)]
    if options.list:
        for each in chosen:
            print(f"{each.name:32} {each.about}")
        return 0
    if not chosen:
        print(f"no case is named like {options.only}", file=sys.stderr)
        return 2

    from conformance.bench import run

    with tempfile.TemporaryDirectory() as logs:
        servers = rig.Servers(logs)
        try:
            result = run.run(chosen, servers, options)
        finally:
            servers.close()
    path = results.save(result, out)
    print(f"\nresults: {path}")
    if not (options.only or options.quick or result["failed"]):
        results.write_page(result, rig.ROOT / "docs")
        print("page: docs/benchmarks.md")
    return 1 if result["failed"] else 0


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="cargo xtask bench", description=__doc__)
    add = parser.add_argument
    add("--only", metavar="WORDS", help="cases whose names contain one of these, with commas")
    add("--rounds", type=int, help="rounds of each side (default 5, quick 2)")
    add("--seconds", type=float, help="length of a round (default 0.5, quick 0.15)")
    add("--quick", action="store_true", help="short rounds, no large cases: numbers for a look only")
    add("--list", action="store_true", help="name the cases and end")
    add("--out", type=pathlib.Path, help="a new directory for the results (default target/bench/...)")
    add("--page", type=pathlib.Path, nargs="+", metavar="RESULTS", help="write docs/benchmarks.md of a run")
    add("--workers", type=_numbers, help="workers of the curves (default 1,2,4,8,16,32)")
    add("--ps", type=int, help="parameter servers of the null step (default 4)")
    add("--dense-mb", type=_numbers, help="models of the null step (default 100,1000)")
    add("--sparse-mb", type=_numbers, help="tables of the null step (default 1000,16000)")
    add("--transfer-mb", type=int, help="the largest tensor that is pulled and pushed (default 1000)")
    add("--limits", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.rounds = options.rounds or (2 if options.quick else 5)
    options.seconds = options.seconds or (0.15 if options.quick else 0.5)
    return options


def _numbers(text):
    return tuple(int(number) for number in text.split(","))


def _sizes(options):
    from conformance.bench.cases import Sizes

    names = ("workers", "ps", "dense_mb", "sparse_mb", "transfer_mb")
    given = {name: getattr(options, name) for name in names}
    return Sizes(**{name: value for name, value in given.items() if value is not None})


def _is_chosen(case, options):
    if options.only:
        return any(word and word in case.name for word in options.only.split(","))
    return not (options.quick and case.slow)


def _new_directory(out):
    if out is None:
        stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
        target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
        out = rig.ROOT / target / "bench" / stamp
    results.refuse_existing(out)
    return out


if __name__ == "__main__":
    sys.exit(main())
