"""Steps that never end by themselves: each must end with its time, its session or its client."""

import threading

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.framework import function

from conformance.rig import wire

# More than one, so that they meet on the threads that there are.
MANY = 3


@function.Defun(tf.float32)
def always(x):
    return tf.constant(True)


@function.Defun(tf.float32)
def is_finite(x):
    return x < float("inf")


@function.Defun(tf.float32)
def step(x):
    return x * 0.5 + 1.0


@function.Defun(tf.float32)
def same(x):
    return tf.identity(x)


@function.Defun(tf.int32, tf.float32)
def numbered_step(index, x):
    return x * 0.5 + 1.0


def loop(x, cond=is_finite, body=step):
    (result,) = tf.raw_ops.While(input=[x], cond=cond, body=body)
    return result


@function.Defun(tf.float32)
def looping(x):
    return loop(x)


@function.Defun(tf.int32, tf.float32)
def numbered_loop(index, x):
    return loop(x)


def call(x, target):
    return tf.raw_ops.StatefulPartitionedCall(args=[x], Tout=[tf.float32], f=target)[0]


def choose(x, target):
    return tf.raw_ops.If(cond=tf.constant(True), input=[x], Tout=[tf.float32], then_branch=target, else_branch=same)[0]


def case(x, target):
    return tf.raw_ops.Case(branch_index=1, input=[x], Tout=[tf.float32], branches=[same, target])[0]


def count(x, target):
    return tf.raw_ops.For(start=0, limit=2**31 - 1, delta=1, input=[x], body=target)[0]


def stateless(x):
    return tf.raw_ops.StatelessWhile(input=[x], cond=always, body=same)[0]


def lowered(x):
    return tf.while_loop(lambda x: x < float("inf"), lambda x: x * 0.5 + 1.0, [x])


def traced(x):
    """As `tf.function` does it, where the loop is lowered inside of the function."""
    return tf.function(lambda x: tf.while_loop(lambda x: x < float("inf"), lambda x: x * 0.5 + 1.0, [x])[0])(x)


def without_values(x):
    @function.Defun()
    def true():
        return tf.constant(True)

    @function.Defun()
    def nothing():
        return []

    with tf.control_dependencies([tf.raw_ops.While(input=[], cond=true, body=nothing)]):
        return tf.identity(x)


def filtered(x):
    dataset = tf.data.Dataset.from_tensors(1.0).repeat().filter(lambda y: y > 2.0)
    return v1.data.make_one_shot_iterator(dataset).get_next() + x


KINDS = {
    "while": loop,
    "while_without_change": lambda x: loop(x, always, same),
    "while_without_values": without_values,
    "lowered": lowered,
}
# TensorFlow's servers go on with these.
NESTED_KINDS = {
    "stateless_while": stateless,
    "traced": traced,
    "for": lambda x: count(x, numbered_step),
    "called": lambda x: call(x, looping),
    "chosen": lambda x: choose(x, looping),
    "case": lambda x: case(x, looping),
    "loop_in_loop": lambda x: loop(x, body=looping),
    "loop_in_for": lambda x: count(x, numbered_loop),
    "dataset": filtered,
}


def ends_with_its_time(target, fetch):
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(fetch, options=v1.RunOptions(timeout_in_ms=200))
        assert session.run(tf.constant(3) + 4) == 7


@pytest.mark.parametrize("kind", KINDS)
def test_it_ends_with_its_time(target, kind):
    ends_with_its_time(target, KINDS[kind](v1.placeholder_with_default(1.0, [])))


@pytest.mark.ours("TensorFlow cancels loops of the graph, not all that are inside of calls")
@pytest.mark.parametrize("kind", NESTED_KINDS)
def test_what_is_inside_of_calls_ends_with_its_time(target, kind):
    ends_with_its_time(target, NESTED_KINDS[kind](v1.placeholder_with_default(1.0, [])))


@pytest.mark.parametrize("task", [0, 1])
def test_it_ends_with_its_session(cluster, task):
    two = cluster(num_workers=2, num_ps=0)
    with tf.device(f"/job:worker/task:{task}"):
        started = tf.raw_ops.FIFOQueueV2(component_types=[tf.int32], shared_name="started")
        begin = tf.raw_ops.QueueEnqueueV2(handle=started, components=[1])
        with tf.control_dependencies([begin]):
            fetch = loop(v1.placeholder_with_default(1.0, []))
        begun = tf.raw_ops.QueueDequeueV2(handle=started, component_types=[tf.int32])
    graph, failures = v1.get_default_graph(), []

    def endless(session):
        try:
            session.run(fetch)
        except tf.errors.OpError as error:
            failures.append(type(error))

    sessions = [v1.Session(two.target(), graph=graph) for _ in range(MANY)]
    threads = [threading.Thread(target=endless, args=[each]) for each in sessions]
    for thread in threads:
        thread.start()
    with v1.Session(two.target(), graph=graph) as bystander:
        for _ in threads:
            bystander.run(begun)
    for each in sessions:
        each.close()
    for thread in threads:
        thread.join()
    assert failures == [tf.errors.CancelledError] * MANY


def test_it_ends_with_its_client(target):
    fetch = loop(v1.placeholder_with_default(1.0, []))
    three = tf.constant(1) + 2
    master = wire.Service(target, "MasterService")
    handle = master.call("CreateSession", graph_def=v1.get_default_graph().as_graph_def()).session_handle
    with v1.Session(target) as bystander:
        # Each goes away before the next comes, so that in the end all threads are free again.
        for _ in range(4 * MANY):
            running = master.start("RunStep", session_handle=handle, fetch=[fetch.name], timeout=60)
            assert bystander.run(three) == 3
            assert running.cancel()
        assert bystander.run(three) == 3
    master.call("CloseSession", session_handle=handle)
    master.close()
