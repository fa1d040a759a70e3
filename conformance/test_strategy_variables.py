"""Variables under ParameterServerStrategy: where they are, their shards, and what `run` does to them."""

import functools
import os
import tempfile

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.distribute import distribute_utils, sharded_variable
from tensorflow.python.distribute.coordinator import cluster_coordinator

from conformance.rig import tf2

PARTITIONERS = tf.distribute.experimental.partitioners
FIRST, SECOND = (f"/job:ps/replica:0/task:{index}/device:CPU:0" for index in range(2))


@pytest.fixture
def tasks(cluster):
    return cluster(num_workers=1, num_ps=2)


def placement(jobs):
    """Round robin, whatever devices are asked for; shards by the partitioner."""
    strategy = tf2.strategy(jobs)
    outside = tf.Variable(0.0)
    assert outside.device == "/job:chief/replica:0/task:0/device:CPU:0"
    with strategy.scope():
        three = [tf.Variable(float(i)) for i in range(3)]
        with tf.device("/job:ps/task:0"):
            ignored = tf.Variable(0.0)
        with strategy.extended.colocate_vars_with(three[1]):
            beside = tf.Variable([4, 5])
    assert [v.device for v in [*three, ignored]] == [FIRST, SECOND, FIRST, SECOND]
    assert beside.device == SECOND and beside.numpy().tolist() == [4, 5]

    def shards(partitioner, *args, **kwargs):
        strategy.extended._variable_partitioner = partitioner
        strategy.extended._variable_count = 0
        with strategy.scope():
            return tf.Variable(*args, **kwargs)

    fixed = PARTITIONERS.FixedShardsPartitioner
    ten = shards(fixed(4), list(range(10)))
    assert [v.device for v in ten.variables] == [FIRST, SECOND, FIRST, SECOND]
    assert [v.numpy().tolist() for v in ten.variables] == [[0, 1, 2], [3, 4, 5], [6, 7], [8, 9]]
    assert [v.numpy().tolist() for v in shards(fixed(4), [0, 1, 2]).variables] == [[0], [1], [2]]
    small = shards(PARTITIONERS.MinSizePartitioner(64 << 20, max_shards=2), [0] * 10)
    assert not isinstance(small, sharded_variable.ShardedVariable)
    several = shards(PARTITIONERS.MinSizePartitioner(16, max_shards=3), tf.zeros([10]))
    assert len(several.variables) == 3
    largest = shards(PARTITIONERS.MaxSizePartitioner(16), tf.zeros([10]))
    assert len(largest.variables) == 3

    constant = tf.constant_initializer([0, 1, 2, 3])
    for known in [dict(dtype=tf.int64), dict(shape=(4,)), dict(), dict(shape=(4,), dtype=tf.int64)]:
        make = functools.partial(constant, shape=(4,), dtype=tf.int64)
        value = shards(fixed(2), make if len(known) == 2 else lambda: make(), **known)
        assert [v.numpy().tolist() for v in value.variables] == [[0, 1], [2, 3]]

    def identity(shape, dtype, **kwargs):
        """An initialiser that knows which part it is to make."""
        whole = tf.eye(*shape, dtype=dtype)
        return tf.slice(whole, kwargs["partition_offset"], kwargs["partition_shape"])

    part = functools.partial(identity, shape=(4, 4), dtype=tf.int64)
    eye = shards(fixed(2), part, shape=(4, 4), dtype=tf.int64)
    np.testing.assert_array_equal(np.concatenate([v.numpy() for v in eye.variables]), np.eye(4))
    for wrong in [None, [], [0, 1, 1], [2, 2, 1]]:
        with pytest.raises(ValueError, match="variable_partitioner"):
            shards(lambda **_: wrong, tf.zeros([2, 2, 2]))

    made = []

    @tf.function
    def creates():
        if not made:
            made.append(tf.Variable([[1.0, 0.0], [0.0, 1.0]]))
            made.append(tf.Variable(lambda: tf.eye(2)))

    strategy.extended._variable_partitioner = fixed(2)
    with strategy.scope():
        creates()
    for variable in made:
        assert [v.numpy().tolist() for v in variable.variables] == [[[1, 0]], [[0, 1]]]


def test_placement(tasks):
    tf2.run(placement, tasks)


