"""What moves numbers and computes none."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import each_size, real, whole

raw = tf.raw_ops


def _matrix(n):
    return real((n // 256, 256))


def _cube(n):
    return real((n // 1024, 32, 32))


each_size("Transpose of a matrix", "Transpose", lambda n: [_matrix(n)], lambda x: raw.Transpose(x=x, perm=[1, 0]))
each_size("Transpose 0 2 1", "Transpose", lambda n: [real((8, n // 8 // 64, 64))], lambda x: raw.Transpose(x=x, perm=[0, 2, 1]))
each_size("Transpose 2 0 1", "Transpose", lambda n: [_cube(n)], lambda x: raw.Transpose(x=x, perm=[2, 0, 1]))
each_size("Transpose 0 2 1 3", "Transpose", lambda n: [real((4, n // 512, 8, 16))], lambda x: raw.Transpose(x=x, perm=[0, 2, 1, 3]))
each_size("ConcatV2 of rows", "ConcatV2", lambda n: [_matrix(n), _matrix(n)], lambda a, b: raw.ConcatV2(values=[a, b], axis=1))
each_size("Pack", "Pack", lambda n: [real(n), real(n)], lambda a, b: raw.Pack(values=[a, b], axis=1))
each_size("Unpack", "Unpack", lambda n: [real((n // 4, 4))], lambda x: raw.Unpack(value=x, num=4, axis=1))
each_size("Split", "Split", lambda n: [_matrix(n)], lambda x: raw.Split(axis=1, value=x, num_split=4))
each_size("Slice", "Slice", lambda n: [_matrix(n)], lambda x: raw.Slice(input=x, begin=[0, 3], size=[-1, 200]))
each_size("StridedSlice", "StridedSlice", lambda n: [_matrix(n)], lambda x: x[:, ::2])
each_size("PadV2", "PadV2", lambda n: [_matrix(n)], lambda x: raw.PadV2(input=x, paddings=[[1, 1], [2, 2]], constant_values=0.0))
each_size("MirrorPad", "MirrorPad", lambda n: [_matrix(n)], lambda x: raw.MirrorPad(input=x, paddings=[[1, 1], [2, 2]], mode="REFLECT"))
each_size("Tile", "Tile", lambda n: [_matrix(n // 4 if n > 1024 else n)], lambda x: raw.Tile(input=x, multiples=[2, 2]))
each_size("BroadcastTo", "BroadcastTo", lambda n: [real((n // 256, 1))], lambda x: raw.BroadcastTo(input=x, shape=[x.shape[0], 256]))
each_size("ReverseV2", "ReverseV2", lambda n: [_matrix(n)], lambda x: raw.ReverseV2(tensor=x, axis=[1]))
each_size("Roll", "Roll", lambda n: [_matrix(n)], lambda x: raw.Roll(input=x, shift=[3], axis=[1]))
each_size("GatherV2 of rows", "GatherV2", lambda n: [_matrix(n), whole(n // 256, 0, n // 256)], lambda x, i: raw.GatherV2(params=x, indices=i, axis=0))
each_size("GatherV2 of columns", "GatherV2", lambda n: [_matrix(n), whole(64, 0, 256)], lambda x, i: raw.GatherV2(params=x, indices=i, axis=1))
each_size("GatherNd", "GatherNd", lambda n: [_matrix(n), whole((n // 4, 2), 0, min(n // 256, 256))], lambda x, i: raw.GatherNd(params=x, indices=i))
each_size("ScatterNd of rows", "ScatterNd", lambda n: [whole((n // 256, 1), 0, n // 256), _matrix(n)], lambda i, x: raw.ScatterNd(indices=i, updates=x, shape=[x.shape[0], 256]), tolerance=1e-3)
each_size("Where", "Where", lambda n: [real(n) > 0], lambda x: raw.Where(condition=x))
each_size("Where of a matrix", "Where", lambda n: [_matrix(n) > 0.5], lambda x: raw.Where(condition=x))
each_size("OneHot", "OneHot", lambda n: [whole(n // 256, 0, 256)], lambda i: raw.OneHot(indices=i, depth=256, on_value=1.0, off_value=0.0))
each_size("Range", "Range", lambda n: [np.int32(n)], lambda n: raw.Range(start=0, limit=n, delta=1))
each_size("Range float32", "Range", lambda n: [np.float32(n)], lambda n: raw.Range(start=0.0, limit=n, delta=1.0))
each_size("LinSpace", "LinSpace", lambda n: [np.int32(n)], lambda n: raw.LinSpace(start=0.0, stop=1.0, num=n))
each_size("Fill", "Fill", lambda n: [np.array([n], np.int32)], lambda n: raw.Fill(dims=n, value=1.5))
each_size("ZerosLike", "ZerosLike", lambda n: [real(n)], lambda x: raw.ZerosLike(x=x))
each_size("meshgrid", ("BroadcastTo", "Mul"), lambda n: [real(256), real(n // 256)], lambda a, b: tf.meshgrid(a, b))
each_size("MatrixDiagV3", "MatrixDiagV3", lambda n: [real((max(n // 4096, 1), 64))], lambda x: tf.linalg.diag(x))
each_size("MatrixBandPart", "MatrixBandPart", lambda n: [real((max(n // 4096, 1), 64, 64))], lambda x: raw.MatrixBandPart(input=x, num_lower=-1, num_upper=0))
each_size("SpaceToBatchND", "SpaceToBatchND", lambda n: [real((1, 32, 32, n // 1024))], lambda x: raw.SpaceToBatchND(input=x, block_shape=[2, 2], paddings=[[0, 0], [0, 0]]))
each_size("SpaceToDepth", "SpaceToDepth", lambda n: [real((1, 32, 32, n // 1024))], lambda x: raw.SpaceToDepth(input=x, block_size=2))
each_size("Unique", "Unique", lambda n: [whole(n, 0, 1000)], lambda x: raw.Unique(x=x), sizes=("cache", "memory"))
each_size("InvertPermutation", "InvertPermutation", lambda n: [np.random.RandomState(1).permutation(n).astype(np.int32)], lambda x: raw.InvertPermutation(x=x))
