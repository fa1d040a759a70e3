"""Steps that wait on a parameter server for something that comes later, and whose program dies.

Nobody is left to take what such a step waits for. Once the server has noticed, which may take a
moment after the death, the step takes and puts nothing; those that wait behind it go on.
"""

import contextlib
import subprocess
import sys
import threading

import grpc
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import data_flow_ops

from conformance.rig import wire

# How often one step waits. A server that never forgets it loses as many elements; one that does loses none but those
# that come before it has noticed, which is always a good deal fewer.
WAITS = 100
# Elements come one a call.
SECONDS = 60

# What a client sends, from a process that has nothing else and is quick to start.
CLIENT = """
import sys, grpc
call = grpc.insecure_channel(sys.argv[1]).unary_unary("/tensorflow.MasterService/RunStep")
call(sys.stdin.buffer.read())
"""


def dequeues(value):
    """Waits for elements of an empty queue."""
    queue = tf.queue.FIFOQueue(2 * WAITS, [tf.int32], shapes=[[]], shared_name="elements")
    return queue.dequeue, queue.enqueue(value), queue.dequeue()


def dequeues_of_many(value):
    """Waits for elements of an empty queue, and would take more than come at a time."""
    queue = tf.queue.RandomShuffleQueue(2 * WAITS, 0, [tf.int32], shapes=[[]], shared_name="elements")
    return lambda: queue.dequeue_many(2), queue.enqueue_many([[value, value]]), queue.dequeue()


def enqueues(value):
    """Waits for room in a queue that is full, with elements that nobody may see."""
    queue = tf.queue.FIFOQueue(1, [tf.int32], shapes=[[]], shared_name="elements")
    with tf.control_dependencies([queue.enqueue(value)]):
        fill = tf.identity(value)
    return lambda: queue.enqueue(-1), queue.dequeue(), fill


def gradients(value):
    """Waits for gradients."""
    accumulator = v1.ConditionalAccumulator(tf.float32, shape=[], shared_name="gradients")
    apply = accumulator.apply_grad(tf.cast(value, tf.float32), local_step=WAITS)
    return lambda: accumulator.take_grad(1), apply, accumulator.take_grad(1)


def keys(value):
    """Waits for tuples of a barrier."""
    barrier = data_flow_ops.Barrier([tf.int32], shapes=[[]], shared_name="tuples")
    insert = barrier.insert_many(0, [tf.as_string(tf.random.uniform([]))], [value])

    def take():
        _, _, values = barrier.take_many(1)
        return tf.reshape(values, [])

    return take, insert, take()


KINDS = [dequeues, dequeues_of_many, enqueues, gradients, keys]


class Waiting:
    """A step of many waits, and what the others do meanwhile.

    `wait` waits; `give` is one call of what it waits for; `go_on` is what a survivor waits for.
    """

    def __init__(self, kind):
        with tf.device("/job:ps/task:0"):
            here = tf.queue.FIFOQueue(2, [tf.bool], shapes=[[]], shared_name="here")
            wait, self.give, self.go_on = kind(tf.constant(7))
            self.prepare = self.go_on if kind is enqueues else tf.no_op()
            with tf.control_dependencies([here.enqueue(True)]):
                self.wait = tf.group(*[wait() for _ in range(WAITS)], name="wait")
            self.is_here = here.dequeue()

    @contextlib.contextmanager
    def master(self, target):
        """Calls a master message by message: Python's session would try again and again."""
        service = wire.Service(target, "MasterService")
        yield service
        service.close()

    def handle(self, master):
        """Makes a session for the step that waits."""
        return master.call("CreateSession", graph_def=v1.get_default_graph().as_graph_def()).session_handle

    def survive(self, session):
        """Goes on as one that waits behind the dead does, and counts what those took."""
        done = threading.Event()
        results = []

        def go_on():
            try:
                results.append(session.run(self.go_on))
            finally:
                done.set()

        thread = threading.Thread(target=go_on)
        thread.start()
        lost = -1
        while not done.wait(0.01) and lost < WAITS:
            try:
                session.run(self.give, options=v1.RunOptions(timeout_in_ms=5000))
                lost += 1
            except tf.errors.DeadlineExceededError:
                pass  # The survivor went on before this call, which has nothing left to take.
        thread.join(SECONDS)
        return results, lost


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_is_killed_while_it_waits(cluster, kind):
    tasks = cluster(num_workers=2, num_ps=1)
    waiting = Waiting(kind)
    with waiting.master(tasks.target("worker", 0)) as master, v1.Session(tasks.target("worker", 1)) as session:
        session.run(waiting.prepare)
        step = master.start("RunStep", session_handle=waiting.handle(master), target=["wait"])
        session.run(waiting.is_here)
        tasks.task("worker", 0).kill()
        results, lost = waiting.survive(session)
        assert results == [7]
        assert lost < WAITS
        assert step.code() == grpc.StatusCode.UNAVAILABLE


NOT_ITS_OWN = pytest.mark.ours("TensorFlow's master does not end what its own task does for a client that is gone")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("job", ["worker", pytest.param("ps", marks=NOT_ITS_OWN)])
def test_a_client_that_is_killed_while_it_waits(cluster, kind, job):
    tasks = cluster(num_workers=1, num_ps=1)
    waiting = Waiting(kind)
    with waiting.master(tasks.target(job)) as master, v1.Session(tasks.target()) as session:
        session.run(waiting.prepare)
        request = wire.MESSAGES["RunStepRequest"](session_handle=waiting.handle(master), target=["wait"])
        address = tasks.target(job).removeprefix("grpc://")
        with subprocess.Popen([sys.executable, "-c", CLIENT, address], stdin=subprocess.PIPE) as client:
            client.stdin.write(request.SerializeToString())
            client.stdin.close()
            session.run(waiting.is_here)
            client.kill()
        results, lost = waiting.survive(session)
        assert results == [7]
        assert lost < WAITS