def restored(jobs):
    """Checkpoints of shards, restored to more and to fewer, at once or when the variable is made."""
    values = np.arange(24, dtype=np.float32).reshape(12, 2)

    class Model(tf.Module):
        def build(self):
            self.table = tf.Variable(lambda: tf.zeros([12, 2]), shape=(12, 2), dtype=tf.float32)

    strategy = tf2.strategy(jobs, variable_partitioner=PARTITIONERS.FixedShardsPartitioner(3))
    directory = tempfile.mkdtemp()
    with strategy.scope():
        model = Model()
        model.build()
        model.table.assign(values)
        path = tf.train.Checkpoint(model=model).write(directory + "/sharded")
    plain = Model()
    plain.build()
    tf.train.Checkpoint(model=plain).read(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(plain.table, values)
    whole = tf.train.Checkpoint(model=plain).write(directory + "/whole")
    for source in [path, whole]:
        for count in [1, 2, 3, 5, 12]:
            for late in [False, True]:
                strategy.extended._variable_partitioner = PARTITIONERS.FixedShardsPartitioner(count)
                with strategy.scope():
                    model = Model()
                    checkpoint = tf.train.Checkpoint(model=model)
                    if late:
                        status = checkpoint.read(source)
                        model.build()
                    else:
                        model.build()
                        status = checkpoint.read(source)
                    status.assert_existing_objects_matched()
                assert count == 1 or len(model.table.variables) == count
                np.testing.assert_array_equal(tf.convert_to_tensor(model.table), values)


def test_restored(tasks):
    tf2.run(restored, tasks)


def lookups(jobs):
    """Lookups in a sharded table are gathers on the ps; nobody reads the table."""
    strategy = tf2.strategy(jobs, variable_partitioner=PARTITIONERS.FixedShardsPartitioner(3))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table = tf.Variable(np.arange(10).reshape(5, 2) + 1, dtype=tf.float32)
    indices = [[0, 0], [0, 1], [1, 0], [2, 2]]
    ids = lambda numbers: tf.SparseTensor(indices, numbers, [3, 3])

    @tf.function
    def dense():
        return tf.nn.embedding_lookup(table, [0, 3, 4])

    @tf.function
    def sparse():
        return tf.nn.embedding_lookup_sparse(table, ids([0, 3, 4, 1]), None)

    @tf.function
    def safe():
        return tf.nn.safe_embedding_lookup_sparse(table, ids([0, -1, 4, 1]), ids([1.0, 1.0, -1.0, 1.0]))

    want = [[[1, 2], [7, 8], [9, 10]], [[4, 5], [9, 10], [3, 4]], [[1, 2], [0, 0], [3, 4]]]
    for function, values in zip([dense, sparse, safe], want):
        used = [node.type for node in function.get_concrete_function().graph.get_operations()]
        assert used.count("ResourceGather") == 3 and "ReadVariableOp" not in used
        np.testing.assert_allclose(coordinator.schedule(function).fetch(), values)

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 0, 4]) ** 2)
        for slices, shard in zip(tape.gradient(loss, table.variables), table.variables):
            shard.scatter_sub(tf.IndexedSlices(0.1 * slices.values, slices.indices))
        return loss

    assert coordinator.schedule(gradient).fetch() == 2 * (1 + 4) + 81 + 100
    np.testing.assert_allclose(table.variables[0].numpy()[0], [0.6, 1.2], rtol=1e-6)
    np.testing.assert_allclose(table[4], [7.2, 8], rtol=1e-6)

    class Served(tf.Module):
        def __init__(self):
            super().__init__()
            self.tables = [tf.Variable([1.0, 2.0]), tf.Variable([5.0, 6.0])]

        @tf.function(input_signature=[tf.TensorSpec([2], tf.int32)])
        def lookup(self, numbers):
            return tf.nn.embedding_lookup(self.tables, numbers)

    strategy.extended._variable_partitioner = None
    with strategy.scope():
        model = Served()
    with tempfile.TemporaryDirectory() as directory:
        tf.saved_model.save(model, directory, signatures=model.lookup)
        with open(os.path.join(directory, "saved_model.pb"), "rb") as file:
            saved = saved_model_pb2.SavedModel.FromString(file.read())
        nodes = [n for f in saved.meta_graphs[0].graph_def.library.function for n in f.node_def]
        gathers = [node for node in nodes if "Gather" in node.op]
        assert {(node.op, node.device) for node in gathers} == {("ResourceGather", "")}
        loaded = tf.saved_model.load(directory)
        np.testing.assert_array_equal(loaded.lookup(tf.constant([1, 2])), [2, 5])


@pytest.mark.parametrize("mix", tf2.MIXES)
def test_lookups(cluster, mix):
    tf2.run(lookups, cluster(num_workers=1, num_ps=2, engines=tf2.MIXES[mix]))


def runs(jobs):
    """`run` and `reduce` within closures and without, aggregation, cached reads."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        v = tf.Variable(1.0)
        counted = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        summed = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)

        @tf.function
        def reduced(x):
            def replica(x):
                assert not tf.distribute.in_cross_replica_context()
                counted.assign_add(x)
                return x + v, x - v

            result = strategy.reduce("SUM", strategy.run(replica, args=(x,)), axis=None)
            tf.debugging.assert_equal(result, (4.0, 2.0))
            return result

        inside = coordinator.schedule(reduced, args=(tf.constant(3.0),))
        assert isinstance(inside, cluster_coordinator.RemoteValue)
    outside = coordinator.schedule(reduced, args=(tf.constant(3.0),))
    assert inside.fetch() == outside.fetch() == (4, 2)
    assert counted.numpy() == 6

    @tf.function
    def numbered():
        def replica():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group + 1
            summed.assign(tf.cast(number, tf.float32))

        strategy.run(replica)

    coordinator.schedule(numbered)
    coordinator.join()
    assert summed.numpy() == 1

    with strategy.scope(), distribute_utils.cache_variable_reads():
        assert counted.read_value() == 6
        counted.assign(5.0)
        assert counted.read_value() == 6
    assert counted.read_value() == 5

    @tf.function
    def cached():
        def replica():
            counted.read_value()
            counted.assign(7.0)
            return counted.read_value()

        with distribute_utils.cache_variable_reads():
            return strategy.run(replica)

    with strategy.scope():
        assert coordinator.schedule(cached).fetch() == 5
    assert counted.numpy() == 7

    data = strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices([2.0]).repeat().batch(1))
    with pytest.raises(ValueError):
        iter(data)
    batches = iter(coordinator.create_per_worker_dataset(data))

    @tf.function
    def mean(batches):
        v.assign_add(strategy.reduce("MEAN", next(batches), axis=0))

    for _ in range(5):
        coordinator.schedule(mean, args=(batches,))
    coordinator.join()
    coordinator.join()
    assert coordinator.done() and v.numpy() == 11


def test_runs(tasks):
    tf2.run(runs, tasks)
