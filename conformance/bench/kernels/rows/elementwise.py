"""Functions of single numbers, and conversions."""

import numpy as np
import tensorflow as tf

from conformance.bench.kernels.row import each_size, real, whole

raw = tf.raw_ops

# Op, and where it is defined.
UNARY = {
    "Abs": (-5, 5), "Acos": (-1, 1), "Acosh": (1, 9), "Asin": (-1, 1), "Asinh": (-5, 5),
    "Atan": (-5, 5), "Atanh": (-0.9, 0.9), "Ceil": (-5, 5), "Cos": (-5, 5), "Cosh": (-5, 5),
    "Digamma": (0.5, 9), "Elu": (-5, 5), "Erf": (-3, 3), "Erfc": (-3, 3), "Erfinv": (-0.9, 0.9),
    "Exp": (-5, 5), "Expm1": (-5, 5), "Floor": (-5, 5), "IsFinite": (-5, 5), "LeakyRelu": (-5, 5),
    "Lgamma": (0.1, 9), "Log": (0.1, 9), "Log1p": (0, 9), "Ndtri": (0.1, 0.9), "Neg": (-5, 5),
    "Reciprocal": (1, 9), "Relu": (-5, 5), "Relu6": (-5, 5), "Rint": (-5, 5), "Round": (-5, 5),
    "Rsqrt": (0.1, 9), "Selu": (-5, 5), "Sigmoid": (-5, 5), "Sign": (-5, 5), "Sin": (-5, 5),
    "Sinh": (-5, 5), "Softplus": (-5, 5), "Softsign": (-5, 5), "Sqrt": (0.1, 9),
    "Square": (-5, 5), "Tan": (-1.5, 1.5), "Tanh": (-5, 5),
}
FEATURES = {"Elu", "LeakyRelu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"}
OTHER_TYPES = {
    "Abs", "Atan", "Erf", "Exp", "Lgamma", "Log", "Neg", "Relu", "Sigmoid", "Sign", "Sin", "Sqrt", "Tanh",
}
# Double precision of single, half and bfloat16 results.
TOLERANCE = {"float32": 1e-4, "float64": 1e-4, "float16": 2e-2, "bfloat16": 5e-2}

BINARY = {
    "AddV2": (-5, 5), "Atan2": (-5, 5), "Div": (1, 5), "FloorDiv": (1, 5), "FloorMod": (1, 5),
    "Maximum": (-5, 5), "Minimum": (-5, 5), "Mul": (-5, 5), "Pow": (0.1, 3), "RealDiv": (1, 5),
    "SquaredDifference": (-5, 5), "Sub": (-5, 5), "Xlogy": (0.1, 3), "DivNoNan": (1, 5),
}
COMPARE = ["Equal", "Greater", "Less", "NotEqual"]
WHOLE = ["AddV2", "Mul", "FloorDiv", "FloorMod", "Maximum", "BitwiseAnd", "LeftShift"]
CASTS = [
    ("float32", "int32"), ("int32", "float32"), ("float32", "float64"), ("float64", "float32"),
    ("float32", "float16"), ("float16", "float32"), ("float32", "bfloat16"), ("bfloat16", "float32"),
    ("uint8", "float32"), ("float32", "uint8"), ("int64", "int32"), ("int32", "int64"),
    ("float32", "int64"), ("int64", "float32"), ("bool", "float32"), ("float32", "bool"),
]


def _unary(op):
    function = getattr(raw, op)
    return lambda x: function(features=x) if op in FEATURES else function(x=x)


for name, (low, high) in UNARY.items():
    argument = _unary(name)
    for dtype in ("float32", "float64", "float16", "bfloat16"):
        if dtype != "float32" and name not in OTHER_TYPES:
            continue
        each_size(
            f"{name} {dtype}",
            name,
            lambda n, l=low, h=high, d=dtype: [real(n, l, h, d)],
            argument,
            tolerance=TOLERANCE[dtype],
            sizes=("small", "cache", "memory") if dtype == "float32" else ("memory",),
        )

