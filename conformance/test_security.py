"""Clusters that let in only who has a certificate or a token, and TensorFlow's clients in them.

TensorFlow's server lets everybody in, so the tests are ours alone.
"""

import json
import resource
import socket
import subprocess
import sys
import textwrap

import grpc
import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import ports
from conformance.rig.fleet import Fleet, run

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server asks nobody who they are")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    fleet = Fleet(tmp_path_factory.mktemp("fleet"))
    yield fleet
    fleet.kill()


def across_tasks(size=4):
    with tf.device("/job:ps/task:0"):
        there = tf.random.uniform([size]) * 0.0 + 1.0
    with tf.device("/job:worker/task:0"):
        return there + 1.0


def config():
    return v1.ConfigProto(operation_timeout_in_ms=60_000)


def test_a_session_through_the_proxy(fleet):
    proxy = fleet.proxy()
    assert proxy.target.startswith("grpc://127.0.0.1:")
    with tf.Graph().as_default():
        large = across_tasks(1 << 21)
        fed = v1.placeholder(tf.float32, [None])
        with v1.Session(proxy.target, config=config()) as session:
            assert session.run(large).tolist()[:3] == [2.0] * 3
            values = np.arange(1 << 20, dtype=np.float32)
            assert np.array_equal(session.run(fed * 2, {fed: values}), values * 2)
            jobs = {device.name.split("/")[1] for device in session.list_devices()}
            assert jobs == {"job:ps", "job:worker"}


EAGER = """
import sys
import tensorflow as tf

cluster = tf.train.ClusterSpec({"ps": [sys.argv[1]], "worker": [sys.argv[2]]})
tf.config.experimental_connect_to_cluster(cluster)
with tf.device("/job:ps/task:0"):
    v = tf.Variable([1.0, 2.0])

@tf.function
def step(x):
    v.assign_add(x)
    return tf.reduce_sum(v * 2.0)

with tf.device("/job:worker/task:0"):
    print("result", step(tf.constant([1.0, 1.0])).numpy(), v.numpy().tolist())
"""


def test_eager_contexts_through_proxies(fleet, tmp_path):
    script = tmp_path / "eager.py"
    script.write_text(textwrap.dedent(EAGER))
    targets = [fleet.proxy(job).target.removeprefix("grpc://") for job in ("ps", "worker")]
    done = subprocess.run(
        [sys.executable, script, *targets], capture_output=True, text=True, timeout=300
    )
    assert "result 10.0 [2.0, 3.0]" in done.stdout, done.stderr[-3000:]


def test_plaintext_is_told_what_to_do(fleet):
    plain = f"grpc://{fleet.addresses['worker']}"
    with tf.Graph().as_default():
        one = tf.constant(1)
        with pytest.raises(tf.errors.UnauthenticatedError, match="tensorfleet proxy"):
            with v1.Session(plain, config=config()) as session:
                session.run(one)
    assert fleet.servers["worker"].says("speaks TLS")
    health = grpc.insecure_channel(fleet.addresses["worker"]).unary_unary
    assert health("/grpc.health.v1.Health/Check")(b"", timeout=30) == b"\x08\x01"


def test_a_token_of_the_wrong_role_or_none_opens_no_session(fleet):
    (fleet.directory / "guess.token").write_text("tfl_" + "0" * 64)
    for token, error in [
        ("reader", tf.errors.PermissionDeniedError),
        ("guess", tf.errors.UnauthenticatedError),
    ]:
        with tf.Graph().as_default():
            one = tf.constant(1)
            with pytest.raises(error):
                with v1.Session(fleet.proxy(token=token).target, config=config()) as session:
                    session.run(one)


