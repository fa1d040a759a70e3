"""Rarer input pipelines: sparse batches, samples, sliding windows, random access."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.data.experimental.ops import compression_ops, random_access
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.framework import function
from tensorflow.python.ops import gen_dataset_ops, gen_experimental_dataset_ops

from conformance.test_dataset import check

Dataset = tf.data.Dataset


def wrapped(variant, spec):
    return dataset_ops._VariantDataset(variant, spec)


def rows(*sizes):
    return Dataset.from_tensor_slices(list(sizes)).map(lambda size: tf.range(size))


def sparse(dataset, size, row_shape):
    return dataset.apply(tf.data.experimental.dense_to_sparse_batch(size, row_shape))


def sampled(rate, seed, seed2):
    variant = gen_experimental_dataset_ops.sampling_dataset(
        Dataset.range(60)._variant_tensor, rate, seed, seed2, output_types=[tf.int64], output_shapes=[[]]
    )
    return wrapped(variant, tf.TensorSpec([], tf.int64))


def slid(count, size, shift, stride, drop_remainder=True):
    variant = gen_experimental_dataset_ops.sliding_window_dataset(
        Dataset.range(count)._variant_tensor, size, shift, stride, drop_remainder=drop_remainder,
        output_types=[tf.int64], output_shapes=[[None]],
    )
    return wrapped(variant, tf.TensorSpec([None], tf.int64))


def shared_out(workers, index, policy):
    variant = gen_experimental_dataset_ops.auto_shard_dataset(
        Dataset.range(10)._variant_tensor, tf.constant(workers, tf.int64), tf.constant(index, tf.int64),
        output_types=[tf.int64], output_shapes=[[]], auto_shard_policy=policy,
    )
    return wrapped(variant, tf.TensorSpec([], tf.int64))


CASES = {
    "auto_shard": lambda: shared_out(3, 1, 0),
    "auto_shard_data": lambda: shared_out(4, 3, 2),
    "auto_shard_off": lambda: shared_out(3, 1, -1),
    "rebatch_nothing_last": lambda: Dataset.range(10).batch(4).rebatch([1, 0, 2]),
    "sparse_batch": lambda: sparse(rows(2, 0, 3), 2, [5]),
    "sparse_batch_too_large": lambda: sparse(rows(2, 7), 2, [5]),
    "sparse_batch_rank": lambda: sparse(rows(2, 7), 2, [5, 5]),
    "sampled": lambda: sampled(0.4, 1, 2),
    "sampled_never": lambda: sampled(0.0, 1, 2),
    "slid": lambda: slid(7, 3, 2, 1),
    "slid_stride": lambda: slid(7, 3, 1, 2),
    "slid_gap": lambda: slid(9, 2, 4, 1),
    "slid_remainder": lambda: slid(7, 3, 2, 1, drop_remainder=False),
}


@pytest.mark.parametrize("name", CASES)
def test_pipelines(target, name):
    def components():
        dataset = CASES[name]()
        return dataset.map(lambda x: (x.indices, x.values, x.dense_shape)) if name.startswith("sparse") else dataset

    check(target, components)


def outcome(target, build):
    with v1.Graph().as_default():
        fetches = build()
        with v1.Session(target) as session:
            try:
                return session.run(fetches)
            except tf.errors.OpError as error:
                return type(error), error.message.split("\n")[0]


@pytest.mark.parametrize(
    "build",
    [
        lambda: slid(7, 0, 2, 1)._variant_tensor.op,
        lambda: slid(7, 1, 0, 1)._variant_tensor.op,
        lambda: slid(7, 1, 1, 0)._variant_tensor.op,
        lambda: sparse(rows(2), 0, [5])._variant_tensor.op,
        lambda: random_access.at(Dataset.range(4), 2),
        lambda: random_access.at(Dataset.range(9).batch(2).map(lambda x: x * 2), 4),
        lambda: random_access.at(Dataset.range(4), 4),
        lambda: random_access.at(Dataset.range(4), -1),
        lambda: random_access.at(Dataset.range(4).repeat(), 1),
        lambda: random_access.at(Dataset.range(4).filter(lambda x: x > 1), 1),
    ],
)
def test_random_access_and_errors(target, build):
    ours, theirs = outcome(target, build), outcome("", build)
    if isinstance(theirs, tuple):
        assert ours[0] is theirs[0] and ours[1].split(" [[")[0] == theirs[1].split(" [[")[0]
    else:
        np.testing.assert_array_equal(ours, theirs)


def test_compressed_elements_come_back(target):
    def build():
        element = (tf.constant([1.5, 2.5]), tf.constant(["a", "bc"]), tf.range(9))
        spec = tf.nest.map_structure(tf.TensorSpec.from_tensor, element)
        return compression_ops.uncompress(compression_ops.compress(element), spec)

    for ours, theirs in zip(outcome(target, build), outcome("", build)):
        np.testing.assert_array_equal(ours, theirs)


def test_a_function_of_each_row(target):
    @function.Defun(tf.int32, tf.int32)
    def scaled(row, scale):
        return row * scale, tf.reduce_sum(row)

    def build(rows=3):
        return gen_dataset_ops.map_defun(
            arguments=[tf.reshape(tf.range(rows * 2), [rows, 2])], captured_inputs=[tf.constant(3)],
            output_types=[tf.int32, tf.int32], output_shapes=[[2], []], f=scaled,
        )

    for ours, theirs in zip(outcome(target, build), outcome("", build)):
        np.testing.assert_array_equal(ours, theirs)
    assert [part.shape for part in outcome(target, lambda: build(0))] == [(0, 2), (0,)]


def test_a_table_of_the_elements_of_a_dataset(target):
    def build():
        entries = Dataset.from_tensor_slices((["a", "b"], np.array([10, 20])))
        initializer = tf.data.experimental.DatasetInitializer(entries)
        table = v1.lookup.StaticHashTable(initializer, -1)
        with tf.control_dependencies([table.initializer]):
            return table.lookup(tf.constant(["b", "c", "a"]))

    assert list(outcome(target, build)) == [20, -1, 10]


def test_turns_of_datasets_that_end_are_shared(target):
    def build():
        counts = Dataset.from_tensor_slices(np.int64([4, 5, 6, 0, 2, 4, 5, 6, 0, 2])).enumerate()
        return counts.apply(
            tf.data.experimental.parallel_interleave(
                lambda number, count: Dataset.from_tensors(number).repeat(count), cycle_length=7, block_length=2
            )
        )

    check(target, build)


def test_a_function_whose_results_do_not_fit_into_a_batch(target):
    check(
        target,
        lambda: Dataset.range(4).apply(tf.data.experimental.map_and_batch(lambda x: tf.fill([x], x), 4)),
    )


def test_batch_sizes_are_found_as_by_tensorflow(target):
    def batched(size=4):
        return Dataset.range(20).batch(size)

    def sizes():
        datasets = [
            batched(),
            Dataset.range(9).padded_batch(3),
            Dataset.range(9).batch(3, num_parallel_calls=2),
            Dataset.range(9).apply(tf.data.experimental.map_and_batch(lambda x: x, 5)),
            Dataset.range(9),
            batched().map(lambda x: x),
            batched().prefetch(2).shuffle(2).repeat(2).take(3).skip(1).cache().shard(2, 0),
            batched().filter(lambda x: x[0] > 2).with_options(tf.data.Options()),
            batched().ignore_errors(),
            batched().unbatch(),
            batched().rebatch(2),
            batched().batch(7),
            Dataset.zip((batched(), batched())),
            Dataset.zip((batched(), batched(3))),
            batched().concatenate(batched()),
            batched().concatenate(batched(3)),
            Dataset.sample_from_datasets([batched(), batched()]),
        ]
        return tf.stack([tf.raw_ops.ComputeBatchSize(input_dataset=dataset._variant_tensor) for dataset in datasets])

    with v1.Session() as theirs, v1.Session(target) as ours:
        fetch = sizes()
        assert ours.run(fetch).tolist() == theirs.run(fetch).tolist()


def test_a_pool_of_threads_changes_no_element(target):
    def build():
        pool = gen_experimental_dataset_ops.thread_pool_handle(num_threads=2, display_name="pool")
        variant = gen_experimental_dataset_ops.thread_pool_dataset(
            Dataset.range(4)._variant_tensor, pool, output_types=[tf.int64], output_shapes=[[]]
        )
        return wrapped(variant, tf.TensorSpec([], tf.int64))

    check(target, build)


def fastest(branches, per_branch=3, ratio=(1, 1), count=20):
    """The branches of a range, of which each makes some elements before one makes the rest."""
    spec = tf.TensorSpec([], tf.int64)

    def build():
        def function(branch):
            body = lambda variant: branch(dataset_ops._VariantDataset(variant, spec))._variant_tensor
            return tf.function(body).get_concrete_function(tf.TensorSpec([], tf.variant))

        shape = branches[0](Dataset.range(1)).element_spec.shape
        variant = tf.raw_ops.ChooseFastestBranchDataset(
            input_dataset=Dataset.range(count)._variant_tensor,
            ratio_numerator=np.int64(ratio[0]),
            ratio_denominator=np.int64(ratio[1]),
            other_arguments=[],
            num_elements_per_branch=per_branch,
            branches=[function(branch) for branch in branches],
            other_arguments_lengths=[0] * len(branches),
            output_types=[tf.int64],
            output_shapes=[shape],
        )
        return dataset_ops._VariantDataset(variant, tf.TensorSpec(shape, tf.int64))

    return build


FASTEST = {
    "equal": fastest([lambda d: d.map(lambda x: x + 1), lambda d: d.map(lambda x: 1 + x).prefetch(2)]),
    "short": fastest([lambda d: d, lambda d: d.map(lambda x: x)], count=4),
    "none": fastest([lambda d: d, lambda d: d], count=0),
    "fewer": fastest([lambda d: d.batch(2), lambda d: d.batch(2)], per_branch=2, ratio=(2, 1)),
    "repeats": fastest([lambda d: d.repeat(2), lambda d: d.repeat(2)]),
}


@pytest.mark.parametrize("name", FASTEST)
def test_the_fastest_branch_goes_on_where_the_others_stopped(target, name):
    check(target, FASTEST[name])


@pytest.mark.parametrize("ratio", [(1, 2), (-1, 1), (1, 0)])
def test_ratios_of_branches_are_checked(target, ratio):
    with v1.Graph().as_default(), v1.Session(target) as session:
        iterator = v1.data.make_initializable_iterator(fastest([lambda d: d], ratio=ratio)())
        with pytest.raises(tf.errors.InvalidArgumentError, match="divisible by|greater than zero"):
            session.run(iterator.initializer)
