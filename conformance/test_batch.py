"""Batch, BatchFunction, Unbatch and UnbatchGrad: steps that are computed together."""

import itertools
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function

v1, raw = tf.compat.v1, tf.raw_ops

SECOND = 1_000_000
# Batchers are shared by name, and live on between tests.
NAMES = (f"batcher_{number}" for number in itertools.count())


def together(session, fetches, feeds):
    """Runs steps at once, one for each feed, and returns what they gave or how they failed."""
    outcomes = [None] * len(feeds)

    def run(at, feed):
        try:
            outcomes[at] = session.run(fetches, feed)
        except tf.errors.OpError as error:
            outcomes[at] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(feeds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


def batch(x, size, timeout=SECOND, **more):
    return raw.Batch(
        in_tensors=[x],
        num_batch_threads=1,
        max_batch_size=size,
        batch_timeout_micros=timeout,
        grad_timeout_micros=0,
        shared_name=next(NAMES),
        **more,
    )


def test_two_steps_make_one_batch(target):
    x = v1.placeholder(tf.int32)
    made = batch(x, 2)
    with v1.Session(target) as session:
        feeds = [{x: [1]}, {x: [2]}]
        outcomes = together(session, [made.batched_tensors[0], made.batch_index, made.id], feeds)
    (empty, no_index, first), (full, index, last) = sorted(outcomes, key=lambda each: len(each[0]))
    assert empty.shape == (0,) and no_index.shape == (0, 3)
    assert sorted(full) == [1, 2]
    np.testing.assert_array_equal(index[:, 1:], [[0, 1], [1, 2]])
    assert list(index[:, 0]) == [first, last]


def test_a_batch_is_filled_up_with_its_first_row(target):
    x = v1.placeholder(tf.string)
    made = batch(x, 8, timeout=1000, allowed_batch_sizes=[4, 8])
    with v1.Session(target) as session:
        full, index = session.run([made.batched_tensors[0], made.batch_index], {x: ["a", "b"]})
    assert list(full) == [b"a", b"b", b"a", b"a"]
    np.testing.assert_array_equal(index[:, 1:], [[0, 2]])


def test_steps_get_their_rows_back(target):
    x = v1.placeholder(tf.float32)
    made = batch(x, 3)
    doubled = made.batched_tensors[0] * 2
    back = raw.Unbatch(
        batched_tensor=doubled, batch_index=made.batch_index, id=made.id, timeout_micros=10 * SECOND
    )
    with v1.Session(target) as session:
        outcomes = together(session, back, [{x: [[1.0, 2.0]]}, {x: [[3.0, 4.0], [5.0, 6.0]]}])
    np.testing.assert_array_equal(outcomes[0], [[2, 4]])
    np.testing.assert_array_equal(outcomes[1], [[6, 8], [10, 12]])


def test_gradients_are_put_together_again(target):
    x = v1.placeholder(tf.float32)
    made = batch(x, 2)
    batched = made.batched_tensors[0]
    back = raw.UnbatchGrad(
        original_input=batched, batch_index=made.batch_index, grad=x * 10, id=made.id
    )
    with v1.Session(target) as session:
        outcomes = together(session, [batched, back], [{x: [1.0]}, {x: [2.0]}])
    sizes = sorted(len(grad) for _, grad in outcomes)
    assert sizes == [0, 2]
    for inputs, grad in outcomes:
        np.testing.assert_array_equal(grad, inputs * 10)


def test_parts_that_do_not_come(target):
    lost = raw.Unbatch(
        batched_tensor=np.zeros([0], np.float32),
        batch_index=np.zeros([0, 3], np.int64),
        id=np.int64(7),
        timeout_micros=1000,
    )
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="Batched data did not arrive"):
            session.run(lost)