MASTER, WORKER, EAGER_SERVICE = (
    "tensorflow.MasterService",
    "tensorflow.WorkerService",
    "tensorflow.eager.EagerService",
)
# Written down a second time, so that a change of the server's table is a change of mind.
CALLERS = {
    **{
        f"/{MASTER}/{method}": {"trainer"}
        for method in "CreateSession ExtendSession PartialRunSetup RunStep CloseSession "
        "MakeCallable RunCallable ReleaseCallable".split()
    },
    f"/{MASTER}/ListDevices": {"trainer", "reader", "operator"},
    f"/{MASTER}/Reset": set(),
    **{
        f"/{WORKER}/{method}": {"peer"}
        for method in "CleanupAll CleanupGraph CompleteGroup CompleteInstance "
        "CreateWorkerSession DeleteWorkerSession DeregisterGraph GetStepSequence Logging "
        "MarkRecvFinished RecvBuf RegisterGraph RunGraph Tracing".split()
    },
    f"/{WORKER}/GetStatus": {"peer", "trainer", "reader", "operator"},
    f"/{WORKER}/RecvTensor": {"peer", "trainer"},
    **{
        f"/{EAGER_SERVICE}/{method}": {"peer", "trainer"}
        for method in "CreateContext UpdateContext Enqueue StreamingEnqueue WaitQueueDone "
        "KeepAlive CloseContext".split()
    },
    f"/{EAGER_SERVICE}/RunComponentFunction": {"peer"},
    **{
        f"/tensorflow.CoordinationService/{method}": {"peer", "trainer"}
        for method in "Barrier CancelBarrier DeleteKeyValue GetAliveTasks GetKeyValue GetKeyValueDir GetTaskState Heartbeat IncrementKeyValue InsertKeyValue PollForError RegisterTask ReportErrorToService ReportErrorToTask ResetTask ShutdownTask TryGetKeyValue WaitForAllTasks WatchJobState".split()
    },
    "/tensorfleet.Admin/Status": {"peer", "trainer", "reader", "operator"},
    "/tensorfleet.Admin/Logs": {"peer", "operator"},
    "/tensorfleet.Admin/Examine": {"trainer", "operator"},
    "/tensorfleet.Admin/Record": {"operator"},
    "/tensorfleet.Admin/Graphs": {"operator"},
    "/tensorfleet.Admin/Scalars": {"trainer"},
    "/tensorfleet.Admin/Drain": {"operator"},
    "/tensorfleet.Admin/Snapshot": {"operator"},
    "/tensorfleet.Admin/Stop": {"operator"},
}
# Whoever may call these would end the server.
ENDINGS = ("/tensorfleet.Admin/Drain", "/tensorfleet.Admin/Stop")
REFUSED = (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)


def outcome(channel, path, metadata):
    """The code of a call with an empty message; that it was let in is all that matters."""
    call = channel.stream_stream(path)(iter([b""]), timeout=1, metadata=metadata)
    try:
        list(call)
        return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()


def test_every_method_with_every_role_and_none(fleet):
    bearer = lambda token: [("authorization", f"Bearer {token}")]
    callers = {
        "none": (fleet.channel("ps"), [], grpc.StatusCode.UNAUTHENTICATED),
        "a wrong token": (fleet.channel("ps"), bearer("tfl_1"), grpc.StatusCode.UNAUTHENTICATED),
        "peer": (fleet.channel("ps", "worker-0"), [], grpc.StatusCode.PERMISSION_DENIED),
        **{
            role: (fleet.channel("ps"), bearer(token), grpc.StatusCode.PERMISSION_DENIED)
            for role, token in fleet.tokens.items()
        },
    }
    wrong = []
    for path, allowed in CALLERS.items():
        for who, (channel, metadata, refusal) in callers.items():
            may = who in allowed or who == "admin"
            if may and path in ENDINGS:
                continue
            code = outcome(channel, path, metadata)
            if (code in REFUSED) == may or (not may and code != refusal):
                wrong.append((path, who, code))
    assert not wrong
    assert outcome(fleet.channel("ps"), "/grpc.health.v1.Health/Check", []) == grpc.StatusCode.OK


def test_certificates_change_while_steps_run(fleet):
    shown = lambda: run(fleet.directory, "certs", "verify", fleet.cluster, *fleet.tls("root")).stdout
    before, proxy = shown(), fleet.proxy()
    inspect = lambda: run(fleet.directory, "certs", "inspect", "certs/ps-0.pem").stdout
    old, logged = inspect(), {job: len(server.lines) for job, server in fleet.servers.items()}
    with tf.Graph().as_default():
        result = across_tasks()
        with v1.Session(proxy.target, config=config()) as session:
            session.run(result)
            files = [f"certs/{name}.pem" for name in ("ps-0", "worker-0", "root")]
            run(fleet.directory, "certs", "renew", *files)
            for job, server in fleet.servers.items():
                # Every step on the way must succeed.
                while not server.says("credentials have changed", logged[job]):
                    assert session.run(result).tolist() == [2.0] * 4
            with v1.Session(proxy.target, config=config()) as another:
                assert another.run(result).tolist() == [2.0] * 4
    assert inspect() != old
    assert shown().count(" ok until ") == before.count(" ok until ") == 2


def test_a_token_that_is_taken_back_is_worth_nothing(fleet):
    proxy = fleet.proxy(token="mallory")
    with tf.Graph().as_default():
        one = tf.constant(1) + 1
        session = v1.Session(proxy.target, config=config())
        assert session.run(one) == 2
        run(fleet.directory, "tokens", "remove", "mallory")
        with pytest.raises(tf.errors.UnauthenticatedError):
            while True:
                assert session.run(one) == 2


