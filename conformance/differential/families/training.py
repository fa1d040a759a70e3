"""Optimisers, by reference and by handle, dense and sparse."""

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from conformance.differential.cases import Case, Tolerance, generates

# Square roots and quotients are approximate in both; half-precision types are rounded after every
# operation in TensorFlow, and once here.
TOLERANCES = {
    tf.float16: Tolerance(ulps=8, atol=4e-3, reason="TensorFlow rounds intermediate results"),
    tf.bfloat16: Tolerance(ulps=8, atol=3e-2, reason="TensorFlow rounds intermediate results"),
    tf.complex64: Tolerance(ulps=64, atol=1e-5, reason="small parts of large numbers cancel"),
}
APPROXIMATE = Tolerance(ulps=16, atol=1e-6, reason="square roots and quotients are approximate")

# Values that variables and scalars may have; others are between -2 and 2.
RANGES = {
    "accum": (0.1, 2),
    "accum_update": (0.1, 2),
    "gradient_squared_accumulator": (0.1, 2),
    "ms": (1, 2),
    "mg": (-0.5, 0.5),
    "v": (0.1, 2),
    "vhat": (0.1, 2),
    "alpha": (0.01, 0.5),
    "beta": (0.1, 0.9),
    "beta1": (0.5, 0.9),
    "beta1_power": (0.1, 0.9),
    "beta2": (0.9, 0.99),
    "beta2_power": (0.1, 0.9),
    "epsilon": (0.01, 0.1),
    "l1": (0, 0.2),
    "l2": (0, 0.2),
    "l2_shrinkage": (0, 0.2),
    "logbase": (0.5, 1.5),
    "lr": (0.01, 0.5),
    "momentum": (0.1, 0.9),
    "rho": (0.5, 0.95),
    "sign_decay": (0.1, 1),
}
SCALARS_THAT_MUST_BE_SIGNED = ("ProximalAdagrad", "SparseApplyFtrl")


def _ops(*names):
    forms = ["Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"]
    ops = [form + name for name in names for form in forms]
    return [op for op in ops if op_def_registry.get(op)]


@generates(
    *_ops(
        "AdaMax",
        "Adadelta",
        "Adagrad",
        "AdagradDA",
        "AdagradV2",
        "Adam",
        "AdamWithAmsgrad",
        "AddSign",
        "CenteredRMSProp",
        "Ftrl",
        "FtrlV2",
        "GradientDescent",
        "KerasMomentum",
        "Momentum",
        "PowerSign",
        "ProximalAdagrad",
        "ProximalGradientDescent",
        "RMSProp",
    ),
    tolerance=APPROXIMATE,
)
def optimizer(op, draw):
    attrs = {a.name for a in op_def_registry.get(op).attr}
    flags = attrs & {"multiply_linear_by_lr", "update_slots", "use_nesterov"}
    shapes = [(7,), (3, 4)] if "Sparse" in op else [(), (0,), (19,), (2, 3)]
    for dtype in draw.types(op, "T"):
        for shape in shapes:
            for value in [False, True] if flags else [False]:
                inputs = _inputs(op, draw, dtype, shape)
                yield _case(op, dtype, inputs, {flag: value for flag in flags})
    yield from _wrong(op, draw)


def _case(op, dtype, inputs, attrs=None):
    return Case(op, inputs, attrs or {}, tolerance=TOLERANCES.get(dtype))


def _inputs(op, draw, dtype, shape):
    rows = shape[0] if shape else 0
    updates = draw.integer(0, 5)
    inputs = {}
    for argument in op_def_registry.get(op).input_arg:
        name = argument.name
        low, high = RANGES.get(name, (-2, 2))
        if name in ("grad", "delta"):
            full = (updates, *shape[1:]) if "Sparse" in op else shape
            inputs[name] = draw.array(dtype, full, low, high)
        elif name == "indices":
            inputs[name] = draw.integers((updates,), 0, rows - 1, draw.choice([tf.int32, tf.int64]))
        elif name == "global_step":
            inputs[name] = np.int64(draw.integer(1, 100))
        elif name == "lr_power":
            inputs[name] = np.asarray(draw.choice([-0.5, -0.5, -0.75, 0])).astype(dtype.as_numpy_dtype)
        elif argument.is_ref or argument.type == tf.resource.as_datatype_enum:
            inputs[name] = draw.array(dtype, shape, low, high)
        else:
            inputs[name] = draw.array(dtype, (), low, high)
    return inputs


