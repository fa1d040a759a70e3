"""Takes turns: a round of steps on TensorFlow's servers, a round on ours, and so on.

How many steps make a round is found out first, on the slower side, and is the same for both.
"""

import dataclasses
import statistics
import time

import numpy as np
import tensorflow as tf

from conformance.bench import process
from conformance.rig import cluster as clusters

SIDES = ("tensorflow", "tensorfleet")

MAX_STEPS = 20_000


class WrongNumbers(AssertionError):
    """The two sides computed different things, so their times mean nothing."""


@dataclasses.dataclass
class Options:
    rounds: int
    # How long a round should be on the slower side.
    seconds: float


def measure(case, servers, options):
    """Runs a case on both sides and returns its results as plain data."""
    running = []
    programs = []
    try:
        for side in SIDES:
            engines = {job: side for job in case.jobs}
            if side == "tensorfleet":
                engines |= case.engines
            if case.jobs:
                running.append(clusters.Cluster(servers, case.jobs, engines))
            else:
                running.append(side)
        programs = case.program(running)
        return _measure(case, dict(zip(SIDES, programs)), options)
    finally:
        for program in programs:
            program.close()
        for cluster in running:
            if case.jobs:
                cluster.close()


def _measure(case, programs, options):
    for program in programs.values():
        program.before_check()
    _compare(case, programs, final=False)
    steps = 1 if case.one_step else _steps_a_round(programs, options.seconds)
    results = {side: {"seconds": [], "cpu": 0.0} for side in SIDES}
    for turn in range(options.rounds):
        # Whoever goes first finds the other's data in the caches, so they swap.
        for side in SIDES if turn % 2 == 0 else reversed(SIDES):
            program, result = programs[side], results[side]
            program.before_round()
            cpu = program.cpu_seconds()
            start = time.perf_counter()
            program.steps(steps)
            result["seconds"].append((time.perf_counter() - start) / steps)
            result["cpu"] += program.cpu_seconds() - cpu
    for side, result in results.items():
        result["best"] = min(result["seconds"])
        result["median"] = statistics.median(result["seconds"])
        result["cpu"] /= steps * options.rounds
        result["resident"] = process.resident_bytes(programs[side].server_pids())
    _compare(case, programs, final=True)
    theirs, ours = results["tensorflow"], results["tensorfleet"]
    ratios = {key: _ratio(ours[key], theirs[key]) for key in ("best", "median", "cpu", "resident")}
    return {
        "name": case.name,
        "about": case.about,
        "jobs": case.jobs,
        "target": case.target,
        "resident_target": case.resident_target,
        "steps": steps,
        "rounds": options.rounds,
        "moved_bytes": case.moved_bytes,
        "flops": case.flops,
        "ops": case.ops,
        "curve": dataclasses.asdict(case.curve) if case.curve else None,
        "sides": results,
        "ratio": ratios,
        "load": process.load(),
    }


def _ratio(ours, theirs):
    return ours / theirs if theirs else None


def _steps_a_round(programs, seconds):
    """How many steps fill a round on the slower side; also warms both sides up.

    Both sides run the same steps here too, or their states could not be compared at the end.
    """
    count = 1
    while True:
        taken = 0.0
        for program in programs.values():
            start = time.perf_counter()
            program.steps(count)
            taken = max(taken, time.perf_counter() - start)
        if taken >= seconds / 4 or count >= MAX_STEPS:
            return min(max(1, round(count * seconds / max(taken, 1e-9))), MAX_STEPS)
        count *= 2


def _compare(case, programs, final):
    tolerances = [program.tolerance(final) for program in programs.values()]
    if None in tolerances:
        return
    theirs, ours = [tf.nest.flatten(program.values()) for program in programs.values()]
    if len(theirs) != len(ours):
        raise WrongNumbers(f"{case.name}: {len(theirs)} values against {len(ours)}")
    for index, (expected, actual) in enumerate(zip(theirs, ours)):
        try:
            assert_close(np.asarray(actual), np.asarray(expected), max(tolerances))
        except AssertionError as error:
            when = "after the rounds" if final else "before the rounds"
            raise WrongNumbers(f"{case.name}, value {index} {when}: {error}") from None


def assert_close(actual, expected, tolerance):
    """Fails unless two arrays are as near to each other as a tolerance says."""
    if expected.dtype.kind in "fc":
        # Small numbers are differences of large ones: what counts is the size of their neighbours.
        scale = float(np.max(np.abs(expected), initial=0.0))
        np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
    else:
        np.testing.assert_array_equal(actual, expected)
