"""Parameter servers that are killed and come back while sessions on other tasks go on.

Clients see a pause and no error, and each step counts exactly once. `TENSORFLEET_KILLS=200` kills two
hundred times instead of a few.
"""

import json
import os
import random
import subprocess
import threading
import time

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops
from tensorflow.python.ops import gen_resource_variable_ops as resource_ops

from conformance.rig import ports, servers

v1 = tf.compat.v1
KILLS = int(os.environ.get("TENSORFLEET_KILLS", 12))
pytestmark = pytest.mark.ours("TensorFlow's servers keep nothing")


class Fleet:
    """A cluster whose parameter servers keep what they have, one process a task."""

    def __init__(self, directory, workers=1, ps=2, options=()):
        self.directory, self.options = directory, options
        address = lambda: f"127.0.0.1:{ports.reserve()}"
        self.spec = {
            "worker": [address() for _ in range(workers)],
            "ps": [address() for _ in range(ps)],
        }
        self.processes = {}
        for job, tasks in self.spec.items():
            for index in range(len(tasks)):
                self.start(job, index)
        for process in self.processes.values():
            self.wait(process)

    def start(self, job, index):
        arguments = [
            "serve",
            "--cluster=" + json.dumps(self.spec),
            f"--job_name={job}",
            f"--task_index={index}",
            "--exit_with_parent",
            *self.options,
        ]
        if job == "ps":
            arguments.append(f"--data-dir={self.directory}")
        log = open(self.directory / f"{job}-{index}.log", "ab")
        command = [servers.tensorfleet_binary(), *arguments]
        with log:
            process = subprocess.Popen(
                command,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                env={**os.environ, "TENSORFLEET_LOG": "info"},
            )
        self.processes[job, index] = process
        return process

    def wait(self, process):
        answer = process.stdout.readline().strip()
        assert answer.startswith("grpc://"), self.logs()

    def logs(self):
        return "\n".join(
            f"--- {path.name}\n{path.read_text()}" for path in self.directory.glob("*.log")
        )

    def kill(self, job, index):
        process = self.processes[job, index]
        process.kill()
        process.wait()

    def restart(self, job, index):
        self.kill(job, index)
        self.wait(self.start(job, index))

    def target(self, index=0):
        return "grpc://" + self.spec["worker"][index]

    def close(self):
        for process in self.processes.values():
            process.kill()
            process.wait()


@pytest.fixture
def fleet(tmp_path):
    fleets = []

    def start(**options):
        fleets.append(Fleet(tmp_path, **options))
        return fleets[-1]

    yield start
    for started in fleets:
        started.close()


class Killer(threading.Thread):
    """Kills one parameter server after the other, at random moments, sometimes all of them."""

    def __init__(self, fleet, seed, kills=KILLS):
        super().__init__()
        self.fleet, self.kills, self.random = fleet, kills, random.Random(seed)
        self.killed = 0

    def run(self):
        count = len(self.fleet.spec["ps"])
        while self.killed < self.kills:
            time.sleep(self.random.random() * 0.4)
            victims = [self.random.randrange(count)]
            if self.random.random() < 0.2:
                victims = list(range(count))
            for victim in victims:
                self.fleet.kill("ps", victim)
            for victim in victims:
                self.fleet.wait(self.fleet.start("ps", victim))
            self.killed += len(victims)


def counter(index, name, use_resource=True):
    with v1.device(f"/job:ps/task:{index}"):
        return v1.get_variable(name, initializer=np.int64(0), use_resource=use_resource)


def test_a_client_sees_a_pause_and_every_step_once(fleet):
    """Both tasks count every step and say so in its answer; what is trained is what it would be."""
    features = np.random.RandomState(1).rand(16, 5).astype("f")
    labels = features @ np.arange(5, dtype="f")[:, None]
    tasks = fleet()
    with tf.Graph().as_default():
        counters = [counter(0, "first"), counter(1, "second", use_resource=False)]
        counted = [v1.assign_add(count, 1) for count in counters]
        rows = v1.placeholder(tf.int64, [])
        with v1.device(v1.train.replica_device_setter(ps_tasks=2)):
            weights = v1.get_variable("w", initializer=np.zeros((5, 1), "f"), use_resource=True)
            bias = v1.get_variable("b", initializer=np.zeros((1,), "f"), use_resource=True)
            loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) + bias - labels))
            step = v1.train.get_or_create_global_step()
            train = v1.train.MomentumOptimizer(0.01, 0.9).minimize(loss, global_step=step)
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)
            killer = Killer(tasks, seed=1)
            killer.start()
            answered, losses = 0, []
            while killer.is_alive() or answered < 50:
                first, second, value, _ = session.run([*counted, loss, train], {rows: answered})
                answered += 1
                assert (first, second) == (answered, answered)
                losses.append(value)
            killer.join()
            found = session.run([*counters, step, weights, bias])
        assert found[:3] == [answered] * 3
        assert killer.killed >= KILLS
    # The same without any accident.
    w, b = np.zeros((5, 1), "f"), np.zeros(1, "f")
    mw, mb = np.zeros_like(w), np.zeros_like(b)
    for _ in range(answered):
        error = (features @ w + b - labels) * 2 / len(features)
        mw, mb = 0.9 * mw + features.T @ error, 0.9 * mb + error.sum(0)
        w, b = w - 0.01 * mw, b - 0.01 * mb
    np.testing.assert_allclose(found[3], w, rtol=2e-2, atol=1e-3)
    np.testing.assert_allclose(found[4], b, rtol=2e-2, atol=1e-3)


