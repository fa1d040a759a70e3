"""Datasets as graphs: written, read, told apart, and changed for workers that share them."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.ops import gen_dataset_ops, gen_experimental_dataset_ops

from conformance.test_dataset import check
from conformance.test_dataset_by_number import DATASETS, check_from_the_start, same
from conformance.test_dataset_experimental import outcome

Dataset = tf.data.Dataset


def again(dataset, **attrs):
    """The dataset made anew from its graph."""
    graph = gen_dataset_ops.dataset_to_graph_v2(dataset._variant_tensor, **attrs)
    return dataset_ops._VariantDataset(gen_experimental_dataset_ops.dataset_from_graph(graph), dataset.element_spec)


def with_table():
    """A function that looks into a variable of the graph: a constant is captured by it, and a dataset."""
    offset, inner = tf.constant(5, tf.int64), Dataset.range(3)
    return Dataset.range(4).flat_map(lambda x: inner.map(lambda y: (x + offset, y)))


PIPELINES = {
    **{name: DATASETS[name] for name in [
        "range", "slices", "ragged", "batch", "concatenate", "filter", "parallel_map", "shard", "shuffle", "zip",
        "flat_map", "interleave", "scan", "padded_batch", "rebatch", "training", "weighted_flat_map",
    ]},
    "captured": with_table,
    "branches": lambda: Dataset.range(5).map(lambda x: tf.cond(x > 2, lambda: x * 2, lambda: -x)),
    "grouped": lambda: Dataset.range(9).group_by_window(lambda x: x % 2, lambda key, part: part.batch(3), 3),
    "datasets_in_a_vector": lambda: Dataset.from_tensor_slices(
        tf.stack([Dataset.range(i)._variant_tensor for i in (2, 3)])
    ).flat_map(lambda variant: dataset_ops._VariantDataset(variant, tf.TensorSpec([], tf.int64))),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_a_dataset_is_made_again_of_its_graph(target, name):
    check(target, lambda: again(PIPELINES[name]()))
    check(target, lambda: again(again(PIPELINES[name]())).map(lambda *x: x))


def nodes(target, dataset, **attrs):
    with v1.Graph().as_default(), v1.Session(target) as session:
        graph = session.run(gen_dataset_ops.dataset_to_graph_v2(dataset()._variant_tensor, **attrs))
        graph = v1.GraphDef.FromString(graph)
        functions = sorted(function.signature.name.rsplit("_", 1)[0] for function in graph.library.function)
        return [(node.name, node.op, list(node.input)) for node in graph.node], functions


@pytest.mark.parametrize("name", PIPELINES)
def test_graphs_have_the_nodes_of_tensorflows(target, name):
    assert nodes(target, PIPELINES[name]) == nodes("", PIPELINES[name])


def test_options_survive(target):
    def build():
        options = tf.data.Options()
        options.deterministic = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        dataset = again(Dataset.range(3).with_options(options))
        return gen_dataset_ops.get_options(dataset._variant_tensor)

    assert outcome(target, build) == outcome("", build) != b""


STATEFUL = {
    "random": lambda: Dataset.range(3).map(lambda x: tf.random.uniform([])),
    "random_in_a_branch": lambda: Dataset.range(3).map(
        lambda x: tf.cond(x > 1, lambda: tf.random.uniform([]), lambda: 0.0)
    ),
    "random_below": lambda: Dataset.range(3).map(lambda x: tf.random.uniform([])).batch(2),
    "loop": lambda: Dataset.range(3).map(lambda x: tf.while_loop(lambda i: i < 3, lambda i: i + 1, [x])[0]),
    "print": lambda: Dataset.range(3).map(lambda x: (tf.print(x), x)[1]),
    "shuffled_inside": lambda: Dataset.range(3).flat_map(lambda x: Dataset.range(x).shuffle(3)),
    "shuffled": lambda: Dataset.range(3).shuffle(3),
    "cached": lambda: Dataset.range(3).cache(),
}


@pytest.mark.parametrize("name", STATEFUL)
def test_state_outside_of_the_graph(target, name):
    def save():
        iterator = v1.data.make_initializable_iterator(STATEFUL[name]())
        with tf.control_dependencies([iterator.initializer]):
            return gen_dataset_ops.serialize_iterator(iterator._iterator_resource, external_state_policy=2).op

    def write():
        return gen_dataset_ops.dataset_to_graph_v2(STATEFUL[name]()._variant_tensor, external_state_policy=2).op

    def write_first_version():
        return gen_dataset_ops.dataset_to_graph(STATEFUL[name]()._variant_tensor).op

    for build in (save, write, write_first_version):
        same(outcome(target, build), outcome("", build))


def test_equal_pipelines_have_equal_fingerprints(target):
    def build():
        datasets = [
            Dataset.range(3).map(lambda x: x + 1),
            Dataset.range(3).map(lambda y: y + 1),
            Dataset.range(3).map(lambda x: x + 2),
            Dataset.range(4).map(lambda x: x + 1),
            Dataset.range(3),
            Dataset.from_tensor_slices(["a", "b"]),
            Dataset.from_tensor_slices(["a", "c"]),
        ]
        return tf.stack([gen_dataset_ops.dataset_fingerprint(dataset._variant_tensor) for dataset in datasets])

    first, second = outcome(target, build), outcome(target, build)
    np.testing.assert_array_equal(first, second)
    assert first[0] == first[1] and len(set(first[1:].tolist())) == 6
    theirs = outcome("", build)
    assert theirs[0] == theirs[1] and len(set(theirs[1:].tolist())) == 6


def test_a_graph_that_is_none(target):
    for text in [b"no graph", v1.GraphDef().SerializeToString()]:
        def build():
            return gen_experimental_dataset_ops.dataset_from_graph(text).op

        assert outcome(target, build)[0] is outcome("", build)[0]


@pytest.fixture
def files(tmp_path):
    for number in range(5):
        (tmp_path / f"lines{number}").write_text("".join(f"{number}.{line}\n" for line in range(4)))
        with tf.io.TFRecordWriter(str(tmp_path / f"records{number}")) as writer:
            for record in range(3):
                writer.write(f"{number}:{record}".encode())
    return str(tmp_path)


def part(dataset, workers, index, policy, replicas=0):
    variant = gen_experimental_dataset_ops.auto_shard_dataset(
        dataset._variant_tensor, tf.constant(workers, tf.int64), tf.constant(index, tf.int64),
        output_types=tf.nest.flatten(v1.data.get_output_types(dataset)),
        output_shapes=[[None] if len(x) else [] for x in tf.nest.flatten(v1.data.get_output_shapes(dataset))],
        auto_shard_policy=policy, num_replicas=replicas,
    )
    return dataset_ops._VariantDataset(variant, dataset.element_spec)


READERS = {
    "records": lambda files: tf.data.TFRecordDataset(sorted(f"{files}/records{i}" for i in range(5))),
    "flat_map": lambda files: Dataset.list_files(f"{files}/records*", shuffle=False).flat_map(tf.data.TFRecordDataset),
    "interleave": lambda files: Dataset.list_files(f"{files}/lines*", shuffle=False).interleave(
        tf.data.TextLineDataset, cycle_length=2, num_parallel_calls=2
    ),
    "shuffled_files": lambda files: Dataset.list_files(f"{files}/lines*", shuffle=True, seed=3).flat_map(
        tf.data.TextLineDataset
    ),
    "fixed": lambda files: tf.data.FixedLengthRecordDataset(sorted(f"{files}/lines{i}" for i in range(5)), 4),
    "further": lambda files: READERS["flat_map"](files).map(tf.strings.upper).batch(2).repeat(2).prefetch(1),
    "mapped_readers": lambda files: Dataset.list_files(f"{files}/records*", shuffle=False)
    .map(tf.data.TFRecordDataset).interleave(lambda x: x, cycle_length=3),
    "concatenated": lambda files: READERS["flat_map"](files).concatenate(READERS["records"](files)),
    "asserted": lambda files: READERS["records"](files).apply(tf.data.experimental.assert_cardinality(15)),
    "elements": lambda files: Dataset.range(11),
    "batches": lambda files: Dataset.range(11).batch(2).prefetch(1),
    "hinted": lambda files: Dataset.range(11).shard(-1, -1).map(lambda x: x * 2),
    "rebatched": lambda files: Dataset.range(24).batch(6).rebatch([2, 1]),
    "scalars_and_files": lambda files: Dataset.zip((READERS["records"](files), Dataset.range(9))),
}


@pytest.mark.parametrize("policy", [-1, 0, 1, 2, 3])
@pytest.mark.parametrize("name", READERS)
def test_workers_share_a_dataset(target, files, name, policy):
    for workers, index in [(1, 0), (2, 1), (3, 0)]:
        check_from_the_start(target, lambda: part(READERS[name](files), workers, index, policy, replicas=2))


def test_more_workers_than_files(target, files):
    for index in (0, 3, 4, 5, 8):
        _, error = check(target, lambda: part(READERS["records"](files), 9, index, 1))
        has_element = index < 5
        assert (f"only has {index + 1} file(s)" in str(error)) == has_element


def test_parts_that_are_none(target):
    for workers, index, policy in [(0, 0, 0), (3, 3, 0), (3, -1, 2), (3, 1, 7), (3, 1, 1)]:
        def build():
            return part(Dataset.range(10), workers, index, policy)._variant_tensor.op

        ours, theirs = outcome(target, build), outcome("", build)
        assert ours[0] is theirs[0] and ours[1][:40] == theirs[1][:40]
