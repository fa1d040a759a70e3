"""The coordination service: members that live or are lost, keys, barriers; and a strategy that uses it."""

import contextlib

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python.eager import context

from conformance.rig import tf2, wire

OFF = "Coordination service is not enabled."


def task(index, job="ps"):
    return wire.MESSAGES["CoordinatedTask"](job_name=job, task_id=index)


def entry(key, value):
    return wire.MESSAGES["KeyValueEntry"](key=key, value=value)


@contextlib.contextmanager
def leader(tasks, context_id=7):
    """The first of two ps, made the leader by a context without members."""
    address = tasks.spec.job_tasks("ps")[0]
    server_def = tensorflow_server_pb2.ServerDef(
        cluster=tasks.spec.as_cluster_def(), job_name="ps", protocol="grpc"
    )
    config = server_def.default_session_config.experimental.coordination_config
    config.service_type, config.service_leader = "standalone", "/job:ps/replica:0/task:0"
    config.heartbeat_timeout_in_ms = 60_000
    eager, service = wire.Service(address, "eager.EagerService"), wire.Service(address, "CoordinationService")
    service.fails(grpc.StatusCode.INTERNAL, "GetTaskState", OFF, source_task=[task(0)])
    service.fails(grpc.StatusCode.INTERNAL, "RegisterTask", OFF, source_task=task(0), incarnation=1)
    service.fails(grpc.StatusCode.INTERNAL, "TryGetKeyValue", OFF, key="a")
    eager.call("CreateContext", server_def=server_def, context_id=context_id, keep_alive_secs=60)
    yield service
    eager.call("CloseContext", context_id=context_id)
    eager.close()
    service.close()


def test_members(cluster):
    with leader(cluster(num_workers=0, num_ps=2)) as service:
        states = lambda: [
            (state.state, state.error_code)
            for state in service.call("GetTaskState", source_task=[task(0), task(1)]).task_state
        ]
        assert states() == [(2, 0), (2, 0)]
        invalid, refused = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION
        service.fails(invalid, "RegisterTask", "Unexpected task", source_task=task(7), incarnation=5)
        service.fails(invalid, "Heartbeat", "Unexpected heartbeat", source_task=task(7), incarnation=5)
        service.fails(invalid, "Heartbeat", "must be registered", source_task=task(1), incarnation=5)
        service.fails(refused, "ResetTask", "already disconnected", source_task=task(1))
        first = service.call("RegisterTask", source_task=task(1), incarnation=5)
        again = service.call("RegisterTask", source_task=task(1), incarnation=5)
        beat = service.call("Heartbeat", source_task=task(1), incarnation=5)
        assert first.leader_incarnation == again.leader_incarnation == beat.leader_incarnation != 0
        assert states() == [(2, 0), (3, 0)]
        aborted = grpc.StatusCode.ABORTED
        service.fails(aborted, "Heartbeat", "expecting 5 but got 6", source_task=task(1), incarnation=6)
        assert states() == [(2, 0), (4, aborted.value[0])]
        service.fails(aborted, "RegisterTask", "already in error", source_task=task(1), incarnation=6)
        service.call("ResetTask", source_task=task(1))
        service.call("RegisterTask", source_task=task(1), incarnation=6)
        service.fails(aborted, "RegisterTask", "different incarnation", source_task=task(1), incarnation=8)
        service.call("ResetTask", source_task=task(1))
        service.call("RegisterTask", source_task=task(1), incarnation=8)
        service.call("ReportErrorToService", error_code=3, error_message="bad", error_origin=task(1))
        assert states() == [(2, 0), (4, 3)]
        service.call("ShutdownTask", source_task=task(1))
        assert states() == [(2, 0), (2, 0)]
        service.fails(grpc.StatusCode.INTERNAL, "PollForError", "error polling", source_task=task(1))


