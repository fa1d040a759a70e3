"""Gradients of functions, which a server differentiates: `SymbolicGradient`."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.core.protobuf import rewriter_config_pb2
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

v1 = tf.compat.v1

# Functions are inlined unless the client forbids it; then a kernel runs the gradient.
OPTIONS = {
    "inlined": v1.ConfigProto(),
    "called": v1.ConfigProto(
        graph_options=v1.GraphOptions(
            rewrite_options=rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True),
            optimizer_options=v1.OptimizerOptions(
                opt_level=v1.OptimizerOptions.L0, do_function_inlining=False
            ),
        )
    ),
}


@pytest.fixture(params=OPTIONS)
def run(request, target):
    """Returns a function that runs fetches in a session of its own."""

    def run(fetches, feeds=None, initializer=None):
        with v1.Session(target, config=OPTIONS[request.param]) as session:
            if initializer is not None:
                session.run(initializer)
            return session.run(fetches, feeds)

    return run


def assert_symbolic(graph, count=1):
    ops = [node.op for node in graph.as_graph_def().node]
    assert ops.count("SymbolicGradient") == count


def check(have, *want):
    assert len(have) == len(want)
    for one, other in zip(have, want):
        np.testing.assert_allclose(one, np.array(other, "f"), rtol=1e-5)


def test_several_arguments_and_results(run, graph):
    @function.Defun(tf.float32, tf.float32)
    def f(x, y):
        return x * x * y + tf.sin(y), tf.reduce_sum(x)

    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])
    gradients = tf.gradients(f(x, y), [x, y])
    assert_symbolic(graph)
    check(run(gradients), [7, 17], [1 + np.cos(3), 4 + np.cos(4)])


def test_functions_that_call_functions(run, graph):
    @function.Defun(tf.float32)
    def square(x):
        return x * x

    @function.Defun(tf.float32)
    def fourth(x):
        return square(square(x))

    x = tf.constant([1.0, 2.0])
    gradients = tf.gradients(fourth(x) * 3.0, [x])
    assert_symbolic(graph)
    check(run(gradients), [12, 96])


def test_functions_that_were_not_inlined(run, graph):
    @function.Defun(tf.float32, noinline=True)
    def square(x):
        return x * x

    @function.Defun(tf.float32, noinline=True)
    def f(x):
        return square(x) + x

    x = tf.constant([1.0, 2.0])
    check(run(tf.gradients(f(x), [x])), [3, 5])


def test_shapes_that_only_the_step_knows(run):
    @function.Defun(tf.float32, tf.float32, tf.float32)
    def layer(x, weights, bias):
        return tf.nn.relu(tf.matmul(x, weights) + bias)

    x = v1.placeholder(tf.float32, [None, 2])
    weights, bias = tf.constant([[1.0, -1.0], [2.0, 0.5]]), tf.constant([0.5, -4.0])
    loss = tf.reduce_sum(layer(x, weights, bias))
    have = run(tf.gradients(loss, [x, weights, bias]), {x: [[1, 2], [3, 4], [0, 1]]})
    check(have, [[1, 2]] * 3, [[4, 0], [7, 0]], [3, 0])


def test_an_op_in_place_of_a_function(run):
    f = attr_value_pb2.NameAttrList(name="Tanh")
    f.attr["T"].type = tf.float32.as_datatype_enum
    x = tf.constant([0.5, 2.0])
    gradient = functional_ops.symbolic_gradient(
        input=[x, tf.constant([1.0, 2.0])], Tout=[tf.float32], f=f
    )
    check(run(gradient), (1 - np.tanh([0.5, 2.0]) ** 2) * [1, 2])


def test_a_result_that_does_not_depend_on_an_argument(run):
    @function.Defun(tf.float32, tf.float32, tf.int32)
    def f(x, y, i):
        return tf.exp(x), i + 1

    x, y = tf.constant([0.0, 1.0]), tf.constant([[5.0]])
    result, _ = f(x, y, tf.constant(1))
    check(run(tf.gradients(result, [x, y])), [1, np.e], [[0]])


def test_variables_that_a_function_reads(run):
    v = v1.get_variable("v", initializer=[2.0, 3.0], use_resource=True)

    @function.Defun(tf.float32)
    def inner(x):
        return x * v

    @function.Defun(tf.float32)
    def f(x):
        return inner(x) * x

    x = tf.constant([1.0, 2.0])
    check(run(tf.gradients(inner(x), [x, v]), initializer=v.initializer), [2, 3], [1, 2])
    check(run(tf.gradients(f(x), [x, v]), initializer=v.initializer), [4, 12], [1, 4])


def test_a_gradient_of_the_clients_own(run, graph):
    @function.Defun(tf.float32, tf.float32)
    def seven(x, dy):
        return dy * 7.0

    @function.Defun(tf.float32, grad_func=seven)
    def f(x):
        return x * x

    @function.Defun(tf.float32)
    def outer(x):
        return f(x) * 2.0

    x = tf.constant([1.0, 2.0])
    gradients = tf.gradients(f(x), [x])
    assert_symbolic(graph)
    check(run(gradients), [7, 7])
    check(run(tf.gradients(outer(x), [x])), [14, 14])


def test_a_gradient_in_python(run, graph):
    @function.Defun(tf.float32, python_grad_func=lambda op, dy: dy * 9.0)
    def f(x):
        return x * x

    x = tf.constant([1.0, 2.0])
    gradients = tf.gradients(f(x), [x])
    assert_symbolic(graph, 0)
    check(run(gradients), [9, 9])


def test_training_a_model_of_functions(run):
    @function.Defun(tf.float32, tf.float32)
    def predict(x, weights):
        return tf.squeeze(tf.matmul(x, weights))

    features = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "f")
    weights = v1.get_variable("w", initializer=np.zeros((2, 1), "f"))
    loss = tf.reduce_mean(tf.square(predict(features, weights) - np.array([1, 2, 3], "f")))
    gradient = tf.gradients(loss, [weights])[0]
    check([run(gradient, initializer=weights.initializer)], [[-8 / 3], [-10 / 3]])


def test_what_has_no_gradient_is_named(run):
    @function.Defun(tf.float32)
    def f(x):
        return tf.reduce_sum(tf.raw_ops.AdjustHue(images=x, delta=0.1))

    x = tf.constant([0.25, 0.5, 0.125])
    gradients = tf.gradients(f(x), [x])
    with pytest.raises(tf.errors.NotFoundError, match="No gradient defined for op: AdjustHue"):
        run(gradients)
    unknown = attr_value_pb2.NameAttrList(name="Nowhere")
    gradient = functional_ops.symbolic_gradient(input=[x, x], Tout=[tf.float32], f=unknown)
    with pytest.raises(tf.errors.NotFoundError, match="No gradient defined for op: Nowhere"):
        run(gradient)
