"""Workers that are killed at random under ParameterServerStrategy, and a ps that ends a job.

`TENSORFLEET_KILLS=200` kills two hundred times instead of a few.
"""

import os
import random
import sys
import tempfile

import pytest
import tensorflow as tf

from conformance.rig import tf2
from conformance.test_strategy import wait_for

KILLS = int(os.environ.get("TENSORFLEET_KILLS", 4))
CLOSURES = 12


def trains_through_kills(jobs):
    """Schedules closures until it is told that nobody is killed any more; all of them are done."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = [tf.Variable(tf.ones([20, 20])) for _ in range(3)]
        done = tf.Variable(tf.zeros([100_000], tf.int32))

    def per_worker():
        return tf.data.Dataset.from_tensors(tf.ones([20, 20])).repeat().map(lambda x: x * 0.5).prefetch(1)

    batches = iter(coordinator.create_per_worker_dataset(per_worker))

    @tf.function
    def step(batches, number):
        for _ in tf.range(20):
            x = next(batches)
            for own in weights:
                own.assign(own * 0.5 + tf.matmul(x, x) * 0.01)
        one = tf.reshape(number, [1])
        done.scatter_add(tf.IndexedSlices(tf.ones([1], tf.int32), one))
        return number * 2

    over, rounds = False, 0
    while not over:
        numbers = range(rounds * CLOSURES, (rounds + 1) * CLOSURES)
        results = [coordinator.schedule(step, args=(batches, tf.constant(n))) for n in numbers]
        print("round", flush=True)
        over = sys.stdin.readline() == "over\n"
        coordinator.join()
        assert [int(result.fetch()) for result in results] == [2 * n for n in numbers]
        rounds += 1
    counts = done.numpy()[: rounds * CLOSURES]
    # A closure whose worker died after its last update is done again: the coordinator's promise.
    assert counts.min() >= 1, counts
    assert counts.sum() <= rounds * CLOSURES * 2, counts


@pytest.mark.parametrize("mix", tf2.MIXES)
def test_workers_that_are_killed_at_random(cluster, mix):
    tasks = cluster(num_workers=2, num_ps=2, engines=tf2.MIXES[mix])
    process = tf2.start(trains_through_kills, tasks)
    which = random.Random(mix)
    for _ in range(KILLS):
        wait_for(process, "round")
        process.stdin.write("go on\n")
        process.stdin.flush()
        tasks.restart("worker", which.randrange(2))
    wait_for(process, "round")
    process.stdin.write("over\n")
    process.stdin.flush()
    tf2.finish(process)


def resumes(jobs):
    """A job that goes on from the last checkpoint that another one wrote, and may be ended by a ps."""
    directory = os.environ["CHECKPOINTS"]
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        weights = tf.Variable(tf.zeros([8]))
        steps = tf.Variable(0, dtype=tf.int64)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(weights=weights, steps=steps), directory, 2)
    if path := manager.restore_or_initialize():
        print("restored", path, flush=True)
    begun = int(steps.numpy())

    @tf.function
    def step():
        weights.assign_add(tf.ones([8]))
        steps.assign_add(1)

    while int(steps.numpy()) < begun + 8:
        for _ in range(4):
            coordinator.schedule(step)
        coordinator.join()
        manager.save(checkpoint_number=int(steps.numpy()))
    assert (weights.numpy() == steps.numpy()).all()
    print("saved", int(steps.numpy()), flush=True)
    while os.environ.get("ENDLESS"):
        coordinator.schedule(step)
        coordinator.join()


def test_a_job_that_restarts_after_a_lost_ps_goes_on_from_its_checkpoint(cluster):
    with tempfile.TemporaryDirectory() as directory:
        tasks = cluster(num_workers=2, num_ps=2)
        first = tf2.start(resumes, tasks, CHECKPOINTS=directory, ENDLESS="1")
        wait_for(first, "saved 8")
        tasks.restart("ps", 1)
        output, _ = first.communicate(timeout=60)
        assert first.returncode != 0
        assert "GRPC error information from remote target /job:ps" in output, output
        for last in (16, 24):
            output = tf2.run(resumes, tasks, CHECKPOINTS=directory)
            assert f"saved {last}" in output and f"ckpt-{last - 8}" in output, output
