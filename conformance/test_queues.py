"""Closing queues: what those get who wait, and those who come later, as TensorFlow in process says.

Every kind of queue meets every way to dequeue, with too few, just enough and too many elements, and is
closed before somebody dequeues or while somebody waits.
"""

import itertools
import re
import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

WANTED = 3

KINDS = {
    "fifo": lambda capacity: tf.queue.FIFOQueue(capacity, [tf.int64], [[]], shared_name="q"),
    "padding": lambda capacity: tf.queue.PaddingFIFOQueue(capacity, [tf.int64], [[]], shared_name="q"),
    "shuffle": lambda capacity: tf.queue.RandomShuffleQueue(
        capacity, 0, [tf.int64], [[]], seed=1, shared_name="q"
    ),
    "shuffle, two kept back": lambda capacity: tf.queue.RandomShuffleQueue(
        capacity, 2, [tf.int64], [[]], seed=1, shared_name="q"
    ),
    "priority": lambda capacity: tf.queue.PriorityQueue(capacity, [tf.int64], [[]], shared_name="q"),
}
KEPT_BACK = {"shuffle, two kept back": 2}

DEQUEUES = {
    "one": lambda queue: queue.dequeue(),
    "many": lambda queue: queue.dequeue_many(WANTED),
    "up to": lambda queue: queue.dequeue_up_to(WANTED),
}


class Run:
    """A queue in a session of its own, and what the calls of it returned."""

    def __init__(self, session, kind, capacity):
        self.session = session
        self.kind = kind
        self.queue = KINDS[kind](capacity)
        self.size = self.queue.size()
        self.log = []

    def enqueue(self, numbers):
        columns = [np.int64(numbers)]
        if self.kind == "priority":
            columns.insert(0, -np.int64(numbers))
        return self.queue.enqueue_many(columns)

    def outcome(self, fetch):
        """The elements, or the error and its words."""
        try:
            values = self.session.run(fetch)
        except tf.errors.OpError as error:
            words = re.search(r"\S+ '\S*' is .*|Enqueue operation was cancelled", error.message)
            return type(error).__name__, words and words[0]
        return None if values is None else np.asarray(values).tolist()

    def __call__(self, fetch):
        self.log.append(self.outcome(fetch))

    def in_background(self, fetch):
        """Starts a call; returns a function that waits for it and notes what it returned."""
        found = []
        thread = threading.Thread(target=lambda: found.append(self.outcome(fetch)))
        thread.start()

        def join():
            thread.join()
            self.log.extend(found)

        return join

    def until_size(self, size):
        """Waits until whoever waits has taken or put what it could."""
        while self.session.run(self.size) != size:
            pass


def both(target, scenario):
    """What a scenario notes in TensorFlow and on the server."""
    logs = []
    for where in ("", target):
        config = v1.ConfigProto(isolate_session_state=True)
        with tf.Graph().as_default(), v1.Session(where, config=config) as session:
            logs.append(scenario(session))
    return logs


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", DEQUEUES)
def test_a_closed_queue_gives_and_refuses_as_tensorflow_s(target, kind, way):
    def scenario(session, have, is_waiting):
        run = Run(session, kind, capacity=10)
        enqueue, dequeue = run.enqueue(range(have)), DEQUEUES[way](run.queue)
        run(enqueue)
        if is_waiting:
            wanted = 1 if way == "one" else WANTED
            free = max(0, have - KEPT_BACK.get(kind, 0))
            taken = min(wanted, free) if kind != "priority" or free >= wanted else 0
            join = run.in_background(dequeue)
            run.until_size(have - taken)
            run(run.queue.close())
            join()
        else:
            run(run.queue.close())
        for fetch in (run.size, dequeue, run.size, dequeue, run.size, enqueue, run.queue.is_closed()):
            run(fetch)
        return run.log

    for have, is_waiting in itertools.product([0, WANTED - 1, WANTED, WANTED + 1], [False, True]):
        theirs, ours = both(target, lambda session: scenario(session, have, is_waiting))
        assert ours == theirs, (have, is_waiting)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cancels", [False, True])
def test_closing_meets_those_who_wait_for_room(target, kind, cancels):
    def scenario(session):
        run = Run(session, kind, capacity=3)
        dequeue, close = run.queue.dequeue(), run.queue.close(cancel_pending_enqueues=cancels)
        run(run.enqueue([0, 1]))
        enqueued = run.in_background(run.enqueue([2, 3, 4]))
        run.until_size(3)
        closed = run.in_background(close)
        if cancels:
            closed(), enqueued()
            rest = 3
        else:
            run.log.append(sorted(str(run.outcome(dequeue)) for _ in range(3)))
            enqueued(), closed()
            rest = 2
        for _ in range(rest + 1):
            run(dequeue)
        run(close)
        return run.log

    theirs, ours = both(target, scenario)
    assert ours == theirs


def test_no_element_can_be_put_into_a_closed_queue(target):
    def scenario(session):
        run = Run(session, "fifo", capacity=3)
        for fetch in (run.queue.close(), run.enqueue([]), run.enqueue([1]), run.queue.close()):
            run(fetch)
        return run.log

    theirs, ours = both(target, scenario)
    assert ours == theirs
    assert [outcome and outcome[0] for outcome in ours] == [None, None, "CancelledError", "CancelledError"]
