"""Addresses of every kind, environments with proxies, and probes of orchestrators."""

import contextlib
import signal
import socket
import subprocess

import grpc
import pytest
import tensorflow as tf

from conformance.rig import cluster as clusters
from conformance.rig import ports, servers

v1 = tf.compat.v1


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def crosses_tasks():
    with tf.device("/job:ps/task:0"):
        on_ps = tf.random.uniform([3]) * 0.0 + 1.0
    with tf.device("/job:worker/task:0"):
        return on_ps + 1.0


def run_once(target):
    config = v1.ConfigProto(operation_timeout_in_ms=20_000)
    with tf.Graph().as_default():
        result = crosses_tasks()
        with v1.Session(target, config=config) as session:
            assert list(session.run(result)) == [2.0] * 3


def test_a_proxy_has_no_part_in_a_cluster(cluster):
    nowhere = "http://127.0.0.1:9"
    names = ["http_proxy", "https_proxy", "all_proxy", "grpc_proxy"]
    env = {spelled: nowhere for name in names for spelled in (name, name.upper())}
    env |= {"no_proxy": "", "NO_PROXY": ""}
    run_once(cluster(engines={"ps": "tensorfleet", "worker": "tensorfleet"}, env=env).target())


@pytest.mark.needs(has_ipv6(), "IPv6")
def test_addresses_of_ipv6(cluster, monkeypatch):
    monkeypatch.setattr(clusters, "HOST", "[::1]")
    run_once(cluster().target())


class Task:
    """A task that is started with flags, so that it may listen elsewhere than its name says."""

    def __init__(self, job, hosts, bind):
        flags = [f"--{name}={address}" for name, address in hosts.items()]
        self.process = subprocess.Popen(
            [servers.tensorfleet_binary(), "serve", *flags, f"--job_name={job}", f"--bind={bind}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.target = self.process.stdout.readline().strip()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)


def addresses_of(name):
    return {address[4][0] for address in socket.getaddrinfo(name, 1)}


@pytest.mark.needs({"127.0.0.1", "::1"} <= addresses_of("localhost"), "two addresses of localhost")
@pytest.mark.ours("starts our server with flags")
def test_a_name_is_looked_up_again():
    """`localhost` has two addresses; a task that comes back at the other one is found."""
    hosts = {"ps": f"localhost:{ports.reserve()}", "worker": f"localhost:{ports.reserve()}"}
    with contextlib.ExitStack() as started:

        def start(*arguments):
            task = Task(*arguments)
            started.callback(task.kill)
            return task

        worker, ps = start("worker", hosts, "127.0.0.1"), start("ps", hosts, "127.0.0.1")
        run_once(worker.target.replace("localhost", "127.0.0.1"))
        ps.kill()
        start("ps", hosts, "[::1]")
        run_once(worker.target.replace("localhost", "127.0.0.1"))


def health(target, service, method="Check"):
    """The answer of gRPC's health service, whose messages are one string and one number."""
    channel = grpc.insecure_channel(target.removeprefix("grpc://"))
    name = service.encode()
    request = b"\x0a" + bytes([len(name)]) + name if name else b""
    path = f"/grpc.health.v1.Health/{method}"
    try:
        if method == "Watch":
            return next(channel.unary_stream(path)(request, timeout=20))
        return channel.unary_unary(path)(request, timeout=20)
    finally:
        channel.close()


@pytest.mark.ours("TensorFlow's server has no health service")
def test_health(target):
    serving = b"\x08\x01"
    for service in ["", "tensorflow.MasterService", "tensorflow.WorkerService"]:
        assert health(target, service) == serving
        assert health(target, service, "Watch") == serving
    with pytest.raises(grpc.RpcError) as raised:
        health(target, "no.Service")
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND
    assert health(target, "no.Service", "Watch") == b"\x08\x03"
