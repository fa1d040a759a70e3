"""Variables and what else outlives a step: sharing, uninitialised reads, mutexes."""

import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import gen_resource_variable_ops, gen_state_ops

ANONYMOUS = "cd2c89b7-88b7-44c8-ad83-06c2a9158347"

REF_AND_RESOURCE = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


def message(raised):
    """The op's own words: TensorFlow's client puts others around them."""
    return raised.value.message.replace("\n", " ")


def handle(name, dtype=tf.float32, **attrs):
    return gen_resource_variable_ops.var_handle_op(dtype, None, shared_name=name, **attrs)


def test_reading_an_uninitialised_reference(target):
    variable = v1.Variable([1.0], name="weights", use_resource=False)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as raised:
            session.run(variable.read_value())
    assert "Attempting to use uninitialized value weights" in message(raised)


def test_a_read_of_a_reference_sees_what_runs_before_its_consumer(target):
    """A reference is read without a copy; `SyncReplicasOptimizer` relies on it for its tokens."""
    counter = v1.Variable(0, name="counter", use_resource=False)
    increment = counter.assign_add(1)
    with tf.control_dependencies([increment]):
        tokens = tf.fill([2], counter)
    with v1.Session(target) as session:
        session.run(counter.initializer)
        for step in range(1, 4):
            np.testing.assert_array_equal(session.run(tokens), [step, step])


def test_reading_an_uninitialised_resource(target):
    variable = v1.Variable([1.0], name="weights", use_resource=True)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as raised:
            session.run(variable.read_value())
    assert (
        "Could not find variable weights. This could mean that the variable has been deleted. In "
        "TF1, it can also mean the variable is uninitialized. Debug info: container=worker, "
        "status error message=" in message(raised)
    )


@REF_AND_RESOURCE
def test_uninitialised_variables_are_reported(target, use_resource):
    one = v1.Variable(1.0, name="one", use_resource=use_resource)
    v1.Variable(2.0, name="two", use_resource=use_resource)
    report = v1.report_uninitialized_variables()
    with v1.Session(target) as session:
        assert set(session.run(report)) == {b"one", b"two"}
        session.run(one.initializer)
        assert set(session.run(report)) == {b"two"}


def test_applying_to_a_missing_resource(target):
    step = tf.raw_ops.ResourceApplyGradientDescent(var=handle("nobody"), alpha=1.0, delta=[1.0])
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InternalError, match="Invalid variable reference."):
            session.run(step)


def test_a_reference_and_a_resource_of_one_name_are_two_variables(target):
    reference = gen_state_ops.variable_v2([], tf.float32, shared_name="shared")
    by_name = handle("shared")
    with v1.Session(target) as session:
        session.run(gen_state_ops.assign(reference, 1.0))
        session.run(gen_resource_variable_ops.assign_variable_op(by_name, 2.0))
        read = gen_resource_variable_ops.read_variable_op(by_name, tf.float32)
        assert session.run([reference, read]) == [1.0, 2.0]


@REF_AND_RESOURCE
def test_containers_keep_variables_apart_and_are_reset_alone(target, use_resource):
    variables = {}
    for container in ("", "experiment"):
        with tf.Graph().as_default() as graph, graph.container(container):
            variable = v1.Variable(0.0, name="v", use_resource=use_resource)
            variables[container] = (graph, variable, variable.assign_add(1.0))
    for graph, variable, add in variables.values():
        with v1.Session(target, graph=graph) as session:
            session.run(variable.initializer)
            session.run(add)
            assert session.run(variable) == 1.0
    v1.Session.reset(target, ["experiment"])
    graph, variable, _ = variables[""]
    with v1.Session(target, graph=graph) as session:
        assert session.run(variable) == 1.0
    graph, variable, _ = variables["experiment"]
    with v1.Session(target, graph=graph) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(variable)


def test_anonymous_variables_last_one_step(target):
    variable = handle(ANONYMOUS)
    is_there = gen_resource_variable_ops.var_is_initialized_op(variable)
    assign = gen_resource_variable_ops.assign_variable_op(variable, [1.0, 2.0])
    with tf.control_dependencies([assign]):
        read = gen_resource_variable_ops.read_variable_op(variable, tf.float32)
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(read), [1.0, 2.0])
        assert not session.run(is_there)


