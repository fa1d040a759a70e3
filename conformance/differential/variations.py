"""Cases made from other cases: of other types, and with something broken.

A generator draws what is worth knowing of its op; that a kernel exists for each type that TensorFlow
has one for, and that bad input is refused in the same way, is the same question for all ops.
"""

import dataclasses
import itertools

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from conformance.differential import graphs, signatures
from conformance.differential.draw import OPAQUE, RARE, Draw

# So many cases of a generator are tried as models for a type before there is none for it.
_MODELS = 4


def all_cases(generator, seed):
    """Returns a generator's cases, and further ones for types that it leaves out."""
    return generator.cases(seed) + retyped(generator, seed)


def retyped(generator, seed):
    """Returns a case for each signature that the generator's own cases do not have."""
    models = [case for case in generator.cases(seed) if case.build is None]
    if not models:
        return []
    _, built = graphs.build(models)
    have = {signature for each in built for signature in signatures.of_node(each.operation.node_def)}
    missing = sorted(signatures.registered().get(generator.op, set()) - have)
    plain = [case for case in models if _is_plain(case)] or models
    draw = Draw(seed)
    cases = []
    for signature in missing:
        if all(_is_drawable(type) for _, type in signature):
            tries = (_retype(draw.choice(plain), dict(signature), draw) for _ in range(_MODELS))
            cases += itertools.islice(filter(_is_buildable, tries), 1)
    return cases


def all_broken(generator, seed, count):
    """Returns up to `count` cases of a generator, each with something broken."""
    models = [case for case in generator.cases(seed) if case.build is None]
    draw = Draw(seed)
    made = (broken(draw.choice(models), draw) for _ in range(count if models else 0))
    return [case for case in made if case and _is_buildable(case)]


def broken(case, draw):
    """Returns a case with one input that is not as it was: empty, of another rank, out of range."""
    inputs = dict(graphs.named_inputs(case))
    flat = [name for name, value in inputs.items() if not isinstance(value, list)]
    lists = [name for name, value in inputs.items() if isinstance(value, list) and value]
    if not flat and not lists:
        return None
    name = draw.choice(flat + lists)
    if name in lists:
        values = list(inputs[name])
        values[draw.integer(0, len(values) - 1)] = _break(graphs.as_array(draw.choice(values)), draw)
        inputs[name] = values
    else:
        inputs[name] = _break(graphs.as_array(inputs[name]), draw)
    return dataclasses.replace(case, inputs=inputs)


def _is_buildable(case):
    try:
        graphs.build([case])
    except ValueError:
        return False
    return True


def _is_plain(case):
    """Whether a case has something in all of its inputs."""
    values = graphs.named_inputs(case).values()
    arrays = [item for value in values for item in (value if isinstance(value, list) else [value])]
    return all(np.size(array) for array in arrays)


def _is_drawable(type):
    return type not in OPAQUE and type not in RARE and not tf.as_dtype(type).is_quantized


def _retype(case, types, draw):
    definition = op_def_registry.get(case.op)
    inputs = dict(graphs.named_inputs(case))
    inferred = set()
    for argument in definition.input_arg:
        type = types.get(argument.type_attr)
        if type is None or argument.name not in inputs:
            continue
        inferred.add(argument.type_attr)
        value = inputs[argument.name]
        if isinstance(value, list):
            inputs[argument.name] = [_cast(graphs.as_array(each), type, draw) for each in value]
        else:
            inputs[argument.name] = _cast(graphs.as_array(value), type, draw)
    attrs = {name: value for name, value in case.attrs.items() if name not in inferred}
    known = {attr.name for attr in definition.attr}
    for name in (types.keys() - inferred) & known:
        attrs[name] = tf.as_dtype(types[name])
    return dataclasses.replace(case, inputs=inputs, attrs=attrs)


def _cast(array, type, draw):
    dtype = tf.as_dtype(type)
    if graphs.dtype_of(array) == dtype:
        return array
    if dtype == tf.string:
        return draw.strings(array.shape)
    if array.dtype == object or array.dtype.names:
        return draw.array(dtype, array.shape)
    if dtype.is_complex:
        return array.astype(dtype.as_numpy_dtype)
    if array.dtype.kind == "c":
        array = array.real
    if array.dtype.kind not in "biu":
        array = np.nan_to_num(array.astype(np.float64), posinf=7, neginf=-7)
    if dtype.is_unsigned:
        array = np.abs(array.astype(np.float64) if array.dtype.kind == "b" else array)
    return array.astype(dtype.as_numpy_dtype)


def _break(array, draw):
    how = draw.choice(["rank", "flat", "empty", "longer", "shorter", "scalar", "value"])
    match how:
        case "rank":
            return array[None]
        case "flat":
            return array.reshape(-1)
        case "empty":
            return array.reshape(-1)[:0]
        case "longer" if array.ndim:
            return np.concatenate([array, array], axis=draw.integer(0, array.ndim - 1))
        case "shorter" if array.ndim and array.shape[0]:
            return array[:-1]
        case "scalar" if array.size:
            return array.reshape(-1)[0].reshape(()) if array.dtype != object else _scalar(array)
        case "value" if array.size and array.dtype.kind in "iu" and not array.dtype.names:
            changed = array.copy().reshape(-1)
            numbers = [0, 1, 7, 100] if array.dtype.kind == "u" else [-1, -7, 0, 7, 100]
            changed[draw.integer(0, changed.size - 1)] = draw.choice(numbers)
            return changed.reshape(array.shape)
    return array[None]


def _scalar(array):
    scalar = np.empty((), dtype=object)
    scalar[()] = array.reshape(-1)[0]
    return scalar
