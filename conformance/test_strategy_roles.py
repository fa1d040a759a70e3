"""A whole job as operators start it: servers, a chief and an evaluator that read `TF_CONFIG`."""

import json
import os
import tempfile

import numpy as np
import tensorflow as tf

from conformance.rig import ports, tf2

STEPS = 30


def tf_config(tasks, role):
    """The environment of a role; evaluators are no tasks of the cluster."""
    cluster = {job: tasks.spec.job_tasks(job) for job in tasks.spec.jobs}
    cluster["chief"] = [f"{tf2.HOST}:{ports.reserve()}"]
    return json.dumps({"cluster": cluster, "task": {"type": role, "index": 0}, "rpc_layer": "grpc"})


def line():
    """Points on a line, the same for everybody."""
    x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(-1, 1)
    return tf.data.Dataset.from_tensor_slices((x, 3 * x + 1)).batch(16)


def fits(_):
    """The chief: `fit` with a checkpoint each epoch, and nothing but `TF_CONFIG` to go by."""
    import tf_keras as keras

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    strategy = tf.distribute.ParameterServerStrategy(resolver)
    with strategy.scope():
        model = keras.Sequential([keras.layers.Dense(1, input_shape=[1])])
        model.compile(keras.optimizers.SGD(0.1), "mse")
    path = os.environ["CHECKPOINTS"] + "/ckpt-{epoch}"
    saving = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    model.fit(line().repeat(), epochs=3, steps_per_epoch=STEPS, verbose=0, callbacks=[saving])
    assert os.path.exists(path.format(epoch=3) + ".index")
    print("loss", model.evaluate(line(), steps=4, verbose=0))


def evaluates(_):
    """The evaluator: takes checkpoints as they come, until the last."""
    import tf_keras as keras

    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    assert resolver.task_type == "evaluator"
    model = keras.Sequential([keras.layers.Dense(1, input_shape=[1])])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    losses = []

    class Notes(keras.callbacks.Callback):
        def on_test_end(self, logs=None):
            losses.append(logs["loss"])

    evaluator = keras.utils.SidecarEvaluator(
        model, line(), os.environ["CHECKPOINTS"], max_evaluations=3, callbacks=[Notes()]
    )
    evaluator.start()
    assert losses
    print("loss", model.evaluate(line(), verbose=0))


def test_a_chief_and_an_evaluator(cluster, tmp_path):
    tasks = cluster(num_workers=2, num_ps=1)
    roles = {"chief": fits, "evaluator": evaluates}
    started = [
        tf2.start(program, tasks, TF_CONFIG=tf_config(tasks, role), CHECKPOINTS=str(tmp_path))
        for role, program in roles.items()
    ]
    for process in started:
        words = tf2.finish(process).split()
        assert float(words[words.index("loss") + 1]) < 0.5, words


def keras_3(jobs):
    """Keras 3 has no `fit` under the strategy; its models and metrics work in loops of one's own."""
    import keras

    assert keras.__version__.startswith("3.")
    keras.utils.set_random_seed(1)
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        model = keras.Sequential(
            [
                keras.Input([1]),
                keras.layers.Dense(8, activation="tanh"),
                keras.layers.BatchNormalization(),
                keras.layers.Dense(1),
            ]
        )
        mean = keras.metrics.Mean()
    variables = [variable.value for variable in model.variables + mean.variables]
    assert {variable.device for variable in variables} == {
        f"/job:ps/replica:0/task:{index}/device:CPU:0" for index in range(2)
    }
    # All points in a batch, so that losses of different steps can be compared.
    whole = lambda: line().unbatch().batch(64).repeat()
    batches = iter(coordinator.create_per_worker_dataset(whole))

    @tf.function
    def step(batches):
        x, y = next(batches)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(keras.losses.mean_squared_error(y, model(x, training=True)))
        weights = model.trainable_variables
        for gradient, weight in zip(tape.gradient(loss, [w.value for w in weights]), weights):
            weight.value.assign_sub(0.05 * gradient)
        mean.update_state(loss)
        return loss

    def next_loss():
        return float(coordinator.schedule(step, args=(batches,)).fetch())

    first = next_loss()
    for _ in range(2 * STEPS):
        coordinator.schedule(step, args=(batches,))
    coordinator.join()
    # Steps that run at the same time end in any order and may overwrite what the others added to a
    # metric: Keras 3 reads it, adds and assigns. Steps one after another have one result.
    mean.reset_state()
    losses = [next_loss() for _ in range(STEPS)]
    assert losses[-1] < first / 2, (first, losses)
    np.testing.assert_allclose(float(mean.result()), np.mean(losses), rtol=1e-5)
    with tempfile.TemporaryDirectory() as directory:
        model.export(directory, verbose=False)
        loaded = tf.saved_model.load(directory)
        x = np.ones([2, 1], np.float32)
        np.testing.assert_allclose(loaded.serve(x), model(x), rtol=1e-4, atol=1e-5)


def test_keras_3_in_a_custom_loop(cluster):
    tf2.run(keras_3, cluster(num_workers=2, num_ps=2), TF_USE_LEGACY_KERAS="0")
