"""What every v1 program does with a session: feed, fetch, variables, growing graphs, callables."""

import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.core.protobuf import config_pb2

REF_AND_RESOURCE = pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])


def test_hello(target):
    greeting = v1.constant("Hello, distributed TensorFlow!")
    with v1.Session(target) as session:
        assert session.run(greeting) == b"Hello, distributed TensorFlow!"


@pytest.mark.parametrize(
    "dtype",
    [
        tf.bool,
        tf.bfloat16,
        tf.complex64,
        tf.complex128,
        tf.float16,
        tf.float32,
        tf.float64,
        tf.int8,
        tf.int16,
        tf.int32,
        tf.int64,
        tf.uint8,
        tf.uint16,
        tf.uint32,
        tf.uint64,
    ],
    ids=lambda dtype: dtype.name,
)
def test_fed_values_come_back(target, dtype):
    value = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype.as_numpy_dtype)
    fed = v1.placeholder(dtype, [None, 3])
    with v1.Session(target) as session:
        fetched = session.run(v1.identity(fed), {fed: value})
    assert fetched.dtype == value.dtype
    np.testing.assert_array_equal(fetched, value)


def test_fed_strings_come_back(target):
    value = np.array([[b"", b"a\0b"], ["é".encode(), b"x" * 1000]], dtype=object)
    fed = v1.placeholder(tf.string, [2, 2])
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(v1.identity(fed), {fed: value}), value)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1, 1, 1, 1)], ids=str)
def test_unusual_shapes_come_back(target, shape):
    value = np.ones(shape, np.float32)
    fed = v1.placeholder(tf.float32)
    with v1.Session(target) as session:
        assert session.run(fed * 2.0, {fed: value}).shape == shape


def test_large_tensors_pass(target):
    """Far above the limits that gRPC and HTTP/2 have unless told otherwise."""
    value = np.arange(5_000_000, dtype=np.float32)
    fed = v1.placeholder(tf.float32, [None])
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(fed + 1.0, {fed: value}), value + 1)


def test_fetches_may_be_nested_and_repeated(target):
    a, b = v1.constant(1), v1.constant(2)
    with v1.Session(target) as session:
        fetched = session.run({"sum": a + b, "list": [a, (b, a)], "op": v1.no_op()})
    assert fetched == {"sum": 3, "list": [1, (2, 1)], "op": None}


def test_intermediate_tensors_can_be_fed(target):
    a = v1.constant(2.0)
    b = a * 3.0
    c = b + 1.0
    with v1.Session(target) as session:
        assert session.run(c) == 7
        assert session.run([b, c], {b: 10.0}) == [10, 11]
        assert session.run(c, {a: 5.0}) == 16


def test_outputs_of_one_op_are_told_apart(target):
    parts = v1.split(v1.placeholder_with_default([1, 2, 3], [3]), 3)
    with v1.Session(target) as session:
        first, second, third = session.run(parts)
        assert [first[0], second[0], third[0]] == [1, 2, 3]
        assert session.run(parts[2] + parts[0], {parts[0]: [7]}) == [10]


def test_control_dependencies_run_first(target):
    variable = v1.get_variable("counter", initializer=0, use_resource=True)
    with v1.control_dependencies([variable.assign_add(5)]):
        after = variable.read_value()
    with v1.Session(target) as session:
        session.run(variable.initializer)
        assert session.run(after) == 5


@REF_AND_RESOURCE
def test_variables_keep_their_value(target, use_resource):
    variable = v1.get_variable("v", initializer=[1.0, 2.0], use_resource=use_resource)
    double = variable.assign(variable * 2.0)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(double.op)
        np.testing.assert_array_equal(session.run(variable), [2, 4])
        session.run(variable.assign_add([1.0, 1.0]).op)
        session.run(variable.assign_sub([0.5, 0.0]).op)
        np.testing.assert_array_equal(session.run(variable), [2.5, 5])


@REF_AND_RESOURCE
def test_variables_are_shared_by_sessions(target, use_resource):
    variable = v1.get_variable("v", initializer=7, use_resource=use_resource)
    with v1.Session(target) as first, v1.Session(target) as second:
        first.run(variable.initializer)
        assert second.run(variable) == 7
        second.run(variable.assign(8).op)
        assert first.run(variable) == 8
    with v1.Session(target) as third:
        assert third.run(variable) == 8


@REF_AND_RESOURCE
def test_uninitialized_variables_are_reported(target, use_resource):
    made = v1.get_variable("made", initializer=1, use_resource=use_resource)
    v1.get_variable("missing", initializer=2, use_resource=use_resource)
    report = v1.report_uninitialized_variables()
    with v1.Session(target) as session:
        session.run(made.initializer)
        np.testing.assert_array_equal(session.run(report), [b"missing"])


def test_a_graph_grows_while_its_session_runs(target):
    a = v1.constant(1)
    with v1.Session(target) as session:
        assert session.run(a) == 1
        b = a + 1
        assert session.run(b) == 2
        assert session.run([b * 10, a]) == [20, 1]


