"""Updates of optimisers: every weight of four million, with the state that belongs to it."""

import tensorflow as tf

from conformance.bench.case import Step, case, v1, variable

_OPTIMIZERS = {
    "gradient descent": lambda: v1.train.GradientDescentOptimizer(1e-3),
    "momentum": lambda: v1.train.MomentumOptimizer(1e-3, 0.9),
    "adam": lambda: v1.train.AdamOptimizer(1e-3),
}


def _update(optimizer):
    weights = variable("weights", [4 * 2**20])
    gradient = variable("gradient", [4 * 2**20], seed=2)
    update = optimizer.apply_gradients([(gradient.read_value(), weights)])
    return Step(update, values=weights, final_tolerance=None)


for _name, _optimizer in _OPTIMIZERS.items():

    @case(f"update/{_name}", jobs={"worker": 1}, memory=2**28)
    def _case(optimizer=_optimizer):
        """An update of four million weights"""
        return _update(optimizer())