def _wrong(op, draw):
    """Inputs of wrong shapes and values. TensorFlow does not survive gradients of wrong rank."""
    shape = (4, 3)
    good = _inputs(op, draw, tf.float32, shape)

    def wrong(**changes):
        return _case(op, tf.float32, good | changes)

    is_sparse = "Sparse" in op
    for argument in op_def_registry.get(op).input_arg:
        name = argument.name
        if argument.is_ref or argument.type == tf.resource.as_datatype_enum:
            # TensorFlow forgets to check one slot of dense Adadelta, and the fourth of AMSGrad.
            if (name, is_sparse) != ("accum_update", False) and name != "vhat":
                yield wrong(**{name: draw.array(tf.float32, (2, 3))})
        elif name in ("grad", "delta"):
            yield wrong(**{name: draw.array(tf.float32, (good[name].shape[0] + 1, 3))})
            yield wrong(**{name: draw.array(tf.float32, (good[name].shape[0], 2))})
        elif name == "indices":
            yield wrong(indices=np.array([[0]], np.int32))
            for bad in (4, -1):
                grad = draw.array(tf.float32, (2, 3))
                yield wrong(indices=np.array([0, bad], np.int32), grad=grad)
        elif name != "sign_decay":
            yield wrong(**{name: good[name].reshape(1)})
    if any(part in op for part in SCALARS_THAT_MUST_BE_SIGNED):
        for name in ("lr", "l1", "l2"):
            yield wrong(**{name: np.float32(-1)})


def _sdca_case(op, draw, loss, adaptive, *, sparse=True, dense=True, with_values=True, examples=1):
    # The order of examples is random, so each has features of its own.
    adaptive = {"adaptative" if op == "SdcaOptimizer" else "adaptive": adaptive}
    per_example = np.repeat(np.arange(examples), 2)
    features = np.arange(2 * examples)
    values = draw.array(tf.float32, (2 * examples,), -2, 2)
    block = np.zeros((examples, 3 * examples), np.float32)
    for example in range(examples):
        block[example, 3 * example : 3 * example + 3] = draw.array(tf.float32, (3,), -2, 2)
    labels = draw.array(tf.float32, (examples,), 0, 1)
    if loss not in ("squared_loss", "poisson_loss"):
        labels = labels.round()
    inputs = {
        "sparse_example_indices": [np.int64(per_example)] if sparse else [],
        "sparse_feature_indices": [np.int64(features * 3)] if sparse else [],
        "sparse_feature_values": [values] if sparse and with_values else [],
        "dense_features": [block] if dense else [],
        "example_weights": draw.array(tf.float32, (examples,), 0.5, 2),
        "example_labels": labels,
        "sparse_indices": [np.int64(features * 3)] if sparse else [],
        "sparse_weights": [draw.array(tf.float32, (2 * examples,), -1, 1)] if sparse else [],
        "dense_weights": [draw.array(tf.float32, (3 * examples,), -1, 1)] if dense else [],
        "example_state_data": np.zeros((examples, 4), np.float32),
    }
    attrs = {"loss_type": loss, "l1": 0.1, "l2": 1.5, "num_loss_partitions": 2, "num_inner_iterations": 1, **adaptive}
    return Case(op, inputs, attrs)


SDCA_LOSSES = ["logistic_loss", "squared_loss", "hinge_loss", "smooth_hinge_loss", "poisson_loss"]


@generates(
    "SdcaOptimizer", "SdcaOptimizerV2", tolerance=Tolerance(ulps=64, atol=1e-4, reason="Newton's method in another order")
)
def sdca(op, draw):
    for loss in SDCA_LOSSES:
        yield _sdca_case(op, draw, loss, False)
        yield _sdca_case(op, draw, loss, False, examples=3)
        yield _sdca_case(op, draw, loss, True)
        yield _sdca_case(op, draw, loss, False, dense=False, with_values=draw.chance())
        yield _sdca_case(op, draw, loss, False, sparse=False, examples=2)
    for name, value in [
        ("example_labels", np.float32([2])), ("example_labels", np.float32([1, 0])),
        ("example_state_data", np.zeros((2, 4), np.float32)), ("example_state_data", np.zeros(4, np.float32)),
        ("sparse_feature_indices", [np.int64([0])]), ("sparse_feature_indices", [np.int64([0, 99])]),
        ("sparse_feature_indices", [np.int64([0, 0])]), ("dense_weights", [np.float32([1, 2])]),
        ("dense_features", [np.float32([1, 2])]),
    ]:
        case = _sdca_case(op, draw, "hinge_loss", False)
        case.inputs[name] = value
        yield case


@generates("SdcaShrinkL1")
def sdca_shrink(op, draw):
    for l1, l2 in [(0.5, 1.0), (0.0, 2.0), (3.0, 1.5)]:
        weights = [draw.array(tf.float32, draw.shape(), -3, 3) for _ in range(2)]
        yield Case(op, [weights], {"l1": l1, "l2": l2})
