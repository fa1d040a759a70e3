"""What a step is fed with beyond, beside and instead of what it needs."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, named_tensor_pb2

from conformance.rig import wire

tf1 = tf.compat.v1


def by_run(session, fetches, feeds):
    return session.run(fetches, feeds)


def by_callable(session, fetches, feeds):
    options = config_pb2.CallableOptions(
        feed=[tensor.name for tensor in feeds], fetch=[tensor.name for tensor in fetches]
    )
    values = [np.array(value, tensor.dtype.as_numpy_dtype) for tensor, value in feeds.items()]
    return session._make_callable_from_options(options)(*values)


def in_two_parts(session, fetches, feeds):
    """What the step needs comes last."""
    handle = session.partial_run_setup(fetches, list(feeds))
    first, *rest = reversed(feeds)
    session.partial_run(handle, [], {first: feeds[first]})
    return session.partial_run(handle, fetches, {tensor: feeds[tensor] for tensor in rest})


WAYS = [by_run, by_callable, in_two_parts]


@pytest.fixture(params=["one task", "two tasks"])
def session_on(request, cluster):
    """Returns a function from a graph and the device of its middle to a session."""
    several = request.param == "two tasks"
    running = cluster(num_ps=1 if several else 0)
    device = "/job:ps/task:0" if several else "/job:worker/task:0"
    return device, lambda: tf1.Session(running.target("worker"))


@pytest.mark.parametrize("way", WAYS)
def test_a_step_takes_what_it_needs_of_its_feeds(session_on, way):
    device, session = session_on
    with tf.Graph().as_default():
        unused = tf1.placeholder(tf.int32, name="unused")
        x = tf1.placeholder(tf.float32, name="x")
        with tf.device(device):
            y = tf.identity(x * 2.0, name="y")
        z = tf.identity(y + 1.0, name="z")
        names = tf1.placeholder(tf.string, name="names")
        with session() as session:
            feeds = {unused: [1, 2], x: [1.0], names: ["a"]}
            np.testing.assert_equal(way(session, [z], feeds), [[3.0]])
            # The intermediate tensor makes the other feeds pointless.
            feeds = {unused: [1, 2], x: [1.0], y: [3.0], names: ["a"]}
            np.testing.assert_equal(way(session, [z], feeds), [[4.0]])
            np.testing.assert_equal(way(session, [z], dict(reversed(feeds.items()))), [[4.0]])


@pytest.mark.parametrize("way", WAYS)
def test_feeds_of_a_step_that_runs_elsewhere_only(session_on, way):
    device, session = session_on
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, name="x")
        with tf.device(device):
            variable = tf1.Variable([1.0, 2.0], use_resource=True)
            update = variable.assign_add([1.0, 1.0], read_value=False)
        value = variable.value()
        with session() as session:
            session.run(variable.initializer, {x: [7.0]})
            session.run(update, {x: [7.0]})
            np.testing.assert_equal(way(session, [value], {x: [7.0]}), [[2.0, 3.0]])


def test_what_is_fed_and_fetched_comes_back_as_fed(session_on):
    device, session = session_on
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, name="x")
        with tf.device(device):
            y = x * 2.0
        z = y + 1.0
        with session() as session:
            assert session.run([y, z, x], {x: 1.0, y: 5.0}) == [5.0, 6.0, 1.0]
            assert session.run(y, {y: 5.0}) == 5.0


def test_who_waits_for_a_fed_placeholder_waits_for_the_feed(session_on):
    device, session = session_on
    with tf.Graph().as_default():
        awaited = tf1.placeholder(tf.int32, name="awaited")
        computed = tf.identity(awaited)
        with tf.device(device), tf.control_dependencies([awaited]):
            after_feed = tf.constant(1.0) + 1.0
        with tf.control_dependencies([computed]):
            after_computed = tf.constant(2.0) + 1.0
        with session() as session:
            assert session.run(after_feed, {awaited: 3}) == 2.0
            message = "You must feed a value for placeholder tensor 'awaited'"
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(after_feed)
            # Feeding what a node computes does not spare those who wait for the node.
            with pytest.raises(tf.errors.InvalidArgumentError, match=message):
                session.run(after_computed, {computed: 3})


@pytest.mark.parametrize("given, value", [("double", np.float64(1)), ("int32", np.int32(1))])
def test_a_value_of_another_type_is_refused(target, given, value):
    with tf.Graph().as_default(), tf1.Session(target) as session:
        x = tf1.placeholder(tf.float32, name="x")
        i = tf1.placeholder(tf.int32, name="i")
        z = x + 1.0
        options = config_pb2.CallableOptions(feed=[i.name, x.name], fetch=[z.name])
        step = session._make_callable_from_options(options)
        # Nobody looks at what is not needed.
        assert step(np.float64(7), np.float32(1)) == [2.0]
        message = (
            f"Output 0 of type {given} does not match declared output type float "
            "for node {{node _recv_x_0}}"
        )
        with pytest.raises(tf.errors.InternalError, match=message):
            step(np.int32(1), value)


def raw(name, value):
    return named_tensor_pb2.NamedTensorProto(name=name, tensor=tf.make_tensor_proto(value))


@pytest.mark.parametrize(
    "feeds, fetches, message",
    [
        (["x:0", "x:0"], ["z:0"], 'Endpoint "x:0" fed more than once.'),
        (["x:0", "i:0", "i:0"], ["z:0"], 'Endpoint "i:0" fed more than once.'),
        (["x:0", "y:0"], ["z:0", "y:0"], "y:0 is both fed and fetched."),
    ],
)
@pytest.mark.parametrize("way", ["run", "callable", "partial"])
def test_names_that_meet_are_refused(target, way, feeds, fetches, message):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, name="x")
        tf1.placeholder(tf.int32, name="i")
        y = tf.identity(x * 2.0, name="y")
        tf.identity(y + 1.0, name="z")
    master = wire.Service(target, "MasterService")
    session = master.call("CreateSession", graph_def=graph.as_graph_def()).session_handle
    if way == "run":
        named = [raw(name, np.int32(1) if name == "i:0" else np.float32(1)) for name in feeds]
        method, request = "RunStep", dict(feed=named, fetch=fetches)
    elif way == "callable":
        options = config_pb2.CallableOptions(feed=feeds, fetch=fetches)
        method, request = "MakeCallable", dict(options=options)
    else:
        method, request = "PartialRunSetup", dict(feed=feeds, fetch=fetches)
    master.fails(
        grpc.StatusCode.INVALID_ARGUMENT, method, message, session_handle=session, **request
    )
    master.close()