for name, (low, high) in BINARY.items():
    function = getattr(raw, name)
    swap = name == "Atan2"
    compute = (lambda a, b, f=function: f(y=a, x=b)) if swap else (lambda a, b, f=function: f(x=a, y=b))
    pair = lambda n, l=low, h=high: [real(n, l, h), real(n, l, h, seed=2)]
    each_size(f"{name} float32", name, pair, compute)
    row = lambda n, l=low, h=high: [real((n // 256, 256), l, h), real(256, l, h, seed=2)]
    each_size(f"{name} float32, row", name, row, compute, sizes=("memory",))
    column = lambda n, l=low, h=high: [real((n // 256, 256), l, h), real((n // 256, 1), l, h, seed=2)]
    each_size(f"{name} float32, column", name, column, compute, sizes=("memory",))

for name in COMPARE:
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n), real(n, seed=2)], lambda a, b, f=function: f(x=a, y=b))

for name in WHOLE:
    function = getattr(raw, name)
    for dtype in (np.int32, np.int64):
        inputs = lambda n, d=dtype: [whole(n, 1, 30, d), whole(n, 1, 30, d, seed=2)]
        each_size(f"{name} {dtype.__name__}", name, inputs, lambda a, b, f=function: f(x=a, y=b), sizes=("memory",))

for source, target in CASTS:
    def inputs(n, source=source):
        return [real(n, 0, 100, "float32").astype(tf.as_dtype(source).as_numpy_dtype)]

    compute = lambda x, target=target: raw.Cast(x=x, DstT=target)
    sizes = ("small", "cache", "memory") if (source, target) == CASTS[0] else ("cache", "memory")
    each_size(f"Cast {source} to {target}", "Cast", inputs, compute, sizes=sizes)

each_size("Gelu, exact", ("Mul", "Erfc"), lambda n: [real(n, -5, 5)], lambda x: tf.nn.gelu(x, approximate=False))
each_size("Gelu, by tanh", ("Mul", "Tanh"), lambda n: [real(n, -5, 5)], lambda x: tf.nn.gelu(x, approximate=True))
each_size("Swish", ("Mul", "Sigmoid"), lambda n: [real(n, -5, 5)], lambda x: x * tf.sigmoid(x))
each_size(
    "SelectV2", "SelectV2",
    lambda n: [real(n) > 0, real(n, seed=2), real(n, seed=3)],
    lambda c, a, b: raw.SelectV2(condition=c, t=a, e=b),
)
each_size("AddN of four", "AddN", lambda n: [real(n, seed=s) for s in range(4)], lambda *x: raw.AddN(inputs=x))
each_size("ClipByValue", "ClipByValue", lambda n: [real(n)], lambda x: tf.clip_by_value(x, -0.5, 0.5))
for name in ("ReluGrad", "EluGrad"):
    each_size(
        name, name, lambda n: [real(n), real(n, seed=2)],
        (lambda g, x: raw.ReluGrad(gradients=g, features=x)) if name == "ReluGrad" else
        (lambda g, x: raw.EluGrad(gradients=g, outputs=x)), sizes=("memory",),
    )
for name in ("TanhGrad", "SigmoidGrad", "RsqrtGrad", "SqrtGrad"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n, 0.1, 1), real(n, seed=2)], lambda y, dy, f=function: f(y=y, dy=dy), sizes=("memory",))
for name in ("SoftplusGrad", "SoftsignGrad", "LeakyReluGrad", "Relu6Grad"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n), real(n, seed=2)], lambda g, x, f=function: f(gradients=g, features=x), sizes=("memory",))
for name in ("GreaterEqual", "LessEqual"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n), real(n, seed=2)], lambda a, b, f=function: f(x=a, y=b), sizes=("memory",))
for name in ("LogicalAnd", "LogicalOr"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n) > 0, real(n, seed=2) > 0], lambda a, b, f=function: f(x=a, y=b), sizes=("cache", "memory"))
each_size("LogicalNot", "LogicalNot", lambda n: [real(n) > 0], lambda x: raw.LogicalNot(x=x), sizes=("memory",))
for name in ("IsNan", "IsInf", "OnesLike", "BesselI0e", "BesselI1e", "Expint", "Dawsn", "Spence"):
    function = getattr(raw, name)
    each_size(name, name, lambda n: [real(n, 0.1, 3)], lambda x, f=function: f(x=x), sizes=("cache", "memory"), tolerance=1e-3)
for name in ("Igamma", "Igammac", "Zeta"):
    function = getattr(raw, name)
    operands = ("x", "q") if name == "Zeta" else ("a", "x")
    compute = lambda a, b, f=function, o=operands: f(**dict(zip(o, (a, b))))
    each_size(name, name, lambda n: [real(n, 1.5, 4), real(n, 0.5, 4, seed=2)], compute, sizes=("cache",), tolerance=1e-3)
for name in ("Real", "Imag", "ComplexAbs", "Conj", "Angle"):
    function = getattr(raw, name)
    compute = (lambda x, f=function: f(x=x)) if name == "ComplexAbs" else (lambda x, f=function: f(input=x))
    each_size(name, name, lambda n: [(real(n) + 1j * real(n, seed=2)).astype(np.complex64)], compute, sizes=("cache", "memory"))
each_size("Complex", "Complex", lambda n: [real(n), real(n, seed=2)], lambda a, b: raw.Complex(real=a, imag=b), sizes=("cache", "memory"))
for name in ("BitwiseOr", "BitwiseXor", "RightShift", "TruncateDiv", "TruncateMod"):
    function = getattr(raw, name)
    each_size(f"{name} int32", name, lambda n: [whole(n, 1, 30), whole(n, 1, 30, seed=2)], lambda a, b, f=function: f(x=a, y=b), sizes=("memory",))
