"""What one more task costs: clusters that grow, and many servers in one process."""

import json
import os
import select
import subprocess
import sys
import time

import tensorflow as tf

from conformance.bench.case import Curve, SessionProgram, Step, case, on, v1, variable
from conformance.rig import cluster as clusters
from conformance.rig import ports, servers

_START_SECONDS = 120


def add_cases(sizes):
    for count in sizes.workers:
        case(
            f"tasks/{count} ps",
            jobs={"worker": 1, "ps": count},
            curve=Curve("one worker, more ps", count, "ps"),
            slow=count > 2,
        )(_read_all(count))
        case(
            f"tasks/{count} workers",
            jobs={"worker": count, "ps": 1},
            curve=Curve("one ps, more workers", count, "workers"),
            slow=count > 2,
        )(_read_one(count))


def _read_all(count):
    def read_all():
        """One worker reads a small variable of every parameter server"""
        shared = []
        for task in range(count):
            with on("ps", task):
                shared.append(variable(f"v{task}", [16], seed=task + 1))
        with on("worker"):
            return Step(tf.add_n([each.read_value() for each in shared]))

    return read_all


def _read_one(count):
    def read_one():
        """Every worker computes with a small variable of one parameter server"""
        with on("ps"):
            shared = variable("v", [16])
        x = v1.placeholder(tf.float32, [])
        results = []
        for task in range(count):
            with on("worker", task):
                results.append(tf.tanh(shared * (x + task)))
        with on("ps"):
            return Step(tf.add_n(results), {x: 0.25})

    return read_one


_MANY = 60

_TENSORFLOW = """
import json, sys
import tensorflow as tf
addresses = json.loads(sys.argv[1])
config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
servers = [
    tf.distribute.Server({"worker": addresses}, job_name="worker", task_index=task, config=config)
    for task in range(len(addresses))
]
print(servers[0].target, flush=True)
servers[0].join()
"""


class OneProcess:
    """A cluster whose tasks all live in one process."""

    def __init__(self, side, count):
        if side == "tensorflow":
            addresses = [f"{clusters.HOST}:{ports.reserve()}" for _ in range(count)]
            command = [sys.executable, "-c", _TENSORFLOW, json.dumps(addresses)]
        else:
            command = [servers.tensorfleet_binary(), "local", f"--workers={count}", "--ps=0"]
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TENSORFLEET_LOG": "error"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        self.pid = self._process.pid
        self._target = None

    def target(self):
        deadline = time.monotonic() + _START_SECONDS
        while self._target is None:
            left = max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._process.stdout], [], [], left)
            line = self._process.stdout.readline() if ready else ""
            if not line:
                raise RuntimeError("the servers in one process did not start")
            if "grpc://" in line:
                self._target = line.split()[-1]
        return self._target

    def tasks(self):
        return [self]

    def close(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class ManyServers(SessionProgram):
    def __init__(self, side, graph, step):
        cluster = OneProcess(side, _MANY)
        try:
            super().__init__(cluster, graph, step)
        except BaseException:
            cluster.close()
            raise

    def close(self):
        # In this order: a session that is closed later waits for servers that are gone.
        super().close()
        self.cluster.close()


@case("tasks/60 in one process", jobs={}, program=ManyServers)
def many_servers():
    """Sixty servers in one process: every one computes and one sums up, five times in a step"""
    x = v1.placeholder(tf.float32, [2])
    total = x
    for stage in range(5):
        with on("worker", stage):
            total = tf.identity(total)
        parts = []
        for task in range(_MANY):
            with on("worker", task):
                parts.append(tf.tanh(total * ((task + 1.0) / _MANY)) / _MANY)
        with on("worker", stage):
            total = tf.add_n(parts)
    return Step(total, {x: [0.5, 0.25]})
