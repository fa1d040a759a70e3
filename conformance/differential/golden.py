"""Golden vectors: cases with TensorFlow's answers, for tests of kernels that run without Python.

A line of `crates/ops/golden/<family>.jsonl` is one case:

    {"op": "Neg", "attrs": {"T": {"type": "DT_FLOAT"}},
     "inputs": [{"dtype": "DT_FLOAT", "shape": [2], "data": [1, "NaN"]}],
     "outputs": [{"dtype": "DT_FLOAT", "shape": [2], "data": [-1, "NaN"]}]}

with `"error": {"code": 3}` instead of outputs if the op fails, and `"tolerance"` if the results may
differ by that much relative to their size. Numbers that JSON lacks are the
strings `NaN`, `Infinity` and `-Infinity`; complex numbers are pairs; strings are in base 64. Inputs
that are lists are flattened. Attributes are all there, inferred ones too, each with its kind. An
input with `"variable": "ref"` or `"resource"` is the first value of a variable that is the op's
input; the values that variables have after the op follow its outputs.
"""

import base64
import json

import numpy as np
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework import types_pb2

from conformance.differential import compare, graphs, runner
from conformance.rig.servers import ROOT

SEED = 1
CASES_PER_OP = 24
# Larger tensors are for the comparison with a live TensorFlow.
MOST_ELEMENTS = 64


def record(generators, reference):
    """Writes the golden vectors of whole families, given all their generators."""
    by_family = {}
    for generator in generators:
        by_family.setdefault(generator.family, []).append(generator)
    for family, members in by_family.items():
        path = ROOT / "crates" / "ops" / "golden" / f"{family}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        cases = [case for member in members for case in _recordable(member)]
        lines = [_line(built, outcome) for built, outcome in runner.reference_outcomes(cases, reference)]
        path.write_text("".join(lines))
        yield path, len(lines)


def _recordable(generator):
    if isinstance(generator.tolerance, compare.OnlyShapes):
        return []
    cases = [case for case in generator.cases(SEED) if case.build is None and _is_small(case)]
    picked = np.linspace(0, len(cases) - 1, min(CASES_PER_OP, len(cases))).round().astype(int)
    return [cases[index] for index in picked]


def _is_small(case):
    inputs = graphs.named_inputs(case).values()
    arrays = [item for value in inputs for item in (value if isinstance(value, list) else [value])]
    return all(np.size(array) <= MOST_ELEMENTS for array in arrays)


def _line(built, outcome):
    node = built.operation.node_def
    record = {
        "op": built.case.op,
        "attrs": {
            name: encode_attr(value)
            for name, value in sorted(node.attr.items())
            if not name.startswith("_")
        },
        "inputs": [_encode_input(built, feed) for feed in built.feeds],
    }
    if isinstance(outcome, compare.Failed):
        record["error"] = {"code": outcome.code}
    else:
        record["outputs"] = [
            encode_tensor(value, fetch.dtype.base_dtype)
            for value, fetch in zip(outcome.outputs, built.fetches)
        ]
        if tolerance := compare.relative_tolerance(built.case, outcome):
            record["tolerance"] = float(f"{tolerance:.2g}")
    return json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"


def _encode_input(built, feed):
    encoded = encode_tensor(built.feeds[feed])
    if feed in built.variables:
        encoded["variable"] = built.variables[feed]
    return encoded


def encode_tensor(array, dtype=None):
    """Encodes an array with its type and shape, the elements in row-major order.

    A session returns quantised values as plain integers, so their type must be given.
    """
    dtype = dtype or graphs.dtype_of(array)
    return {
        "dtype": types_pb2.DataType.Name(dtype.as_datatype_enum),
        "shape": list(array.shape),
        "data": [_encode_element(dtype, element) for element in array.reshape(-1)],
    }


def _encode_element(dtype, element):
    if dtype == tf.string:
        element = element if isinstance(element, bytes) else element.encode()
        return base64.b64encode(element).decode()
    if dtype == tf.bool:
        return bool(element)
    if dtype.is_complex:
        return [_encode_float(element.real), _encode_float(element.imag)]
    if dtype.is_floating:
        return _encode_float(element)
    if dtype.is_quantized:
        return int(element[0] if element.dtype.names else element)
    return int(element)


def _encode_float(value):
    if np.isnan(value):
        return "NaN"
    if np.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # The shortest decimal that is read back as the same value of its own type.
    if isinstance(value, (np.float32, np.float64)):
        value = float(np.format_float_scientific(value, unique=True))
    value = float(value)
    is_minus_zero = value == 0 and np.signbit(value)
    is_short = abs(value) < 2**24 and value == int(value)
    return int(value) if is_short and not is_minus_zero else value


def encode_attr(value):
    """Encodes an attribute's value with its kind."""
    kind = value.WhichOneof("value")
    if kind == "list":
        for field, items in value.list.ListFields():
            return {"list": [_encode_item(field.name, item) for item in items]}
        return {"list": []}
    return _encode_item(kind, getattr(value, kind))


def _encode_item(kind, item):
    match kind:
        case "type":
            return {"type": types_pb2.DataType.Name(item)}
        case "i" | "b":
            return {kind: item}
        case "f":
            return {"f": _encode_float(np.float32(item))}
        case "s":
            return {"s": base64.b64encode(item).decode()}
        case "shape":
            return {"shape": None if item.unknown_rank else [dim.size for dim in item.dim]}
        case "tensor":
            return {"tensor": encode_tensor(graphs.as_array(tf.make_ndarray(item)))}
        case "func":
            return {"func": item.name}
        case _:
            raise ValueError(f"attribute of unknown kind: {text_format.MessageToString(item)}")
