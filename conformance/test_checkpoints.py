"""Savers: checkpoints that TensorFlow reads, of several shards, whole whatever happens."""

import os
import random
import re
import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

# How much the variables of the large test hold; `TENSORFLEET_CHECKPOINT_MB=4000` for gigabytes.
MEGABYTES = int(os.environ.get("TENSORFLEET_CHECKPOINT_MB", "96"))
SHARDS = 3


def sharded_variables(count, rows, columns=1024):
    """Variables on all parameter servers, each made where it lives."""
    with v1.device(v1.train.replica_device_setter(ps_tasks=SHARDS)):
        return [
            v1.get_variable(f"v{i}", initializer=lambda i=i: tf.random.stateless_uniform([rows, columns], [i, 1]),
                            use_resource=False)
            for i in range(count)
        ]


def peak_memory(server):
    """The most memory that a server held so far, in megabytes."""
    with open(f"/proc/{server.pid}/status") as status:
        return int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1)) / 1024


def test_large_checkpoints_on_several_shards_cost_no_second_copy(cluster, engine, tmp_path):
    tasks = cluster(num_workers=1, num_ps=SHARDS)
    count = 2 * SHARDS
    rows = max(MEGABYTES * 256 // count, 1)
    variables = sharded_variables(count, rows)
    sums = [tf.reduce_sum(variable) for variable in variables]
    saver = v1.train.Saver(sharded=True)
    with v1.Session(tasks.target()) as session:
        session.run(v1.global_variables_initializer())
        expected = session.run(sums)
        before = [peak_memory(tasks.task("ps", i)) for i in range(SHARDS)]
        path = saver.save(session, str(tmp_path / "model"), global_step=7)
        after = [peak_memory(tasks.task("ps", i)) for i in range(SHARDS)]
    assert len(list(tmp_path.glob("model-7.data-*-of-*"))) == SHARDS
    if engine == "tensorfleet":
        # A shard holds its part of the variables; writing it may cost buffers, but not that again.
        for low, high in zip(before, after):
            assert high - low < 0.5 * MEGABYTES / SHARDS, (before, after)

    reader = tf.train.load_checkpoint(path)
    for i, total in enumerate(expected):
        np.testing.assert_allclose(reader.get_tensor(f"v{i}").sum(), total, rtol=1e-4)

    # New processes know nothing; the checkpoint gives it all back.
    for i in range(SHARDS):
        tasks.restart("ps", i)
    with v1.Session(tasks.target()) as session:
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(sums), expected)
        if engine == "tensorfleet":
            restored = [peak_memory(tasks.task("ps", i)) for i in range(SHARDS)]
            for low, high in zip(before, restored):
                assert high < low + 0.5 * MEGABYTES / SHARDS, (before, restored)


