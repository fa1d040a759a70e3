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

    def __init__(self, address, directory, durability="sync", extra=()):
        arguments = [
            "serve",
            "--cluster=" + json.dumps({"ps": [address]}),
            f"--data-dir={directory}",
            f"--durability={durability}",
            "--exit_with_parent",
            *extra,
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


def test_tables_queues_and_accumulators_survive_kills(start, session):
    """What a step does with a table, a queue and an accumulator survives with its variables."""
    with tf.Graph().as_default(), v1.device("/job:ps/task:0"):
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.0], name="t")
        queue = v1.FIFOQueue(1000, [tf.int64], [[]], shared_name="q")
        sums = v1.ConditionalAccumulator(tf.float32, shape=[2], shared_name="a")
        words = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([7, 8], tf.int64)), -1
        )
        turns = v1.get_variable("turns", initializer=np.int64(0), use_resource=True)
        turn = v1.placeholder(tf.int64, [])
        step = tf.group(
            table.insert(tf.reshape(turn, [1]), tf.fill([1, 2], tf.cast(turn, tf.float32))),
            table.remove(tf.reshape(turn - 10, [1])),
            queue.enqueue_many(tf.stack([turn, -turn])),
            sums.apply_grad(tf.fill([2], tf.cast(turn, tf.float32)), local_step=turn),
            turns.assign_add(1),
        )
        take, mean, size = queue.dequeue(), sums.take_grad(1), queue.size()
        rows = table.lookup(tf.range(100, dtype=tf.int64))
        life = start()
        first = session(life)
        first.run([v1.global_variables_initializer(), v1.tables_initializer()])
        for at in range(1, 31):
            opened = session(life)
            opened.run(step, {turn: at})
            if at % 5 == 0:
                life.kill()
                life = start()
        opened = session(life)
        assert opened.run(turns) == 30
        expected = np.zeros((100, 2), "f4")
        expected[21:31] = np.arange(21, 31)[:, None]
        np.testing.assert_array_equal(opened.run(rows), expected)
        assert opened.run(size) == 60
        assert [opened.run(take) for _ in range(4)] == [1, -1, 2, -2]
        np.testing.assert_allclose(opened.run(mean), [15.5, 15.5])
        assert list(opened.run(words.lookup(tf.constant(["b", "?"])))) == [8, -1]


def tool(*arguments):
    command = [servers.tensorfleet_binary(), "snapshot", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_data_directory_becomes_a_checkpoint_and_the_other_way(start, session, tmp_path):
    with tf.Graph().as_default(), v1.device("/job:ps/task:0"):
        weights = v1.get_variable("w", initializer=np.arange(6, dtype="f4").reshape(2, 3))
        words = v1.get_variable("words", initializer=np.array(["x", "yz"]), use_resource=True)
        table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1, name="table")
        life = start()
        opened = session(life)
        opened.run(v1.global_variables_initializer())
        opened.run(table.insert(tf.constant([3, 4], tf.int64), tf.constant([30, 40], tf.int64)))
        code, text = tool("verify", tmp_path / "data" / "ps-0")
        assert code != 0 and "another process is using it" in text
        code, text = tool("save", life.target)
        assert code == 0 and "is in a snapshot" in text, text
        assert any(name.startswith("snapshot-") for name in os.listdir(tmp_path / "data" / "ps-0"))
        (status,) = servers.status(life.target).values()
        assert status["journal"]["durability"] == "sync"
        assert {one["name"] for one in status["top_resources"] if one["durable"]} >= {"w", "words"}
        opened.close()
        life.stop()
    code, text = tool("verify", tmp_path / "data" / "ps-0")
    assert code == 0 and "2 variables and 1 other resources" in text, text
    code, text = tool("ls", tmp_path / "data" / "ps-0")
    assert code == 0 and "words" in text and "table" in text, text
    prefix = tmp_path / "out" / "model.ckpt"
    prefix.parent.mkdir()
    code, text = tool("export", tmp_path / "data" / "ps-0", prefix)
    assert code == 0, text
    reader = tf.train.load_checkpoint(str(prefix))
    assert sorted(reader.get_variable_to_shape_map()) == ["table-keys", "table-values", "w", "words"]
    np.testing.assert_array_equal(reader.get_tensor("w"), np.arange(6).reshape(2, 3))
    assert list(reader.get_tensor("words")) == [b"x", b"yz"]
    assert dict(zip(reader.get_tensor("table-keys"), reader.get_tensor("table-values"))) == {3: 30, 4: 40}
    code, text = tool("import", prefix, tmp_path / "made" / "ps-0", "w", "words")
    assert code == 0, text
    with tf.Graph().as_default(), v1.device("/job:ps/task:0"):
        weights = v1.get_variable("w", [2, 3], use_resource=True)
        words = v1.get_variable("words", [2], tf.string, v1.zeros_initializer(), use_resource=True)
        opened = session(start("made"))
        np.testing.assert_array_equal(opened.run(weights), np.arange(6).reshape(2, 3))
        assert list(opened.run(words)) == [b"x", b"yz"]


def backed_up(start, session, url):
    """A task ships to a place, is killed, and starts from there in an empty directory."""
    with tf.Graph().as_default(), v1.device("/job:ps/task:0"):
        count = v1.get_variable("count", initializer=np.int64(0), use_resource=True)
        add = count.assign_add(1)
        life = start(extra=[f"--backup={url}"])
        opened = session(life)
        opened.run(v1.global_variables_initializer())
        for _ in range(20):
            opened.run(add)
        opened.close()
        life.stop()
        extra = [f"--backup={url}", f"--restore-from={url}"]
        moved = start("elsewhere", extra=extra)
        opened = session(moved)
        assert opened.run(count) == 20
        assert opened.run(add) == 21
        moved.kill()
        assert session(start("elsewhere", extra=extra)).run(count) == 21


def test_an_empty_machine_starts_from_a_backup(start, session, tmp_path):
    backed_up(start, session, f"file://{tmp_path}/backup")
    assert any(name.startswith("log-") for name in os.listdir(tmp_path / "backup" / "ps-0"))
