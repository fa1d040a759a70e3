"""TensorFlow's optimizers over several steps: the same numbers as in TensorFlow's own session."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

STEPS = 4

OPTIMIZERS = {
    "adadelta": lambda: v1.train.AdadeltaOptimizer(0.5, rho=0.8, epsilon=1e-3),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.3),
    "adagrad_da": lambda: v1.train.AdagradDAOptimizer(
        0.3, v1.train.get_or_create_global_step(), l1_regularization_strength=0.05
    ),
    "adam": lambda: v1.train.AdamOptimizer(0.1),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.3, l1_regularization_strength=0.05),
    "ftrl_any_power": lambda: v1.train.FtrlOptimizer(0.3, learning_rate_power=-0.7),
    "ftrl_shrinkage": lambda: v1.train.FtrlOptimizer(
        0.3, l2_regularization_strength=0.1, l2_shrinkage_regularization_strength=0.1
    ),
    "gradient_descent": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: v1.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "proximal_adagrad": lambda: v1.train.ProximalAdagradOptimizer(0.3, l1_regularization_strength=0.1),
    "proximal_gradient_descent": lambda: v1.train.ProximalGradientDescentOptimizer(
        0.1, l1_regularization_strength=0.1, l2_regularization_strength=0.1
    ),
    "rms_prop": lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5),
    "rms_prop_centered": lambda: v1.train.RMSPropOptimizer(0.1, momentum=0.5, centered=True),
}

REF_AND_RESOURCE = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


def values_after_steps(target, graph, step, variables):
    """Runs steps in a fresh session and returns the variables after each."""
    history = []
    with v1.Session(target, graph=graph) as session:
        session.run("init")
        for _ in range(STEPS):
            session.run(step)
            history.append(session.run(variables))
    return history


def check_against_tensorflow(target, graph, step):
    variables = sorted(v1.global_variables(), key=lambda variable: variable.name)
    tf.group(*[variable.initializer for variable in variables], name="init")
    expected = values_after_steps("", graph, step, variables)
    actual = values_after_steps(target, graph, step, variables)
    for want, have in zip(expected, actual):
        for variable, one, other in zip(variables, want, have):
            np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-6, err_msg=variable.name)


@REF_AND_RESOURCE
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_dense(target, graph, name, use_resource):
    first = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    weights = v1.get_variable("weights", initializer=first, use_resource=use_resource)
    step_number = v1.train.get_or_create_global_step()
    scale = tf.cast(step_number + 1, tf.float32)
    gradient = scale * tf.constant([[0.1, -0.2, 0.3], [0.4, 0.5, -0.6]])
    step = OPTIMIZERS[name]().apply_gradients([(gradient, weights)], global_step=step_number)
    check_against_tensorflow(target, graph, step)


@REF_AND_RESOURCE
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_sparse(target, graph, name, use_resource):
    first = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    table = v1.get_variable("table", initializer=first, use_resource=use_resource)
    step_number = v1.train.get_or_create_global_step()
    rows = tf.constant([3, 0, 3])
    values = np.linspace(-0.5, 0.5, 12, dtype=np.float32).reshape(3, 4)
    gradient = tf.IndexedSlices(tf.constant(values), rows, tf.constant([5, 4]))
    step = OPTIMIZERS[name]().apply_gradients([(gradient, table)], global_step=step_number)
    check_against_tensorflow(target, graph, step)


def test_slots_live_on_the_server(target, graph):
    """Another session finds the moments where the first left them."""
    weights = v1.get_variable("weights", initializer=[1.0, 2.0])
    step = v1.train.AdamOptimizer(0.1).apply_gradients([(tf.constant([0.5, -0.5]), weights)])
    init = v1.global_variables_initializer()
    with v1.Session(target) as session:
        session.run(init)
        session.run(step)
        once = session.run(weights)
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(weights), once)
        session.run(step)
        twice = session.run(weights)
    with v1.Session("", graph=graph) as session:
        session.run(init)
        session.run(step)
        session.run(step)
        np.testing.assert_allclose(twice, session.run(weights), rtol=1e-6)


def test_shapes_are_checked(target):
    weights = v1.Variable([1.0, 2.0], use_resource=True)
    gradient = v1.placeholder_with_default([1.0, 2.0, 3.0], None)
    step = v1.train.GradientDescentOptimizer(0.1).apply_gradients([(gradient, weights)])
    with v1.Session(target) as session:
        session.run(weights.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="do not have the same shape"):
            session.run(step)


def test_rows_are_checked(target):
    table = v1.Variable([[1.0], [2.0]], use_resource=True)
    rows = v1.placeholder_with_default([0, 2], None)
    gradient = tf.IndexedSlices(tf.constant([[1.0], [1.0]]), rows, tf.constant([2, 1]))
    accumulator = v1.Variable([[1.0], [1.0]], use_resource=True)
    step = tf.raw_ops.ResourceSparseApplyAdagrad(
        var=table.handle, accum=accumulator.handle, lr=1.0, grad=gradient.values, indices=rows
    )
    with v1.Session(target) as session:
        session.run([table.initializer, accumulator.initializer])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Index 2 at offset 1 in indices"):
            session.run(step)
