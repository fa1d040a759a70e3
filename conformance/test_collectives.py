"""Collective ops: devices of one task, of several, and of tasks of both engines."""

import threading

import numpy as np
import pytest
import tensorflow as tf

v1, raw = tf.compat.v1, tf.raw_ops

LEADER = "/job:worker/replica:0/task:0"
# Jobs by engine: whose tasks work together. The first job of the alphabet has the leader.
CLUSTERS = {
    "one engine": {},
    "led by tensorflow": {"chief": "tensorflow"},
    "led by the engine": {"worker": "tensorflow"},
}


def config(leader=LEADER, cpus=1):
    config = v1.ConfigProto(device_count={"CPU": cpus})
    config.experimental.collective_group_leader = leader
    return config


class Members:
    """A cluster and the devices that work together, in the order of their ranks."""

    def __init__(self, cluster, devices, session_config):
        self.cluster, self.devices, self.config = cluster, devices, session_config

    def run(self, build, steps=1, job="worker", index=0):
        """Runs what `build(rank)` makes on each device, in one step of one master."""
        with tf.Graph().as_default():
            made = []
            for rank, device in enumerate(self.devices):
                with tf.device(device):
                    made.append(build(rank))
            with v1.Session(self.cluster.target(job, index), config=self.config) as session:
                for _ in range(steps):
                    values = session.run(made, options=v1.RunOptions(timeout_in_ms=60_000))
        return values


@pytest.fixture
def devices(cluster):
    """Four devices of one task."""
    settings = config(cpus=4)
    made = cluster(1, 0, session_config=settings)
    return Members(made, [f"/job:worker/task:0/cpu:{i}" for i in range(4)], settings)


@pytest.fixture(params=CLUSTERS)
def tasks(request, cluster):
    """Two jobs of one and two tasks, with two devices each."""
    leader = "/job:chief/replica:0/task:0"
    settings = config(leader, cpus=2)
    engines = CLUSTERS[request.param]
    made = cluster(2, 0, jobs={"chief": 1}, engines=engines, session_config=settings)
    names = ["/job:chief/task:0", "/job:worker/task:0", "/job:worker/task:1"]
    return Members(made, [f"{name}/cpu:{i}" for name in names for i in range(2)], settings)


def values(rank, shape, dtype=np.float32):
    return (np.arange(np.prod(shape)).reshape(shape) % 7 * (rank + 1)).astype(dtype)


REDUCTIONS = {"Add": np.add, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}


def check_reductions(members):
    size = len(members.devices)
    key = 0
    for shape, dtype in [((100,), np.float32), ((16,), np.float64), ((3, 5), np.int32), ((), np.int64)]:
        for merge, function in REDUCTIONS.items():
            key += 1
            got = members.run(
                lambda rank: raw.CollectiveReduceV2(
                    input=values(rank, shape, dtype),
                    group_size=size,
                    group_key=1,
                    instance_key=key,
                    merge_op=merge,
                    final_op="Id",
                    ordering_token=[],
                )
            )
            want = function.reduce([values(rank, shape, dtype) for rank in range(size)])
            for each in got:
                np.testing.assert_array_equal(each, want)


def test_reductions_of_devices_of_one_task(devices):
    check_reductions(devices)


def test_reductions_between_tasks(tasks):
    check_reductions(tasks)


@pytest.mark.parametrize("offsets", [[0], [0, 1], [0, -1]])
def test_means_of_the_first_version(tasks, offsets):
    size = len(tasks.devices)
    got = tasks.run(
        lambda rank: raw.CollectiveReduce(
            input=values(rank, (1000,)),
            group_size=size,
            group_key=3,
            instance_key=4,
            merge_op="Add",
            final_op="Div",
            subdiv_offsets=offsets,
        ),
        steps=3,
    )
    want = np.sum([values(rank, (1000,)) for rank in range(size)], axis=0) / np.float32(size)
    for each in got:
        np.testing.assert_allclose(each, want, rtol=1e-6)


def test_gathering(tasks):
    size = len(tasks.devices)
    want = np.concatenate([values(rank, (2, 3)) for rank in range(size)])
    got = tasks.run(
        lambda rank: raw.CollectiveGatherV2(
            input=values(rank, (2, 3)), group_size=size, group_key=5, instance_key=6, ordering_token=[]
        )
    )
    first = tasks.run(
        lambda rank: raw.CollectiveGather(
            input=values(rank, (2, 3)), group_size=size, group_key=5, instance_key=7, shape=want.shape
        )
    )
    for each in [*got, *first]:
        np.testing.assert_array_equal(each, want)


@pytest.mark.parametrize("source", range(6))
def test_broadcasts(tasks, source):
    size, value = len(tasks.devices), np.arange(6, dtype=np.float32).reshape(2, 3)
    keys = {"group_size": size, "group_key": 8, "instance_key": 9}

    def second(rank):
        if rank == source:
            return raw.CollectiveBcastSendV2(input=value, **keys)
        return raw.CollectiveBcastRecvV2(T=tf.float32, shape=value.shape, **keys)

    def first(rank):
        keys["instance_key"] = 10
        if rank == source:
            return raw.CollectiveBcastSend(input=value, shape=value.shape, **keys)
        return raw.CollectiveBcastRecv(T=tf.float32, shape=value.shape, **keys)

    for build in (second, first):
        for each in tasks.run(build, steps=2):
            np.testing.assert_array_equal(each, value)


