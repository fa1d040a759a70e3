"""Which side effects a step has: those that its fetches and targets need, and all of a function's."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def functional_control_flow():
    tf1.enable_control_flow_v2()
    yield
    tf1.disable_control_flow_v2()


class Program:
    """A body that updates three variables, of which results depend in different ways."""

    def __init__(self):
        self.variables = [tf1.Variable(0.0, use_resource=True) for _ in range(3)]
        self.initializer = tf1.global_variables_initializer()

    def body(self, scale=1.0):
        alone, awaited, read = self.variables
        alone.assign_add(1.0)
        first = tf.constant(1.0) * scale
        with tf.control_dependencies([awaited.assign_add(1.0)]):
            second = tf.identity(tf.constant(2.0) * scale)
        return first, second, tf.identity(read.assign_add(1.0))

    def updates(self, target, fetch):
        """The value of a step's fetch, and how often it has updated each variable."""
        with tf1.Session(target) as session:
            session.run(self.initializer)
            value = session.run(fetch)
            return value, session.run([variable.value() for variable in self.variables])


def branch(program):
    condition = tf1.placeholder_with_default(True, [])
    return tf1.cond(condition, program.body, lambda: program.body(2.0))


def case(program):
    index = tf1.placeholder_with_default(0, [])
    return tf.switch_case(index, [program.body, lambda: program.body(2.0)])


def loop(program):
    def body(count, first, second, read):
        return count + 1, *program.body()

    start = [tf.constant(0), *[tf.constant(0.0)] * 3]
    return tf1.while_loop(lambda count, *_: count < 1, body, start)[1:]


def nested_branch(program):
    condition = tf1.placeholder_with_default(True, [])
    return tf1.cond(condition, lambda: branch(program), lambda: program.body(2.0))


def call(program):
    return tf.function(program.body, autograph=False)()


def call_without_order(program):
    @function.Defun()
    def body():
        return program.body()

    return body()


def branch_in_a_function(program):
    return tf.function(lambda: branch(program), autograph=False)()


def function_in_a_branch(program):
    condition = tf1.placeholder_with_default(True, [])
    body = tf.function(program.body, autograph=False)
    return tf1.cond(condition, body, lambda: program.body(2.0))


@pytest.mark.parametrize("make", [branch, case, loop, nested_branch])
def test_control_flow_of_a_step_does_what_is_needed(target, make):
    with tf.Graph().as_default():
        program = Program()
        first, second, read = make(program)
        with tf.control_dependencies([first]):
            after = tf.constant(7.0) + 1.0
        updates = lambda fetch: program.updates(target, fetch)
        np.testing.assert_equal(updates(first), (1.0, [0.0, 0.0, 0.0]))
        np.testing.assert_equal(updates(second + 1.0), (3.0, [0.0, 1.0, 0.0]))
        np.testing.assert_equal(updates(read)[1], [0.0, 0.0, 1.0])
        np.testing.assert_equal(updates([first, second])[1], [0.0, 1.0, 0.0])
        np.testing.assert_equal(updates(after), (8.0, [0.0, 0.0, 0.0]))
        np.testing.assert_equal(updates(first.op), (None, [0.0, 0.0, 0.0]))


@pytest.mark.parametrize("make", [branch, case])
def test_waiting_for_control_flow_asks_for_no_effect(target, make):
    with tf.Graph().as_default():
        program = Program()
        first, *_ = make(program)
        with tf.control_dependencies([first.op.inputs[0].op]):
            after = tf.constant(7.0) + 1.0
        np.testing.assert_equal(program.updates(target, after), (8.0, [0.0, 0.0, 0.0]))


def test_waiting_for_a_loop_asks_for_its_results(target):
    with tf.Graph().as_default():
        program = Program()
        loop_op = loop(program)[0].op.inputs[0].op
        assert loop_op.type == "While"
        with tf.control_dependencies([loop_op]):
            after = tf.constant(7.0) + 1.0
        np.testing.assert_equal(program.updates(target, after), (8.0, [0.0, 1.0, 1.0]))
        np.testing.assert_equal(program.updates(target, loop_op), (None, [0.0, 1.0, 1.0]))
        np.testing.assert_equal(program.updates(target, loop_op.outputs[0])[1], [0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    "make", [call, call_without_order, branch_in_a_function, function_in_a_branch]
)
def test_a_function_does_all_that_it_says(target, make):
    with tf.Graph().as_default():
        program = Program()
        first, second, _ = make(program)
        for fetch, value in [(first, 1.0), (second + 1.0, 3.0)]:
            np.testing.assert_equal(program.updates(target, fetch), (value, [1.0, 1.0, 1.0]))


def test_control_flow_that_is_not_lowered_has_all_its_effects(target):
    program = Program()
    _, second, _ = branch(program)
    config = tf1.ConfigProto()
    config.experimental.executor_type = "SINGLE_THREADED_EXECUTOR"
    with tf1.Session(target, config=config) as session:
        session.run(program.initializer)
        assert session.run(second) == 2.0
        assert session.run([variable.value() for variable in program.variables]) == [1.0, 1.0, 1.0]