def test_a_client_cannot_send_a_server_elsewhere(fleet):
    from tensorflow.core.protobuf import cluster_pb2

    with socket.create_server(("127.0.0.1", 0)) as trap:
        trap.settimeout(0.2)
        foreign = f"127.0.0.1:{trap.getsockname()[1]}"
        jobs = [
            cluster_pb2.JobDef(name="worker", tasks={0: fleet.addresses["worker"]}),
            cluster_pb2.JobDef(name="trap", tasks={0: foreign}),
        ]
        own = config()
        own.cluster_def.CopyFrom(cluster_pb2.ClusterDef(job=jobs))
        with tf.Graph().as_default():
            with tf.device("/job:trap/task:0"):
                there = tf.random.uniform([1])
            with pytest.raises(tf.errors.OpError):
                with v1.Session(fleet.proxy().target, config=own) as session:
                    session.run(there)
        with pytest.raises(TimeoutError):
            trap.accept()


def test_handshakes_that_never_end_keep_nobody_out(fleet):
    with_one_byte = []
    host, port = fleet.addresses["ps"].split(":")
    for _ in range(200):
        half_open = socket.create_connection((host, int(port)))
        half_open.sendall(b"\x16")
        with_one_byte.append(half_open)
    try:
        path = f"/{WORKER}/GetStatus"
        assert outcome(fleet.channel("ps", "worker-0"), path, []) == grpc.StatusCode.OK
    finally:
        for half_open in with_one_byte:
            half_open.close()


def test_five_thousand_half_open_handshakes_cost_little(fleet):
    """Each has sent the beginning of a ClientHello and says nothing more."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 20_000), most))
    server = fleet.servers["worker"].process.pid
    host, port = fleet.addresses["worker"].split(":")
    begun = bytes.fromhex("16030102000100") + b"\x01" * 200

    def resident():
        with open(f"/proc/{server}/statm") as statm:
            return int(statm.read().split()[1]) * resource.getpagesize()

    before, opened = resident(), []
    try:
        for _ in range(5000):
            connection = socket.create_connection((host, int(port)), timeout=60)
            connection.sendall(begun)
            opened.append(connection)
        with tf.Graph().as_default():
            with v1.Session(fleet.proxy().target, config=config()) as session:
                assert session.run(across_tasks()).tolist() == [2.0] * 4
        assert resident() - before < 5000 * 40_000
    finally:
        for connection in opened:
            connection.close()


def test_tls_and_plaintext_recognise_each_other(fleet):
    plain = fleet.start("serve", "--ps=localhost:0", "--job_name=ps")
    cluster = json.dumps({"ps": [plain.target.removeprefix("grpc://")]})
    seen = run(fleet.directory, "certs", "verify", cluster, *fleet.tls("root"), check=False)
    assert "it does not speak TLS" in seen.stdout and seen.returncode != 0
    assert plain.says("speaks TLS, and this port does not")


def test_a_tensorflow_worker_behind_proxies(fleet, tmp_path):
    """Both ways: its calls leave through one proxy, and others reach it through another."""
    ps, worker = f"localhost:{ports.reserve()}", f"localhost:{ports.reserve()}"
    real, inside = json.dumps({"ps": [ps], "worker": [worker]}), f"localhost:{ports.reserve()}"
    serve = ["serve", f"--cluster={real}", "--job_name=ps", *fleet.tls("ps-0")]
    fleet.start(*serve)
    out = fleet.start("proxy", f"--target=grpcs://{ps}", *fleet.tls("worker-0"))
    back = [f"--target=grpc://{inside}", f"--listen={worker}", *fleet.tls("worker-0")]
    assert fleet.start("proxy", *back).target == f"grpcs://{worker}"
    script = tmp_path / "worker.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        import tensorflow as tf
        v1 = tf.compat.v1
        v1.disable_eager_execution()
        cluster = tf.train.ClusterSpec({"ps": [sys.argv[1]], "worker": [sys.argv[2]]})
        server = tf.distribute.Server(cluster, job_name="worker", task_index=0)
        with tf.device("/job:worker/task:0"):
            sent = tf.random.uniform([1 << 18]) * 0.0 + 3.0
        with tf.device("/job:ps/task:0"):
            v = v1.get_variable("v", [1 << 18], initializer=v1.zeros_initializer())
            add = v1.assign_add(v, sent)
        with tf.device("/job:worker/task:0"):
            total = tf.reduce_sum(add * 1.0)
        with v1.Session(server.target) as session:
            session.run(v1.global_variables_initializer())
            print("result", [float(session.run(total)) for _ in range(2)], flush=True)
        import os
        os._exit(0)
        """)
    )
    arguments = [sys.executable, script, out.target.removeprefix("grpc://"), inside]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300)
    assert "result [786432.0, 1572864.0]" in done.stdout, done.stderr[-3000:]
