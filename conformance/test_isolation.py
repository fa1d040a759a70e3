"""Clients of one cluster are kept apart, and do not reach the server's files.

Each test is somebody who tries to get at what is another's: by a stolen handle, by a name, by a
forged container, by Reset, by an op. TensorFlow's server keeps nobody apart, so the tests are ours.
"""

import json
import struct

import grpc
import pytest
import tensorflow as tf

from conformance.rig.fleet import Fleet, Process

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server keeps nobody apart")

MASTER, EAGER = "/tensorflow.MasterService", "/tensorflow.eager.EagerService"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    """Alice and bob have containers of their own; carol and dave have none."""
    fleet = Fleet(
        tmp_path_factory.mktemp("fleet"),
        "--containers=alice=vision,bob=speech",
        "--allow-ops=WriteFile",
        people=("alice", "bob", "carol", "dave"),
    )
    yield fleet
    fleet.kill()


@pytest.fixture(scope="module")
def targets(fleet):
    return {name: fleet.proxy(token=name).target for name in ("alice", "bob", "carol", "dave", "admin")}


def config():
    return v1.ConfigProto(operation_timeout_in_ms=60_000)


def call(fleet, who, path, message):
    """The code of a call that somebody makes on the worker, and the answer."""
    token = (fleet.directory / f"{who}.token").read_text()
    method = fleet.channel("worker").unary_unary(path)
    try:
        return "OK", method(message, timeout=60, metadata=[("authorization", f"Bearer {token}")])
    except grpc.RpcError as error:
        return error.code().name, error.details()


def sessions(fleet):
    """The handles of the worker's sessions by their owners; anybody who may look can see them."""
    _, answer = call(fleet, "reader", "/tensorfleet.Admin/Status", b"")
    status = json.loads(answer[answer.index(b"{") :])
    return {session["owner"]: session["handle"] for session in status["sessions"]}


def with_handle(handle):
    """Every request of a session begins with its handle."""
    return b"\x0a" + bytes([len(handle)]) + handle.encode()


SESSION_METHODS = "ExtendSession PartialRunSetup RunStep MakeCallable RunCallable ReleaseCallable CloseSession"


def test_a_stolen_session_handle_is_worth_nothing(fleet, targets):
    with tf.Graph().as_default():
        two = tf.constant(1) + 1
        with v1.Session(targets["carol"], config=config()) as session:
            assert session.run(two) == 2
            stolen = with_handle(sessions(fleet)["carol"])
            for method in SESSION_METHODS.split():
                for thief in ("dave", "bob"):
                    code, _ = call(fleet, thief, f"{MASTER}/{method}", stolen)
                    assert code == "NOT_FOUND", (method, thief, code)
            code, _ = call(fleet, "dave", f"{MASTER}/ListDevices", stolen)
            assert code == "INVALID_ARGUMENT"
            assert call(fleet, "admin", f"{MASTER}/ListDevices", stolen)[0] == "OK"
            assert session.run(two) == 2


def context_request(number):
    """A request of TensorFlow 2's service for a context, whose number is field 1."""
    return b"\x09" + struct.pack("<Q", number)


def test_a_stolen_context_is_worth_nothing(fleet):
    # `context_id` is field 7 of this one; 10 is `clear_existing_contexts`.
    create = b"\x39" + struct.pack("<Q", 4711)
    code, answer = call(fleet, "carol", f"{EAGER}/CreateContext", create)
    assert code == "OK", answer
    for method in ("Enqueue", "KeepAlive", "WaitQueueDone", "CloseContext", "UpdateContext"):
        # It is field 3 of an update.
        field = b"\x19" if method == "UpdateContext" else b"\x09"
        code, _ = call(fleet, "dave", f"{EAGER}/{method}", field + struct.pack("<Q", 4711))
        assert code == "NOT_FOUND", (method, code)
    # Its number is taken, and nobody else clears it away.
    assert call(fleet, "dave", f"{EAGER}/CreateContext", create)[0] == "INVALID_ARGUMENT"
    other = b"\x39" + struct.pack("<Q", 4712) + b"\x50\x01"
    assert call(fleet, "dave", f"{EAGER}/CreateContext", other)[0] == "OK"
    assert call(fleet, "carol", f"{EAGER}/KeepAlive", context_request(4711))[0] == "OK"
    # Nor does anybody wait for its tensors: `step_id` is field 1, and the context's is its number.
    code, _ = call(fleet, "dave", "/tensorflow.WorkerService/RecvTensor", b"\x08" + b"\xe7\x24")
    assert code == "NOT_FOUND"
    for who, number in (("carol", 4711), ("dave", 4712)):
        assert call(fleet, who, f"{EAGER}/CloseContext", context_request(number))[0] == "OK"


def shared_variable(container=""):
    with tf.device("/job:ps/task:0"):
        handle = tf.raw_ops.VarHandleOp(
            dtype=tf.float32, shape=[], container=container, shared_name="shared"
        )
        value = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        fed = v1.placeholder(tf.float32, [])
        return value, tf.raw_ops.AssignVariableOp(resource=handle, value=fed), fed


def read(target, container=""):
    with tf.Graph().as_default():
        value, _, _ = shared_variable(container)
        with v1.Session(target, config=config()) as session:
            return float(session.run(value))


def write(target, number, container=""):
    with tf.Graph().as_default():
        _, assign, fed = shared_variable(container)
        with v1.Session(target, config=config()) as session:
            session.run(assign, {fed: number})


def assert_nothing_there(target, container=""):
    with pytest.raises((tf.errors.FailedPreconditionError, tf.errors.NotFoundError)):
        read(target, container)


