"""Runs TensorFlow 2 programs, each in a process of its own: a client connects to a cluster once.

A program is a function of a test module that takes the addresses of a cluster's tasks by job. What
it asserts, it asserts in its own process; its output is shown when it fails.
"""

import importlib
import json
import os
import subprocess
import sys

from conformance.rig import ports

HOST = "127.0.0.1"
# Which jobs TensorFlow's own servers run, beside the engine under test.
MIXES = {"alone": {}, "tensorflow_ps": {"ps": "tensorflow"}, "tensorflow_worker": {"worker": "tensorflow"}}


def start(program, tasks, **env):
    """Starts a program on a cluster and returns its process."""
    jobs = {job: tasks.spec.job_tasks(job) for job in tasks.spec.jobs}
    command = [sys.executable, "-m", __name__, program.__module__, program.__name__, json.dumps(jobs)]
    return subprocess.Popen(
        command,
        env=dict(os.environ, **env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process, seconds=150):
    """Waits for the end of a program, which must be a good one, and returns what it printed."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        raise AssertionError(f"no end after {seconds} s:\n{output}") from None
    assert process.returncode == 0, output
    return output


def run(program, tasks, seconds=150, **env):
    """Runs a program on a cluster to its end."""
    return finish(start(program, tasks, **env), seconds)


def connect(jobs):
    """Connects to the cluster, as `localhost`."""
    import tensorflow as tf

    tf.config.experimental_connect_to_cluster(tf.train.ClusterSpec(jobs), protocol="grpc")


def strategy(jobs, **options):
    """A ParameterServerStrategy on the cluster, with this process as its chief."""
    import tensorflow as tf

    chief = [f"{HOST}:{ports.reserve()}"]
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(dict(jobs, chief=chief)), task_type="chief", task_id=0, rpc_layer="grpc"
    )
    return tf.distribute.ParameterServerStrategy(resolver, **options)


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
    _, module, name, spec = sys.argv
    getattr(importlib.import_module(module), name)(json.loads(spec))
    print("done", flush=True)
    # Threads of TensorFlow's that wait for servers must not keep the process.
    os._exit(0)