def test_two_graphs_do_not_mix(target):
    def run(value):
        with tf.Graph().as_default(), v1.Session(target) as session:
            return session.run(v1.constant(value, name="same"))

    assert [run(1), run(2)] == [1, 2]


def test_runs_of_one_session_are_concurrent(target):
    """Each run waits for an element that another run puts there."""
    queue = v1.FIFOQueue(10, tf.int32)
    fed = v1.placeholder(tf.int32, [])
    take, put = queue.dequeue(), queue.enqueue(fed)
    taken = []
    with v1.Session(target) as session:
        threads = [
            threading.Thread(target=lambda: taken.append(session.run(take))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for value in range(8):
            session.run(put, {fed: value})
        for thread in threads:
            thread.join()
    assert sorted(taken) == list(range(8))


def test_concurrent_updates_are_all_counted(target):
    variable = v1.get_variable("v", initializer=0, use_resource=True)
    increment = variable.assign_add(1).op
    with v1.Session(target) as session:
        session.run(variable.initializer)
        threads = [
            threading.Thread(target=lambda: [session.run(increment) for _ in range(25)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session.run(variable) == 100


def test_partial_runs_continue_a_step(target):
    a, b = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [])
    total = a + 1.0
    product = total * b
    with v1.Session(target) as session:
        handle = session.partial_run_setup([total, product], [a, b])
        assert session.partial_run(handle, total, {a: 1.0}) == 2
        assert session.partial_run(handle, product, {b: 3.0}) == 6


def test_a_callable_runs_many_times(target):
    fed = v1.placeholder(tf.float32, [2])
    with v1.Session(target) as session:
        run = session.make_callable([fed + 1.0, fed * 2.0], [fed])
        for value in ([1.0, 2.0], [3.0, 4.0]):
            plus, times = run(value)
            np.testing.assert_array_equal(plus, np.add(value, 1))
            np.testing.assert_array_equal(times, np.multiply(value, 2))


def test_a_callable_from_options_lives_on_the_server(target):
    fed = v1.placeholder(tf.float32, [None])
    doubled = fed * 2.0
    variable = v1.get_variable("v", initializer=0, use_resource=True)
    increment = variable.assign_add(1).op
    with v1.Session(target) as session:
        session.run(variable.initializer)
        options = config_pb2.CallableOptions(
            feed=[fed.name], fetch=[doubled.name], target=[increment.name]
        )
        run = session._make_callable_from_options(options)
        for value in ([1.0], [2.0, 3.0]):
            (fetched,) = run(np.array(value, np.float32))
            np.testing.assert_array_equal(fetched, np.multiply(value, 2))
        assert session.run(variable) == 2
        other = session._make_callable_from_options(
            config_pb2.CallableOptions(fetch=[variable.read_value().name])
        )
        del run
        assert other() == [2]


def test_placeholders_with_default_and_partial_shapes(target):
    fed = v1.placeholder_with_default([[1.0, 2.0]], [None, 2])
    total = v1.reduce_sum(fed)
    with v1.Session(target) as session:
        assert session.run(total) == 3
        assert session.run(total, {fed: np.ones([5, 2])}) == 10


def test_gradients_flow(target):
    x = v1.placeholder(tf.float32, [])
    (slope,) = v1.gradients(x * x * 3.0, [x])
    with v1.Session(target) as session:
        assert session.run(slope, {x: 2.0}) == 12


def test_conditions_and_loops(target):
    x = v1.placeholder(tf.int32, [])
    branch = tf.cond(x > 0, lambda: x * 10, lambda: x - 1)
    power = tf.while_loop(lambda i, _: i < x, lambda i, acc: (i + 1, acc * 2), [0, 1])[1]
    with v1.Session(target) as session:
        assert session.run([branch, power], {x: 5}) == [50, 32]
        assert session.run([branch, power], {x: -5}) == [-6, 1]


def test_what_is_only_waited_for_is_not_computed(target):
    x = v1.placeholder(tf.float32, [None, 4])
    index = v1.placeholder(tf.int32, [])
    row = tf.gather(x, index)
    unread = tf.matmul(row[None], row[None], transpose_b=True)
    counter = v1.get_variable("counter", [], initializer=tf.zeros_initializer(), use_resource=True)
    with tf.control_dependencies([unread]):
        y = tf.identity(x) + 1
        count = counter.assign_add(1.0)
    feeds = {x: np.zeros([2, 4]), index: 7}
    with v1.Session(target) as session:
        session.run(counter.initializer)
        session.run(tf.group(unread), feeds)
        assert session.run(y, feeds).tolist() == [[1] * 4] * 2
        assert session.run(count, feeds) == 1
        for asked_for in (unread, unread.op):
            with pytest.raises(tf.errors.InvalidArgumentError, match="indices = 7 is not in"):
                session.run(asked_for, feeds)