def test_teams_share_a_fleet_and_no_variables(targets):
    write(targets["alice"], 1.0)
    assert read(targets["alice"]) == 1.0
    for other in ("bob", "carol"):
        for container in ("", "ps", "vision", "worker"):
            assert_nothing_there(targets[other], container)
        write(targets[other], 2.0)
        assert read(targets[other]) == 2.0
    # Those without a container share one, as in TensorFlow.
    assert read(targets["dave"]) == 2.0
    assert read(targets["alice"]) == 1.0


def test_reset_reaches_what_is_ones_own(fleet, targets):
    write(targets["alice"], 1.0)
    write(targets["bob"], 2.0)
    write(targets["carol"], 3.0)
    with tf.Graph().as_default():
        value, _, _ = shared_variable()
        with v1.Session(targets["alice"], config=config()) as session:
            assert session.run(value) == 1.0
            v1.Session.reset(targets["bob"], config=config())
            v1.Session.reset(targets["bob"], ["ps", "vision"], config=config())
            # Without a container of one's own it would reach others.
            with pytest.raises(tf.errors.PermissionDeniedError, match="--containers"):
                v1.Session.reset(targets["carol"], config=config())
            assert session.run(value) == 1.0
    assert_nothing_there(targets["bob"])
    assert read(targets["carol"]) == 3.0
    v1.Session.reset(targets["admin"], config=config())
    assert_nothing_there(targets["carol"])
    assert read(targets["alice"]) == 1.0


def test_isolation_can_be_forced(tmp_path):
    server = Process(tmp_path, "serve", "--ps=localhost:0", "--job_name=ps", "--isolate-sessions")
    try:
        write(server.target, 1.0)
        assert_nothing_there(server.target)
    finally:
        server.kill()


def file_ops(path):
    """Ways to the files of a server, each by one op."""
    dataset = lambda made: tf.data.experimental.get_single_element(made.take(1))
    cached = lambda name: dataset(tf.data.Dataset.range(1).cache(name))
    ones = tf.ones([1])
    yield "ReadFile", lambda: tf.io.read_file(path)
    yield "MatchingFiles", lambda: tf.io.matching_files(path + "*")
    yield "SaveV2", lambda: tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["t"], shape_and_slices=[""], tensors=[ones]
    )
    yield "RestoreV2", lambda: tf.raw_ops.RestoreV2(
        prefix=path, tensor_names=["t"], shape_and_slices=[""], dtypes=[tf.float32]
    )
    yield "TextLineDataset", lambda: dataset(tf.data.TextLineDataset(path))
    yield "TFRecordDataset", lambda: dataset(tf.data.TFRecordDataset(path))
    yield "CacheDatasetV2", lambda: cached(path)
    yield "PrintV2", lambda: tf.raw_ops.PrintV2(input="forged", output_stream=f"file://{path}")
    yield "WholeFileReaderV2", lambda: v1.WholeFileReader().reader_ref
    yield "CreateSummaryFileWriter", lambda: tf.raw_ops.CreateSummaryFileWriter(
        writer=tf.raw_ops.SummaryWriter(), logdir=path, max_queue=1, flush_millis=1, filename_suffix=""
    )


def test_files_are_out_of_reach_unless_allowed(targets, tmp_path):
    path = str(tmp_path / "reached")
    names = [name for name, _ in file_ops(path)]
    for number, name in enumerate(names):
        with tf.Graph().as_default():
            made = list(file_ops(path))[number][1]()
            # Inside of a function it is the same.
            with v1.Session(targets["carol"], config=config()) as session:
                with pytest.raises(tf.errors.PermissionDeniedError, match=f"--allow-ops={name}"):
                    session.run(made)
        assert not list(tmp_path.iterdir()), name
    with tf.Graph().as_default():
        function = tf.function(lambda: tf.io.read_file("/etc/hostname"))
        inside = function()
        in_memory = tf.data.experimental.get_single_element(tf.data.Dataset.range(1).cache())
        allowed = tf.io.write_file(path, "hello")
        with v1.Session(targets["carol"], config=config()) as session:
            with pytest.raises(tf.errors.PermissionDeniedError):
                session.run(inside)
            assert session.run(in_memory) == 0
            session.run(allowed)
    assert (tmp_path / "reached").read_text() == "hello"


def test_a_debugger_writes_no_files(targets, tmp_path):
    options = v1.RunOptions()
    options.debug_options.debug_tensor_watch_opts.add(
        node_name="two", output_slot=0, debug_ops=["DebugIdentity"], debug_urls=[f"file://{tmp_path}/dump"]
    )
    with tf.Graph().as_default():
        two = tf.add(v1.placeholder_with_default(1, []), 1, name="two")
        with v1.Session(targets["carol"], config=config()) as session:
            with pytest.raises(tf.errors.PermissionDeniedError):
                session.run(two, options=options)
            assert session.run(two) == 2
    assert not list(tmp_path.iterdir())


def test_a_plaintext_server_may_refuse_ops_too(tmp_path):
    server = Process(tmp_path, "serve", "--ps=localhost:0", "--job_name=ps", "--deny-ops=files,Neg")
    try:
        with tf.Graph().as_default():
            one = v1.placeholder_with_default(1, [])
            with v1.Session(server.target, config=config()) as session:
                for refused in (-one, tf.io.read_file("/etc/hostname")):
                    with pytest.raises(tf.errors.PermissionDeniedError, match="--deny-ops"):
                        session.run(refused)
                assert session.run(one + 1) == 2
    finally:
        server.kill()
