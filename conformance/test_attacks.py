"""Networks and clients that mean harm, or stand still: a server keeps its memory, and notices.

TensorFlow's server has none of these bounds, so the tests are ours alone.
"""

import signal
import socket
import struct
import subprocess

import grpc
import pytest
import tensorflow as tf

from conformance.rig import servers

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server has other limits")

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_HEADERS = 4
MEGABYTE = 1 << 20


def frame(kind, flags=0, stream=0, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(value):
    length = len(value)
    if length < 127:
        return bytes([length]) + value
    encoded, length = bytearray([127]), length - 127
    while length >= 128:
        encoded.append(length % 128 + 128)
        length //= 128
    return bytes(encoded + bytes([length])) + value


def block(path):
    """The headers of a call."""
    headers = {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": path,
        b"te": b"trailers",
        b"content-type": b"application/grpc",
    }
    return b"".join(b"\0" + text(name) + text(value) for name, value in headers.items())


RUN_STEP = block(b"/tensorflow.MasterService/RunStep")


class Task:
    """A server of its own, whose memory can be looked at."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [servers.tensorfleet_binary(), "serve", "--worker=127.0.0.1:0", "--job_name=worker", *flags],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.target = self.process.stdout.readline().strip()
        self.address = self.target.removeprefix("grpc://")

    def peak(self):
        """The most memory that it has had, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            line = next(line for line in status if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10

    def connect(self):
        host, port = self.address.rsplit(":", 1)
        connection = socket.create_connection((host, int(port)), 20)
        connection.sendall(PREFACE + frame(SETTINGS))
        return connection

    def check(self):
        """Another client is well."""
        with grpc.insecure_channel(self.address) as channel:
            health = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert health(b"", timeout=20) == b"\x08\x01"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(20)


@pytest.fixture
def task():
    task = Task()
    yield task
    task.process.kill()
    task.process.wait(20)


def settle(connection):
    """Waits until the server has looked at everything, or has hung up."""
    try:
        connection.sendall(frame(PING, payload=b"settled?"))
        heard = b""
        while b"settled?" not in heard:
            piece = connection.recv(1 << 16)
            if not piece:
                return
            heard = heard[-8:] + piece
    except OSError:
        pass  # It has hung up.


def test_messages_that_are_only_announced(task):
    task.check()
    before = task.peak()
    connections = [task.connect() for _ in range(4)]
    for connection in connections:
        streams = (2 * at + 1 for at in range(2000))
        announced = b"\0\x7f\xff\xff\xff" + b"x" * 10
        attack = (
            frame(HEADERS, END_HEADERS, stream, RUN_STEP) + frame(DATA, 0, stream, announced)
            for stream in streams
        )
        connection.sendall(b"".join(attack))
        settle(connection)
    task.check()
    assert task.peak() - before < 300 * MEGABYTE


def test_headers_that_are_small_on_the_wire(task):
    task.check()
    before = task.peak()
    connection = task.connect()
    # An entry of the table, named three times by each of many calls that never end.
    entry = b"\x40" + text(b"name") + text(b"v" * 4000)
    connection.sendall(frame(HEADERS, END_HEADERS, 1, RUN_STEP + entry))
    calls = (frame(HEADERS, END_HEADERS, 2 * at + 1, RUN_STEP + b"\xbe" * 3) for at in range(1, 12_000))
    try:
        connection.sendall(b"".join(calls))
    except OSError:
        pass  # It has hung up.
    settle(connection)
    task.check()
    assert task.peak() - before < 300 * MEGABYTE


def test_settings_over_many_streams(task):
    connection = task.connect()
    calls = (frame(HEADERS, END_HEADERS, 2 * at + 1, RUN_STEP) for at in range(10_000))
    connection.sendall(b"".join(calls))
    window = lambda size: frame(SETTINGS, payload=struct.pack(">HI", 4, size))
    try:
        connection.sendall(b"".join(window(at % 2) for at in range(10_000)))
    except OSError:
        pass  # It has hung up.
    task.check()
    settle(connection)
    task.check()


def test_silent_clients_do_not_keep_a_server_that_stops(task):
    host, port = task.address.rsplit(":", 1)
    silent = socket.create_connection((host, int(port)), 20)
    greeted, half = task.connect(), socket.create_connection((host, int(port)), 20)
    half.sendall(PREFACE[:10])
    calling = task.connect()
    calling.sendall(frame(HEADERS, END_HEADERS, 1, RUN_STEP))
    task.check()
    assert task.stop() == 0
    for connection in (silent, greeted, half, calling):
        connection.close()


def test_unknown_methods_are_named(task):
    with grpc.insecure_channel(task.address) as channel:
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary("/tensorflow.WorkerService/NoSuchMethod")(b"", timeout=20)
    assert raised.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert raised.value.details() == "this server has no method /tensorflow.WorkerService/NoSuchMethod"


def test_compressed_messages(task):
    with grpc.insecure_channel(task.address) as channel:
        devices = channel.unary_unary("/tensorflow.WorkerService/GetStatus")
        plain = devices(b"", timeout=20)
        assert devices(b"", timeout=20, compression=grpc.Compression.Gzip) == plain


@pytest.mark.parametrize("env", [{}, {"TENSORFLEET_GRPC_ONLY": "1"}], ids=["links", "grpc"])
@pytest.mark.parametrize("ps", ["tensorfleet", "tensorflow"])
def test_a_frozen_task_is_noticed(cluster, ps, env):
    frozen = cluster(engines={"ps": ps, "worker": "tensorfleet"}, env=env)
    with tf.device("/job:ps/task:0"):
        variable = v1.get_variable("v", initializer=1.0, use_resource=True)
    with tf.device("/job:worker/task:0"):
        result = variable.read_value() + 1.0
    with v1.Session(frozen.target()) as session:
        session.run(variable.initializer)
        for _ in range(20):
            assert session.run(result) == 2.0
        frozen.task("ps").signal(signal.SIGSTOP)
        try:
            with pytest.raises(tf.errors.UnavailableError, match="/job:ps/replica:0/task:0"):
                # The signal takes a moment to arrive.
                while True:
                    session.run(result, options=v1.RunOptions(timeout_in_ms=60_000))
        finally:
            frozen.task("ps").signal(signal.SIGCONT)
        assert session.run(result) == 2.0
