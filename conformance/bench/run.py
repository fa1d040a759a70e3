"""One run: the machine, its limits, every case, its limits again."""

import datetime
import json
import subprocess
import sys
import time
import traceback
import uuid

import tensorflow as tf

from conformance.bench import measure, process, table
from conformance.rig import servers as rig

# Left to the rest of the machine.
_SPARE_BYTES = 2 * 10**9

# What a task of each side needs before it does anything, nearly all of it TensorFlow's.
_TASK_BYTES = 300 * 10**6


def run(cases, servers, options):
    """Measures cases and returns the results as plain data, all of one run."""
    result = description(options) | {"limits": {}, "cases": [], "skipped": {}, "failed": {}}
    print(table.machine(result), flush=True)
    result["limits"] = _limits(options.limits, {})
    started = time.monotonic()
    print(table.header(), flush=True)
    settings = measure.Options(options.rounds, options.seconds)
    for case in cases:
        needed = case.memory + sum(case.jobs.values()) * _TASK_BYTES + _SPARE_BYTES
        missing = needed - process.available_bytes()
        if missing > 0:
            reason = f"needs {missing / 1e9:.1f} GB more memory than there is"
            result["skipped"][case.name] = reason
            print(f"{case.name:28} skipped: {reason}", flush=True)
            continue
        try:
            measured = measure.measure(case, servers, settings)
        except Exception as error:
            result["failed"][case.name] = f"{type(error).__name__}: {error}"
            traceback.print_exc(limit=-3)
            print(f"{case.name:28} FAILED: {type(error).__name__}", flush=True)
            continue
        result["cases"].append(measured)
        print(table.row(measured), flush=True)
    result["limits"] = _limits(options.limits, result["limits"])
    result["load"]["after"] = process.load()
    result["took"] = time.monotonic() - started
    print(table.summary(result), flush=True)
    return result


def description(options):
    """What a reader has to know of a run besides its numbers."""
    return {
        "run": str(uuid.uuid4()),
        "started": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": process.machine(),
        "tensorflow": tf.__version__,
        "commit": _commit(),
        "rounds": options.rounds,
        "seconds": options.seconds,
        "load": {"before": process.load()},
    }


def _limits(program, before):
    """Asks the program that measures them; of two answers the better one is the limit."""
    if program is None:
        return before
    output = subprocess.run([program], stdout=subprocess.PIPE, check=True, timeout=120).stdout
    measured = json.loads(output)
    # Of rates the highest is the limit, of durations the shortest.
    better = lambda name: min if name.endswith("_us") else max
    return {name: better(name)(value, before.get(name, value)) for name, value in measured.items()}


def _commit():
    command = ["git", "describe", "--always", "--dirty", "--abbrev=10"]
    try:
        done = subprocess.run(command, cwd=rig.ROOT, capture_output=True, text=True, timeout=30)
    except OSError as error:
        print(f"cannot ask git: {error}", file=sys.stderr)
        return "unknown"
    return done.stdout.strip() or "unknown"
