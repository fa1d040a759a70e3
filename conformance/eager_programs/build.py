"""Runs programs statement by statement, as a client does that builds no graph."""

import contextlib

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from conformance.programs.build import Builder
from conformance.programs.program import Type, array

# Where whatever asks for no device is.
DEFAULT_DEVICE = "/job:worker/task:0"


class EagerBuilder(Builder):
    """Values and variables of a program so far."""

    def __init__(self):
        super().__init__("eager")
        self.graph = None

    def run(self, statement):
        """Runs a statement at the top and returns what it gave, or the code of its error."""
        try:
            with tf.device(DEFAULT_DEVICE):
                self._add([statement])
            values = [self._values[statement.id, i] for i in range(len(statement.results))]
            return [value.numpy() for value in values]
        except tf.errors.OpError as error:
            tf.experimental.async_clear_error()
            for index, type in enumerate(statement.results):
                self._values[statement.id, index] = self._default(type)
            return (type_name(error), error.message[:300])

    def variables(self):
        """What the variables hold."""
        return {id: variable.numpy() for id, variable in self.resources.items()}

    def tie(self, statement, tensors):
        if not tf.executing_eagerly():
            super().tie(statement, tensors)

    def _add(self, statements):
        for statement in statements:
            self._operations.pop(statement.id, None)
            try:
                made = self._build(statement)
            except tf.errors.OpError:
                raise
            except Exception as error:  # Whatever TensorFlow's client has against it.
                self.refused.append((statement.id, statement.kind, repr(error)[:300]))
                made = [self._default(type) for type in statement.results]
            if not isinstance(made, (list, tuple)):
                made = []
            for index, tensor in enumerate(made):
                self._values[statement.id, index] = tensor
            if tf.executing_eagerly():
                # A failure that nobody waits for would be told to whoever comes next.
                context.async_wait()
            else:
                self._operations.setdefault(statement.id, [tensor.op for tensor in made])

    def _build(self, statement):
        if statement.kind == "variable":
            return self._variable(statement)
        if not tf.executing_eagerly():
            return super()._build(statement)
        args = [self._argument(arg) for arg in statement.args]
        with tf.device(statement.device) if statement.device else contextlib.nullcontext():
            made = self._kinds[statement.kind].build(self, statement, args)
        return [tf.convert_to_tensor(tensor) for tensor in made]

    def _variable(self, statement):
        type = Type(*statement.params["type"])
        with tf.device(statement.device):
            value = tf.constant(array(statement.params["value"], *type), type.dtype)
            self.resources[statement.id] = tf.Variable(value)
        return []

    def _default(self, type):
        element = "x" if type.dtype == "string" else 1
        return tf.constant(array([element] * int(np.prod(type.shape)), *type), type.dtype)


def type_name(error):
    return type(error).__name__
