"""Matrix products."""

import tensorflow as tf

from conformance.bench.kernels.row import add, real

raw = tf.raw_ops

# Rows, inner, columns.
SHAPES = [
    (16, 16, 16), (64, 64, 64), (128, 128, 128), (256, 256, 256), (512, 512, 512),
    (1024, 1024, 1024), (32, 1024, 1024), (1, 1024, 1024), (2048, 2048, 1), (128, 784, 512),
]


def _size(m, k, n):
    return "small" if m * k * n <= 1 << 18 else "cache" if m * k + k * n + m * n <= 1 << 19 else "memory"


def _product(m, k, n, dtype, tolerance):
    add(
        f"MatMul {m}x{k}x{n} {dtype}", _size(m, k, n), "MatMul",
        lambda: [real((m, k), dtype=dtype), real((k, n), dtype=dtype, seed=2)],
        lambda a, b: raw.MatMul(a=a, b=b), tolerance,
    )


for m, k, n in SHAPES:
    _product(m, k, n, "float32", 1e-3)
for m, k, n in SHAPES[3:7]:
    _product(m, k, n, "float64", 1e-6)
for dtype in ("float16", "bfloat16"):
    _product(256, 256, 256, dtype, 5e-2)
for transpose in ("a", "b"):
    options = {f"transpose_{transpose}": True}
    add(
        f"MatMul 512x512x512, {transpose} transposed", "memory", "MatMul",
        lambda: [real((512, 512)), real((512, 512), seed=2)],
        lambda a, b, options=options: raw.MatMul(a=a, b=b, **options), 1e-3,
    )
for batch, side in ((64, 16), (64, 64), (16, 256)):
    add(
        f"BatchMatMulV2 {batch} of {side}x{side}", "memory" if side == 256 else "cache", "BatchMatMulV2",
        lambda batch=batch, side=side: [real((batch, side, side)), real((batch, side, side), seed=2)],
        lambda a, b: raw.BatchMatMulV2(x=a, y=b), 1e-3,
    )
add(
    "Einsum of attention", "memory", "Einsum",
    lambda: [real((4, 64, 8, 32)), real((4, 64, 8, 32), seed=2)],
    lambda a, b: raw.Einsum(inputs=[a, b], equation="bqhd,bkhd->bhqk"), 1e-3,
)
