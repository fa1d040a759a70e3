"""Cases, and the table of their generators. The package's documentation shows how to use them."""

import dataclasses
import importlib
import pkgutil
import random
from collections.abc import Callable

import numpy as np

from conformance.differential.draw import Draw


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """How far floating-point results may lie apart: `atol + ulps * epsilon * |expected|`.

    Epsilon is that of the result's type, and `atol` grows with it beyond single precision, so one
    tolerance serves all of them.
    """

    reason: str
    ulps: float = 0
    atol: float = 0
    # How far whole numbers may lie apart.
    whole: int = 0


@dataclasses.dataclass(frozen=True)
class OnlyShapes:
    """Values cannot be compared; shapes and types are."""

    reason: str


EXACT = None


@dataclasses.dataclass
class Case:
    """One call of one op."""

    op: str
    inputs: list | dict = dataclasses.field(default_factory=list)
    attrs: dict = dataclasses.field(default_factory=dict)
    # Whether the client knows the shapes of the inputs: it refuses to build some ops otherwise.
    known_shapes: bool = False
    # Makes the graph from the inputs as tensors, where one node is not enough.
    build: Callable | None = None
    # How many outputs are compared: others are a kernel's notes for its own gradient.
    compared: int | None = None
    # Overrides the generator's.
    tolerance: Tolerance | OnlyShapes | None = EXACT

    def __str__(self):
        inputs = self.inputs
        if isinstance(inputs, dict):
            inputs = [f"{name}={_show(value)}" for name, value in inputs.items()]
        else:
            inputs = [_show(value) for value in inputs]
        attrs = [f"{name}={_show(value)}" for name, value in self.attrs.items()]
        return f"{self.op}({', '.join(inputs + attrs)})"


def _show(value):
    if isinstance(value, list):
        return f"[{', '.join(map(_show, value))}]"
    if isinstance(value, (np.ndarray, np.generic)):
        text = np.array2string(np.asarray(value), separator=",", threshold=64).replace("\n", "")
        return f"{np.asarray(value).dtype}{list(np.shape(value))}:{text}"
    return repr(value)


@dataclasses.dataclass(frozen=True)
class Generator:
    """The cases of one op."""

    op: str
    family: str
    function: Callable
    tolerance: Tolerance | OnlyShapes | None

    def cases(self, seed, limit=None):
        """Returns the cases of a seed: all, or a number of them spread evenly."""
        # Each op has a stream of its own, so that a new generator changes no other's cases.
        draw = Draw(random.Random(f"{self.op} {seed}").getrandbits(64))
        cases = list(self.function(self.op, draw))
        if not cases:
            raise ValueError(f"the generator of {self.op} yields no case")
        for case in cases:
            if case.tolerance is None:
                case.tolerance = self.tolerance
        if limit is None or len(cases) <= limit:
            return cases
        picked = np.linspace(0, len(cases) - 1, limit).round().astype(int)
        return [cases[index] for index in picked]


_generators = {}


def generates(*ops, tolerance=EXACT):
    """Makes a function the generator of cases for ops."""

    def register(function):
        family = function.__module__.rpartition(".")[2]
        for op in ops:
            if op in _generators:
                raise ValueError(f"{op} has generators in {_generators[op].family} and {family}")
            _generators[op] = Generator(op, family, function, tolerance)
        return function

    return register


def generators():
    """Returns the generators of all families, by op, in the order of their names."""
    from conformance.differential import families

    for module in pkgutil.iter_modules(families.__path__):
        importlib.import_module(f"{families.__name__}.{module.name}")
    return dict(sorted(_generators.items()))
