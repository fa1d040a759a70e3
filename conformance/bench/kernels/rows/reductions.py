"""Many numbers to one, along rows, along columns and all; what else is done row by row."""

import tensorflow as tf

from conformance.bench.kernels.row import add, each_size, real, whole

raw = tf.raw_ops


def _matrix(n, **options):
    return real((n // 256, 256), **options)


for name in ("Sum", "Mean", "Max", "Min", "Prod"):
    function = getattr(raw, name)
    for what, axes in (("rows", [1]), ("columns", [0]), ("all", [0, 1])):
        compute = lambda x, f=function, axes=axes: f(input=x, axis=axes)
        each_size(f"{name} of {what}", name, lambda n: [_matrix(n, low=0.99, high=1.01)], compute, tolerance=1e-3)
for dtype in ("float64", "float16", "bfloat16"):
    compute = lambda x: raw.Sum(input=x, axis=[1])
    each_size(f"Sum of rows, {dtype}", "Sum", lambda n, d=dtype: [_matrix(n, dtype=d, low=0.0)], compute, tolerance=3e-2)

for name in ("ArgMax", "ArgMin"):
    function = getattr(raw, name)
    for axis, what in ((1, "rows"), (0, "columns")):
        compute = lambda x, f=function, axis=axis: f(input=x, dimension=axis)
        each_size(f"{name} of {what}", name, lambda n: [_matrix(n)], compute)
each_size("ArgMax of 1000 classes", "ArgMax", lambda n: [real((max(n // 1000, 1), 1000))], lambda x: raw.ArgMax(input=x, dimension=1))
each_size("ArgMax of rows, int32", "ArgMax", lambda n: [whole((n // 256, 256), 0, 10**6)], lambda x: raw.ArgMax(input=x, dimension=1))

for k in (1, 5, 100):
    compute = lambda x, k=k: raw.TopKV2(input=x, k=k)
    each_size(f"TopKV2, k = {k}", "TopKV2", lambda n: [real((max(n // 1000, 1), 1000))], compute)
each_size(
    "InTopKV2, k = 5", "InTopKV2",
    lambda n: [real((max(n // 1000, 1), 1000)), whole(max(n // 1000, 1), 0, 1000)],
    lambda x, t: raw.InTopKV2(predictions=x, targets=t, k=5),
)
each_size("Softmax", "Softmax", lambda n: [_matrix(n, low=-5, high=5)], lambda x: raw.Softmax(logits=x))
each_size("LogSoftmax", "LogSoftmax", lambda n: [_matrix(n, low=-5, high=5)], lambda x: raw.LogSoftmax(logits=x))
each_size(
    "SparseSoftmaxCrossEntropyWithLogits", "SparseSoftmaxCrossEntropyWithLogits",
    lambda n: [_matrix(n), whole(n // 256, 0, 256)],
    lambda x, t: raw.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=t),
)
for name in ("Cumsum", "Cumprod"):
    function = getattr(raw, name)
    for axis, what in ((1, "rows"), (0, "columns")):
        compute = lambda x, f=function, axis=axis: f(x=x, axis=axis)
        each_size(f"{name} of {what}", name, lambda n: [_matrix(n, low=0.99, high=1.01)], compute, tolerance=1e-2)
each_size("L2Loss", "L2Loss", lambda n: [real(n)], lambda x: raw.L2Loss(t=x), tolerance=1e-3)
each_size("Bincount", "Bincount", lambda n: [whole(n, 0, 1000)], lambda x: tf.math.bincount(x, minlength=1000, maxlength=1000))
each_size("DenseBincount", "DenseBincount", lambda n: [whole(n, 0, 1000)], lambda x: raw.DenseBincount(input=x, size=1000, weights=tf.constant([], tf.float32)))
each_size("HistogramFixedWidth", "HistogramFixedWidth", lambda n: [real(n)], lambda x: tf.histogram_fixed_width(x, [-1.0, 1.0], 100))
each_size("Bucketize", "Bucketize", lambda n: [real(n)], lambda x: raw.Bucketize(input=x, boundaries=[-0.5, 0.0, 0.5]))
add("All of rows", "memory", "All", lambda: [real((4096, 1024)) > -2], lambda x: raw.All(input=x, axis=[1]))
