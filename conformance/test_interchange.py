"""Models and weights that Rust writes are loaded by TensorFlow and NumPy, and theirs by Rust.

Each program has a process of its own, because the tests around it do without eager execution.
"""

import ast
import json
import pathlib
import struct
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import servers
from conformance.test_rust_client import example


def run(*arguments):
    program = servers.ROOT / "target" / "debug" / "examples" / "interchange"
    done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, rest = json.loads(data[8 : 8 + size]), data[8 + size :]
    assert (8 + size) % 8 == 0
    return {
        name: np.frombuffer(rest[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry["dtype"] == "F32"
    }


def tensorflow_loads_and_runs_a_model_of_rust(tmp_path):
    said, parameters = run("export", tmp_path).splitlines()
    loaded = tf.saved_model.load(tmp_path)
    serve = loaded.signatures["serving_default"]
    ids = tf.constant([[3, 1, 4, 1, 5]], tf.int64)
    np.testing.assert_allclose(serve(ids=ids)["probabilities"].numpy().ravel(), ast.literal_eval(said), rtol=1e-5)
    # Batches and lengths are what they are.
    assert serve(ids=tf.zeros([4, 9], tf.int64))["probabilities"].shape == (4, 3)
    assert parameters == f"{20 * 4 + (4 + 5 + 1) * 4 * 5 + 6 * 3} parameters"


def weights_of_rust_are_read(tmp_path):
    run("export", tmp_path)
    packed = np.load(tmp_path / "weights.npz")
    assert packed["words/embeddings"].shape == (20, 4)
    safe = read_safetensors(tmp_path / "weights.safetensors")
    checkpoint = tf.train.load_checkpoint(str(tmp_path / "weights.ckpt"))
    assert set(packed) == set(safe) == set(checkpoint.get_variable_to_shape_map())
    for name, value in packed.items():
        np.testing.assert_array_equal(value, safe[name])
        np.testing.assert_array_equal(value, checkpoint.get_tensor(name))


def rust_reads_weights_of_others(tmp_path):
    arrays = {
        "columns": np.asfortranarray(np.arange(6, dtype=np.float64).reshape(2, 3)),
        "big": np.arange(4, dtype=">i4"),
        "half": np.array([0.5, -2], np.float16),
        "truth": np.array([[True], [False]]),
        "scalar": np.array(7, np.int64),
        "texts": np.array([b"a", b"bcd"]),
        "nothing": np.zeros([0, 3], np.float32),
    }
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "theirs.npz", **arrays)
        run("convert", tmp_path / "theirs.npz", tmp_path / "ours.npz")
        ours = np.load(tmp_path / "ours.npz")
        assert set(ours) == set(arrays)
        for name, array in arrays.items():
            np.testing.assert_array_equal(ours[name], array)
            assert ours[name].dtype.newbyteorder("=") == array.dtype.newbyteorder("=")
    np.save(tmp_path / "one.npy", np.eye(3))
    run("convert", tmp_path / "one.npy", tmp_path / "one.ckpt")
    np.testing.assert_array_equal(tf.train.load_checkpoint(str(tmp_path / "one.ckpt")).get_tensor("one"), np.eye(3))
    tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).write(str(tmp_path / "two"))
    run("convert", tmp_path / "two", tmp_path / "two.safetensors")
    safe = read_safetensors(tmp_path / "two.safetensors")
    np.testing.assert_array_equal(safe["v/.ATTRIBUTES/VARIABLE_VALUE"], [1, 2])


class Model(tf.Module):
    """With a variable, a loop, a branch and a table."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
        keys, values = tf.constant([0, 1], tf.int64), tf.constant([10.0, 20.0])
        init = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.table = tf.lookup.StaticHashTable(init, -1.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def __call__(self, x):
        y = x @ self.w
        for _ in tf.range(3):
            y = y + 1.0
        looked = self.table.lookup(tf.argmax(y, 1))
        return {"y": tf.cond(tf.reduce_sum(y) > 0, lambda: y, lambda: -y), "looked": looked}


def rust_runs_a_model_of_tensorflow(tmp_path):
    model = Model()
    tf.saved_model.save(model, tmp_path, signatures=model.__call__)
    x = np.array([[1, 2], [-3, 0.5]], np.float32)
    np.save(tmp_path / "input.npy", x)
    run("predict", tmp_path)
    ours, theirs = np.load(tmp_path / "outputs.npz"), model(x)
    assert set(ours) == {"y", "looked"}
    for name in ours:
        np.testing.assert_allclose(ours[name], theirs[name].numpy(), rtol=1e-6)


def rust_runs_a_model_of_keras(tmp_path):
    layers = tf.keras.layers
    model = tf.keras.Sequential([
        layers.Input([8, 8, 1]),
        layers.Conv2D(4, 3, activation="relu"),
        layers.BatchNormalization(),
        layers.MaxPooling2D(),
        layers.Flatten(),
        layers.Dropout(0.5),
        layers.Dense(3, activation="softmax"),
    ])
    model.export(str(tmp_path))
    x = np.random.default_rng(1).normal(size=[5, 8, 8, 1]).astype(np.float32)
    np.save(tmp_path / "input.npy", x)
    run("predict", tmp_path)
    (ours,) = np.load(tmp_path / "outputs.npz").values()
    np.testing.assert_allclose(ours, model(x).numpy(), atol=1e-5)


PROGRAMS = [
    tensorflow_loads_and_runs_a_model_of_rust,
    weights_of_rust_are_read,
    rust_reads_weights_of_others,
    rust_runs_a_model_of_tensorflow,
    rust_runs_a_model_of_keras,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_interchange(program, tmp_path):
    example("interchange")
    command = [sys.executable, "-m", __name__, program.__name__, str(tmp_path)]
    done = subprocess.run(command, cwd=servers.ROOT, capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stdout + done.stderr


if __name__ == "__main__":
    globals()[sys.argv[1]](pathlib.Path(sys.argv[2]))
