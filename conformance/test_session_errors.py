"""Errors reach Python as the exception class that programs catch, with the op that failed."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1


def check(target, error, make, feed=(), *, match="", op=None):
    """Runs what `make` builds from a placeholder and expects an error."""
    fed = v1.placeholder(tf.float32, [None], name="fed")
    fetch = make(fed)
    with v1.Session(target) as session:
        with pytest.raises(error, match=match) as raised:
            session.run(fetch, {fed: list(feed)})
        assert type(raised.value) is error
        if op is not None:
            assert raised.value.op.name == op
        # The session lives on.
        assert session.run(v1.constant(1)) == 1


def test_wrong_shape(target):
    check(
        target,
        tf.errors.InvalidArgumentError,
        lambda x: tf.reshape(x, [3], name="reshaped"),
        [1.0, 2.0],
        match="Input to reshape is a tensor with 2 values, but the requested shape has 3",
        op="reshaped",
    )


def test_incompatible_operands(target):
    check(
        target,
        tf.errors.InvalidArgumentError,
        lambda x: tf.add(x, tf.concat([x, x], 0), name="sum"),
        [1.0, 2.0],
        match="Incompatible shapes",
        op="sum",
    )


def test_index_out_of_range(target):
    check(
        target,
        tf.errors.InvalidArgumentError,
        lambda x: tf.gather(x, [0, 7], name="gathered"),
        [1.0],
        match=r"indices\[1\] = 7 is not in \[0, 1\)",
        op="gathered",
    )


def test_not_a_number(target):
    check(
        target,
        tf.errors.InvalidArgumentError,
        lambda x: v1.check_numerics(x, "the loss"),
        [float("nan")],
        match="the loss : Tensor had NaN values",
    )


def test_failed_assertion(target):
    check(
        target,
        tf.errors.InvalidArgumentError,
        lambda x: v1.Assert(x[0] > 1.0, ["value was", x]),
        [0.5],
        match=r"assertion failed: \[value was\] \[0.5\]",
    )


def test_placeholder_not_fed(target):
    missing = v1.placeholder(tf.float32, [], name="missing")
    with v1.Session(target) as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="You must feed a value for placeholder tensor 'missing' with dtype float",
        ):
            session.run(missing + 1.0)


def test_uninitialized_ref_variable(target):
    variable = v1.get_variable("v", [2], use_resource=False)
    check(
        target,
        tf.errors.FailedPreconditionError,
        lambda _: variable + 1.0,
        match="Attempting to use uninitialized value v",
    )


def test_uninitialized_resource_variable(target):
    variable = v1.get_variable("v", [2], use_resource=True)
    check(
        target,
        tf.errors.FailedPreconditionError,
        lambda _: variable.read_value(),
        match="Could not find variable v",
    )


def test_missing_file(target, tmp_path):
    path = str(tmp_path / "missing")
    check(target, tf.errors.NotFoundError, lambda _: tf.io.read_file(path), match=path)


def test_closed_queue(target):
    queue = v1.FIFOQueue(2, tf.int32, name="queue")
    take = queue.dequeue()
    with v1.Session(target) as session:
        session.run(queue.close())
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            session.run(take)
        with pytest.raises(tf.errors.CancelledError, match="is closed"):
            session.run(queue.enqueue(1))


def test_unknown_device(target):
    with v1.device("/job:ps/task:7"):
        x = v1.constant(1)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            session.run(x)


def test_the_first_cause_is_reported(target):
    """Ops that wait for the one that failed are cancelled, and that is not the news."""
    queue = v1.FIFOQueue(1, tf.float32)
    waiting = queue.dequeue()
    fed = v1.placeholder(tf.float32, [None])
    failing = tf.reshape(fed, [3])
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="requested shape has 3"):
            session.run([waiting, failing], {fed: np.ones(2)})


def test_feeding_the_wrong_type(target):
    fed = v1.placeholder(tf.float32, [])
    with v1.Session(target) as session:
        with pytest.raises((TypeError, ValueError)):
            session.run(fed, {fed: "text"})


def test_using_a_closed_session(target):
    x = v1.constant(1)
    session = v1.Session(target)
    session.run(x)
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)


def test_a_part_of_a_step_asks_for_too_much(target):
    a, b, c = (v1.placeholder(tf.float32, [], name=name) for name in "abc")
    total = a + b
    product = total * c
    with v1.Session(target) as session:
        handle = session.partial_run_setup([total, product], [a, b, c])
        with pytest.raises(tf.errors.InvalidArgumentError, match="Fetch a:0 can't be computed from the feeds"):
            session.partial_run(handle, total, {c: 5.0})
        # What the refused call fed is not fed, and the step goes on.
        assert session.partial_run(handle, total, {a: 1.0, b: 2.0}) == 3
        with pytest.raises(tf.errors.InvalidArgumentError, match="Fetch c:0 can't be computed from the feeds"):
            session.partial_run(handle, product, {})
        assert session.partial_run(handle, product, {c: 4.0}) == 12
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run PartialRunSetup before performing partial"):
            session.partial_run(handle, product, {c: 4.0})


def test_a_failed_step_takes_no_more_parts(target):
    a, b = (v1.placeholder(tf.float32, [], name=name) for name in "ab")
    bad = tf.debugging.check_numerics(a / 0.0, "endless")
    total = a + b
    with v1.Session(target) as session:
        handle = session.partial_run_setup([bad, total], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="From /job:worker/replica:0/task:0:\nendless"):
            session.partial_run(handle, bad, {a: 1.0})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Must run PartialRunSetup before performing partial"):
            session.partial_run(handle, total, {b: 1.0})


def test_parts_of_a_step_that_were_not_set_up(target):
    a, b = (v1.placeholder(tf.float32, [], name=name) for name in "ab")
    total = a + b
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="a:0 is both fed and fetched"):
            session.partial_run_setup([total, a], [a, b])
        handle = session.partial_run_setup([total], [a])
        with pytest.raises(tf.errors.InvalidArgumentError, match="The feed b:0 was not specified in partial_run_setup"):
            session.partial_run(handle, total, {a: 1.0, b: 2.0})
