"""Functions of one value, element by element."""

import numpy as np
import tensorflow as tf

from conformance.differential.cases import Case, Tolerance, generates

APPROXIMATE = Tolerance(ulps=6, reason="both sides approximate by polynomials, but not the same")
COMPLEX = Tolerance(ulps=64, atol=1e-6, reason="the parts are rounded at other places")

# Where functions of real numbers are defined and do not grow out of range.
DOMAINS = {
    "Acos": (-1, 1),
    "Acosh": (1, 10),
    "Asin": (-1, 1),
    "Atanh": (-0.99, 0.99),
    "Log": (0.01, 100),
    "Log1p": (-0.9, 100),
    "Rsqrt": (0.01, 100),
    "Sqrt": (0, 100),
    "Tan": (-1.5, 1.5),
}


@generates("Abs", "Neg", "Sign", "Square")
def exact_unary(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            special = not dtype.is_complex
            yield Case(op, [draw.array(dtype, shape, special=special)], tolerance=_complex(dtype))


@generates("Ceil", "Floor", "Rint", "Round")
def rounding(op, draw):
    for dtype in draw.types(op, "T"):
        if dtype.is_integer:
            # TensorFlow returns zeros; its client never asks.
            continue
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, special=True)])
        halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997, 1e6])
        yield Case(op, [halves.astype(dtype.as_numpy_dtype)])


@generates(
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cos", "Cosh", "Erf", "Erfc", "Exp",
    "Expm1", "Inv", "Log", "Log1p", "Reciprocal", "Rsqrt", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan",
    "Tanh", tolerance=APPROXIMATE,
)
def elementary(op, draw):
    low, high = DOMAINS.get(op, (-5, 5))
    for dtype in draw.types(op, "T"):
        if dtype.is_integer:
            continue
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, low, high)], tolerance=_complex(dtype))
        # TensorFlow's double-precision error function of infinity is not a number.
        if not dtype.is_complex and not (op == "Erf" and dtype == tf.float64):
            special = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, np.inf, -np.inf, np.nan, 1e-8, -30.0, 88.0]
            yield Case(op, [np.array(special, dtype.as_numpy_dtype)])


@generates("IsFinite", "IsInf", "IsNan")
def predicates(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, special=True)])


@generates("LogicalNot")
def logical_not(op, draw):
    for shape in draw.shapes():
        yield Case(op, [draw.array(tf.bool, shape)])


@generates("Invert", "PopulationCount")
def bits(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, dtype.min, dtype.max)])


@generates("Angle", "ComplexAbs", "Conj", "Imag", "Real", tolerance=COMPLEX)
def parts(op, draw):
    for dtype, part in ((tf.complex64, tf.float32), (tf.complex128, tf.float64)):
        for shape in draw.shapes():
            attrs = {} if op == "Conj" else {"Tout": part}
            yield Case(op, [draw.array(dtype, shape)], attrs)


@generates(
    "_UnaryOpsComposition",
    tolerance=Tolerance(ulps=64, atol=1e-6, reason="a step magnifies the errors of the one before"),
)
def composition(op, draw):
    chains = [
        ["Abs", "Sqrt"], ["Neg"], ["Sigmoid", "Log", "Neg"], ["Exp", "Log1p"], ["Square", "Rsqrt"],
        ["Tanh", "Relu", "Relu6", "Elu", "Selu"], ["Floor", "Ceil", "Round", "Rint"],
        ["Sin", "Cos", "Tan", "Asinh"], ["Inv", "Reciprocal"], ["Missing"], [],
    ]
    for dtype in draw.types(op, "T"):
        # TensorFlow has fewer functions of half precision.
        for chain in chains[:4] if dtype == tf.half else chains:
            yield Case(op, [draw.array(dtype, (3, 5), 0.1, 3)], {"op_names": chain})


def _complex(dtype):
    return COMPLEX if dtype.is_complex else None


@generates(
    "BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e",
    "BesselK1", "BesselK1e", "BesselY0", "BesselY1", "Dawsn", "Digamma", "Erfinv", "Expint",
    "FresnelCos", "FresnelSin", "Lgamma", "Ndtri", "Spence",
    tolerance=Tolerance(ulps=64, atol=1e-6, reason="single precision is computed in double here"),
)
def special(op, draw):
    low, high = {"Erfinv": (-1, 1), "Ndtri": (0, 1), "Spence": (0, 20), "Expint": (0, 20)}.get(op, (-9, 9))
    low = 0.01 if op[:7] in ("BesselK", "BesselY") else low
    for dtype in draw.types(op, "T"):
        double = Tolerance(ulps=256, atol=1e-13, reason="other approximations")
        tolerance = double if dtype == tf.float64 else None
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, low, high)], tolerance=tolerance)
        far = {"Erfinv": 1, "Ndtri": 1, "Expint": 60}.get(op, 80)
        yield Case(op, [draw.array(dtype, (16,), max(low, 0), far)], tolerance=tolerance)
        # At zero TensorFlow's single-precision Y_1 is not a number, unlike its double.
        zero = 1.5 if op == "BesselY1" else 0.0
        special = [zero, 1.0, 2.0, 0.5, 3.0, np.nan, 10.0 if far > 1 else 0.25]
        yield Case(op, [np.array(special, dtype.as_numpy_dtype)], tolerance=tolerance)
