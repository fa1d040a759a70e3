"""Keras under ParameterServerStrategy: the tutorial's ways to train, with tf_keras."""

import os
import tempfile

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import tf2


@pytest.fixture(params=tf2.MIXES)
def tasks(request, cluster):
    return cluster(num_workers=2, num_ps=2, engines=tf2.MIXES[request.param])


def fit(jobs):
    """`fit` with callbacks and several steps in an execution, then `evaluate`."""
    partitioner = tf.distribute.experimental.partitioners.MinSizePartitioner(256, max_shards=2)
    strategy = tf2.strategy(jobs, variable_partitioner=partitioner)

    def dataset(context):
        x = tf.random.stateless_uniform([64, 10], [1, 2])
        y = tf.cast(tf.reduce_sum(x, 1, keepdims=True) > 5, tf.float32)
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(64).repeat()
        return data.batch(context.get_per_replica_batch_size(16)).prefetch(2)

    with strategy.scope():
        model = tf.keras.Sequential(
            [
                tf.keras.Input([10]),
                tf.keras.layers.Dense(32, activation="relu"),
                tf.keras.layers.BatchNormalization(),
                tf.keras.layers.Dense(1, activation="sigmoid"),
            ]
        )
        optimizer = tf.keras.optimizers.Adam(0.01)
        model.compile(optimizer, "binary_crossentropy", metrics=["accuracy"], steps_per_execution=2)
    creator = tf.keras.utils.experimental.DatasetCreator(dataset)
    with tempfile.TemporaryDirectory() as directory:
        callbacks = [
            tf.keras.callbacks.ModelCheckpoint(directory + "/ckpt-{epoch}", save_weights_only=True),
            tf.keras.callbacks.BackupAndRestore(directory + "/backup"),
            tf.keras.callbacks.EarlyStopping("loss", patience=3),
        ]
        history = model.fit(
            creator, epochs=3, steps_per_epoch=8, callbacks=callbacks, verbose=0
        ).history
        assert history["loss"][-1] < history["loss"][0] * 1.1, history
        before = [weight.copy() for weight in model.get_weights()]
        model.load_weights(directory + "/ckpt-3")
        for have, want in zip(model.get_weights(), before):
            np.testing.assert_allclose(have, want, rtol=1e-5)
    loss, accuracy = model.evaluate(creator, steps=4, verbose=0)
    assert np.isfinite(loss) and 0 <= accuracy <= 1


def test_fit(tasks):
    tf2.run(fit, tasks)


def preprocessing(jobs):
    """Layers with tables on the client, a custom loop with metrics, an exported model."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        lookup = tf.keras.layers.StringLookup(vocabulary=["avenger", "ironman", "batman"], num_oov_indices=0)
        labels = tf.keras.layers.StringLookup(vocabulary=["yes", "no"], num_oov_indices=0)
        inputs = tf.keras.Input([3], dtype=tf.string)
        embedded = tf.keras.layers.Embedding(4, 8)(lookup(inputs))
        outputs = tf.keras.layers.Dense(1, activation="sigmoid")(tf.reduce_mean(embedded, 1))
        model = tf.keras.Model(inputs, outputs)
        optimizer = tf.keras.optimizers.RMSprop(0.1)
        accuracy = tf.keras.metrics.Accuracy()

    def dataset(_):
        words = [["avenger", "ironman", "avenger"], ["batman", "batman", "batman"]] * 4
        data = tf.data.Dataset.from_tensor_slices((words, ["yes", "no"] * 4)).repeat()
        return data.map(lambda x, y: (x, labels(y))).batch(4)

    def per_worker():
        return strategy.distribute_datasets_from_function(dataset)

    batches = iter(coordinator.create_per_worker_dataset(per_worker))

    @tf.function
    def step(batches):
        def replica(x, y):
            y = tf.cast(tf.reshape(y, [-1, 1]), tf.float32)
            with tf.GradientTape() as tape:
                predicted = model(x, training=True)
                losses = tf.keras.losses.BinaryCrossentropy(reduction="none")(y, predicted)
                loss = tf.nn.compute_average_loss(losses)
            variables = model.trainable_variables
            optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
            accuracy.update_state(y, tf.cast(predicted > 0.5, tf.int64))
            return loss

        return strategy.run(replica, args=next(batches))

    for _ in range(4):
        accuracy.reset_states()
        for _ in range(5):
            coordinator.schedule(step, args=(batches,))
        coordinator.join()
    assert accuracy.result().numpy() > 0.9, accuracy.result()
    assert optimizer.iterations.numpy() == 20
    with tempfile.TemporaryDirectory() as directory:
        model.save(directory, save_format="tf")
        loaded = tf.saved_model.load(directory)
        predicted = loaded(tf.constant([["batman"] * 3]))
        assert predicted.numpy().item() > 0.5


def test_preprocessing(tasks):
    tf2.run(preprocessing, tasks)


def callbacks(jobs):
    """A subclassed model in half precision, with the callbacks of long trainings, interrupted once."""
    import tf_keras as keras

    strategy = tf2.strategy(jobs)
    keras.mixed_precision.set_global_policy("mixed_bfloat16")

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden = keras.layers.Dense(8, activation="relu")
            self.out = keras.layers.Dense(1, dtype="float32")

        def call(self, x):
            return self.out(self.hidden(x))

    def data():
        x = np.linspace(-1, 1, 60, dtype=np.float32).reshape(-1, 2)
        return tf.data.Dataset.from_tensor_slices((x, x.sum(1, keepdims=True))).repeat().batch(7)

    directory = tempfile.mkdtemp()

    class Interrupts(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            if epoch == 2:
                raise RuntimeError("interrupted")

    def train(*more):
        with strategy.scope():
            model = Model()
            model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"], steps_per_execution=3)
        history = model.fit(
            data(),
            epochs=4,
            steps_per_epoch=6,
            verbose=0,
            callbacks=[
                keras.callbacks.BackupAndRestore(f"{directory}/backup"),
                keras.callbacks.ModelCheckpoint(f"{directory}/at-{{epoch}}", save_weights_only=True),
                keras.callbacks.EarlyStopping("loss", patience=10),
                *more,
            ],
        )
        return model, history

    with pytest.raises(RuntimeError, match="interrupted"):
        train(Interrupts())
    model, history = train()
    assert history.epoch == [2, 3], history.epoch
    assert model.hidden.kernel.dtype == tf.float32 and model.hidden.compute_dtype == "bfloat16"
    assert os.path.exists(f"{directory}/at-4.index")


def test_callbacks(cluster):
    tf2.run(callbacks, cluster(num_workers=2, num_ps=2))
