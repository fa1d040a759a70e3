"""Products of matrices."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

SUMS = Tolerance(ulps=24, atol=1e-5, reason="sums are in another order")
FUSIONS = [
    ["BiasAdd"],
    ["BiasAdd", "Elu"],
    ["BiasAdd", "GeluApproximate"],
    ["BiasAdd", "GeluExact"],
    ["BiasAdd", "LeakyRelu"],
    ["BiasAdd", "Relu"],
    ["BiasAdd", "Relu6"],
    ["BiasAdd", "Sigmoid"],
    ["BiasAdd", "Tanh"],
]


def _matrix(draw, dtype, rows, columns, transposed, outer=()):
    shape = (columns, rows) if transposed else (rows, columns)
    return draw.array(dtype, (*outer, *shape), -2, 2) if not dtype.is_unsigned else draw.array(
        dtype, (*outer, *shape), 0, 3
    )


def _sizes(draw):
    return [(2, 3, 4), (1, 1, 1), (1, 5, 3), (4, 5, 1), (0, 2, 3), (2, 0, 3), (2, 3, 0)] + [
        tuple(draw.integer(1, 6) for _ in range(3)) for _ in range(3)
    ]


@generates("MatMul", tolerance=SUMS)
def matmul(op, draw):
    for dtype in draw.types(op, "T"):
        for m, k, n in _sizes(draw):
            ta, tb = draw.chance(), draw.chance()
            inputs = [_matrix(draw, dtype, m, k, ta), _matrix(draw, dtype, k, n, tb)]
            yield Case(op, inputs, {"transpose_a": ta, "transpose_b": tb})
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [x, x])
    yield Case(op, [x, x[0]])
    large = draw.array(tf.float32, (70, 90))
    yield Case(op, [large, large], {"transpose_b": True})


@generates("BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", tolerance=SUMS)
def batch(op, draw):
    if op == "BatchMatMulV3":
        types = [(t, t, t) for t in (tf.float32, tf.float64, tf.int32, tf.int64, tf.complex64)]
        types += [(tf.int8, tf.int8, tf.int32), (tf.int8, tf.uint8, tf.int32)]
    else:
        types = [(t, t, None) for t in draw.types(op, "T")]
    for left, right, out in types:
        attrs = {"Tout": out} if out else {}
        for m, k, n in _sizes(draw):
            ax, ay = draw.chance(), draw.chance()
            x, y = draw.broadcast_shapes()
            if op == "BatchMatMul":
                y = x
            inputs = [_matrix(draw, left, m, k, ax, x), _matrix(draw, right, k, n, ay, y)]
            yield Case(op, inputs, {"adj_x": ax, "adj_y": ay, **attrs})
    attrs = {"Tout": tf.float32} if op == "BatchMatMulV3" else {}
    for x, y in (((2, 2, 3), (3, 3, 4)), ((2, 2, 3), (2, 4, 4)), ((3,), (3, 2)), ((2, 3), (5, 3, 1))):
        yield Case(op, [draw.array(tf.float32, x), draw.array(tf.float32, y)], attrs)


@generates("_FusedMatMul", tolerance=Tolerance(ulps=48, atol=1e-4, reason=SUMS.reason))
def fused(op, draw):
    for dtype in (tf.float32,):
        for fusion in FUSIONS:
            for _ in range(2):
                m, k, n = (draw.integer(1, 5) for _ in range(3))
                # TensorFlow has no exact GELU of the product with a transposed matrix.
                ta, tb = draw.chance() and fusion[-1] != "GeluExact", draw.chance()
                inputs = [
                    _matrix(draw, dtype, m, k, ta),
                    _matrix(draw, dtype, k, n, tb),
                    [draw.array(dtype, (n,), -2, 2)],
                ]
                attrs = {"transpose_a": ta, "transpose_b": tb, "fused_ops": fusion}
                yield Case(op, inputs, {**attrs, "leakyrelu_alpha": 0.3})
    x = draw.array(tf.float32, (2, 2))
    yield Case(op, [x, x, [x[0], x]], {"fused_ops": ["BiasAdd", "Nonsense"]})


@generates("SparseMatMul", tolerance=SUMS)
def sparse(op, draw):
    for left in (tf.float32, tf.bfloat16):
        for right in (tf.float32, tf.bfloat16):
            for m, k, n in _sizes(draw)[:3]:
                ta, tb = draw.chance(), draw.chance()
                inputs = [_matrix(draw, left, m, k, ta), _matrix(draw, right, k, n, tb)]
                yield Case(op, inputs, {"transpose_a": ta, "transpose_b": tb, "a_is_sparse": draw.chance()})
    x = draw.array(tf.float32, (2, 3))
    yield Case(op, [x, x])
    yield Case(op, [x, x[0]])


@generates("Einsum", tolerance=SUMS)
def einsum(op, draw):
    def operand(dtype, subscripts, sizes, ellipsis):
        shape = []
        for label in subscripts.replace("...", "."):
            shape += ellipsis if label == "." else [sizes[label]]
        return draw.array(dtype, shape, -2, 2) if not dtype.is_unsigned else None

    equations = [
        "i->i", "ij->ji", "ij->", "ij->i", "ii->i", "ii->", "iji->j", "i->ii", "ij->ijj", "ijk->kij",
        "...ij->...ji", "...i->...", "i...->...i", "ij,jk->ik", "ij,kj->ki", "i,j->ij", "i,i->",
        "i,i->i", "bij,bjk->bik", "bij,bkj->bki", "bhqd,bkhd->bhqk", "...ij,...jk->...ik",
        "...ij,jk->...ik", "ij,j->ij", "ijk,jk->i", "ab,cd->acbd", "abc,abd->dc", "ijk,k->ji",
        "iij,jk->ik", "ij,ij->", "ijl,jk->ik", "a...b,b...c->a...c", "abc,cde->abde", ",i->i", ",->",
        "ij,jk->iik",
    ]
    for dtype in draw.types(op, "T"):
        if dtype not in (tf.float32, tf.float64, tf.complex64, tf.int32, tf.bfloat16, tf.half):
            continue
        for equation in equations if dtype == tf.float32 else equations[::5]:
            sizes = {label: draw.integer(1, 4) for label in equation if label.isalpha()}
            extra = list(draw.shape(2, high=3))
            inputs = equation.split("->")[0].split(",")
            ellipses = [extra, draw.choice([extra, extra[1:], [1, extra[1]], [extra[0], 1]])]
            operands = [operand(dtype, *each) for each in zip(inputs, [sizes] * 2, ellipses)]
            yield Case(op, [operands], {"equation": equation})
    x = draw.array(tf.float32, (2, 3))
    for equation, operands in (
        ("ij,jk->ik", [x, x]), ("i->i", [x]), ("ii->i", [x]), ("...i->i", [x]), ("ij->ji", [x[:0]]),
        ("ij->i", [x[:, :0]]), ("ij,kj->ik", [x[:, :0], x[:, :0]]),
    ):
        yield Case(op, [operands], {"equation": equation})
