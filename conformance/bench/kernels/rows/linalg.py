"""Dense linear algebra, and Fourier transforms."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import add, real

raw = tf.raw_ops


def _positive(side, batch=()):
    noise = real((*batch, side, side))
    return noise @ np.swapaxes(noise, -1, -2) + side * np.eye(side, dtype=np.float32)


def _complex(shape):
    return (real(shape) + 1j * real(shape, seed=2)).astype(np.complex64)


CASES = [
    ("Cholesky", lambda x: raw.Cholesky(input=x)),
    ("MatrixInverse", lambda x: raw.MatrixInverse(input=x)),
    ("MatrixDeterminant", lambda x: raw.MatrixDeterminant(input=x / tf.cast(tf.shape(x)[-1], tf.float32))),
    ("LogMatrixDeterminant", lambda x: raw.LogMatrixDeterminant(input=x)),
    # Vectors have no sign that both sides must choose.
    ("SelfAdjointEigV2", lambda x: raw.SelfAdjointEigV2(input=x)[0]),
    ("Qr", lambda x: tf.abs(raw.Qr(input=x)[1])),
    ("Svd", lambda x: raw.Svd(input=x)[0]),
]
for name, compute in CASES:
    for side, size in ((8, "small"), (64, "cache"), (256, "memory")):
        add(f"{name} {side}", size, name, lambda side=side: [_positive(side)], compute, 1e-2)
    add(f"{name}, 64 of 16", "cache", name, lambda: [_positive(16, (64,))], compute, 1e-2)
for name in ("MatrixSolve", "MatrixTriangularSolve"):
    function = getattr(raw, name)
    for side, size in ((8, "small"), (64, "cache"), (256, "memory")):
        add(
            f"{name} {side}", size, name,
            lambda side=side: [_positive(side), real((side, side))],
            lambda a, b, f=function: f(matrix=a, rhs=b), 1e-2,
        )

for name, rows, length, size in (
    ("FFT", 8, 128, "small"), ("FFT", 64, 1024, "cache"), ("FFT", 256, 1024, "memory"),
    ("FFT", 256, 1000, "memory"), ("IFFT", 256, 1024, "memory"), ("FFT", 16, 65536, "memory"),
):
    function = getattr(raw, name)
    add(f"{name} {rows}x{length}", size, name, lambda rows=rows, length=length: [_complex((rows, length))], lambda x, f=function: f(input=x), 1e-3)
for rows, length, size in ((8, 128, "small"), (64, 1024, "cache"), (256, 1024, "memory")):
    add(f"RFFT {rows}x{length}", size, "RFFT", lambda rows=rows, length=length: [real((rows, length))], lambda x, length=length: raw.RFFT(input=x, fft_length=[length]), 1e-3)
    add(f"IRFFT {rows}x{length}", size, "IRFFT", lambda rows=rows, length=length: [_complex((rows, length // 2 + 1))], lambda x, length=length: raw.IRFFT(input=x, fft_length=[length]), 1e-3)
add("RFFT2D 16x128x128", "memory", "RFFT2D", lambda: [real((16, 128, 128))], lambda x: raw.RFFT2D(input=x, fft_length=[128, 128]), 1e-3)
add("FFT2D 16x128x128", "memory", "FFT2D", lambda: [_complex((16, 128, 128))], lambda x: raw.FFT2D(input=x), 1e-3)
add("IRFFT2D 16x128x128", "memory", "IRFFT2D", lambda: [_complex((16, 128, 65))], lambda x: raw.IRFFT2D(input=x, fft_length=[128, 128]), 1e-2)
