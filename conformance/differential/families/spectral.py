"""Fourier transforms.

The old `Batch` names cannot be built by a client of today; they share the kernels of the others.
"""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

SUMS = Tolerance(ulps=64, atol=1e-4, reason="sums are in another order")
LENGTHS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 30, 60]


@generates("FFT", "IFFT", "FFT2D", "IFFT2D", "FFT3D", "IFFT3D", tolerance=SUMS)
def complex_transform(op, draw):
    rank = int(op[-2]) if op[-1] == "D" else 1
    for dtype in (tf.complex64, tf.complex128):
        for length in LENGTHS if rank == 1 else LENGTHS[:8]:
            inner = [draw.integer(1, 3) for _ in range(rank - 1)] + [length]
            outer = draw.choice([(), (2,)]) if length < 20 else ()
            yield Case(op, [draw.array(dtype, (*outer, *draw.random.permutation(inner)), -1, 1)])
    for shape in ((), (3,), (2, 0), (0, 3), (0, 2, 2), (2, 3, 0)):
        yield Case(op, [draw.array(tf.complex64, shape, -1, 1)])
    for length in (64, 97, 101, 128, 210, 1000, 1009):
        yield Case(op, [draw.array(tf.complex128, [2] * (rank - 1) + [length], -1, 1)])


def _cases(op, draw, inverse):
    rank = int(op[-2]) if op[-1] == "D" else 1
    single, double = (tf.complex64, tf.complex128) if inverse else (tf.float32, tf.float64)

    def attrs(dtype):
        if inverse:
            return {"Treal": dtype}
        return {"Tcomplex": tf.complex64 if dtype == tf.float32 else tf.complex128}

    for dtype, other in ((single, tf.float32), (double, tf.float64)):
        for length in LENGTHS if rank == 1 else LENGTHS[:8]:
            lengths = [draw.integer(1, 3) for _ in range(rank - 1)] + [length]
            # The input may be longer than the transform.
            shape = [n + draw.choice([0, 0, 1]) for n in lengths]
            if inverse:
                shape[-1] = length // 2 + 1 + draw.choice([0, 0, 1])
            if np.prod(shape) > 32:
                outer = ()
            else:
                outer = draw.choice([(), (2,)])
            x = draw.array(dtype, (*outer, *shape), -1, 1)
            yield Case(op, [x, np.array(lengths, np.int32)], attrs(other))
    x = draw.array(single, [3] * rank, -1, 1)
    for value, lengths in (
        (x, [9] * rank), (x, [2] * (rank + 1)), (x, 2), (x[0], [2] * rank),
    ):
        yield Case(op, [value, np.array(lengths, np.int32)], attrs(tf.float32))
    yield Case(op, [x, np.array([2] * rank, np.int32)], attrs(tf.float64))


@generates("RFFT", "RFFT2D", "RFFT3D", tolerance=SUMS)
def real_transform(op, draw):
    yield from _cases(op, draw, False)


@generates("IRFFT", "IRFFT2D", "IRFFT3D", tolerance=SUMS)
def inverse_real_transform(op, draw):
    yield from _cases(op, draw, True)
