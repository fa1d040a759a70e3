"""What is timed: a table of rows, filled by the files of `rows`."""

import dataclasses
from collections.abc import Callable

import numpy as np
import tensorflow as tf

SIZES = ("small", "cache", "memory")
# Numbers in an elementwise operand: a few kilobytes, some of the nearest caches, beyond all of them.
ELEMENTS = {"small": 1 << 10, "cache": 1 << 16, "memory": 1 << 22}

_ALL = []


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    size: str
    # The ops that a reader would say are timed here.
    ops: tuple
    # Makes the arrays, and the results from the tensors that hold them.
    inputs: Callable
    compute: Callable
    # The largest relative difference of values, or nothing for results drawn by chance.
    tolerance: float | None = 1e-4


def add(name, size, ops, inputs, compute, tolerance=1e-4):
    """Adds a row; `ops` is a name or several."""
    ops = (ops,) if isinstance(ops, str) else tuple(ops)
    _ALL.append(Row(name, size, ops, inputs, compute, tolerance))


def each_size(name, ops, inputs, compute, *, sizes=SIZES, tolerance=1e-4):
    """Adds a row for each size; `inputs` takes the number of elements."""
    for size in sizes:
        add(name, size, ops, lambda size=size: inputs(ELEMENTS[size]), compute, tolerance)


def all_rows():
    return list(_ALL)


def real(count, low=-1.0, high=1.0, dtype=np.float32, seed=1):
    """Numbers between two limits, the same in every run."""
    values = np.random.RandomState(seed).uniform(low, high, count)
    return values.astype(tf.as_dtype(dtype).as_numpy_dtype)


def whole(count, low, high, dtype=np.int32, seed=1):
    """Whole numbers from `low` to below `high`."""
    return np.random.RandomState(seed).randint(low, high, count).astype(dtype)


def texts(count, make):
    """A vector of strings, each made from its number."""
    return np.array([make(index) for index in range(count)], dtype=object)
