"""Tasks with a data directory: killed at any moment, they come back with what they had acknowledged.

`TENSORFLEET_KILLS=200` kills two hundred times instead of a few.
"""

import contextlib
import json
import os
import random
import socket
import subprocess
import threading

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import servers

v1 = tf.compat.v1
KILLS = int(os.environ.get("TENSORFLEET_KILLS", 8))
pytestmark = pytest.mark.ours("TensorFlow's servers keep nothing")


class Life:
    """One process of a task that keeps its variables."""

    def __init__(self, address, directory, durability="sync"):
        arguments = [
            "serve",
            "--cluster=" + json.dumps({"ps": [address]}),
            f"--data-dir={directory}",
            f"--durability={durability}",
            "--exit_with_parent",
        ]
        self.process = subprocess.Popen(
            [servers.tensorfleet_binary(), *arguments],
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answer = self.process.stdout.readline().strip()

    @property
    def target(self):
        assert self.answer.startswith("grpc://"), self.refusal()
        return self.answer

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.terminate()
        assert self.process.wait(60) == 0

    def refusal(self):
        """What it says when it does not start."""
        assert self.process.wait(60) != 0
        return self.answer


@pytest.fixture
def start(tmp_path):
    """A function that starts a life in a directory of the test, and ends them all.

    All lives of a directory have one address, as those of a task of a cluster have.
    """
    lives, addresses = [], {}

    def begin(directory="data", elsewhere=False, **options):
        address = free_address() if elsewhere else addresses.setdefault(directory, free_address())
        lives.append(Life(address, tmp_path / directory, **options))
        return lives[-1]

    yield begin
    for life in lives:
        life.kill()


def free_address():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


class Clients:
    """Opens sessions. Those of a life that was killed are closed when the next one answers."""

    def __init__(self):
        self.old = None

    def session(self, life):
        config = v1.ConfigProto(operation_timeout_in_ms=60_000)
        opened = v1.Session(life.target, config=config)
        opened.list_devices()
        self.close()
        self.old = opened
        return opened

    def close(self):
        if self.old is not None:
            with contextlib.suppress(tf.errors.OpError):
                self.old.close()


@pytest.fixture
def session(start):
    clients = Clients()
    yield clients.session
    clients.close()


def test_each_answered_step_counts_once_over_kills(start, session):
    """Every step marks its own row; rows of answered steps are marked once, others at most once."""
    with tf.Graph().as_default():
        row = v1.placeholder(tf.int32, [])
        with v1.device("/job:ps/task:0"):
            marks = v1.get_variable("marks", initializer=np.zeros(20_000, "i4"), use_resource=True)
            total = v1.Variable(np.int64(0), use_resource=False, name="total")
            mark = tf.group(
                marks.scatter_add(tf.IndexedSlices([1], [row])), v1.assign_add(total, 1)
            )
        init = v1.global_variables_initializer()
        chance = random.Random(20)
        answered, tried = set(), 0
        lives = [start()]

        def strike():
            lives[-1].kill()
            lives.append(start())

        client = session(lives[-1])
        client.run(init)
        for _ in range(KILLS):
            killer = threading.Timer(chance.random() * 0.4, strike)
            killer.start()
            # A client of TensorFlow's waits for a server that is gone; the next life does not know it.
            with pytest.raises(tf.errors.OpError):
                while True:
                    tried += 1
                    client.run(mark, {row: tried})
                    answered.add(tried)
            killer.join()
            client = session(lives[-1])
        found, sum = client.run([marks, total])
        unknown = set(range(1, tried + 1)) - answered
        wrong = [row for row in answered if found[row] != 1]
        assert not wrong, f"{len(wrong)} of {len(answered)} answered steps are lost or doubled"
        assert all(found[row] in (0, 1) for row in unknown)
        # A step's changes come together.
        assert sum == found.sum()
        assert len(answered) > KILLS


def test_training_goes_on_where_it_was_killed_bit_for_bit(start, session):
    """Adam over kills computes what it computes without them."""
    features = np.random.RandomState(1).rand(16, 5).astype("f")
    labels = (features @ np.arange(5, dtype="f")[:, None]).astype("f")
    with tf.Graph().as_default():
        with v1.device("/job:ps/task:0"):
            weights = v1.get_variable("w", initializer=np.zeros((5, 1), "f"), use_resource=True)
            loss = tf.reduce_mean(tf.square(tf.matmul(features, weights) - labels))
            step = v1.train.get_or_create_global_step()
            train = v1.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        init = v1.global_variables_initializer()
        client = session(start("whole"))
        client.run(init)
        for _ in range(40):
            client.run(train)
        expected = client.run(weights)
        for part in range(4):
            life = start("in_parts")
            client = session(life)
            if part == 0:
                client.run(init)
            for _ in range(10):
                client.run(train)
            found, steps = client.run([weights, step])
            if part < 3:
                life.kill()
        assert steps == 40
        np.testing.assert_array_equal(found, expected)


def test_a_directory_is_for_one_process_and_undamaged(start, session, tmp_path):
    with tf.Graph().as_default():
        with v1.device("/job:ps/task:0"):
            x = v1.get_variable("x", initializer=np.arange(1000, dtype="f"), use_resource=True)
        init = v1.global_variables_initializer()
        first = start()
        session(first).run(init)
        assert "another process is using it" in start(elsewhere=True).refusal()
        first.stop()
        assert "durability `none`" in start(durability="none").refusal()
        second = start()
        np.testing.assert_array_equal(session(second).run(x), np.arange(1000, dtype="f"))
        second.kill()
        log = sorted((tmp_path / "data" / "ps-0").glob("log-*"))[0]
        bytes = bytearray(log.read_bytes())
        bytes[2000] ^= 1
        log.write_bytes(bytes)
        assert "damaged" in start().refusal()
        bytes[2000] ^= 1
        log.write_bytes(bytes)
        np.testing.assert_array_equal(session(start()).run(x), np.arange(1000, dtype="f"))
