"""From cases to graphs: many cases share one, and each is run alone."""

import dataclasses
import uuid

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_library, op_def_registry
from tensorflow.python.ops import gen_resource_variable_ops, gen_state_ops

from conformance.differential.cases import Case


@dataclasses.dataclass
class Built:
    """A case in a graph."""

    case: Case
    feeds: dict
    # Tensors to fetch; operations to run where there are none.
    fetches: list
    # The op's own node; nothing if the case built its graph itself.
    operation: tf.Operation | None
    # Feeds that are first values of variables: `ref` or `resource`.
    variables: dict = dataclasses.field(default_factory=dict)


def build(cases):
    """Builds one graph with a node for each case."""
    graph = tf.Graph()
    # Resources of a server are found by name, and those of earlier graphs are still there.
    unique = uuid.uuid4().hex[:8]
    with graph.as_default():
        built = [_build(case, f"case_{unique}_{index}") for index, case in enumerate(cases)]
    return graph, built


def input_names(case):
    """Returns the names of a case's inputs, in the order of the op's definition."""
    definition = op_def_registry.get(case.op)
    if definition is None:
        raise ValueError(f"TensorFlow has no op {case.op}")
    return [argument.name for argument in definition.input_arg]


def named_inputs(case):
    """Returns the inputs by name; graphs that a case builds itself may have others than its op."""
    if isinstance(case.inputs, dict):
        return case.inputs
    if case.build is not None:
        return {f"input_{index}": value for index, value in enumerate(case.inputs)}
    names = input_names(case)
    if len(names) != len(case.inputs):
        raise ValueError(f"{case.op} has inputs {names}, the case has {len(case.inputs)}")
    return dict(zip(names, case.inputs))


def _build(case, name):
    feeds = {}
    variables = _Variables()

    def placeholder(value, argument):
        value = as_array(value)
        shape = value.shape if case.known_shapes else None
        tensor = v1.placeholder(dtype_of(value), shape, name=f"{name}_{argument}")
        feeds[tensor] = value
        kind = variable_kind(case, argument)
        return tensor if kind is None else variables.add(kind, tensor)

    tensors = {}
    for argument, value in named_inputs(case).items():
        if isinstance(value, list):
            tensors[argument] = [placeholder(item, argument) for item in value]
        else:
            tensors[argument] = placeholder(value, argument)
    try:
        if case.build is not None:
            with v1.name_scope(name):
                made = case.build(*tensors.values())
            fetches = list(made) if isinstance(made, (list, tuple)) else [made]
            return Built(case, feeds, fetches, None)
        with tf.control_dependencies(variables.initializers):
            _, _, operation, _ = op_def_library._apply_op_helper(
                case.op, name=name, **tensors, **defaults(case), **case.attrs
            )
    except (TypeError, ValueError) as error:
        raise ValueError(f"the client does not build {case}: {error}") from error
    # A reference is to one of the variables, which are fetched anyway.
    outputs = [output for output in operation.outputs if not output.dtype._is_ref_dtype]
    fetches = outputs + variables.values_after(operation)
    return Built(case, feeds, fetches or [operation], operation, variables.kinds)


def variable_kind(case, argument):
    """Returns whether an input is a variable: by reference, by handle, or not at all."""
    if case.build is not None:
        return None
    for definition in op_def_registry.get(case.op).input_arg:
        if definition.name == argument and definition.is_ref:
            return "ref"
        if definition.name == argument and definition.type == types_pb2.DT_RESOURCE:
            return "resource"
    return None


class _Variables:
    """The variables of one case: set in every step before the op, and read after it."""

    def __init__(self):
        self.kinds = {}
        self.initializers = []
        self._readers = []

    def add(self, kind, first_value):
        name = first_value.op.name + "_variable"
        self.kinds[first_value] = kind
        dtype = first_value.dtype
        if kind == "ref":
            # Without a shape, so that the client has no opinion about the op's inputs.
            ref = gen_state_ops.variable_v2(None, dtype, shared_name=name)
            assign = gen_state_ops.assign(ref, first_value, validate_shape=False)
            self.initializers.append(assign)
            self._readers.append(lambda: tf.identity(ref))
            return ref
        handle = gen_resource_variable_ops.var_handle_op(dtype, None, shared_name=name)
        self.initializers.append(gen_resource_variable_ops.assign_variable_op(handle, first_value))
        self._readers.append(lambda: gen_resource_variable_ops.read_variable_op(handle, dtype))
        return handle

    def values_after(self, operation):
        with tf.control_dependencies([operation]):
            return [read() for read in self._readers]


def defaults(case):
    """Returns nothing for each attribute with a default, which asks for the default."""
    definition = op_def_registry.get(case.op)
    inferred = {
        name
        for argument in definition.input_arg
        for name in (argument.type_attr, argument.number_attr, argument.type_list_attr)
    }
    defaults = {attr.name for attr in definition.attr if attr.HasField("default_value")}
    return dict.fromkeys(defaults - inferred - set(case.attrs))


def as_array(value):
    """Returns an input as an array; Python strings become bytes."""
    # NumPy's own type for strings drops zeros at their ends.
    array = np.asarray(value, dtype=object if isinstance(value, bytes) else None)
    if array.dtype.kind in "SU":
        encoded = np.empty(array.shape, dtype=object)
        for index, text in np.ndenumerate(array):
            encoded[index] = bytes(text) if isinstance(text, bytes) else text.encode()
        return encoded
    return array


def dtype_of(array):
    return tf.string if array.dtype == object else tf.as_dtype(array.dtype)