def test_every_task_with_a_master_of_its_own(tasks):
    """Between-graph replication: sessions that know only their own task, and steps of one id."""
    jobs = [("chief", 0), ("worker", 0), ("worker", 1)]
    results = {}

    def replica(rank, job, index):
        own = v1.ConfigProto()
        own.CopyFrom(tasks.config)
        own.device_filters.append(f"/job:{job}/task:{index}")
        graph = tf.Graph()
        with graph.as_default(), tf.device(f"/job:{job}/task:{index}/cpu:0"):
            total = [
                raw.CollectiveReduce(
                    input=values(rank, (50,)),
                    group_size=3,
                    group_key=11,
                    instance_key=key,
                    merge_op="Add",
                    final_op="Id",
                    subdiv_offsets=[0],
                )
                for key in (12, 13)
            ]
            with v1.Session(tasks.cluster.target(job, index), config=own, graph=graph) as session:
                results[rank] = [session.run(total) for _ in range(3)]

    threads = [threading.Thread(target=replica, args=(rank, *job)) for rank, job in enumerate(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    want = np.sum([values(rank, (50,)) for rank in range(3)], axis=0)
    for rank in range(3):
        for step in results[rank]:
            np.testing.assert_array_equal(step, [want, want])


def test_members_that_do_not_fit(devices):
    def build(rank):
        return raw.CollectiveReduceV2(
            input=[1.0],
            group_size=2 if rank == 0 else 3,
            group_key=20,
            instance_key=1,
            merge_op="Add",
            final_op="Id",
            ordering_token=[],
        )

    with pytest.raises(tf.errors.InternalError, match="but that group has size"):
        devices.run(build)


def test_group_sizes_are_positive(devices):
    def build(_):
        return raw.CollectiveGatherV2(
            input=[1.0], group_size=0, group_key=21, instance_key=1, ordering_token=[]
        )

    with pytest.raises(tf.errors.InvalidArgumentError, match="group_size must be positive integer but got 0"):
        devices.run(build)


def test_broadcasts_have_one_source(devices):
    keys = {"group_size": 4, "group_key": 22}

    def none(_):
        return raw.CollectiveBcastRecvV2(T=tf.float32, shape=[1], instance_key=1, **keys)

    with pytest.raises(tf.errors.InternalError, match="found no source for broadcast"):
        devices.run(none)


def test_who_waits_too_long_hears_of_it(devices):
    devices.devices = devices.devices[:1]

    def build(_):
        return raw.CollectiveReduceV2(
            input=[1.0],
            group_size=2,
            group_key=23,
            instance_key=1,
            merge_op="Add",
            final_op="Id",
            ordering_token=[],
            timeout_seconds=0.5,
        )

    with pytest.raises(tf.errors.DeadlineExceededError, match="timed out waiting for other workers"):
        devices.run(build)


@pytest.mark.ours("TensorFlow's servers give these ops no executor")
def test_all_to_all_and_parts_of_sums(devices):
    size = len(devices.devices)
    keys = {"group_size": size, "group_key": 30, "ordering_token": []}
    got = devices.run(
        lambda rank: raw.CollectiveAllToAllV2(input=values(rank, (size, 2)), instance_key=1, **keys)
    )
    inputs = [values(rank, (size, 2)) for rank in range(size)]
    for rank, each in enumerate(got):
        np.testing.assert_array_equal(each, [part[rank] for part in inputs])
    got = devices.run(
        lambda rank: raw.CollectiveReduceScatterV2(
            input=values(rank, (size, 2)), instance_key=2, merge_op="Add", final_op="Id", **keys
        )
    )
    np.testing.assert_array_equal(np.concatenate(got), np.sum(inputs, axis=0))


@pytest.mark.ours("TensorFlow's servers give these ops no executor")
def test_communicators(devices):
    size = len(devices.devices)

    def build(rank):
        communicator = raw.CollectiveInitializeCommunicator(group_key=31, rank=rank, group_size=size)
        everybody = tf.zeros([0, 0], tf.int32)
        total = raw.CollectiveReduceV3(
            input=values(rank, (5,)), communicator=communicator, group_assignment=everybody, reduction="Add"
        )
        with tf.control_dependencies([total]):
            parts = raw.CollectiveAllToAllV3(
                input=values(rank, (size, 2)), communicator=communicator, group_assignment=everybody
            )
        return total, parts

    inputs = [values(rank, (size, 2)) for rank in range(size)]
    for rank, (total, parts) in enumerate(devices.run(build, steps=2)):
        np.testing.assert_array_equal(total, np.sum([values(r, (5,)) for r in range(size)], axis=0))
        np.testing.assert_array_equal(parts, [part[rank] for part in inputs])


def test_groups_are_assigned(target):
    cases = [(0, 10), (1, 10), (2, 10), (3, 10), (1, -1), (4, 10)]
    outcomes = []
    with v1.Session(target) as session:
        for device, base in cases:
            made = raw.CollectiveAssignGroupV2(
                group_assignment=[[0, 2], [1, 3]], device_index=device, base_key=base
            )
            try:
                outcomes.append(tuple(int(value) for value in session.run(made)))
            except tf.errors.InvalidArgumentError as error:
                outcomes.append("reserved" if "reserved" in error.message else "not found")
    assert outcomes == [(2, 10), (2, 11), (2, 10), (2, 11), "reserved", "not found"]
