"""Tasks that are killed and come back while training goes on from checkpoints.

`TENSORFLEET_KILLS=200` kills two hundred times instead of a few, in larger clusters too.
"""

import itertools
import json
import os
import random
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import servers

v1 = tf.compat.v1
KILLS = int(os.environ.get("TENSORFLEET_KILLS", 6))
STEPS_BETWEEN_KILLS = 8
RATE = 0.05

MIXES = {
    "alone": {},
    "tensorflow_ps": {"ps": "tensorflow"},
    "tensorflow_workers": {"worker": "tensorflow"},
}
FEATURES = np.random.RandomState(3).rand(8, 4).astype("f")
LABELS = FEATURES @ np.array([[1.0], [-2.0], [3.0], [0.5]], "f")


def expected(steps):
    """The weights after so many steps without any accident."""
    weights = np.zeros((4, 1), "f")
    for _ in range(steps):
        error = FEATURES @ weights - LABELS
        weights = weights - RATE * 2 / len(FEATURES) * FEATURES.T @ error
    return weights


def training():
    """A graph that trains on the second worker, with its weights and steps on parameter servers."""
    with v1.device(v1.train.replica_device_setter(ps_tasks=2, worker_device="/job:worker/task:1")):
        weights = v1.get_variable("weights", initializer=np.zeros((4, 1), "f"))
        loss = tf.reduce_mean(tf.square(tf.matmul(FEATURES, weights) - LABELS))
        step = v1.train.get_or_create_global_step()
        return weights, step, v1.train.GradientDescentOptimizer(RATE).minimize(loss, global_step=step)


def supervised(target, directory):
    """A chief's session, which saves every other step."""
    return v1.train.MonitoredTrainingSession(
        master=target,
        checkpoint_dir=str(directory),
        save_checkpoint_steps=2,
        save_checkpoint_secs=None,
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=None,
        config=v1.ConfigProto(operation_timeout_in_ms=30_000),
    )


def chief(target, directory, last):
    """The program of a chief that says how far it is; another one goes on where it was killed."""
    weights, step, train = training()
    with supervised(target, directory) as session:
        done = session.run(step)
        while done < last:
            session.run(train)
            done = session.run(step)
            print(done, flush=True)
        print(session.run(weights).ravel().tolist(), flush=True)


class Killer:
    """Kills a task at a random moment and starts it again."""

    def __init__(self, tasks, seed):
        self.tasks, self.random = tasks, random.Random(seed)
        self.thread = None

    def strike(self):
        self.join()
        job = self.random.choice(["ps", "worker"])
        index = self.random.randrange(self.tasks.spec.num_tasks(job))
        delay = self.random.random() * 0.03
        self.thread = threading.Thread(target=self._restart, args=(job, index, delay))
        self.thread.start()

    def join(self):
        if self.thread:
            self.thread.join(60)

    def _restart(self, job, index, delay):
        time.sleep(delay)
        self.tasks.restart(job, index)


@pytest.mark.parametrize("mix", MIXES)
def test_training_survives_random_kills(cluster, tmp_path, mix):
    tasks = cluster(num_workers=3, num_ps=2, engines=MIXES[mix])
    weights, step, train = training()
    killer = Killer(tasks, seed=mix)
    last = KILLS * STEPS_BETWEEN_KILLS
    strikes = 0
    with supervised(tasks.target(), tmp_path) as session:
        done = 0
        while done < last:
            if done >= strikes * STEPS_BETWEEN_KILLS:
                strikes += 1
                killer.strike()
            session.run(train)
            done = session.run(step)
        killer.join()
        value, reached = session.run([weights, step])
    assert reached == last and strikes == KILLS
    np.testing.assert_allclose(value, expected(last), rtol=1e-4)


def test_a_program_that_is_killed_goes_on_from_its_checkpoint(cluster, tmp_path):
    """The program is killed, its servers are not: they must not mind what it left behind."""
    tasks = cluster(num_workers=2, num_ps=2)
    last, kills = 25, [7, 15]
    source = (
        "import tensorflow as tf; tf.compat.v1.disable_eager_execution()\n"
        "from conformance import test_random_kills\n"
        f"test_random_kills.chief({tasks.target()!r}, {str(tmp_path)!r}, {last})"
    )
    for end in [*kills, last]:
        command = [sys.executable, "-c", source]
        with subprocess.Popen(command, cwd=servers.ROOT, stdout=subprocess.PIPE, text=True) as program:
            reached = [int(line) for line in itertools.takewhile(lambda line: int(line) < end, program.stdout)]
            if end in kills:
                program.kill()
            else:
                weights = json.loads(program.stdout.readline())
    # It goes on from a step that it has been at, not from the first.
    assert reached[0] > kills[0]
    np.testing.assert_allclose(np.reshape(weights, (4, 1)), expected(last), rtol=1e-4)


