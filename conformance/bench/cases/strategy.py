"""TensorFlow 2: eager ops, and closures of a ParameterServerStrategy.

A TensorFlow 2 client connects to one cluster in its life, so each side has a client process of its
own, which does as many steps as it is told to and says when they are done.
"""

import json
import os
import subprocess
import sys

import numpy as np
import tensorflow as tf

from conformance.bench.case import Curve, Program, program_case
from conformance.rig import tf2


class Client(Program):
    """One side's client process; `name` is a function of this module that makes a job."""

    def __init__(self, cluster, name):
        super().__init__(cluster)
        jobs = {job: cluster.spec.job_tasks(job) for job in cluster.spec.jobs}
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, name, json.dumps(jobs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            text=True,
        )

    def _ask(self, request):
        self._process.stdin.write(f"{request}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the client ended with {self._process.wait()}")
        return json.loads(answer)

    def step(self):
        self.steps(1)

    def steps(self, count):
        self._ask(count)

    def values(self):
        return [np.float64(value) for value in self._ask("values")]

    def close(self):
        self._process.kill()
        self._process.wait()


def eager_op(jobs):
    tf2.connect(jobs)
    device = tf.device("/job:worker/task:0")
    with device:
        one, total = tf.constant(1.0), tf.constant(0.0)

    def steps(count):
        nonlocal total
        with device:
            for _ in range(count):
                total = total + one
        total.numpy()

    return steps, lambda: [total.numpy()]


def remote_read(jobs):
    tf2.connect(jobs)
    with tf.device("/job:ps/task:0"):
        variable = tf.Variable(tf.ones([64]))

    def steps(count):
        for _ in range(count):
            variable.numpy()

    return steps, lambda: [variable.numpy().sum()]


def _coordinated(jobs, make, **options):
    """Steps that are closures of a function, which `make` builds under a strategy."""
    strategy = tf2.strategy(jobs, **options)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        function, values = make()

    def steps(count):
        for _ in range(count):
            coordinator.schedule(function)
        coordinator.join()

    return steps, values


def empty_closure(jobs):
    return _coordinated(jobs, lambda: (tf.function(lambda: None), lambda: []))


def updating_closure(jobs):
    def make():
        variable = tf.Variable(0.0)

        def step():
            variable.assign(variable.read_value() + 1.0)

        # Workers that read at the same time lose each other's additions.
        return tf.function(step), lambda: [variable.numpy() > 0]

    return _coordinated(jobs, make)


def embedding(jobs):
    """Rows of a table in shards are looked up, and moved a little."""

    def make():
        table = tf.Variable(tf.ones([10_000, 32]))

        def step():
            ids = tf.constant(np.arange(256) * 37 % 10_000)
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2)
            for gradient, shard in zip(tape.gradient(loss, table.variables), table.variables):
                shard.scatter_sub(tf.IndexedSlices(1e-6 * gradient.values, gradient.indices))

        return tf.function(step), lambda: [tf.nn.embedding_lookup(table, [1]).numpy().mean()]

    shards = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    return _coordinated(jobs, make, variable_partitioner=shards)


def _add(name, job, workers, ps, about, target=None, curve=None):
    jobs = {"worker": workers, "ps": ps}
    program = lambda cluster: Client(cluster, job.__name__)
    program_case(name, jobs=jobs, about=about, program=program, target=target, curve=curve)


def add_cases(sizes):
    _add("eager/op", eager_op, 1, 1, "An eager op on a worker", target=0.6)
    _add("eager/read", remote_read, 1, 1, "A variable of a parameter server is read", target=0.6)
    _add("closures/empty", empty_closure, 1, 1, "A closure that does nothing", target=0.5)
    _add("closures/update", updating_closure, 1, 1, "A closure that changes a variable", target=0.5)
    _add("closures/embedding", embedding, 1, 2, "Rows of a table in two shards change", target=0.5)
    _add("closures/4 x 2", updating_closure, 4, 2, "Four workers, two parameter servers", target=0.5)
    for workers in (1, 2, 4, 8, 16):
        if workers <= max(sizes.workers):
            curve = Curve("closures", workers, "workers")
            name, about = f"closures/{workers} workers", "Closures of several workers change a variable"
            _add(name, updating_closure, workers, 1, about, curve=curve)


def _serve(name, jobs):
    steps, values = globals()[name](json.loads(jobs))
    for line in sys.stdin:
        if line.strip() == "values":
            answer = [float(value) for value in values()]
        else:
            answer = steps(int(line))
        print(json.dumps(answer), flush=True)
    os._exit(0)


if __name__ == "__main__":
    _serve(*sys.argv[1:])
