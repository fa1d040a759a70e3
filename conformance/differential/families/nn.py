"""Neural networks."""

import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

APPROXIMATE = Tolerance(ulps=6, atol=1e-6, reason="both sides approximate by polynomials, but not the same")
SUMMED = Tolerance(ulps=16, atol=1e-6, reason="sums in another order")


def whole(draw, dtype, shape, most=4):
    """Draws whole numbers, whose products and short sums every type holds exactly."""
    dtype = tf.as_dtype(dtype)
    low = 0 if dtype.is_unsigned else -most
    return draw.array(tf.int32, shape, low, most).astype(dtype.as_numpy_dtype)


@generates("Relu", "Relu6")
def rectifier(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, special=True)])


@generates("Elu", "Selu", "Softplus", "Softsign", tolerance=APPROXIMATE)
def smooth_activation(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape)])
        if op != "Softsign":
            yield Case(op, [draw.array(dtype, [40], special=True)])


@generates("ReluGrad", "Relu6Grad")
def rectifier_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape, special=True)])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [3, 2])])


@generates("EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad", tolerance=APPROXIMATE)
def smooth_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape), draw.array(dtype, shape)])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [6])])


@generates("LeakyRelu")
def leaky_relu(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            alpha = draw.choice([0.2, 0.0, 1.5, -1.0])
            yield Case(op, [draw.array(dtype, shape, special=alpha != 0)], {"alpha": alpha})


@generates("LeakyReluGrad")
def leaky_relu_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            inputs = [draw.array(dtype, shape), draw.array(dtype, shape, special=True)]
            yield Case(op, inputs, {"alpha": draw.choice([0.2, 1.5, -1.0])})
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [2])])


@generates("BiasAdd", "BiasAddV1")
def bias_add(op, draw):
    formats = ["NHWC", "NCHW"] if op == "BiasAdd" else [None]
    for dtype in draw.types(op, "T"):
        for rank in range(2, 6):
            for data_format in formats:
                shape = draw.shape(rank, low=draw.choice([0, 1, 1]))
                channels = shape[1] if data_format == "NCHW" else shape[-1]
                if draw.chance(0.1):
                    channels += 1
                attrs = {"data_format": data_format} if data_format else {}
                yield Case(op, [draw.array(dtype, shape), draw.array(dtype, [channels])], attrs)
        yield Case(op, [draw.array(dtype, [3]), draw.array(dtype, [3])])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [1, 3])])


@generates("BiasAddGrad")
def bias_add_gradient(op, draw):
    for dtype in draw.types(op, "T"):
        for rank in range(2, 6):
            for data_format in ["NHWC", "NCHW"]:
                shape = draw.shape(rank, low=draw.choice([0, 1, 1]))
                yield Case(op, [whole(draw, dtype, shape)], {"data_format": data_format})
        yield Case(op, [whole(draw, dtype, [3])])
