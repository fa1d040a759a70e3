"""Records what Keras computes for the layers and metrics that the Rust client has too.

`python -m conformance.record_layers` writes crates/client/tests/it/golden/layers.txt and metrics.txt, which the
tests of that crate read.
Inputs and weights are waves, so that both sides can make them without a file.
"""

import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf
import tf_keras as keras

GOLDEN = pathlib.Path(__file__).parent.parent / "crates/client/tests/it/golden"


def wave(shape, start):
    """The numbers that stand for an input or for weights."""
    count = int(np.prod(shape))
    return (0.5 * np.sin(1.3 * np.arange(count) + start)).astype(np.float32).reshape(shape)


def line(name, values):
    numbers = " ".join(f"{value:.9g}" for value in np.asarray(values, np.float64).ravel())
    return f"{name} {numbers}\n"


def record(name, layer, shape, call=None):
    """The output for a wave, and the gradients of its product with another wave."""
    x = tf.constant(wave(shape, 0.0))
    call = call or layer
    call(x)
    weights = layer.weights
    for number, weight in enumerate(weights):
        value = wave(weight.shape, number + 1.0)
        # Variances must not be negative.
        weight.assign(np.abs(value) if "variance" in weight.name else value)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = call(x)
        loss = tf.reduce_sum(y * wave(y.shape, 9.0))
    trained = layer.trainable_weights
    dx, *dw = tape.gradient(loss, [x, *trained])
    lines = line(f"{name}.y", y) + line(f"{name}.dx", dx)
    for number, gradient in enumerate(dw):
        lines += line(f"{name}.dw{number}", tf.convert_to_tensor(gradient))
    return lines


def layers():
    L = keras.layers
    text = record("dense", L.Dense(3), [2, 4])
    text += record("dense3d", L.Dense(3), [2, 5, 4])
    text += record("conv1d", L.Conv1D(3, 3, strides=2, padding="same"), [2, 7, 2])
    text += record("conv1d_dilated", L.Conv1D(3, 3, dilation_rate=2), [2, 7, 2])
    text += record("conv2d", L.Conv2D(3, [3, 2], strides=2, padding="same"), [2, 5, 6, 2])
    text += record("conv3d", L.Conv3D(2, [2, 3, 2], padding="valid"), [1, 4, 4, 3, 2])
    text += record("conv3d_same", L.Conv3D(2, 3, strides=2, padding="same"), [1, 4, 5, 3, 2])
    text += record("transpose1d", L.Conv1DTranspose(3, 3, strides=2, padding="same"), [2, 4, 2])
    text += record("transpose2d", L.Conv2DTranspose(3, 3, strides=2, padding="same"), [2, 3, 4, 2])
    text += record("transpose2d_valid", L.Conv2DTranspose(2, [3, 1], strides=2), [2, 3, 2, 2])
    text += record("transpose3d", L.Conv3DTranspose(2, 3, strides=2), [1, 2, 3, 2, 2])
    text += record("depthwise1d", L.DepthwiseConv1D(3, strides=2, padding="same", depth_multiplier=2), [2, 7, 3])
    text += record("depthwise2d", L.DepthwiseConv2D(3, padding="valid", depth_multiplier=2), [2, 5, 4, 3])
    text += record("depthwise2d_same", L.DepthwiseConv2D(2, strides=2, padding="same"), [2, 5, 5, 3])
    text += record("max1d", L.MaxPooling1D(3, strides=2, padding="same"), [2, 7, 2])
    text += record("max2d", L.MaxPooling2D([2, 3], strides=[1, 2]), [2, 4, 7, 2])
    text += record("max3d", L.MaxPooling3D(2, strides=2, padding="same"), [1, 3, 4, 5, 2])
    text += record("avg1d", L.AveragePooling1D(3, strides=2, padding="same"), [2, 7, 2])
    text += record("avg2d", L.AveragePooling2D(2, strides=1, padding="same"), [2, 3, 4, 2])
    text += record("avg3d", L.AveragePooling3D(2, strides=2), [1, 4, 4, 5, 2])
    text += record("global_max", L.GlobalMaxPooling2D(), [2, 3, 4, 2])
    text += record("global_avg", L.GlobalAveragePooling3D(), [2, 2, 3, 4, 2])
    norm = L.BatchNormalization()
    text += record("batch_norm", norm, [4, 3, 2], lambda x: norm(x, training=True))
    still = L.BatchNormalization()
    text += record("batch_norm_still", still, [4, 3, 2], lambda x: still(x, training=False))
    text += record("layer_norm", L.LayerNormalization(), [3, 2, 4])
    text += record("group_norm", L.GroupNormalization(2), [2, 3, 3, 4])
    text += record("instance_norm", L.GroupNormalization(-1), [2, 5, 4])
    lengths = np.array([3, 5, 0])
    mask = np.arange(5)[None, :] < lengths[:, None]
    for name, kind in [("lstm", L.LSTM), ("gru", L.GRU)]:
        text += record(name, kind(3, return_sequences=True), [3, 5, 2])
        text += record(f"{name}_state", kind(3), [3, 5, 2])
        # Keras wants a mask to begin with a true, or to be said to be used so.
        apart = kind(3, return_sequences=True, zero_output_for_mask=True)
        text += record(f"{name}_lengths", apart, [3, 5, 2], lambda x, a=apart: a(x, mask=tf.constant(mask)))
        last = kind(3)
        text += record(f"{name}_lengths_state", last, [3, 5, 2], lambda x, a=last: a(x, mask=tf.constant(mask)))
        both = L.Bidirectional(kind(3, return_sequences=True))
        text += record(f"{name}_both", both, [3, 5, 2])
        # Keras reverses the filling with the sequence; by lengths there is none.
        after = kind(3, return_sequences=True)
        short = tf.reverse_sequence

        def by_lengths(x, after=after):
            y = after(short(x, lengths, seq_axis=1, batch_axis=0))
            y = tf.where(mask[:, :, None], y, 0.0)
            return short(y, lengths, seq_axis=1, batch_axis=0)

        text += record(f"{name}_backward", after, [3, 5, 2], by_lengths)
    self = L.MultiHeadAttention(2, 3)
    text += record("attention", self, [2, 4, 5], lambda x: self(x, x))
    causal = L.MultiHeadAttention(2, 3, value_dim=4)
    text += record("attention_causal", causal, [2, 4, 5], lambda x: causal(x, x, use_causal_mask=True))
    masked = L.MultiHeadAttention(2, 3, output_shape=6)
    seen = np.arange(4)[None, None, :] < np.array([2, 4])[:, None, None]
    text += record(
        "attention_masked",
        masked,
        [2, 4, 5],
        lambda x: masked(x[:, :3], x, attention_mask=tf.constant(np.broadcast_to(seen, [2, 3, 4]))),
    )
    table = wave([6, 3], 1.0)
    ids = tf.SparseTensor([[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]], np.array([1, 5, 2, 2, 0]), [3, 3])
    weights = tf.SparseTensor(ids.indices, np.array([1, 2, 0.5, 1, 3], np.float32), [3, 3])
    for combiner in ["sum", "mean", "sqrtn"]:
        y = tf.nn.safe_embedding_lookup_sparse(tf.constant(table), ids, weights, combiner=combiner)
        text += line(f"combine_{combiner}.y", y)
    return text


