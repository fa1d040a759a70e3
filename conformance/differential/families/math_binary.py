"""Functions of two values, element by element, with broadcasting."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

APPROXIMATE = Tolerance(ulps=6, reason="both sides approximate by polynomials, but not the same")
COMPLEX = Tolerance(ulps=64, atol=1e-5, reason="the parts are rounded at other places")
HALF = Tolerance(ulps=2, reason="TensorFlow rounds between the steps of a function, we at the end")
DIVISIONS = {"Div", "FloorDiv", "FloorMod", "Mod", "TruncateDiv", "TruncateMod"}


def _broadcast(op, draw, dtype, low=None, high=None, *, special=False, tolerance=None):
    for _ in range(5):
        x, y = draw.broadcast_shapes()
        inputs = [draw.array(dtype, shape, low, high, special=special) for shape in (x, y)]
        yield Case(op, inputs, tolerance=tolerance)
    for x, y in (((2, 3), (2,)), ((0, 3), (1, 3)), ((1, 1), (5,)), ((4, 1, 2), (3, 1)), ((0,), (2,))):
        inputs = [draw.array(dtype, shape, low, high) for shape in (x, y)]
        yield Case(op, inputs, tolerance=tolerance)


@generates("Add", "AddV2", "Maximum", "Minimum", "Mul", "Sub")
def arithmetic(op, draw):
    for dtype in draw.types(op, "T"):
        exact = not dtype.is_complex
        special = exact and dtype != tf.string
        tolerance = None if exact else COMPLEX
        yield from _broadcast(op, draw, dtype, special=special, tolerance=tolerance)


@generates("DivNoNan", "MulNoNan", "RealDiv", "SquaredDifference", "Xdivy", tolerance=HALF)
def fractions(op, draw):
    for dtype in draw.types(op, "T"):
        special = dtype.is_floating
        tolerance = COMPLEX if dtype.is_complex else HALF
        yield from _broadcast(op, draw, dtype, special=special, tolerance=tolerance)
        if op == "DivNoNan" and dtype.is_complex:
            x = np.array([0, 1, 1j, np.inf, np.nan, 1e-30, 1e-44], dtype.as_numpy_dtype)
            yield Case(op, [x, np.zeros_like(x)])
            yield Case(op, [x[-2:], x[[0, 1]]])


@generates(*sorted(DIVISIONS))
def divisions(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype.is_floating:
            # A quotient near an integer may be rounded to either side of it.
            for _ in range(4):
                x, y = draw.broadcast_shapes()
                divisor = draw.array(dtype, y, 0.3, 9)
                yield Case(op, [draw.array(dtype, x), divisor], tolerance=HALF)
            special = np.array([1, -1, 0, -0.0, np.inf, 5, -5, 7, -7], dtype.as_numpy_dtype)
            divisor = np.array([0, 0, 0, 2, 2, np.inf, 4, -2, 2], dtype.as_numpy_dtype)
            yield Case(op, [special, divisor])
            continue
        tolerance = COMPLEX if dtype.is_complex else None
        yield from _broadcast(op, draw, dtype, 1, 10, tolerance=tolerance)
        if dtype.is_complex:
            continue
        if not dtype.is_unsigned:
            values = np.array([-9, -8, -7, 7, 8, 9], dtype.as_numpy_dtype)
            divisor = np.array([4, -4, -2, 2, -3, 3], dtype.as_numpy_dtype)
            yield Case(op, [values, divisor])
        yield Case(op, [draw.array(dtype, (3,), 1, 9), np.zeros([1], dtype.as_numpy_dtype)])


@generates("Atan2", "Pow", "Xlog1py", "Xlogy", tolerance=APPROXIMATE)
def transcendental(op, draw):
    for dtype in draw.types(op, "T"):
        tolerance = COMPLEX if dtype.is_complex else APPROXIMATE
        low, high = (0, 6) if dtype.is_integer else (0.1, 4)
        yield from _broadcast(op, draw, dtype, low, high, tolerance=tolerance)
        if dtype.is_floating:
            points = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, -3.0]
            x, y = np.meshgrid(np.array(points), np.array(points))
            yield Case(op, [a.reshape(-1)[:64].astype(dtype.as_numpy_dtype) for a in (x, y)])
        if dtype.is_integer:
            yield Case(op, [draw.array(dtype, (3,), -9, 9), draw.array(dtype, (3,), -2, 2)])


@generates("Greater", "GreaterEqual", "Less", "LessEqual")
def order(op, draw):
    for dtype in draw.types(op, "T"):
        yield from _broadcast(op, draw, dtype, 0, 2, special=True)


@generates("Equal", "NotEqual")
def equality(op, draw):
    for dtype in draw.types(op, "T", quantized=True):
        if dtype.is_quantized:
            continue
        for _ in range(3):
            x, y = draw.broadcast_shapes()
            inputs = [draw.array(dtype, x, 0, 2), draw.array(dtype, y, 0, 2)]
            yield Case(op, inputs)
        x = draw.array(dtype, (2, 3), 0, 2)
        yield Case(op, [x, x])
        yield Case(op, [x, x[0, :2]], {"incompatible_shape_error": draw.chance()})


@generates("ApproximateEqual")
def approximate_equal(op, draw):
    for dtype in draw.types(op, "T"):
        for tolerance in (1e-5, 0.5):
            x = draw.array(dtype, (2, 5), 0, 1)
            yield Case(op, [x, draw.array(dtype, (2, 5), 0, 1)], {"tolerance": tolerance})
        yield Case(op, [x, x[0]])


@generates("LogicalAnd", "LogicalOr")
def logical(op, draw):
    yield from _broadcast(op, draw, tf.bool)


@generates("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bitwise(op, draw):
    for dtype in draw.types(op, "T"):
        yield from _broadcast(op, draw, dtype, dtype.min, dtype.max)


@generates("LeftShift", "RightShift")
def shifts(op, draw):
    for dtype in draw.types(op, "T"):
        x, y = draw.broadcast_shapes()
        low = 0 if dtype.is_unsigned else -3
        yield Case(op, [draw.array(dtype, x, dtype.min, dtype.max), draw.array(dtype, y, low, 70)])
        yield Case(op, [draw.array(dtype, (9,), dtype.min, dtype.max), draw.array(dtype, (9,), 0, 8)])


@generates("Complex")
def complex_parts(op, draw):
    for part, whole in ((tf.float32, tf.complex64), (tf.float64, tf.complex128)):
        for _ in range(4):
            x, y = draw.broadcast_shapes()
            yield Case(op, [draw.array(part, x), draw.array(part, y)], {"Tout": whole})


@generates(
    "InvGrad", "ReciprocalGrad", "RsqrtGrad", "SigmoidGrad", "SqrtGrad", "TanhGrad", tolerance=HALF
)
def gradients(op, draw):
    for dtype in draw.types(op, "T"):
        tolerance = COMPLEX if dtype.is_complex else Tolerance(ulps=8, reason=HALF.reason)
        for shape in draw.shapes():
            inputs = [draw.array(dtype, shape, 0.2, 2), draw.array(dtype, shape)]
            yield Case(op, inputs, tolerance=tolerance)
        yield Case(op, [draw.array(dtype, (2, 3)), draw.array(dtype, (6,))], tolerance=tolerance)
        yield Case(op, [draw.array(dtype, (2, 3)), draw.array(dtype, (5,))], tolerance=tolerance)


@generates("BroadcastArgs", "BroadcastGradientArgs")
def broadcast_args(op, draw):
    for dtype in (np.int32, np.int64):
        for _ in range(8):
            x, y = draw.broadcast_shapes()
            yield Case(op, [np.array(x, dtype), np.array(y, dtype)])
        for x, y in (([], [1, 1]), ([2, 1], [2, 1]), ([2, 3], [2]), ([0, 1], [1, 4]), ([-1], [1])):
            yield Case(op, [np.array(x, dtype), np.array(y, dtype)])
        yield Case(op, [np.array([[2]], dtype), np.array([2], dtype)])
        yield Case(op, [np.array([2], dtype), np.array(2, dtype)])


@generates(
    "Igamma", "IgammaGradA", "Igammac", "Polygamma", "Zeta",
    tolerance=Tolerance(ulps=512, atol=1e-5, reason="single precision is computed in double here"),
)
def special(op, draw):
    for dtype in draw.types(op, "T"):
        double = Tolerance(ulps=4096, atol=1e-12, reason="other approximations")
        tolerance = double if dtype == tf.float64 else None
        for _ in range(6):
            x, y = draw.broadcast_shapes()
            first = draw.array(dtype, x, 0.1, 9)
            if op == "Polygamma":
                first = np.floor(first)
            if op == "Zeta":
                first += 1.1
            yield Case(op, [first, draw.array(dtype, y, 0.1, 12)], tolerance=tolerance)
        a = np.array([1, -1, 1, 1, 2, 1.5, np.nan, 30], dtype.as_numpy_dtype)
        b = np.array([1, 1, 0, -1, 0.5, 1.5, 1, 25], dtype.as_numpy_dtype)
        if op.startswith("Igamma"):
            yield Case(op, [a, b], tolerance=tolerance)
        yield Case(op, [a[:2], b[:3]])


@generates(
    "Betainc", tolerance=Tolerance(ulps=512, atol=1e-5, reason="single precision is computed in double")
)
def betainc(op, draw):
    for dtype in draw.types(op, "T"):
        double = Tolerance(ulps=4096, atol=1e-12, reason="other approximations")
        tolerance = double if dtype == tf.float64 else None
        for shapes in (((), (), ()), ((7,), (7,), (7,)), ((), (2, 3), ()), ((5,), (), (5,)), ((0,), (), ())):
            a, b, x = shapes
            inputs = [draw.array(dtype, a, 0.1, 9), draw.array(dtype, b, 0.1, 9), draw.array(dtype, x, 0, 1)]
            yield Case(op, inputs, tolerance=tolerance)
    x = draw.array(tf.float32, (2, 3), 0, 1)
    yield Case(op, [x, x[0], x])
    edges = np.array([[1, 0, -1, 1, 1, 2], [1, 1, 1, 1, 2, 2], [0, 0.5, 0.5, 1.5, 1, -0.5]], np.float32)
    yield Case(op, list(edges))


@generates("NextAfter")
def next_after(op, draw):
    for dtype in draw.types(op, "T"):
        yield from _broadcast(op, draw, dtype, special=True)
