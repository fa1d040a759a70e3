"""Sparse tensors, segments and embeddings."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import each_size, real, whole

raw = tf.raw_ops


def _indices(n):
    """Distinct places of a matrix of 256 columns, in order; a quarter of all."""
    flat = np.sort(np.random.RandomState(1).choice(n, n // 4, replace=False))
    return np.stack([flat // 256, flat % 256], 1).astype(np.int64)


def _segments(n):
    """A table of 64 columns, rows of it, and the growing segment of each."""
    count = n // 64
    return [real((max(count // 2, 16), 64)), whole(count, 0, max(count // 2, 16)), np.sort(whole(count, 0, count // 4 + 1))]


each_size(
    "SparseToDense", "SparseToDense", lambda n: [_indices(n), real(n // 4), np.array([n // 256, 256], np.int64)],
    lambda i, v, s: raw.SparseToDense(sparse_indices=i, output_shape=s, sparse_values=v, default_value=0.0),
)
each_size(
    "SparseTensorDenseMatMul", "SparseTensorDenseMatMul",
    lambda n: [_indices(n // 4 if n > 1024 else n), real((n // 4 if n > 1024 else n) // 4), real((256, 32))],
    lambda i, v, b: raw.SparseTensorDenseMatMul(a_indices=i, a_values=v, a_shape=[int(i.shape[0]) * 4 // 256, 256], b=b), tolerance=1e-3,
)
for name in ("SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"):
    function = getattr(raw, name)
    each_size(name, name, _segments, lambda t, i, s, f=function: f(data=t, indices=i, segment_ids=s), tolerance=1e-3)
each_size(
    "embedding_lookup_sparse, mean", ("SparseSegmentMean", "Unique"), lambda n: _segments(n),
    lambda t, i, s: tf.nn.embedding_lookup_sparse(
        t, tf.SparseTensor(tf.stack([tf.cast(s, tf.int64), tf.zeros_like(s, tf.int64)], 1), tf.cast(i, tf.int64), [int(t.shape[0]), 1]), None, combiner="mean"
    ), tolerance=1e-3,
)
for name in ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real((n // 64, 64)), np.sort(whole(n // 64, 0, n // 256 + 1))], lambda x, s, f=function: f(data=x, segment_ids=s), tolerance=1e-3)
for name in ("UnsortedSegmentSum", "UnsortedSegmentMax", "UnsortedSegmentMin", "UnsortedSegmentProd"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real((n // 64, 64)), whole(n // 64, 0, n // 256 + 1)], lambda x, s, f=function: f(data=x, segment_ids=s, num_segments=int(x.shape[0]) // 4 + 1), tolerance=1e-3)
each_size("SparseReshape", "SparseReshape", lambda n: [_indices(n)], lambda i: raw.SparseReshape(input_indices=i, input_shape=[int(i.shape[0]) * 4 // 256, 256], new_shape=[-1]))
each_size("SparseReorder", "SparseReorder", lambda n: [np.random.RandomState(2).permutation(_indices(n)), real(n // 4)], lambda i, v: raw.SparseReorder(input_indices=i, input_values=v, input_shape=[int(i.shape[0]) * 4 // 256, 256]))
each_size("DynamicPartition", "DynamicPartition", lambda n: [real((n // 64, 64)), whole(n // 64, 0, 4)], lambda x, p: raw.DynamicPartition(data=x, partitions=p, num_partitions=4))
each_size("DynamicStitch", "DynamicStitch", lambda n: [np.random.RandomState(1).permutation(n // 64).astype(np.int32), real((n // 64, 64))], lambda i, x: raw.DynamicStitch(indices=[i], data=[x]))
for name in ("SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"):
    function = getattr(raw, name)
    each_size(
        name, name, lambda n: [real((n // 256 + 1, 64)), *_segments(n)[1:]],
        lambda g, i, s, f=function: f(grad=g, indices=i, segment_ids=s, output_dim0=max(int(i.shape[0]) // 2, 16)), tolerance=1e-3,
    )
each_size("SparseReduceSum", "SparseReduceSum", lambda n: [_indices(n), real(n // 4)], lambda i, v: raw.SparseReduceSum(input_indices=i, input_values=v, input_shape=[int(i.shape[0]) * 4 // 256, 256], reduction_axes=[1]), tolerance=1e-3)
each_size("SparseSoftmax", "SparseSoftmax", lambda n: [_indices(n), real(n // 4)], lambda i, v: raw.SparseSoftmax(sp_indices=i, sp_values=v, sp_shape=[int(i.shape[0]) * 4 // 256, 256]))
each_size("SparseDenseCwiseMul", "SparseDenseCwiseMul", lambda n: [_indices(n), real(n // 4), real((n // 256, 256))], lambda i, v, d: raw.SparseDenseCwiseMul(sp_indices=i, sp_values=v, sp_shape=[int(d.shape[0]), 256], dense=d))
