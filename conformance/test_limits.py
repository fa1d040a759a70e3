"""Clients who take all that they can get, and others beside them who go on.

The limits are flags of our server, so are the tests.
"""

import json
import os

import grpc
import numpy as np
import pytest
import tensorflow as tf

from conformance.rig.fleet import Fleet, Process, run

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server has no limits")

MEGABYTE = 1 << 20


def config():
    return v1.ConfigProto(operation_timeout_in_ms=120_000)


@pytest.fixture
def serve(tmp_path):
    started = []

    def start(*flags):
        server = Process(tmp_path, "serve", "--worker=localhost:0", "--job_name=worker", *flags)
        started.append(server)
        return server

    yield start
    for server in started:
        server.kill()


def resident(server):
    with open(f"/proc/{server.process.pid}/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def hoard(kind):
    """A queue without bounds, and a step that puts more into it."""
    queue = v1.FIFOQueue(-1, [tf.string if kind == "strings" else tf.float32], shared_name="hoard")
    if kind == "computed":
        return queue, queue.enqueue(tf.random.uniform([MEGABYTE])), {}
    if kind == "fed":
        fed = v1.placeholder(tf.float32, [None])
        return queue, queue.enqueue(fed), {fed: np.ones(MEGABYTE, np.float32)}
    if kind == "strings":
        return queue, queue.enqueue(tf.strings.join(["x", v1.placeholder_with_default("y" * MEGABYTE, [])])), {}
    many = v1.placeholder(tf.float32, [None])
    return queue, queue.enqueue_many([many]), {many: np.ones(100_000, np.float32)}


def test_small_things_count_too(serve):
    server = serve(f"--memory-limit={256 * MEGABYTE}")
    with tf.Graph().as_default():
        _, enqueue, feeds = hoard("scalars")
        with v1.Session(server.target, config=config()) as session:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="may hold 256.0 MiB"):
                for _ in range(10_000):
                    session.run(enqueue, feeds)
    v1.Session.reset(server.target, config=config())
    assert server.process.poll() is None


