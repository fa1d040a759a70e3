"""Input pipelines in sessions: what they give is what TensorFlow in the client's process gives."""

import gzip
import zlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

Dataset = tf.data.Dataset


def drain(session, next_element, limit=200):
    """All elements, and the error that ended them; an end that is none is an error, too."""
    elements = []
    for _ in range(limit):
        try:
            elements.append(session.run(next_element))
        except tf.errors.OpError as error:
            return elements, error
    raise AssertionError("the dataset does not end")


def run_pipeline(target, build):
    with v1.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(build())
        next_element = iterator.get_next()
        with v1.Session(target) as session:
            session.run(iterator.initializer)
            return drain(session, next_element)


def assert_same(actual, expected):
    assert len(actual) == len(expected), f"{actual} != {expected}"
    for ours, theirs in zip(actual, expected):
        ours, theirs = tf.nest.flatten(ours), tf.nest.flatten(theirs)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


def check(target, build):
    """Runs a pipeline on the server and in this process."""
    expected, expected_error = run_pipeline("", build)
    actual, error = run_pipeline(target, build)
    assert_same(actual, expected)
    assert type(error) is type(expected_error), f"{error} instead of {expected_error}"
    return actual, error


def tensors():
    return Dataset.from_tensor_slices(
        {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "name": [b"a", b"b", b"c", b"d", b"e", b"f"]}
    )


COMMON = {
    "range": lambda: Dataset.range(5),
    "range_step": lambda: Dataset.range(10, 1, -3),
    "range_float": lambda: Dataset.range(4, output_type=tf.float32),
    "empty": lambda: Dataset.range(0),
    "tensors": lambda: Dataset.from_tensors((tf.constant([1, 2]), "a")),
    "slices": tensors,
    "map": lambda: Dataset.range(5).map(lambda x: (x * 2, tf.as_string(x))),
    "map_captures": lambda: Dataset.range(3).map(lambda x, y=tf.constant([5, 7], tf.int64): x + y),
    "parallel_map": lambda: Dataset.range(50).map(lambda x: x * x, num_parallel_calls=4),
    "autotuned_map": lambda: Dataset.range(50).map(lambda x: x + 1, num_parallel_calls=-1),
    "map_error": lambda: Dataset.range(3, 0, -1).map(lambda x: 6 // (x - 1)),
    "batch": lambda: tensors().batch(4),
    "batch_exact": lambda: Dataset.range(7).batch(3, drop_remainder=True),
    "parallel_batch": lambda: Dataset.range(7).batch(3, num_parallel_calls=2),
    "batch_of_batches": lambda: Dataset.range(8).batch(2).batch(3),
    "repeat": lambda: Dataset.range(3).repeat(3),
    "repeat_never": lambda: Dataset.range(3).repeat(0),
    "repeat_nothing": lambda: Dataset.range(0).repeat(),
    "repeat_forever": lambda: Dataset.range(3).repeat().take(8),
    "take": lambda: Dataset.range(9).take(4),
    "take_all": lambda: Dataset.range(3).take(-1),
    "skip": lambda: Dataset.range(9).skip(4),
    "skip_all": lambda: Dataset.range(9).skip(-1),
    "prefetch": lambda: Dataset.range(20).prefetch(3),
    "prefetch_autotuned": lambda: Dataset.range(20).prefetch(-1),
    "training": lambda: tensors().map(lambda e: e["x"] * 2.0, num_parallel_calls=2)
    .shuffle(4, seed=5).repeat(3).batch(4).prefetch(2),
}


@pytest.mark.parametrize("name", COMMON)
def test_pipelines(target, name):
    check(target, COMMON[name])


SHUFFLES = {
    "small": lambda: Dataset.range(20).shuffle(7, seed=1),
    "whole": lambda: Dataset.range(20).shuffle(100, seed=2),
    "one": lambda: Dataset.range(5).shuffle(1, seed=3),
    "again": lambda: Dataset.range(10).shuffle(4, seed=3).repeat(4),
    "same_again": lambda: Dataset.range(10).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3),
    "twice": lambda: Dataset.range(10).shuffle(4, seed=3).shuffle(5, seed=8),
    "and_repeat": lambda: Dataset.range(6).apply(
        tf.data.experimental.shuffle_and_repeat(4, count=3, seed=11)
    ),
    "large_seed": lambda: Dataset.range(10).shuffle(10, seed=2**40 + 5),
}


