"""The command line of the sweep; `cargo xtask bench kernels` builds what it needs and calls it."""

import argparse
import datetime
import os
import pathlib
import re
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), "127.0.0.1,localhost"]))

from conformance.bench import results
from conformance.rig import servers as rig

OPS = rig.ROOT / "docs" / "ops.md"


def main(arguments=None):
    options = _parse(arguments)

    import tensorflow as tf

    tf.compat.v1.disable_eager_execution()
    from conformance.bench.kernels import generated, page, row, rows

    everything = rows.load()
    timed = {op for each in everything for op in each.ops}
    if options.generated:
        everything += generated.rows(timed)
        timed |= {op for each in everything for op in each.ops}
    sizes = options.sizes.split(",") if options.sizes else row.SIZES
    chosen = [each for each in everything if each.size in sizes and _is_named(each, options.only)]
    if options.list:
        for each in chosen:
            print(f"{each.name} ({each.size})")
        return 0
    result = _run(chosen, options) | {"untimed": sorted(_ours() - timed)}
    result["rows"].sort(key=lambda measured: -measured["ratio"])
    print("\n ratio    cpu TensorFlow       ours")
    for measured in result["rows"]:
        print(page.line(measured))
    print(page.summary(result))
    path = results.save(result, options.out or _directory())
    print(f"results: {path}")
    if options.page:
        (rig.ROOT / "docs" / "kernels.md").write_text(page.render(result))
        print("page: docs/kernels.md")
    wrong = [name for name, why in result["failed"].items() if why.startswith("WrongNumbers")]
    return 1 if wrong else 0


def _run(chosen, options):
    import tensorflow as tf

    from conformance.bench import process, run
    from conformance.bench.kernels import page, sweep
    from conformance.bench.measure import SIDES
    from conformance.rig import cluster

    result = run.description(options) | {"rows": [], "failed": {}}
    with tempfile.TemporaryDirectory() as logs:
        servers = rig.Servers(logs)
        try:
            clusters = {side: cluster.Cluster(servers, {"worker": 1}, {"worker": side}) for side in SIDES}
            for each in chosen:
                try:
                    sides = {side: sweep.Side(clusters[side]) for side in SIDES}
                    measured = sweep.measure_row(each, sides, options.rounds, options.seconds)
                except (tf.errors.OpError, AssertionError, TypeError, ValueError) as error:
                    result["failed"][f"{each.name} ({each.size})"] = _why(error)
                    print(f"FAILED {each.name} ({each.size}): {_why(error)}", flush=True)
                    continue
                result["rows"].append(measured)
                print(page.line(measured), flush=True)
        finally:
            servers.close()
    result["load"]["after"] = process.load()
    return result


def _why(error):
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:4])[:300]}"


def _ours():
    """The ops of our library, from the page that is made from the registry."""
    return set(re.findall(r"^\| `(\w+)` \|", OPS.read_text(), re.MULTILINE))


def _is_named(each, only):
    names = [each.name, *each.ops]
    return only is None or any(word and word in name for word in only.split(",") for name in names)


def _directory():
    stamp = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", "target"))
    return rig.ROOT / target / "bench" / f"kernels-{stamp}"


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="cargo xtask bench kernels", description=__doc__)
    add = parser.add_argument
    add("--only", metavar="WORDS", help="rows whose names or ops contain one of these, with commas")
    add("--sizes", metavar="SIZES", help="some of small,cache,memory (default all)")
    add("--rounds", type=int, default=3, help="rounds of each side (default 3)")
    add("--seconds", type=float, default=0.1, help="length of a round (default 0.1)")
    add("--generated", action="store_true", help="also a small row for each op without one, from the generators of tests")
    add("--list", action="store_true", help="name the rows and end")
    add("--page", action="store_true", help="write docs/kernels.md")
    add("--out", type=pathlib.Path, help="a new directory for the results (default target/bench/...)")
    add("--limits", type=pathlib.Path, help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