BATCH_ERRORS = {
    "at least one dimension": (
        lambda: batch(v1.placeholder_with_default(1, None), 2),
        tf.errors.InvalidArgumentError,
    ),
    "larger than maximum input batch size": (
        lambda: batch(tf.constant([1, 2, 3]), 2),
        tf.errors.InvalidArgumentError,
    ),
    "monotonically increasing": (
        lambda: batch(tf.constant([1]), 2, allowed_batch_sizes=[2, 2]),
        tf.errors.InvalidArgumentError,
    ),
    "must equal max_batch_size": (
        lambda: batch(tf.constant([1]), 4, allowed_batch_sizes=[1, 2]),
        tf.errors.InvalidArgumentError,
    ),
    "equal 0th-dimension size": (
        lambda: raw.Batch(
            in_tensors=[tf.constant([1]), tf.constant([1, 2])],
            num_batch_threads=1,
            max_batch_size=2,
            batch_timeout_micros=0,
            grad_timeout_micros=0,
            shared_name=next(NAMES),
        ),
        tf.errors.InvalidArgumentError,
    ),
}


@pytest.mark.parametrize("words", BATCH_ERRORS)
def test_what_cannot_be_batched(target, words):
    build, error = BATCH_ERRORS[words]
    made = build()
    with v1.Session(target) as session:
        with pytest.raises(error, match=words):
            session.run(made.id)


def batch_function(f, inputs, captured, types, size, timeout=SECOND, **more):
    return raw.BatchFunction(
        in_tensors=inputs,
        captured_tensors=captured,
        Tout=types,
        f=f,
        num_batch_threads=1,
        max_batch_size=size,
        batch_timeout_micros=timeout,
        shared_name=next(NAMES),
        **more,
    )


@pytest.fixture
def sums():
    """A function of a batch and a number: the batch, the number added, and its size in each row."""

    @function.Defun(tf.int32, tf.int32)
    def compute(x, number):
        return x + number, tf.ones_like(x) * tf.shape(x)[0]

    return compute


def test_functions_are_called_once_for_several_steps(target, sums):
    x = v1.placeholder(tf.int32)
    made = batch_function(sums, [x], [tf.constant(10)], [tf.int32, tf.int32], 3)
    with v1.Session(target) as session:
        outcomes = together(session, made, [{x: [1]}, {x: [2, 3]}])
    np.testing.assert_array_equal(outcomes[0], [[11], [3]])
    np.testing.assert_array_equal(outcomes[1], [[12, 13], [3, 3]])


def test_functions_are_called_with_batches_of_allowed_sizes(target, sums):
    x = v1.placeholder(tf.int32)
    types = [tf.int32, tf.int32]
    made = batch_function(
        sums, [x], [tf.constant(10)], types, 8, timeout=1000, allowed_batch_sizes=[4, 8]
    )
    with v1.Session(target) as session:
        np.testing.assert_array_equal(session.run(made, {x: [1]}), [[11], [4]])


def test_large_calls_are_spread_over_batches(target, sums):
    x = v1.placeholder(tf.int32)
    types = [tf.int32, tf.int32]
    made = batch_function(
        sums,
        [x],
        [tf.constant(0)],
        types,
        10,
        timeout=1000,
        allowed_batch_sizes=[2],
        enable_large_batch_splitting=True,
    )
    with v1.Session(target) as session:
        values, sizes = session.run(made, {x: [1, 2, 3, 4, 5]})
    np.testing.assert_array_equal(values, [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(sizes, [2] * 5)


def test_functions_that_fail_fail_all_steps(target):
    @function.Defun(tf.int32)
    def scalar(x):
        return tf.reduce_sum(x)

    x = v1.placeholder(tf.int32)
    made = batch_function(scalar, [x], [], [tf.int32], 2)
    with v1.Session(target) as session:
        for outcome in together(session, made, [{x: [1]}, {x: [2]}]):
            assert isinstance(outcome, tf.errors.FailedPreconditionError)
            assert "0 dimensions" in outcome.message


def test_variables_can_be_captured(target):
    @function.Defun(tf.float32, tf.resource)
    def scaled(x, handle):
        return x * raw.ReadVariableOp(resource=handle, dtype=tf.float32)

    factor = v1.get_variable("factor", initializer=3.0, use_resource=True)
    made = batch_function(scaled, [tf.constant([1.0, 2.0])], [factor.handle], [tf.float32], 2)
    with v1.Session(target) as session:
        session.run(factor.initializer)
        np.testing.assert_array_equal(session.run(made), [[3.0, 6.0]])