def metrics():
    M = keras.metrics
    text = ""
    p = np.abs(wave([6, 4], 1.0)) + 0.05
    p = (p / p.sum(1, keepdims=True)).astype(np.float32)
    classes = np.array([0, 1, 2, 3, 1, 0])
    hot = np.eye(4, dtype=np.float32)[classes]
    scores = np.abs(wave([12], 0.3)).astype(np.float32) * 2
    labels = (np.arange(12) % 3 != 0).astype(np.float32)
    targets, predictions = wave([6, 4], 2.0) + 1, wave([6, 4], 5.0) + 1

    def over(name, metric, truth, guess):
        nonlocal text
        # In two steps, of different sizes.
        metric.update_state(truth[:2], guess[:2])
        metric.update_state(truth[2:], guess[2:])
        text += line(name, metric.result())

    over("categorical_accuracy", M.CategoricalAccuracy(), hot, p)
    over("top_k_categorical", M.TopKCategoricalAccuracy(2), hot, p)
    over("categorical_crossentropy", M.CategoricalCrossentropy(), hot, p)
    over("binary_crossentropy", M.BinaryCrossentropy(), labels[:, None], scores[:, None])
    over("kl_divergence", M.KLDivergence(), hot * 0.7 + 0.075, p)
    over("poisson", M.Poisson(), targets, predictions)
    over("hinge", M.Hinge(), labels[:, None], scores[:, None])
    over("squared_hinge", M.SquaredHinge(), labels[:, None], scores[:, None])
    over("categorical_hinge", M.CategoricalHinge(), hot, p)
    over("mape", M.MeanAbsolutePercentageError(), targets, predictions)
    over("msle", M.MeanSquaredLogarithmicError(), targets, predictions)
    over("log_cosh", M.LogCoshError(), targets, predictions)
    over("cosine", M.CosineSimilarity(), targets, predictions)
    over("r2", M.R2Score(), targets, predictions)
    for name, metric in [
        ("true_positives", M.TruePositives(0.4)),
        ("true_negatives", M.TrueNegatives(0.4)),
        ("false_positives", M.FalsePositives(0.4)),
        ("false_negatives", M.FalseNegatives(0.4)),
        ("precision", M.Precision(0.4)),
        ("recall", M.Recall(0.4)),
        ("auc", M.AUC(100)),
        ("auc_pr", M.AUC(100, curve="PR")),
        ("sensitivity", M.SensitivityAtSpecificity(0.6, 100)),
        ("specificity", M.SpecificityAtSensitivity(0.6, 100)),
        ("precision_at_recall", M.PrecisionAtRecall(0.6, 100)),
        ("recall_at_precision", M.RecallAtPrecision(0.6, 100)),
        ("binary_iou", M.BinaryIoU([0, 1], 0.4)),
    ]:
        over(name, metric, labels, scores)
    over("f1", M.F1Score("macro", 0.25), hot, p)
    over("f1_micro", M.F1Score("micro", 0.25), hot, p)
    over("f2_weighted", M.FBetaScore("weighted", 2.0, 0.25), hot, p)
    over("iou", M.IoU(4, [0, 2]), classes, np.array([0, 1, 1, 3, 2, 2]))
    return text


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    (GOLDEN / "layers.txt").write_text(layers())
    (GOLDEN / "metrics.txt").write_text(metrics())