def test_wrong_types_are_refused(target):
    assign = gen_resource_variable_ops.assign_variable_op(handle("v"), [1.0, 2.0])
    with v1.Session(target) as session:
        session.run(assign)
        read = gen_resource_variable_ops.read_variable_op(handle("v", tf.int32), tf.int32)
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(read)
        assert "Trying to read variable with wrong dtype. Expected int32 got float" in message(raised)
        again = gen_resource_variable_ops.assign_variable_op(handle("v", tf.int32), [1, 2])
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(again)
        assert "Trying to assign variable with wrong dtype. Expected float got int32" in message(raised)


def test_a_declared_shape_binds_a_reference(target):
    variable = gen_state_ops.variable_v2([3], tf.float32)
    value = v1.placeholder_with_default([1.0, 2.0], None)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(gen_state_ops.assign(variable, value).op)
        assert "lhs shape= [3] rhs shape= [2]" in message(raised)
        session.run(gen_state_ops.assign(variable, value, validate_shape=False).op)
        np.testing.assert_array_equal(session.run(variable), [1.0, 2.0])


@REF_AND_RESOURCE
def test_concurrent_additions_are_all_counted(target, use_resource):
    counter = v1.Variable(np.zeros(1000, np.float32), use_resource=use_resource)
    add = counter.assign_add(np.ones(1000, np.float32), use_locking=True)
    sessions = [v1.Session(target) for _ in range(4)]
    sessions[0].run(counter.initializer)

    def work(session):
        for _ in range(25):
            session.run(add.op)

    threads = [threading.Thread(target=work, args=[session]) for session in sessions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(sessions[0].run(counter), np.full(1000, 100))
    for session in sessions:
        session.close()


def test_a_read_value_does_not_change_under_the_reader(target):
    variable = v1.Variable(np.zeros(1000, np.float32), use_resource=True)
    before = variable.read_value()
    with tf.control_dependencies([before]):
        add = variable.assign_add(np.ones(1000, np.float32), read_value=False)
    with tf.control_dependencies([add]):
        fetched = [tf.identity(before), variable.read_value()]
    with v1.Session(target) as session:
        session.run(variable.initializer)
        for step in range(3):
            old, new = session.run(fetched)
            np.testing.assert_array_equal(old, np.full(1000, step))
            np.testing.assert_array_equal(new, np.full(1000, step + 1))


def test_counting_ends_with_out_of_range(target):
    counter = v1.Variable(0, use_resource=False)
    count = counter.count_up_to(2)
    with v1.Session(target) as session:
        session.run(counter.initializer)
        assert [session.run(count), session.run(count)] == [0, 1]
        with pytest.raises(tf.errors.OutOfRangeError, match="Reached limit of 2"):
            session.run(count)


def test_critical_sections_exclude_each_other(target):
    section = tf.CriticalSection(name="section")
    variable = v1.Variable(0.0, use_resource=True)

    def increment():
        value = variable.read_value()
        with tf.control_dependencies([value]):
            return tf.identity(variable.assign(value + 1.0))

    steps = [section.execute(increment) for _ in range(8)]
    with v1.Session(target) as session:
        session.run(variable.initializer)
        for _ in range(3):
            session.run(steps)
        assert session.run(variable) == 24.0


def test_a_failed_assertion_shows_its_data(target):
    wrong = v1.placeholder_with_default(False, [])
    check = tf.debugging.Assert(wrong, ["not", tf.range(5)], summarize=3)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(check)
    assert "assertion failed: [not] [0 1 2...]" in message(raised)


def test_variables_of_every_type(target):
    dtypes = [tf.bool, tf.string, tf.complex64, tf.complex128, tf.float16, tf.bfloat16, tf.float64]
    dtypes += [tf.int8, tf.int16, tf.int32, tf.int64, tf.uint8, tf.uint16, tf.uint32, tf.uint64]
    values = [tf.constant(["a", "b"]) if d == tf.string else tf.cast([0, 1], d) for d in dtypes]
    variables = [v1.Variable(v, use_resource=i % 2) for i, v in enumerate(values)]
    with v1.Session(target) as session:
        session.run([variable.initializer for variable in variables])
        for variable, want in zip(session.run(variables), session.run(values)):
            np.testing.assert_array_equal(variable, want)
