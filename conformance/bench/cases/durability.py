"""What it costs to keep variables: the side that stands for TensorFlow is our own server that keeps nothing."""

import concurrent.futures
import json
import shutil
import socket
import subprocess
import tempfile

import numpy as np
import tensorflow as tf

from conformance.bench import process
from conformance.bench.case import Program, noise, on, program_case, v1, variable
from conformance.rig import servers


class Durable(Program):
    """A worker and a parameter server of ours; on one side the latter keeps its variables."""

    # Sessions that run steps at the same time.
    clients = 1
    durability = "sync"

    def __init__(self, side):
        super().__init__(None)
        self.directory = tempfile.mkdtemp(prefix="durability-")
        addresses = {job: [f"127.0.0.1:{_free_port()}"] for job in ("ps", "worker")}
        keeps = side == "tensorfleet"
        data = [f"--data-dir={self.directory}", f"--durability={self.durability}"]
        self.processes = [
            _serve(addresses, "ps", data if keeps else []),
            _serve(addresses, "worker", []),
        ]
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.run, self.feeds, self.seen = self.build()
            initial = v1.global_variables_initializer()
        target = f"grpc://{addresses['worker'][0]}"
        self.sessions = [v1.Session(target, graph=self.graph) for _ in range(self.clients)]
        self.sessions[0].run(initial)
        self.threads = concurrent.futures.ThreadPoolExecutor(self.clients)

    def build(self):
        """The step, its feeds, and what is looked at."""
        raise NotImplementedError

    def step(self):
        if self.clients == 1:
            self.sessions[0].run(self.run, self.feeds)
            return
        each = lambda session: session.run(self.run, self.feeds)
        list(self.threads.map(each, self.sessions))

    def values(self):
        return self.sessions[0].run(self.seen, self.feeds)

    def tolerance(self, final):
        return 1e-3 if not final else None

    def server_pids(self):
        return [server.pid for server in self.processes]

    def cpu_seconds(self):
        return process.cpu_seconds(self.server_pids())

    def close(self):
        self.threads.shutdown()
        for session in self.sessions:
            session.close()
        for server in self.processes:
            server.kill()
            server.wait()
        shutil.rmtree(self.directory, ignore_errors=True)


class Network(Durable):
    """A network of 784, 256 and 10 units, and Adam."""

    durability = "interval:100ms"

    def build(self):
        with on("ps"):
            first = variable("first", [784, 256], scale=0.05)
            second = variable("second", [256, 10], scale=0.05, seed=2)
        images, labels = noise(64, 784), np.arange(64) % 10
        with on("worker"):
            logits = tf.matmul(tf.nn.relu(tf.matmul(tf.constant(images), first)), second)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
                labels=tf.constant(labels), logits=logits
            )
            loss = tf.reduce_mean(losses)
        return v1.train.AdamOptimizer(1e-4).minimize(loss), {}, loss


class Rows(Durable):
    """2,048 rows of a table of 100,000, and Adagrad."""

    durability = "interval:100ms"

    def build(self):
        with on("ps"):
            table = variable("table", [100_000, 64], scale=0.1)
        rows = np.random.RandomState(5).randint(0, 100_000, 2048)
        with on("worker"):
            loss = tf.reduce_sum(tf.nn.embedding_lookup(table, tf.constant(rows)) ** 2)
        return v1.train.AdagradOptimizer(0.01).minimize(loss), {}, loss


class Counter(Durable):
    """A step that adds to a variable of 4 KB, of several sessions at once."""

    def build(self):
        with on("ps"):
            total = variable("total", np.zeros(1024, np.float32))
        return total.assign_add(tf.ones([1024])), {}, total


def _serve(addresses, job, extra):
    arguments = [
        "serve",
        "--cluster=" + json.dumps(addresses),
        f"--job_name={job}",
        "--task_index=0",
        "--exit_with_parent",
        *extra,
    ]
    binary = servers.tensorfleet_binary()
    server = subprocess.Popen(
        [binary, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    answer = server.stdout.readline()
    if not answer.startswith("grpc://"):
        raise servers.ServerDied(f"{job} did not start: {answer}")
    return server


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


program_case(
    "durability/network",
    jobs={},
    about="A training step whose variables are kept within 100 ms, against ours that keep nothing",
    program=Network,
    target=1.035,
)
program_case(
    "durability/rows",
    jobs={},
    about="2,048 rows with Adagrad, kept within 100 ms, against ours that keep nothing",
    program=Rows,
    target=1.05,
)
for _clients in (1, 4, 16):
    program_case(
        f"durability/sync of {_clients}",
        jobs={},
        about=f"{_clients} steps at once, each answered when it is on the disk, against no keeping",
        program=type("Counters", (Counter,), {"clients": _clients}),
        slow=_clients > 4,
    )