@pytest.mark.ours("TensorFlow replaces the data of a checkpoint before it replaces the index")
@pytest.mark.parametrize("sharded", [False, True])
def test_a_checkpoint_that_is_being_replaced_is_whole(cluster, tmp_path, sharded):
    """Programs that save under one name again and again have no other checkpoint to go back to."""
    tasks = cluster(num_workers=1, num_ps=2)
    path, size = str(tmp_path / "model"), 20_000
    variables = []
    for task in range(2):
        with tf.device(f"/job:ps/task:{task}"):
            variables.append(v1.get_variable(f"v{task}", initializer=np.zeros(size, "f")))
    step = v1.placeholder(tf.float32, [])
    fill = [variable.assign(tf.fill([size], step)) for variable in variables]
    saver = v1.train.Saver(sharded=sharded)
    choose = random.Random(str(sharded))
    config = v1.ConfigProto(operation_timeout_in_ms=30_000)
    saved = 0
    for _ in range(4):
        job, index = choose.choice([("worker", 0), ("ps", 0), ("ps", 1)])
        # It is not closed: that would wait for its master, which may be dead.
        session = v1.Session(tasks.target(), config=config)
        if saved:
            saver.restore(session, path)
        session.run(fill, {step: saved + 1})
        saver.save(session, path, write_meta_graph=False, write_state=False)
        saved += 1
        timer = threading.Timer(choose.random() * 0.2, tasks.restart, [job, index])
        timer.start()
        with pytest.raises(tf.errors.OpError):
            while True:
                session.run(fill, {step: saved + 1})
                saver.save(session, path, write_meta_graph=False, write_state=False)
                saved += 1
        timer.join()
        reader = tf.train.load_checkpoint(path)
        values = [reader.get_tensor(f"v{task}") for task in range(2)]
        assert np.all(values[0] == values[0][0]) and np.array_equal(*values)
        # The last save may have come to its end without anybody hearing of it.
        assert values[0][0] in (saved, saved + 1)
        saved = int(values[0][0])


@pytest.mark.ours("TensorFlow's calls may wait for a task that died until it is back")
def test_a_step_that_loses_a_task_fails_soon_and_says_which(cluster):
    tasks = cluster(num_workers=2, num_ps=2)
    with tf.device("/job:ps/task:0"):
        begun = v1.get_variable("begun", initializer=0, use_resource=True)
        begins = begun.assign_add(1)
    with tf.device("/job:ps/task:1"), tf.control_dependencies([begins]):
        waits = v1.FIFOQueue(1, [tf.float32], shared_name="q").dequeue()
    with tf.device("/job:worker/task:1"):
        result = waits + 1.0
    with v1.Session(tasks.target()) as session, v1.Session(tasks.target("worker", 1)) as watcher:
        session.run(begun.initializer)
        killed = []

        def kill():
            deadline = time.monotonic() + 60
            while watcher.run(begun) == 0 and time.monotonic() < deadline:
                pass
            tasks.task("ps", 1).kill()
            killed.append(time.monotonic())

        thread = threading.Thread(target=kill)
        thread.start()
        with pytest.raises(tf.errors.UnavailableError, match="/job:ps/(replica:0/)?task:1"):
            session.run(result)
        failed = time.monotonic()
        thread.join()
        assert failed - killed[0] < 5


@pytest.mark.ours("TensorFlow does not notice")
def test_tasks_that_disagree_about_the_cluster(cluster):
    ours, others = cluster(num_workers=1, num_ps=1), cluster(num_workers=1, num_ps=1)
    addresses = ours.spec.as_dict()
    # A worker of another cluster where a ps should be, and a cluster where a task has another name.
    spec = tf.train.ClusterSpec(
        {"ps": [others.spec.task_address("worker", 0)], "worker": addresses["worker"]}
    )
    ours.task("worker").kill()
    ours.spec = spec
    ours.start("worker").target
    with pytest.raises(tf.errors.InvalidArgumentError, match="disagree about the cluster") as raised:
        v1.Session(ours.target(), config=v1.ConfigProto(operation_timeout_in_ms=20_000)).run(
            tf.constant(1)
        )
    for name in ["/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"]:
        assert name in raised.value.message
