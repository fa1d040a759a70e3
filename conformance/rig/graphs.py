"""Graphs written node by node, as no client would write them."""

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2, node_def_pb2


def attr_value(value):
    attr = attr_value_pb2.AttrValue()
    match value:
        case bool():
            attr.b = value
        case int():
            attr.i = value
        case float():
            attr.f = value
        case str():
            attr.s = value.encode()
        case tf.DType():
            attr.type = value.as_datatype_enum
        case np.ndarray():
            attr.tensor.CopyFrom(tf.make_tensor_proto(value))
        case list() if value and isinstance(value[0], tf.DType):
            attr.list.type.extend(dtype.as_datatype_enum for dtype in value)
        case list():
            attr.list.SetInParent()
        case _:
            attr.CopyFrom(value)
    return attr


def node(name, op, *inputs, device="", **attrs):
    made = node_def_pb2.NodeDef(name=name, op=op, input=inputs, device=device)
    for key, value in attrs.items():
        made.attr[key].CopyFrom(attr_value(value))
    return made


def const(name, value, **attrs):
    value = np.asarray(value)
    dtype = tf.as_dtype(value.dtype)
    return node(name, "Const", dtype=dtype, value=value, **attrs)


def shaped_const(name, dims, dtype=tf.float32, **values):
    """A constant that claims a shape."""
    made = node(name, "Const", dtype=dtype)
    tensor = made.attr["value"].tensor
    tensor.dtype = dtype.as_datatype_enum
    for size in dims:
        tensor.tensor_shape.dim.add(size=size)
    for field, content in values.items():
        if isinstance(content, bytes):
            setattr(tensor, field, content)
        else:
            getattr(tensor, field).extend(content)
    return made


def func(name, **attrs):
    value = attr_value_pb2.AttrValue()
    value.func.name = name
    for key, content in attrs.items():
        value.func.attr[key].CopyFrom(attr_value(content))
    return value


def graph(*nodes, functions=()):
    made = graph_pb2.GraphDef(node=nodes)
    made.versions.producer = 2474
    made.library.function.extend(functions)
    return made


def function(name, *nodes, result, args=("x",), attrs=()):
    """A function of floats to a float."""
    made = graph_pb2.GraphDef().library.function.add()
    made.signature.name = name
    for arg in args:
        made.signature.input_arg.add(name=arg, type=1)
    made.signature.output_arg.add(name="y", type=1)
    made.node_def.extend(nodes)
    made.ret["y"] = result
    return made
