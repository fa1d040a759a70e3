"""The null step of TensorFlow's paper (OSDI'16, section 6.2), synchronous, over more and more workers.

In one step every worker reads the model, computes next to nothing, and sends an update of the same
shape. The model is one scalar a parameter server, a dense vector spread over them, or a few rows
of a large table.
"""

import numpy as np
import tensorflow as tf

from conformance.bench.case import Curve, Step, case, on, v1, variable

_ROWS = 32
_WIDTH = 256


def add_cases(sizes):
    for workers in sizes.workers:
        _add("scalar", workers, sizes, _dense(sizes.ps, workers, [1]), 0)
        for size in sizes.dense_mb:
            elements = size * 10**6 // 4 // sizes.ps
            # Each worker has the model and its update, on both sides.
            memory = 2 * (2 + 2 * workers) * size * 10**6
            build = _dense(sizes.ps, workers, [elements])
            _add(f"dense {size} MB", workers, sizes, build, memory, 2 * workers * size * 10**6)
        for size in sizes.sparse_mb:
            rows = size * 10**6 // 4 // _WIDTH // sizes.ps
            build = _sparse(sizes.ps, workers, rows)
            _add(f"sparse {size} MB", workers, sizes, build, 2 * 2 * size * 10**6)


def _add(model, workers, sizes, build, memory, moved_bytes=None):
    case(
        f"null step/{model}, {workers} workers",
        jobs={"worker": workers, "ps": sizes.ps},
        curve=Curve(f"null step, {model}", workers, "workers"),
        memory=memory,
        moved_bytes=moved_bytes,
        slow=workers > 2,
    )(build)


def _dense(num_ps, workers, shape):
    def null_step():
        """Every worker reads the model and adds an update of its size"""
        model = []
        for task in range(num_ps):
            with on("ps", task):
                model.append(variable(f"v{task}", shape, seed=task + 1))
        updates = []
        for worker in range(workers):
            for task, part in enumerate(model):
                with on("worker", worker):
                    update = part.read_value() * (0.001 / workers)
                with on("ps", task):
                    updates.append(part.assign_sub(update, read_value=False))
        ends = [part.read_value()[-1] for part in model]
        # Workers read while others write, so the last digits depend on who was first.
        return Step(tf.group(updates), values=ends, final_tolerance=0.05, tolerance=0.01)

    return null_step


def _sparse(num_ps, workers, rows):
    def null_step():
        """Every worker reads 32 rows of each part of a large table and adds to them"""
        table = []
        for task in range(num_ps):
            with on("ps", task):
                table.append(variable(f"t{task}", [rows, _WIDTH], seed=task + 1))
        ids = v1.placeholder(tf.int32, [workers, num_ps, _ROWS])
        drawn = np.random.RandomState(3).permutation(rows)[: workers * num_ps * _ROWS]
        drawn = drawn.astype(np.int32).reshape(workers, num_ps, _ROWS)
        updates = []
        for worker in range(workers):
            for task, part in enumerate(table):
                with on("ps", task):
                    mine = ids[worker, task]
                    read = tf.gather(part, mine)
                with on("worker", worker):
                    update = read * 0.001
                with on("ps", task):
                    updates.append(part.scatter_sub(tf.IndexedSlices(update, mine)))
        rows_read = [tf.gather(part, drawn[0, task]) for task, part in enumerate(table)]
        return Step(tf.group(updates), {ids: drawn}, values=rows_read)

    return null_step
