"""The way of tensors into the functions that a program gave to `tf.py_function` and its kin.

The native part calls `call` with plain values; this module knows numpy and TensorFlow, which are
there, because whoever made the function had them.
"""

from typing import Any

# The number of a type, a shape, and bytes or a list of strings.
Plain = tuple[int, list[int], Any]

_STRING = 7


def call(token: str, eager: bool, arguments: list[Plain]) -> list[Plain]:
    """Calls the function of a token, as TensorFlow's own kernel would."""
    from tensorflow.python.ops import script_ops

    functions = script_ops._py_funcs
    arrays = [_to_array(argument) for argument in arguments]
    if eager:
        results = _call_eagerly(functions, token, arrays)
    else:
        results = functions(token, None, arrays)
    if _is_nothing(results):
        results = []
    elif not isinstance(results, (list, tuple)):
        results = [results]
    return [_to_plain(result) for result in results]


def _is_nothing(results: Any) -> bool:
    """Whether a function returned `None`, of which the registry makes an array."""
    import numpy as np

    if isinstance(results, np.ndarray) and results.ndim == 0:
        results = results.item()
    return results is None


def _call_eagerly(functions: Any, token: str, arrays: list[Any]) -> Any:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import constant_op

    device = "/job:localhost/replica:0/task:0/device:CPU:0"
    with context.eager_mode(), context.device(device):
        return functions(token, device, [constant_op.constant(array) for array in arrays])


def _to_array(plain: Plain) -> Any:
    import numpy as np
    from tensorflow.python.framework import dtypes

    number, shape, data = plain
    if number == _STRING:
        array = np.empty(len(data), dtype=object)
        array[:] = data
        return array.reshape(shape) if shape else data[0]
    dtype = dtypes.as_dtype(number).as_numpy_dtype
    return np.frombuffer(data, dtype=dtype).reshape(shape) if data else np.empty(shape, dtype)


def _to_plain(result: Any) -> Plain:
    import numpy as np
    from tensorflow.python.framework import dtypes

    array = result.numpy() if hasattr(result, "numpy") else result
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return _STRING, list(array.shape), [_to_bytes(value) for value in array.ravel()]
    return dtypes.as_dtype(array.dtype).as_datatype_enum, list(array.shape), array.tobytes()


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise NotImplementedError(f"Unsupported object type {type(value).__name__}")