def test_large_shards_that_tensorflow_wrote_are_restored(cluster, tmp_path):
    """TensorFlow, in this process, saves on as many devices as there are parameter servers."""
    tasks = cluster(num_workers=1, num_ps=SHARDS)
    count = 2 * SHARDS
    rows = max(MEGABYTES * 256 // count, 1)
    with tf.Graph().as_default():
        for i in range(count):
            with tf.device(f"/cpu:{i % SHARDS}"):
                v1.get_variable(f"v{i}", initializer=tf.random.stateless_uniform([rows, 1024], [i, 1]), use_resource=True)
        with v1.Session(config=v1.ConfigProto(device_count={"CPU": SHARDS})) as session:
            session.run(v1.global_variables_initializer())
            expected = session.run([tf.reduce_sum(variable) for variable in v1.global_variables()])
            path = v1.train.Saver(sharded=True).save(session, str(tmp_path / "model"), global_step=7)
    assert len(list(tmp_path.glob("model-7.data-*-of-*"))) == SHARDS

    sums = [tf.reduce_sum(variable) for variable in sharded_variables(count, rows)]
    with v1.Session(tasks.target()) as session:
        v1.train.Saver(sharded=True).restore(session, path)
        np.testing.assert_allclose(session.run(sums), expected, rtol=1e-4)


def test_what_tensorflow_saves_is_restored(target, tmp_path):
    values = {
        "float": np.array([1.5, -2.0], np.float32), "half": np.array([0.5], np.float16),
        "int": np.arange(6).reshape(2, 3), "flag": np.array([True, False]),
        "text": np.array([b"a", b"", b"long" * 100], object), "complex": np.array([1 + 2j]),
    }
    variables = {name: v1.get_variable(name, initializer=value) for name, value in values.items()}
    whole = v1.get_variable("parts", [5, 2], initializer=v1.random_uniform_initializer(seed=3),
                            partitioner=v1.fixed_size_partitioner(2))
    saver, initializer = v1.train.Saver(), v1.global_variables_initializer()
    with v1.Session() as session:
        session.run(initializer)
        parts = session.run(whole.as_tensor())
        path = saver.save(session, str(tmp_path / "theirs"))
    with v1.Session(target) as session:
        saver.restore(session, path)
        for name, value in values.items():
            np.testing.assert_array_equal(session.run(variables[name]), value)
        np.testing.assert_array_equal(session.run(whole.as_tensor()), parts)
        path = saver.save(session, str(tmp_path / "ours"))
    ours, theirs = (open(f"{tmp_path}/{name}.index", "rb").read() for name in ("ours", "theirs"))
    assert ours == theirs
    np.testing.assert_array_equal(tf.train.load_checkpoint(path).get_tensor("parts"), parts)


def test_damaged_checkpoints_name_their_file(target, engine, tmp_path):
    variable = v1.get_variable("v", initializer=np.arange(1000, dtype=np.float32))
    saver = v1.train.Saver()
    with v1.Session(target) as session:
        session.run(variable.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        data, index = f"{path}.data-00000-of-00001", f"{path}.index"
        for name, damage in [
            (data, lambda b: b[:100] + bytes([b[100] ^ 1]) + b[101:]),
            (data, lambda b: b[:-8]),
            (index, lambda b: b[:-8]),
            (index, lambda b: b[:10] + bytes([b[10] ^ 1]) + b[11:]),
        ]:
            whole = open(name, "rb").read()
            open(name, "wb").write(damage(whole))
            with pytest.raises((tf.errors.DataLossError, tf.errors.OutOfRangeError)) as caught:
                saver.restore(session, path)
            if engine == "tensorfleet":
                assert isinstance(caught.value, tf.errors.DataLossError)
                assert str(tmp_path / "model") in caught.value.message
            open(name, "wb").write(whole)
        saver.restore(session, path)


def test_missing_checkpoints_and_tensors(target, tmp_path):
    variable, other = v1.get_variable("v", initializer=1.0), v1.get_variable("w", initializer=2.0)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(ValueError, match="not a valid checkpoint"):
            v1.train.Saver().restore(session, str(tmp_path / "none"))
        path = v1.train.Saver([variable]).save(session, str(tmp_path / "model"))
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
            v1.train.Saver().restore(session, path)
        with pytest.raises((ValueError, tf.errors.NotFoundError), match="no-such-directory"):
            v1.train.Saver().save(session, str(tmp_path / "no-such-directory" / "deep" / "model"))


@pytest.mark.ours("TensorFlow waits for minutes for a parameter server that died")
def test_a_kill_at_any_moment_leaves_the_last_checkpoint_whole(cluster, tmp_path):
    """Saves one checkpoint after another; the server dies in the middle of one, at random."""
    draw = random.Random(11)
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        step = v1.get_variable("step", initializer=0, use_resource=False)
        values = [v1.get_variable(f"v{i}", initializer=lambda: tf.zeros([64, 1024]), use_resource=False)
                  for i in range(8)]
        advance = step.assign_add(1)
        with tf.control_dependencies([advance]):
            fill = tf.group(*[v.assign(tf.fill(v.shape, tf.cast(advance, tf.float32))) for v in values])
    saver = v1.train.Saver(max_to_keep=2)
    for _ in range(4):
        with v1.Session(tasks.target()) as session:
            latest = v1.train.latest_checkpoint(str(tmp_path))
            if latest:
                saver.restore(session, latest)
                number = session.run(step)
                for value in session.run(values):
                    assert (value == number).all()
            else:
                session.run(v1.global_variables_initializer())
            killer = threading.Timer(draw.uniform(0.05, 0.6), tasks.task("ps", 0).kill)
            killer.start()
            with pytest.raises(tf.errors.OpError):
                while True:
                    session.run(fill)
                    saver.save(session, str(tmp_path / "model"), global_step=session.run(step))
            killer.join()
        reader = tf.train.load_checkpoint(v1.train.latest_checkpoint(str(tmp_path)))
        number = reader.get_tensor("step")
        assert all((reader.get_tensor(f"v{i}") == number).all() for i in range(8))
        tasks.restart("ps", 0)