@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles_have_the_order_of_their_seeds(target, name):
    check(target, SHUFFLES[name])


def test_unseeded_shuffles_differ(target):
    with v1.Session(target) as session:
        iterator = v1.data.make_initializable_iterator(Dataset.range(100).shuffle(100).batch(100))
        next_element = iterator.get_next()
        orders = []
        for _ in range(2):
            session.run(iterator.initializer)
            orders.append(session.run(next_element))
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(100))
    assert list(orders[0]) != list(orders[1])


def test_one_shot_iterator(target):
    next_element = v1.data.make_one_shot_iterator(
        Dataset.range(10).map(lambda x: x * 2).shuffle(3, seed=4).batch(3)
    ).get_next()
    with v1.Session("") as session:
        expected, _ = drain(session, next_element)
    with v1.Session(target) as session:
        actual, error = drain(session, next_element)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(next_element)
    assert_same(actual, expected)
    assert isinstance(error, tf.errors.OutOfRangeError)
    assert "End of sequence" in error.message


def test_iterators_of_sessions_are_their_own(target):
    next_element = v1.data.make_one_shot_iterator(Dataset.range(3)).get_next()
    with v1.Session(target) as one, v1.Session(target) as other:
        assert [one.run(next_element) for _ in range(2)] == [0, 1]
        assert other.run(next_element) == 0


def test_initializable_iterator_is_fed_and_starts_again(target):
    limit = v1.placeholder(tf.int64, [])
    iterator = v1.data.make_initializable_iterator(Dataset.range(limit))
    next_element = iterator.get_next()
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(next_element)
        for count in (2, 4):
            session.run(iterator.initializer, {limit: count})
            assert drain(session, next_element)[0] == list(range(count))


def test_reinitializable_iterator(target):
    train = Dataset.range(5).map(lambda x: x + 100)
    validate = Dataset.range(3)
    iterator = v1.data.Iterator.from_structure(
        v1.data.get_output_types(train), v1.data.get_output_shapes(train)
    )
    next_element = iterator.get_next()
    starts = [iterator.make_initializer(train), iterator.make_initializer(validate)]
    with v1.Session(target) as session:
        for _ in range(2):
            session.run(starts[0])
            assert session.run(next_element) == 100
            session.run(starts[1])
            assert drain(session, next_element)[0] == [0, 1, 2]


def test_feedable_iterator(target):
    train = v1.data.make_one_shot_iterator(Dataset.range(100, 200))
    validate = v1.data.make_initializable_iterator(Dataset.range(3))
    handle = v1.placeholder(tf.string, [])
    next_element = v1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with v1.Session(target) as session:
        train_handle, validate_handle = session.run(
            [train.string_handle(), validate.string_handle()]
        )
        assert session.run(next_element, {handle: train_handle}) == 100
        session.run(validate.initializer)
        assert session.run(next_element, {handle: validate_handle}) == 0
        assert session.run(next_element, {handle: train_handle}) == 101
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse string_handle"):
            session.run(next_element, {handle: b"junk"})


def test_feedable_iterator_checks_types(target):
    handle = v1.data.make_one_shot_iterator(Dataset.range(3)).string_handle()
    next_element = v1.data.Iterator.from_string_handle(handle, tf.int32, []).get_next()
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(next_element)


def test_optional_elements(target):
    iterator = v1.data.make_initializable_iterator(Dataset.range(1).map(lambda x: (x, "a")))
    optional = iterator.get_next_as_optional()
    has_value, value = optional.has_value(), optional.get_value()
    with v1.Session(target) as session:
        session.run(iterator.initializer)
        assert session.run([has_value, value]) == [True, (0, b"a")]
        assert not session.run(has_value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(value)


def test_several_next_elements_in_one_step(target):
    iterator = v1.data.make_one_shot_iterator(Dataset.range(4))
    first = iterator.get_next()
    with tf.control_dependencies([first]):
        second = iterator.get_next()
    with v1.Session(target) as session:
        assert session.run([first, second]) == [0, 1]
        assert session.run([first, second]) == [2, 3]


def test_variables_in_functions(target):
    offset = v1.get_variable("offset", initializer=tf.constant(10, tf.int64), use_resource=True)
    iterator = v1.data.make_initializable_iterator(Dataset.range(3).map(lambda x: x + offset))
    next_element = iterator.get_next()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(iterator.initializer)
        assert session.run(next_element) == 10
        session.run(offset.assign(20))
        assert session.run(next_element) == 21