def test_the_sum_of_all_clients_is_what_was_acknowledged(fleet):
    """Several clients over two masters, by feeds and by a worker's own dataset, which loses nothing."""
    tasks = fleet(workers=2)
    with tf.Graph().as_default() as graph:
        totals = [counter(index, f"total{index}") for index in range(2)]
        amount = v1.placeholder(tf.int64, [])
        add = tf.group(*[total.assign_add(amount) for total in totals])
        init = v1.global_variables_initializer()
    acknowledged, failures = [0] * 4, []

    def work(client, session, killer):
        try:
            chance = random.Random(client)
            while killer.is_alive():
                value = chance.randrange(1, 1000)
                session.run(add, {amount: value})
                acknowledged[client] += value
        except Exception as error:
            failures.append(error)

    sessions = [v1.Session(tasks.target(client % 2), graph=graph) for client in range(4)]
    sessions[0].run(init)
    killer = Killer(tasks, seed=2)
    killer.start()
    threads = [
        threading.Thread(target=work, args=(client, session, killer))
        for client, session in enumerate(sessions)
    ]
    for thread in threads:
        thread.start()
    for thread in [*threads, killer]:
        thread.join()
    assert not failures, f"{failures}\n{tasks.logs()}"
    assert sessions[0].run(totals) == [sum(acknowledged)] * 2
    for session in sessions:
        session.close()


def test_a_workers_effects_are_not_repeated(fleet):
    """The worker takes an element of its dataset in each step; none is lost, none is taken twice."""
    tasks = fleet(ps=1)
    with tf.Graph().as_default():
        with v1.device("/job:worker/task:0"):
            elements = v1.data.make_one_shot_iterator(v1.data.Dataset.range(1_000_000)).get_next()
        seen = counter(0, "seen")
        total = counter(0, "total")
        see = [v1.assign_add(seen, 1), v1.assign_add(total, elements), elements]
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)
            killer = Killer(tasks, seed=3)
            killer.start()
            steps = 0
            while killer.is_alive():
                count, sum, element = session.run(see)
                assert element == steps
                steps += 1
                assert (count, sum) == (steps, steps * (steps - 1) // 2)
            killer.join()


def test_a_task_that_stays_away_is_an_error_in_time(fleet):
    tasks = fleet(options=["--task-timeout=3"])
    with tf.Graph().as_default():
        there, away = counter(0, "there"), counter(1, "away")
        add = [v1.assign_add(there, 1), v1.assign_add(away, 1)]
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)
            session.run(add)
            tasks.kill("ps", 1)
            # Others do not mind, and a client's own limit counts.
            assert session.run(there) == 1
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(add[1], options=v1.RunOptions(timeout_in_ms=500))
            with pytest.raises(tf.errors.UnavailableError, match="did not come back within 3s"):
                session.run(add[1])
            assert "holds what needs /job:ps/replica:0/task:1" in tasks.logs()
            tasks.wait(tasks.start("ps", 1))
            assert session.run(add[1]) == 2


def test_a_task_without_its_directory_is_another_one(fleet, tmp_path):
    tasks = fleet(ps=1)
    with tf.Graph().as_default():
        count = counter(0, "count")
        add = v1.assign_add(count, 1)
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)
            assert session.run(add) == 1
            tasks.restart("ps", 0)
            assert session.run(add) == 2
            tasks.kill("ps", 0)
            (tmp_path / "ps-0").rename(tmp_path / "elsewhere")
            tasks.wait(tasks.start("ps", 0))
            with pytest.raises(tf.errors.AbortedError):
                session.run(add)


def test_functions_on_a_task_that_comes_back(fleet):
    """A function that a worker calls on the parameter server changes it once for each call."""
    tasks = fleet(ps=1)

    @function.Defun(tf.resource, tf.int64)
    def add(count, amount):
        with tf.control_dependencies([resource_ops.assign_add_variable_op(count, amount)]):
            return resource_ops.read_variable_op(count, tf.int64)

    with tf.Graph().as_default():
        count = counter(0, "count")
        with v1.device("/job:worker/replica:0/task:0/device:CPU:0"):
            called = functional_ops.remote_call(
                args=[count.handle, tf.constant(3, tf.int64)],
                Tout=[tf.int64],
                f=add,
                target="/job:ps/replica:0/task:0/device:CPU:0",
            )
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)
            killer = Killer(tasks, seed=4, kills=min(KILLS, 20))
            killer.start()
            calls = 0
            while killer.is_alive():
                calls += 1
                assert session.run(called) == [3 * calls]
            killer.join()


def test_a_task_that_is_restarted_in_order_disturbs_nobody(fleet):
    """SIGTERM lets it finish its steps; others wait for the next life without any step run again."""
    tasks = fleet()
    with tf.Graph().as_default():
        counted = [v1.assign_add(counter(index, f"count{index}"), 1) for index in range(2)]
        init = v1.global_variables_initializer()
        with v1.Session(tasks.target()) as session:
            session.run(init)

            def roll():
                for index in range(2):
                    process = tasks.processes["ps", index]
                    process.terminate()
                    assert process.wait(60) == 0
                    tasks.wait(tasks.start("ps", index))

            rolling = threading.Thread(target=roll)
            rolling.start()
            steps = 0
            while rolling.is_alive() or steps < 20:
                steps += 1
                assert session.run(counted) == [steps, steps]
            rolling.join()
