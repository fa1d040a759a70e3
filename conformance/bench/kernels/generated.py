"""One small row for each op that the tables leave out, from the generators of single-op tests."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library

from conformance.bench.kernels.row import Row
from conformance.differential import graphs
from conformance.differential.cases import OnlyShapes, generators


def rows(timed):
    """Rows for the ops with a generator that are not among `timed`."""
    for op, generator in generators().items():
        if op not in timed and (case := _largest(generator)) is not None:
            yield _row(op, case)


def _largest(generator):
    """The case with the most input; ops that change variables need more than one node."""
    cases = [case for case in generator.cases(0) if case.build is None]
    cases = [case for case in cases if not any(graphs.variable_kind(case, name) for name in graphs.named_inputs(case))]
    return max(cases, key=_elements, default=None)


def _elements(case):
    return sum(np.size(value) for value in tf.nest.flatten(list(graphs.named_inputs(case).values())))


def _row(op, case):
    named = graphs.named_inputs(case)
    arrays = [graphs.as_array(value) for value in tf.nest.flatten(list(named.values()))]

    def compute(*tensors):
        rest = iter(tensors)
        inputs = {
            name: [next(rest) for _ in value] if isinstance(value, list) else next(rest)
            for name, value in named.items()
        }
        _, _, operation, _ = op_def_library._apply_op_helper(
            op, name="timed", **inputs, **graphs.defaults(case), **case.attrs
        )
        return list(operation.outputs)[: case.compared]

    return Row(f"{op}, generated", "small", (op,), lambda: arrays, compute, _tolerance(case))


def _tolerance(case):
    """Nothing where even whole numbers may differ: the single-op tests know how far, this does not."""
    if isinstance(case.tolerance, OnlyShapes) or getattr(case.tolerance, "whole", 0):
        return None
    return 1e-2
