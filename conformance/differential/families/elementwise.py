"""Elementwise arithmetic."""

from conformance.differential.cases import Case, Tolerance, generates

APPROXIMATE = Tolerance(ulps=4, reason="both sides approximate by polynomials, but not the same")


@generates("Abs", "Neg", "Sign", "Square")
def exact_unary(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape, special=True)])


@generates("Exp", "Sigmoid", "Tanh", tolerance=APPROXIMATE)
def approximate_unary(op, draw):
    for dtype in draw.types(op, "T"):
        for shape in draw.shapes():
            yield Case(op, [draw.array(dtype, shape)])


@generates("Add", "AddV2", "Maximum", "Minimum", "Mul", "Sub")
def binary(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(4):
            x, y = draw.broadcast_shapes()
            yield Case(op, [draw.array(dtype, x), draw.array(dtype, y)])
        yield Case(op, [draw.array(dtype, [2, 3]), draw.array(dtype, [2])])


@generates("Equal", "Greater", "Less", "NotEqual")
def comparison(op, draw):
    for dtype in draw.types(op, "T"):
        for _ in range(4):
            x, y = draw.broadcast_shapes()
            yield Case(op, [draw.array(dtype, x, 0, 2), draw.array(dtype, y, 0, 2)])
