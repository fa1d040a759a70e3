"""Training steps a second from Rust and from Python, on the same servers, in turns.

    cargo build --release -p tensorfleet --bins --examples
    python -m conformance.bench.rust_client

The cluster has one worker and one parameter server, and both programs train a perceptron of 784,
256, 128 and 10 units: `crates/tensorfleet/examples/training_rate.rs`, and the function below. With a
batch of one image the clients' own work shows, with one of 128 that of the servers.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from conformance.rig import servers as rig
from conformance.rig.cluster import Cluster

v1 = tf.compat.v1


def main():
    parser = argparse.ArgumentParser(prog="conformance.bench.rust_client", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--engine", default="tensorfleet", help="whose servers: tensorfleet or tensorflow")
    parser.add_argument("--program", type=pathlib.Path, default=_built(), help="the Rust example")
    options = parser.parse_args()
    v1.disable_eager_execution()
    with tempfile.TemporaryDirectory() as logs:
        servers = rig.Servers(logs)
        try:
            for batch in (1, 128):
                _compare(servers, batch, options)
        finally:
            servers.close()


def _built():
    return rig.ROOT / "target" / "release" / "examples" / "training_rate"


def _compare(servers, batch, options):
    jobs = {"worker": 1, "ps": 1}
    cluster = Cluster(servers, jobs, dict.fromkeys(jobs, options.engine))
    try:
        rates = {}
        for _ in range(options.rounds):
            taken = _rust(cluster.target(), batch, options) | _python(cluster.target(), batch, options)
            for name, rate in taken.items():
                rates.setdefault(name, []).append(rate)
    finally:
        cluster.close()
    medians = {name: statistics.median(each) for name, each in rates.items()}
    print(f"batch {batch}, {options.engine} servers:")
    for name, rate in medians.items():
        print(f"  {name:16} {rate:8.1f} steps a second")
    for way in ("run", "callable"):
        print(f"  Rust takes {medians[f'Rust {way}'] / medians[f'Python {way}']:.2f} of Python's steps with {way}")


def _rust(target, batch, options):
    program = [options.program, target, str(options.seconds), str(batch)]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=120)
    rates = re.findall(r"(\w+): ([\d.]+) steps a second", done.stdout)
    return {f"Rust {way}": float(rate) for way, rate in rates}


def _python(target, batch, options):
    with tf.Graph().as_default():
        images = v1.placeholder(tf.float32, [batch, 784])
        classes = v1.placeholder(tf.int64, [batch])
        device = v1.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")
        with v1.device(device), v1.variable_scope("python", use_resource=True):
            y = images
            for index, (inputs, units) in enumerate([(784, 256), (256, 128), (128, 10)]):
                kernel = v1.get_variable(f"kernel{index}", [inputs, units])
                bias = v1.get_variable(f"bias{index}", [units], initializer=v1.zeros_initializer())
                y = tf.nn.bias_add(tf.matmul(y, kernel), bias)
                y = tf.nn.relu(y) if units != 10 else y
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=classes, logits=y))
            train = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        pixels = (np.arange(batch * 784) % 255 / 255).astype("f").reshape(batch, 784)
        numbers = np.arange(batch) % 10
        with v1.Session(target) as session:
            session.run(v1.global_variables_initializer())
            step = session.make_callable([loss, train], [images, classes])
            run = lambda: session.run([loss, train], {images: pixels, classes: numbers})
            return {
                "Python run": _rate(run, options),
                "Python callable": _rate(lambda: step(pixels, numbers), options),
            }


def _rate(step, options):
    for _ in range(20):
        step()
    start, steps = time.perf_counter(), 0
    while (now := time.perf_counter()) < start + options.seconds:
        step()
        steps += 1
    return steps / (now - start)


if __name__ == "__main__":
    main()