@pytest.mark.parametrize("kind", ["computed", "fed", "strings"])
def test_a_queue_without_bounds_ends_with_an_error_and_others_go_on(serve, kind):
    # So much that what a debug build itself takes, and keeps for a while, is little beside it.
    limit = 1024 * MEGABYTE
    server = serve(f"--memory-limit={limit}")
    with tf.Graph().as_default():
        other_sum = tf.reduce_sum(tf.random.uniform([MEGABYTE // 4]) * 0.0 + 1.0)
        with v1.Session(server.target, config=config()) as other:
            assert other.run(other_sum) == MEGABYTE // 4
            with tf.Graph().as_default():
                _, enqueue, feeds = hoard(kind)
                with v1.Session(server.target, config=config()) as greedy:
                    with pytest.raises(tf.errors.ResourceExhaustedError) as refused:
                        for _ in range(10_000):
                            greedy.run(enqueue, feeds)
                    words = str(refused.value)
                    assert "may hold 1.00 GiB" in words and "of anybody" in words and "session" in words
                    assert resident(server) < 2 * limit
                    # Others have their share.
                    for _ in range(20):
                        assert other.run(other_sum) == MEGABYTE // 4
    # What is forgotten is free for others.
    v1.Session.reset(server.target, config=config())
    with tf.Graph().as_default():
        queue, enqueue, feeds = hoard(kind)
        with v1.Session(server.target, config=config()) as again:
            again.run(enqueue, feeds)
            assert again.run(queue.size()) > 0


def test_a_limit_of_a_session_is_not_one_of_others(serve):
    server = serve(f"--session-memory-limit={64 * MEGABYTE}")
    with tf.Graph().as_default():
        queue, enqueue, feeds = hoard("computed")
        with v1.Session(server.target, config=config()) as session:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="may hold 64.0 MiB"):
                for _ in range(100):
                    session.run(enqueue)
        with v1.Session(server.target, config=config()) as session:
            session.run(enqueue)


def test_one_tensor_may_be_too_large(serve):
    server = serve(f"--memory-limit={64 * MEGABYTE}")
    with tf.Graph().as_default():
        huge = tf.reduce_sum(tf.random.uniform([64 * MEGABYTE]))
        small = tf.reduce_sum(tf.random.uniform([4]) * 0.0)
        with v1.Session(server.target, config=config()) as session:
            with pytest.raises(tf.errors.ResourceExhaustedError, match=r"OOM when allocating tensor with shape"):
                session.run(huge)
            assert session.run(small) == 0.0


def test_sessions_partial_runs_and_nodes_are_counted(serve):
    server = serve("--max-sessions=3", "--max-partial-runs=2", "--max-graph-nodes=100", "--max-signatures=2")
    with tf.Graph().as_default():
        fed = v1.placeholder(tf.float32, [])
        doubled = fed * 2.0
        more = [doubled + float(number) for number in range(5)]
        sessions = [v1.Session(server.target, config=config()) for _ in range(3)]
        for session in sessions:
            assert session.run(doubled, {fed: 1.0}) == 2.0
        # Plans that are forgotten are made again.
        for _ in range(2):
            assert [sessions[0].run(one, {fed: 1.0}) for one in more] == [2.0, 3.0, 4.0, 5.0, 6.0]
        status = json.loads(run(".", "status", server.target, "-o", "json").stdout)
        assert max(session["plans"] for task in status for session in task["sessions"]) <= 2
        with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-sessions"):
            v1.Session(server.target, config=config()).run(doubled, {fed: 1.0})
        for _ in range(2):
            sessions[0].partial_run_setup([doubled], [fed])
        with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-partial-runs"):
            sessions[0].partial_run_setup([doubled], [fed])
        for session in sessions:
            session.close()
    with tf.Graph().as_default():
        value = tf.constant(0.0)
        for _ in range(100):
            value = tf.abs(value)
        with v1.Session(server.target, config=config()) as session:
            with pytest.raises(tf.errors.ResourceExhaustedError, match="--max-graph-nodes"):
                session.run(value)


def audit_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_audit_log_tells_who_did_what(tmp_path):
    fleet = Audited(tmp_path)
    try:
        log = tmp_path / "worker.audit"
        proxy = fleet.proxy(token="mallory")
        with tf.Graph().as_default():
            two = tf.constant(1) + 1
            with v1.Session(proxy.target, config=config()) as session:
                assert session.run(two) == 2
        with pytest.raises(tf.errors.PermissionDeniedError):
            v1.Session.reset(proxy.target, config=config())
        channel = fleet.channel("worker")
        with pytest.raises(grpc.RpcError):
            channel.unary_unary("/tensorflow.MasterService/ListDevices")(b"", timeout=60)
        lines = audit_lines(log)
        method = lambda line: (line["what"].rsplit("/", 1)[-1], line["event"])
        seen = [method(line) for line in lines if line.get("who") == "mallory"]
        for wanted in (("CreateSession", "call"), ("CloseSession", "call"), ("Reset", "refused")):
            assert wanted in seen, seen
        opened = next(line for line in lines if method(line) == ("CreateSession", "call"))
        assert opened["role"] == "trainer" and opened["from"].startswith("127.0.0.1:")
        assert opened["outcome"] == "OK" and opened["bytes_in"] > 0 and opened["took_us"] > 0
        nobody = [line for line in lines if method(line) == ("ListDevices", "refused")]
        assert nobody and "who" not in nobody[0]
        verified = run(tmp_path, "audit", "verify", log)
        assert verified.stdout.startswith(f"{len(audit_lines(log))} lines, whole")
        # Somebody who changes a line, and somebody who takes one out.
        text = log.read_text()
        forged = tmp_path / "forged"
        forged.write_text(text.replace("mallory", "alice", 1))
        assert "was changed" in run(tmp_path, "audit", "verify", forged, check=False).stderr
        forged.write_text("".join(text.splitlines(keepends=True)[1:]))
        assert run(tmp_path, "audit", "verify", forged, check=False).returncode != 0
    finally:
        fleet.kill()


class Audited(Fleet):
    """A fleet whose tasks write audit logs, each its own."""

    def start(self, *arguments):
        job = next((a.removeprefix("--job_name=") for a in arguments if str(a).startswith("--job_name=")), None)
        log = [f"--audit-log={job}.audit"] if job else []
        return super().start(*arguments, *log)
