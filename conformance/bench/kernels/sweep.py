"""Runs rows on one server of each side, in turns, and compares what they compute."""

import itertools
import time

import numpy as np
import tensorflow as tf

from conformance.bench import measure, process

v1 = tf.compat.v1

_NAMES = itertools.count()
# A step that takes longer says that something is wrong; the next row finds the server alive.
STEP_MILLISECONDS = 60_000


class Side:
    """A server, and the step of one row on it."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._session = None

    def open(self, graph, assignments, targets, results):
        self._session = v1.Session(self._cluster.target(), graph=graph)
        for operation, feeds in assignments:
            self._session.run(operation, feeds)
        self._targets, self._results = targets, results
        self._options = v1.RunOptions(timeout_in_ms=STEP_MILLISECONDS)

    def close(self, forget):
        if self._session is not None:
            self._session.run(forget)
            self._session.close()
            self._session = None

    def values(self):
        return self._session.run(self._results, options=self._options)

    def step(self):
        self._session.run(self._targets)

    def cpu_seconds(self):
        return process.cpu_seconds([task.pid for task in self._cluster.tasks()])


def measure_row(row, sides, rounds, seconds):
    """Returns what a row takes on both sides, as plain data."""
    graph, assignments, forget, results = build(row)
    targets = [each.op for each in results]
    try:
        for side in sides.values():
            side.open(graph, assignments, targets, results)
        if row.tolerance is not None:
            _compare(row, sides)
        taken = _take_turns(sides, rounds, seconds)
    finally:
        for side in sides.values():
            side.close(forget)
    theirs, ours = taken["tensorflow"], taken["tensorfleet"]
    cpu = ours["cpu"] / theirs["cpu"] if theirs["cpu"] else None
    return {
        "name": row.name,
        "size": row.size,
        "ops": list(row.ops),
        "ratio": ours["best"] / theirs["best"],
        "cpu_ratio": cpu,
        "tensorflow": theirs,
        "tensorfleet": ours,
    }


def build(row):
    """The graph of a row: its inputs as variables of the server, and its results."""
    graph, assignments, handles = tf.Graph(), [], []
    with graph.as_default():
        tensors = []
        for value in row.inputs():
            value = np.asarray(value)
            dtype = tf.string if value.dtype == object else tf.as_dtype(value.dtype)
            handle = tf.raw_ops.VarHandleOp(
                dtype=dtype, shape=value.shape, shared_name=f"kernels_{next(_NAMES)}"
            )
            feed = v1.placeholder(dtype, value.shape)
            assignments.append((tf.raw_ops.AssignVariableOp(resource=handle, value=feed), {feed: value}))
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
            read.set_shape(value.shape)
            handles.append(handle)
            tensors.append(read)
        results = [each for each in tf.nest.flatten(row.compute(*tensors)) if each is not None]
        forget = [tf.raw_ops.DestroyResourceOp(resource=handle) for handle in handles]
    return graph, assignments, forget, results


def _compare(row, sides):
    theirs, ours = (sides[side].values() for side in measure.SIDES)
    for index, (expected, actual) in enumerate(zip(theirs, ours, strict=True)):
        try:
            measure.assert_close(_comparable(actual), _comparable(expected), row.tolerance)
        except AssertionError as error:
            raise measure.WrongNumbers(f"{row.name} ({row.size}), value {index}: {error}") from None


def _comparable(value):
    value = np.asarray(value)
    # NumPy knows too little of bfloat16 to say how far two lie apart.
    return value.astype(np.float32) if value.dtype == tf.bfloat16.as_numpy_dtype else value


def _take_turns(sides, rounds, seconds):
    steps = _steps_a_round(sides, seconds)
    taken = {name: {"seconds": [], "cpu": 0.0} for name in measure.SIDES}
    for turn in range(rounds):
        for name in measure.SIDES if turn % 2 == 0 else reversed(measure.SIDES):
            side = sides[name]
            cpu, start = side.cpu_seconds(), time.perf_counter()
            for _ in range(steps):
                side.step()
            taken[name]["seconds"].append((time.perf_counter() - start) / steps)
            taken[name]["cpu"] += (side.cpu_seconds() - cpu) / (steps * rounds)
    for each in taken.values():
        each["best"] = min(each["seconds"])
    return taken


def _steps_a_round(sides, seconds):
    count = 1
    while True:
        slowest = 0.0
        for side in sides.values():
            start = time.perf_counter()
            for _ in range(count):
                side.step()
            slowest = max(slowest, time.perf_counter() - start)
        if slowest >= seconds / 4 or count >= measure.MAX_STEPS:
            return max(1, min(round(count * seconds / slowest), measure.MAX_STEPS))
        count *= 2
