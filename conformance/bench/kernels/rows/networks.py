"""Layers: convolutions, pools, normalisation, recurrent cells."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import add, each_size, real

raw = tf.raw_ops
OPTIONS = {"strides": [1, 1, 1, 1], "padding": "SAME"}

# Images, their side and channels; the filter's side; outputs, or outputs of each channel.
CONVOLUTIONS = [
    ("small", 1, 8, 8, 3, 8), ("cache", 4, 14, 32, 3, 32), ("memory", 16, 28, 32, 3, 64),
    ("memory", 16, 28, 32, 5, 32), ("memory", 16, 28, 64, 1, 64),
]
DEPTHWISE = [("small", 1, 8, 8, 3, 1), ("cache", 4, 14, 32, 3, 1), ("memory", 16, 56, 64, 3, 1), ("memory", 8, 28, 32, 5, 2)]


def _layer(op, size, shape, filter_shape, output_shape):
    x, f, y = lambda: real(shape), lambda: real(filter_shape, seed=2), lambda: real(output_shape, seed=3)
    name = f"{shape[0]}x{shape[1]}x{shape[2]}x{shape[3]} by {filter_shape[0]}x{filter_shape[1]} to {output_shape[3]}"
    gradient = {"Conv2D": "Conv2D"}.get(op, "DepthwiseConv2dNative")
    plain, by_input = getattr(raw, op), getattr(raw, f"{gradient}BackpropInput")
    by_filter = getattr(raw, f"{gradient}BackpropFilter")
    add(f"{op} {name}", size, op, lambda: [x(), f()], lambda x, f: plain(input=x, filter=f, **OPTIONS), 1e-3)
    add(
        f"{gradient}BackpropInput {name}", size, f"{gradient}BackpropInput", lambda: [f(), y()],
        lambda f, y: by_input(input_sizes=shape, filter=f, out_backprop=y, **OPTIONS), 1e-3,
    )
    add(
        f"{gradient}BackpropFilter {name}", size, f"{gradient}BackpropFilter", lambda: [x(), y()],
        lambda x, y: by_filter(input=x, filter_sizes=filter_shape, out_backprop=y, **OPTIONS), 1e-3,
    )


for size, images, side, channels, filter_side, outputs in CONVOLUTIONS:
    _layer("Conv2D", size, [images, side, side, channels], [filter_side, filter_side, channels, outputs], [images, side, side, outputs])
for size, images, side, channels, filter_side, each in DEPTHWISE:
    _layer("DepthwiseConv2dNative", size, [images, side, side, channels], [filter_side, filter_side, channels, each], [images, side, side, channels * each])


def _images(n):
    return real((max(n // 16384, 1), 16, 16, 64 if n > 1024 else 4))


POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
each_size("MaxPool", "MaxPool", lambda n: [_images(n)], lambda x: raw.MaxPool(input=x, **POOL))
each_size("AvgPool", "AvgPool", lambda n: [_images(n)], lambda x: raw.AvgPool(value=x, **POOL))
each_size(
    "MaxPoolGrad", ("MaxPoolGrad", "MaxPool"), lambda n: [_images(n)],
    lambda x: raw.MaxPoolGrad(orig_input=x, orig_output=(y := raw.MaxPool(input=x, **POOL)), grad=y, **POOL),
)
each_size("LRN", "LRN", lambda n: [_images(n)], lambda x: raw.LRN(input=x))
each_size("LRN, as in AlexNet", "LRN", lambda n: [_images(n)], lambda x: raw.LRN(input=x, depth_radius=2, bias=1.0, alpha=2e-5, beta=0.75))
each_size("LRNGrad", "LRNGrad", lambda n: [_images(n)] * 3, lambda g, x, y: raw.LRNGrad(input_grads=g, input_image=x, output_image=y))
each_size("BiasAdd", "BiasAdd", lambda n: [real((n // 256, 256)), real(256)], lambda x, b: raw.BiasAdd(value=x, bias=b))
each_size("BiasAddGrad", "BiasAddGrad", lambda n: [real((n // 256, 256))], lambda x: raw.BiasAddGrad(out_backprop=x), tolerance=1e-3)
each_size(
    "FusedBatchNormV3", "FusedBatchNormV3", lambda n: [_images(n)],
    lambda x: raw.FusedBatchNormV3(
        x=x, scale=tf.ones(x.shape[3]), offset=tf.zeros(x.shape[3]), mean=tf.zeros(0), variance=tf.zeros(0)
    )[0], tolerance=1e-3,
)
for units, batch, size in ((16, 4, "small"), (128, 32, "cache"), (512, 64, "memory")):
    add(
        f"LSTM cell of {units}, batch {batch}", size, "BlockLSTMV2",
        lambda units=units, batch=batch: [
            real((8, batch, units)), real((2 * units, 4 * units), seed=2) * 0.1, real(4 * units, seed=3)
        ],
        lambda x, w, b, units=units, batch=batch: raw.BlockLSTMV2(
            seq_len_max=tf.constant(8, tf.int64), x=x, cs_prev=tf.zeros([batch, units]), h_prev=tf.zeros([batch, units]),
            w=w, wci=tf.zeros(units), wcf=tf.zeros(units), wco=tf.zeros(units), b=b,
        ).h, 1e-3,
    )
each_size(
    "SoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits",
    lambda n: [real((n // 256, 256), -5, 5), np.eye(256, dtype=np.float32)[np.arange(n // 256) % 256]],
    lambda x, t: raw.SoftmaxCrossEntropyWithLogits(features=x, labels=t),
)
each_size(
    "AvgPoolGrad", "AvgPoolGrad", lambda n: [_images(n)[:, ::2, ::2]],
    lambda g: raw.AvgPoolGrad(orig_input_shape=[int(g.shape[0]), 16, 16, int(g.shape[3])], grad=g, **POOL),
)
each_size("MaxPoolWithArgmax", "MaxPoolWithArgmax", lambda n: [_images(n)], lambda x: raw.MaxPoolWithArgmax(input=x, **POOL))
each_size(
    "FusedBatchNormGradV3", "FusedBatchNormGradV3", lambda n: [_images(n), real(_images(n).shape, seed=2)],
    lambda y, x: raw.FusedBatchNormGradV3(
        y_backprop=y, x=x, scale=tf.ones(x.shape[3]), reserve_space_1=tf.zeros(x.shape[3]),
        reserve_space_2=tf.ones(x.shape[3]), reserve_space_3=tf.zeros(0),
    )[0], tolerance=1e-2,
)
VOLUME = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
for size, side, channels in (("small", 4, 4), ("cache", 12, 8), ("memory", 32, 16)):
    volume = lambda side=side, channels=channels: real((2, side, side, side, channels))
    add("Conv3D 3x3x3", size, "Conv3D", lambda v=volume, c=channels: [v(), real((3, 3, 3, c, c), seed=2)], lambda x, f: raw.Conv3D(input=x, filter=f, strides=[1] * 5, padding="SAME"), 1e-3)
    add("MaxPool3D", size, "MaxPool3D", lambda v=volume: [v()], lambda x: raw.MaxPool3D(input=x, **VOLUME))
    add("AvgPool3D", size, "AvgPool3D", lambda v=volume: [v()], lambda x: raw.AvgPool3D(input=x, **VOLUME))
for units, batch, size in ((16, 4, "small"), (128, 32, "cache"), (512, 64, "memory")):
    add(
        f"GRUBlockCell of {units}, batch {batch}", size, "GRUBlockCell",
        lambda units=units, batch=batch: [
            real((batch, units)), real((batch, units), seed=2), real((2 * units, 2 * units), seed=3) * 0.1, real((2 * units, units), seed=4) * 0.1
        ],
        lambda x, h, ru, c, units=units: raw.GRUBlockCell(x=x, h_prev=h, w_ru=ru, w_c=c, b_ru=tf.ones(2 * units), b_c=tf.zeros(units)).h, 1e-3,
    )