def test_keys(cluster):
    with leader(cluster(num_workers=0, num_ps=2)) as service:
        missing = grpc.StatusCode.NOT_FOUND
        service.fails(missing, "TryGetKeyValue", "Config key a not found.", key="a")
        waiting = service.start("GetKeyValue", key="a")
        service.call("InsertKeyValue", kv=entry("a", b"1"))
        assert waiting.result().kv.value == b"1"
        service.fails(grpc.StatusCode.ALREADY_EXISTS, "InsertKeyValue", "key a already", kv=entry("a", b"2"))
        service.call("InsertKeyValue", kv=entry("a", b"3"), allow_overwrite=True)
        assert service.call("TryGetKeyValue", key="/a//").kv == entry("/a//", b"3")
        for key in ["d/x", "/d//y/z/", "dd"]:
            service.call("InsertKeyValue", kv=entry(key, b"0"))
        below = lambda: [kv.key for kv in service.call("GetKeyValueDir", directory_key="d").kv]
        assert below() == ["d/x", "d/y/z"]
        service.call("DeleteKeyValue", key="d")
        assert below() == [] and service.call("TryGetKeyValue", key="dd").kv.value == b"0"
        assert [service.call("IncrementKeyValue", key="n", increment=3).kv.value for _ in range(2)] == [b"3", b"6"]
        service.call("InsertKeyValue", kv=entry("text", b"abc"))
        refused = grpc.StatusCode.FAILED_PRECONDITION
        service.fails(refused, "IncrementKeyValue", 'parse value "abc"', key="text", increment=1)


def test_barriers(cluster):
    with leader(cluster(num_workers=0, num_ps=2)) as service:
        for index in range(2):
            service.call("RegisterTask", source_task=task(index), incarnation=index + 1)
        both = [task(0), task(1)]

        def arrive(id, index, milliseconds=60_000, tasks=both, counter=0):
            return dict(
                barrier_id=id, barrier_timeout_in_ms=milliseconds, source_task=task(index), tasks=tasks, counter=counter
            )

        waiting = service.start("Barrier", **arrive("met", 0))
        service.call("Barrier", **arrive("met", 1))
        waiting.result()
        service.call("Barrier", **arrive("met", 1))
        code = grpc.StatusCode
        late = "tasks that reached the barrier: 1/2.\nThe first task at the barrier: /job:ps/replica:0/task:0"
        service.fails(code.DEADLINE_EXCEEDED, "Barrier", late, **arrive("late", 0, milliseconds=10))
        service.fails(code.INVALID_ARGUMENT, "Barrier", "non-participating", **arrive("out", 0, tasks=[task(1)]))
        unknown = arrive("unknown", 0, tasks=[task(0), task(9)])
        service.fails(code.INVALID_ARGUMENT, "Barrier", "not in the cluster", **unknown)
        waiting = service.start("Barrier", **arrive("lost", 0))
        alive = service.start("GetAliveTasks", requesting_task=task(0), tasks=both)
        service.call("ShutdownTask", source_task=task(1))
        assert waiting.exception().details().startswith("Barrier failed because: task disconnected.")
        assert list(alive.result().incarnations) == [1]
        service.call("CancelBarrier", barrier_id="nobody", source_task=task(0))
        service.fails(code.FAILED_PRECONDITION, "CancelBarrier", "already been passed", barrier_id="met")


@pytest.fixture(params=tf2.MIXES)
def tasks(request, cluster):
    return cluster(num_workers=2, num_ps=1, engines=tf2.MIXES[request.param])


def coordinated(jobs):
    """A strategy whose tasks all join and whose client sees it."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    assert context.context().get_task_states([("worker", 2), ("ps", 1)]) == [None] * 3
    with strategy.scope():
        count = tf.Variable(0.0)

    @tf.function
    def step():
        count.assign_add(1.0)

    for _ in range(10):
        coordinator.schedule(step)
    coordinator.join()
    np.testing.assert_allclose(count, 10)


def test_a_strategy(tasks):
    tf2.run(coordinated, tasks, TF_PSS_ENABLE_COORDINATION_SERVICE="1")
