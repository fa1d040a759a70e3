"""A seeded source of inputs for generators."""

import re

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels, op_def_registry

# Types whose values Python can neither make nor show.
OPAQUE = {types_pb2.DT_RESOURCE, types_pb2.DT_VARIANT}
# Types that no op of ours takes: too rare to be worth it.
RARE = {
    number
    for name, number in types_pb2.DataType.items()
    if re.fullmatch("DT_(FLOAT[48]_.*|U?INT[24])", name)
}


class Draw:
    """Draws shapes, arrays and choices; equal seeds give equal draws."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def types(self, op, attr, *, quantized=False):
        """Returns the types for which TensorFlow has a CPU kernel of an op."""
        (definition,) = [a for a in op_def_registry.get(op).attr if a.name == attr]
        allowed = set(definition.allowed_values.list.type) or set(types_pb2.DataType.values())
        have = set()
        for kernel in kernels.get_registered_kernels_for_op(op).kernel:
            if kernel.device_type == "CPU":
                bound = [c.allowed_values.list.type for c in kernel.constraint if c.name == attr]
                have |= set(bound[0]) if bound else allowed
        types = []
        for number in sorted((allowed & have) - OPAQUE - RARE):
            if 0 < number < 100 and (quantized or not tf.as_dtype(number).is_quantized):
                types.append(tf.as_dtype(number))
        return types

    def choice(self, values):
        values = list(values)
        return values[self.random.integers(len(values))]

    def integer(self, low, high):
        """Draws an integer, both ends included."""
        return int(self.random.integers(low, high + 1))

    def chance(self, probability=0.5):
        return bool(self.random.random() < probability)

    def permutation(self, count):
        return [int(index) for index in self.random.permutation(count)]

    def shape(self, rank=None, *, low=1, high=4, max_rank=3):
        """Draws a shape, of any rank unless one is given, with dimensions from `low` to `high`."""
        rank = self.integer(0, max_rank) if rank is None else rank
        return tuple(self.integer(low, high) for _ in range(rank))

    def shapes(self):
        """Returns shapes worth trying with any op: scalar, empty, vector, and more."""
        return [(), (0,), (1,), (7,), (2, 3), (3, 0, 2), self.shape(3), self.shape(4, high=3)]

    def broadcast_shapes(self):
        """Draws two shapes that broadcast against each other."""
        full = self.shape(self.integer(0, 4), high=3)

        def part():
            kept = full[self.integer(0, len(full)) :]
            return tuple(1 if self.chance(0.3) else size for size in kept)

        return (full, part()) if self.chance() else (part(), full)

    def array(self, dtype, shape=None, low=None, high=None, *, special=False):
        """Draws an array of a type, with values from `low` to `high`.

        `special` mixes in values on which kernels differ: zeros of both signs, infinities, NaN,
        and the ends of the range. Results of such values must be defined.
        """
        dtype = tf.as_dtype(dtype)
        shape = self.shape() if shape is None else tuple(shape)
        if dtype == tf.string:
            return self.strings(shape)
        if dtype == tf.bool:
            return self.random.integers(0, 2, shape).astype(bool)
        low = self._default_low(dtype) if low is None else low
        high = 10 if high is None else high
        if dtype.is_complex:
            real, imaginary = (self.random.uniform(low, high, shape) for _ in range(2))
            values = real + 1j * imaginary
        elif dtype.is_floating:
            values = self.random.uniform(low, high, shape)
        else:
            wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
            values = self.random.integers(low, high, shape, dtype=wide, endpoint=True)
        values = np.asarray(values).astype(dtype.as_numpy_dtype)
        return self._sprinkle(dtype, values) if special else values

    def integers(self, shape, low, high, dtype=tf.int32):
        """Draws indices and sizes, both ends included."""
        return self.array(dtype, shape, low, high)

    def strings(self, shape=None, *, alphabet=b"abcxyz 019-_/.,", longest=8):
        """Draws an array of byte strings."""
        shape = self.shape() if shape is None else tuple(shape)
        strings = np.empty(shape, dtype=object)
        for index in np.ndindex(*shape):
            letters = self.random.integers(0, len(alphabet), self.integer(0, longest))
            strings[index] = bytes(alphabet[letter] for letter in letters)
        return strings

    @staticmethod
    def _default_low(dtype):
        unsigned = dtype.is_unsigned or dtype in (tf.quint8, tf.quint16)
        return 0 if unsigned else -10

    def _sprinkle(self, dtype, values):
        if dtype.is_floating or dtype.is_complex:
            special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]
        else:
            special = [0, 1, dtype.min, dtype.max]
        flat = values.reshape(-1)
        for index in np.nonzero(self.random.random(flat.size) < 0.3)[0]:
            flat[index] = np.asarray(self.choice(special)).astype(values.dtype)
        return flat.reshape(values.shape)
