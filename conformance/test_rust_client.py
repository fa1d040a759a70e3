"""The Rust client on a server: ours, and with `--engine tensorflow` TensorFlow's."""

import re
import subprocess

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.rig import servers


def example(name):
    """The path of an example's program."""
    # As the server is built, so that nothing is built twice.
    build = ["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"]
    subprocess.run(build, cwd=servers.ROOT, check=True, timeout=900)
    return servers.ROOT / "target" / "debug" / "examples" / name


def test_a_rust_program_trains(target):
    run = subprocess.run([example("train_digits"), target], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run.stdout)]
    assert len(losses) == 6 and losses[-1] < 0.1 < losses[0], run.stdout


def test_a_rust_program_asks_for_gradients_and_prepares_steps(target):
    run = subprocess.run([example("tensorflow_server"), target], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "the trace of the inverse is 0.700" in run.stdout
    assert "[[-0.1100, 0.1400], [0.0700, -0.1800]]" in run.stdout
    assert "those of multiples are [0.700, 0.350, 0.175]" in run.stdout


def test_rust_and_python_train_one_model_at_once(cluster):
    started, last = cluster(num_workers=2), 400
    device = v1.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
    with v1.device(device), v1.variable_scope("", use_resource=True):
        step = v1.get_variable("global_step", initializer=np.int64(0), trainable=False)
        x, y = (v1.placeholder(tf.float32, [None, size]) for size in (2, 1))
        w = v1.get_variable("w", initializer=np.zeros([2, 1], "f"))
        b = v1.get_variable("b", initializer=np.zeros([1], "f"))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
        train = v1.train.GradientDescentOptimizer(0.05).minimize(loss, global_step=step)
    points = np.random.default_rng(1).uniform(-1, 1, [100, 2]).astype("f")
    values = points @ np.array([[2], [-3]], "f") + 0.5

    program = [example("with_python"), started.target(index=1), "1", str(last)]
    config = v1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with v1.Session(started.target(index=0), config=config) as session:
        session.run(v1.global_variables_initializer())
        rust = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            taken = 0
            # Rust takes its steps in the meantime; the first of Python's wait for one of them.
            while session.run(step) < last:
                if taken == 0 and session.run(step) == 0 and rust.poll() is None:
                    continue
                session.run(train, {x: points[taken % 100 :][:1], y: values[taken % 100 :][:1]})
                taken += 1
            said, complaints = rust.communicate(timeout=60)
        finally:
            rust.kill()
        assert rust.returncode == 0, complaints
        steps, weights, error = session.run([step, w, loss], {x: points, y: values})
    in_rust = int(re.match(r"(\d+) steps here", said).group(1))
    # Every step of either is counted once, by either.
    assert in_rust > 0 and in_rust + taken == steps >= last, (said, taken, steps)
    assert error < 0.05, (error, weights)
