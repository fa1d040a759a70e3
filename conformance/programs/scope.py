"""What a generator sees: the values and the state so far, and a source of chance."""

import dataclasses
import itertools
import random

import tensorflow as tf

from conformance.programs.program import Arg, Statement, Type

SHAPES = [(), (3,), (2, 3)]
FLOATS = ["float32", "float64"]
SMALL_FLOATS = ["half", "bfloat16"]
INTEGERS = ["int32", "int64"]
SMALL_INTEGERS = ["int8", "uint8", "int16", "uint16", "uint32", "uint64"]
OTHERS = ["bool", "string", "complex64", "complex128"]
NUMBERS = FLOATS + SMALL_FLOATS + INTEGERS + SMALL_INTEGERS
ALL = NUMBERS + OTHERS

DEVICES = [
    "/job:ps/task:0",
    "/job:worker/task:0",
    "/job:worker/task:1",
    "/job:ps",
    "/job:worker",
    "/task:0",
    "/device:CPU:0",
    "/device:CPU:1",
    "/cpu:0",
    "/job:worker/device:CPU:1",
    "/job:worker/replica:0/task:1/device:CPU:0",
    "/job:ps/replica:0/task:0/device:CPU:1",
]


@dataclasses.dataclass
class Value:
    """A value that statements may take."""

    arg: Arg
    # Whether a float is computed without rounding that depends on the order of things.
    exact: bool = True


@dataclasses.dataclass
class Resource:
    """A variable or a queue."""

    id: int
    kind: str
    type: Type
    count: int = 0


class Scope:
    """The statements of one level, the program's or a body's, while they are drawn."""

    def __init__(self, chance, outer=None, inside="top"):
        self.chance = chance
        self.outer = outer
        self.inside = inside
        self.depth = outer.depth + 1 if outer else 0
        self.ids = outer.ids if outer else itertools.count(1)
        self.values = list(outer.values) if outer else []
        self.resources = outer.resources if outer else []
        # The last statement of this level that touched a resource.
        self.touched = {}
        self.statements = []
        # How many statements of the whole program may fail.
        self.failures = outer.failures if outer else [0]
        # Operations of this level that may be named in control edges.
        self.local = []

    def likely(self, probability):
        return self.chance.random() < probability

    def dtype(self, among=None):
        """Draws a type, common ones more often."""
        if among is None:
            groups = [FLOATS, INTEGERS, SMALL_FLOATS, SMALL_INTEGERS, OTHERS]
            (among,) = self.chance.choices(groups, [8, 4, 1, 1.5, 3])
        return among[0] if self.likely(0.5) else self.chance.choice(among)

    def shape(self):
        return self.chance.choice(SHAPES)

    def type(self, among=None):
        """Draws a type, mostly one that there are values of."""
        if self.likely(0.7):
            accept = lambda value: among is None or value.arg.type.dtype in among
            if value := self.any_value(accept):
                return value.arg.type
        return Type(self.dtype(among), self.shape())

    def literal(self, type):
        """Draws a constant's elements."""
        count = 1
        for size in type.shape:
            count *= size
        return [self._element(type.dtype) for _ in range(count)]

    def value(self, type):
        """Returns a value of a type: one that is there, or a new one."""
        have = [value for value in self.values if value.arg.type == type]
        if have and self.likely(0.9):
            # Later ones more often: programs get deep.
            return max(self.chance.choices(have, k=2), key=lambda value: value.arg.id)
        return self.source(type)

    def source(self, type):
        """Returns a new value of a type: a placeholder or a constant."""
        if self.inside == "top" and self.likely(0.5):
            statement = self.add("placeholder", [type], params={"shape": self.static(type.shape)})
        else:
            statement = self.add("const", [type], params={"value": self.literal(type)})
        return self.results(statement)[0]

    def static(self, shape):
        """Draws what the client knows of a shape: nothing, a part, or all."""
        known = self.chance.choice(["nothing", "part", "all"])
        if known == "nothing":
            return None
        return [size if known == "all" or self.likely(0.5) else None for size in shape]

    def any_value(self, accept=lambda value: True):
        """Returns a value that is there, or nothing."""
        have = [value for value in self.values if accept(value)]
        return self.chance.choice(have) if have else None

    def resource(self, *kinds):
        have = [resource for resource in self.resources if resource.kind in kinds]
        return self.chance.choice(have) if have else None

    def may_fail(self):
        """Whether one more statement may be drawn that can fail: two would race."""
        if self.failures[0] or not self.likely(0.3):
            return False
        self.failures[0] += 1
        return True

    def add(self, kind, results, args=(), params=None, touches=(), exact=True, bodies=()):
        """Adds a statement, now and then with a device and edges of its own."""
        statement = Statement(
            next(self.ids),
            kind,
            list(results),
            [value.arg for value in args],
            params or {},
            bodies=list(bodies),
        )
        if self.likely(0.35 if self.inside == "top" else 0.15):
            # Inside of something on task 1 a job alone means its task 1, which `ps` does not have.
            devices = [each for each in DEVICES if each != "/job:ps" or self.inside == "top"]
            statement.device = self.chance.choice(devices)
        if self.local and self.likely(0.1):
            statement.control.append(self.chance.choice(self.local))
        # What is in a body cannot be with something outside of it.
        if self.local and not statement.device and not bodies and self.likely(0.04):
            statement.colocate = self.chance.choice(self.local)
        for resource in touches:
            if resource.id in self.touched:
                statement.control.append(self.touched[resource.id])
            self.touched[resource.id] = statement.id
        self.statements.append(statement)
        self.local.append(statement.id)
        exact = exact and all(value.exact for value in args)
        for index, type in enumerate(results):
            arg = Arg(statement.id, index, type)
            self.values.append(Value(arg, exact or not _is_rounded(type)))
        return statement

    def results(self, statement):
        return [value for value in self.values if value.arg.id == statement.id]

    def body(self, inside, types):
        """Returns the scope of a body with parameters."""
        scope = Scope(self.chance, self, inside)
        params = [next(self.ids) for _ in types]
        for id, type in zip(params, types):
            scope.values.append(Value(Arg(id, 0, type), not _is_rounded(type)))
        return scope, params

    def _element(self, dtype):
        if dtype == "bool":
            return self.likely(0.5)
        if dtype == "string":
            return self.chance.choice(["", "a", "bc", "d e f", "42"])
        dtype = tf.as_dtype(dtype)
        return self.chance.randint(0 if dtype.is_unsigned else -3, 4)


def _is_rounded(type):
    dtype = tf.as_dtype(type.dtype)
    return dtype.is_floating or dtype.is_complex


def seeded(seed):
    """Returns the outermost scope of a program."""
    return Scope(random.Random(seed))
