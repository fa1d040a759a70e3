"""From programs to graphs."""

import collections
import contextlib
import itertools

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs import kinds
from conformance.programs.program import array

_names = itertools.count()


class Builder:
    """A graph that grows by statements. Names of resources are its own on any server."""

    def __init__(self, unique):
        self.graph = tf.Graph()
        self.prefix = f"{unique}_{next(_names)}"
        self.resources = {}
        self.functions = {}
        self.initializers = []
        self.refused = []
        self._kinds = kinds.kinds()
        self._values = collections.ChainMap()
        # What stands for a statement in control edges and among targets.
        self._operations = {}
        # Control edges that whatever touches state in the body of a loop waits for.
        self._params = []

    def add(self, statements):
        """Adds statements at the top."""
        with self.graph.as_default():
            self._add(statements)

    def tensor(self, arg):
        """Returns a result of a statement at the top, or nothing if there is none."""
        return self._values.get((arg.id, arg.index))

    def operations(self, id):
        return self._operations.get(id, [])

    def tie(self, statement, tensors):
        """Says which result of a statement its effects are waited for with."""
        tied = statement.bodies[0].tied
        if tied is not None:
            self._operations[statement.id] = [tensors[tied].op]

    def unknown(self, tensor):
        """The same value, of a shape that the client does not know."""
        return tf.raw_ops.PlaceholderWithDefault(input=tensor, shape=tf.TensorShape(None))

    def callable(self, body, results):
        """Returns a function that builds a body on tensors."""

        def build(*arguments):
            outer, outer_params = self._values, self._params
            outer_operations = dict(self._operations)
            self._values = outer.new_child()
            self._params = list(arguments)
            try:
                for id, tensor in zip(body.params, arguments):
                    self._values[id, 0] = tensor
                self._add(body.statements)
                made = [self._argument(arg) for arg in body.results]
                effects = [op for id in body.effects for op in self.operations(id)]
                return [
                    self._after(tensor, effects if body.tied in (None, index) else [])
                    for index, tensor in enumerate(made)
                ]
            finally:
                self._values, self._params = outer, outer_params
                self._operations = outer_operations

        return build

    def _after(self, tensor, effects):
        with tf.control_dependencies(effects):
            return tf.identity(tensor)

    def _add(self, statements):
        for statement in statements:
            self._operations.pop(statement.id, None)
            try:
                made = self._build(statement)
            except Exception as error:  # Whatever TensorFlow's client has against it.
                self.refused.append((statement.id, statement.kind, repr(error)[:300]))
                made = [self._default(type) for type in statement.results]
            if isinstance(made, (list, tuple)):
                for index, tensor in enumerate(made):
                    self._values[statement.id, index] = tensor
                made = [tensor.op for tensor in made]
            else:
                made = [made]
            self._operations.setdefault(statement.id, made)

    def _build(self, statement):
        args = [self._argument(arg) for arg in statement.args]
        control = [op for id in statement.control for op in self.operations(id)]
        if statement.params.get("of") is not None:
            control += self._params
        with contextlib.ExitStack() as stack:
            if statement.device:
                stack.enter_context(tf.device(statement.device))
            if statement.colocate is not None:
                for op in self.operations(statement.colocate)[:1]:
                    stack.enter_context(self.graph_now().colocate_with(op))
            stack.enter_context(tf.control_dependencies(control))
            stack.enter_context(v1.name_scope(f"s{statement.id}"))
            build = tf.autograph.experimental.do_not_convert(self._kinds[statement.kind].build)
            made = build(self, statement, args)
        if isinstance(made, (list, tuple)):
            made = [tf.convert_to_tensor(tensor) for tensor in made]
            for tensor, type in zip(made, statement.results, strict=True):
                assert tensor.dtype.base_dtype == tf.as_dtype(type.dtype), f"{tensor} for {type}"
        return made

    def graph_now(self):
        return v1.get_default_graph()

    def _argument(self, arg):
        tensor = self._values.get((arg.id, arg.index))
        return self._default(arg.type) if tensor is None else tensor

    def _default(self, type):
        count = int(np.prod(type.shape))
        element = "x" if type.dtype == "string" else 1
        return v1.constant(array([element] * count, *type), type.dtype)
