"""Elements of datasets by their numbers, and shuffles of all numbers."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.data.experimental.ops import global_shuffle_op, random_access
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.ops import gen_dataset_ops, gen_experimental_dataset_ops

from conformance.test_dataset import check, drain
from conformance.test_dataset_experimental import outcome, rows

Dataset = tf.data.Dataset


def flat_rows():
    """Rows of what a function makes, found by number: 0 + 3 + 1 + 3 of them."""
    ends = tf.constant([0, 3, 4, 7], tf.int64)

    def find(number):
        element = tf.searchsorted(ends, [number], side="right")[0]
        start = tf.where(element > 0, tf.gather(ends, tf.maximum(element - 1, 0)), 0)
        return tf.cast(element, tf.int64), number - start

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def values(element):
        return tf.range(element * 10, element * 10 + 3)

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64), tf.TensorSpec([4], tf.int64)])
    def numbers(number, _):
        return find(number)

    map_func, index_map = values.get_concrete_function(), numbers.get_concrete_function()
    map_func.add_to_graph()
    index_map.add_to_graph()
    variant = gen_experimental_dataset_ops.index_flat_map_dataset(
        Dataset.range(4)._variant_tensor, map_func.captured_inputs, [ends] + index_map.captured_inputs,
        tf.constant(7, tf.int64), map_func=map_func, index_map_func=index_map,
        output_types=[tf.int64], output_shapes=[[]],
    )
    return dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))


def weighted(weights=(0.2, 0.3, 0.5), counts=(100, 100, 10)):
    datasets = [Dataset.range(100 * i, 100 * i + count) for i, count in enumerate(counts)]
    variant = gen_experimental_dataset_ops.weighted_flat_map_dataset(
        [dataset._variant_tensor for dataset in datasets], [tf.constant(w, tf.float64) for w in weights],
        output_types=[tf.int64], output_shapes=[[]],
    )
    return dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))


DATASETS = {
    "range": lambda: Dataset.range(10),
    "range_without_end": lambda: Dataset.range(2**63 - 1),
    "slices": lambda: Dataset.from_tensor_slices([1, 2, 3]),
    "tensors": lambda: Dataset.from_tensors([1, 2, 3]),
    "ragged": lambda: Dataset.from_tensor_slices(tf.ragged.constant([[1, 0], [2]])).map(lambda x: x + 1),
    "batch": lambda: Dataset.range(10).batch(3),
    "batch_exact": lambda: Dataset.range(10).batch(3, drop_remainder=True),
    "parallel_batch": lambda: Dataset.range(10).batch(3, num_parallel_calls=2),
    "cache": lambda: Dataset.range(10).cache(),
    "cache_of_shuffle": lambda: Dataset.range(10).shuffle(3, seed=5).cache(),
    "concatenate": lambda: Dataset.range(10).concatenate(Dataset.range(5)),
    "filter": lambda: Dataset.range(10).filter(lambda x: x > 3),
    "map": lambda: Dataset.range(10).map(lambda x: x * 2),
    "map_of_filter": lambda: Dataset.range(10).filter(lambda x: x > 3).map(lambda x: x * 2),
    "parallel_map": lambda: Dataset.range(10).map(lambda x: x * 2, num_parallel_calls=2),
    "prefetch": lambda: Dataset.range(10).prefetch(2),
    "repeat": lambda: Dataset.range(10).repeat(2),
    "repeat_forever": lambda: Dataset.range(10).repeat(),
    "repeat_never": lambda: Dataset.range(10).repeat(0),
    "shard": lambda: Dataset.range(10).shard(3, 1),
    "skip": lambda: Dataset.range(10).skip(3),
    "skip_all": lambda: Dataset.range(10).skip(-1),
    "take": lambda: Dataset.range(10).take(3),
    "take_all": lambda: Dataset.range(10).take(-1),
    "take_nothing": lambda: Dataset.range(10).take(0),
    "unbatch": lambda: Dataset.from_tensor_slices([[1, 2], [3, 4]]).unbatch(),
    "unbatch_unknown": lambda: Dataset.range(10).batch(2).unbatch(),
    "rebatch": lambda: Dataset.range(10).batch(2, drop_remainder=True).rebatch(5),
    "shuffle": lambda: Dataset.range(10).shuffle(10, seed=3, reshuffle_each_iteration=False),
    "shuffle_small": lambda: Dataset.range(10).shuffle(2, seed=3),
    "zip": lambda: Dataset.zip((Dataset.range(10), Dataset.range(5))),
    "enumerate": lambda: Dataset.range(10).enumerate(),
    "flat_map": lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(4)),
    "interleave": lambda: Dataset.range(3).interleave(lambda x: Dataset.range(4), cycle_length=2),
    "scan": lambda: Dataset.range(10).scan(0, lambda s, x: (s, x)),
    "unique": lambda: Dataset.range(10).unique(),
    "take_while": lambda: Dataset.range(10).take_while(lambda x: x < 5),
    "padded_batch": lambda: rows(1, 2, 3).padded_batch(2),
    "options": lambda: Dataset.range(10).with_options(tf.data.Options()),
    "asserted": lambda: Dataset.range(10).apply(tf.data.experimental.assert_cardinality(10)),
    "ignoring_errors": lambda: Dataset.range(10).ignore_errors(),
    "training": lambda: Dataset.range(40).map(lambda x: x + 1).shard(2, 1).repeat(2)
    .batch(4, drop_remainder=True).map(lambda x: x * 3, num_parallel_calls=2).prefetch(2),
    "index_flat_map": flat_rows,
    "weighted_flat_map": weighted,
}


def same(ours, theirs):
    if isinstance(theirs, tuple) and isinstance(theirs[0], type):
        assert isinstance(ours, tuple) and ours[0] is theirs[0], f"{ours} instead of {theirs}"
        assert ours[1].split(" [[")[0] == theirs[1].split(" [[")[0]
    else:
        tf.nest.map_structure(np.testing.assert_array_equal, ours, theirs)


def check_from_the_start(target, build):
    """Like `check`, also of pipelines that cannot be started."""
    theirs = outcome("", lambda: v1.data.make_initializable_iterator(build()).initializer)
    if theirs is None:
        return check(target, build)
    ours = outcome(target, lambda: v1.data.make_initializable_iterator(build()).initializer)
    assert ours is not None and ours[0] is theirs[0], f"{ours} instead of {theirs}"


@pytest.mark.parametrize("name", DATASETS)
def test_elements_by_number(target, name):
    for number in [0, 2, 9, 14, -1, 10**6]:
        def build():
            return random_access.at(DATASETS[name](), number)

        same(outcome(target, build), outcome("", build))


def shuffled(name, **options):
    return global_shuffle_op._global_shuffle(DATASETS[name](), seed=42, **options)


@pytest.mark.parametrize("name", DATASETS)
def test_shuffles_of_all_elements(target, name):
    check_from_the_start(target, lambda: shuffled(name))


# An error says which dataset cannot be shuffled.
@pytest.mark.parametrize("name", ["batch", "filter", "repeat_forever", "repeat_never", "skip_all", "take_nothing"])
def test_what_cannot_be_shuffled(target, name):
    def build():
        return shuffled(name)._variant_tensor.op

    same(outcome(target, build), outcome("", build))


def test_passes_have_orders_of_their_own_unless_asked_not_to(target):
    orders = check(target, lambda: shuffled("range").repeat(3))[0]
    assert orders[:10] != orders[10:20]
    orders = check(target, lambda: shuffled("range", reshuffle_each_iteration=False).repeat(2))[0]
    assert orders[:10] == orders[10:]
    check(target, lambda: global_shuffle_op._global_shuffle(shuffled("range"), seed=7))


@pytest.mark.parametrize("name", ["range", "training", "concatenate", "zip", "cache", "map", "index_flat_map"])
@pytest.mark.parametrize("given", [0, 1, 4, 5])
def test_shuffles_go_on_where_they_were_saved(target, name, given):
    with v1.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(shuffled(name))
        following = iterator.get_next()
        saved = gen_dataset_ops.serialize_iterator(iterator._iterator_resource)
        with v1.Session(target) as session:
            session.run(iterator.initializer)
            for _ in range(given):
                session.run(following)
            # The state stays on the server: a restore is part of the step that saves.
            copy = v1.data.make_initializable_iterator(shuffled(name))
            there = gen_dataset_ops.deserialize_iterator(copy._iterator_resource, saved)
            after = copy.get_next()
            session.run(copy.initializer)
            session.run(there)
            whole_rest = drain(session, following)[0]
            assert [np.asarray(x).tolist() for x in drain(session, after)[0]] == [
                np.asarray(x).tolist() for x in whole_rest
            ]


def test_weights_that_do_not_fit(target):
    for build in [
        lambda: weighted((0.2, 0.3, 0.0))._variant_tensor.op,
        lambda: weighted((1.0, 1.0), (3, 9))._variant_tensor.op,
    ]:
        same(outcome(target, build), outcome("", build))


def test_slow_elements_are_the_same(target):
    def build():
        variant = gen_experimental_dataset_ops.sleep_dataset(
            Dataset.range(5)._variant_tensor, tf.constant(50, tf.int64), output_types=[tf.int64], output_shapes=[[]]
        )
        return dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))

    check(target, build)
