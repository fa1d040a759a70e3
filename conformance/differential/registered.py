"""TensorFlow's ops, their families and the types of their CPU kernels, as the list that `docs/ops.md` is made with.

`python -m conformance.differential.registered` writes the list anew.
"""

import importlib
import inspect
import pathlib
import pkgutil

from tensorflow.core.framework import op_def_pb2, types_pb2
from tensorflow.python import ops
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.framework import kernels

LIST = pathlib.Path(__file__).parents[2] / "crates/ops/tests/it/tensorflow.txt"


def text():
    """A line an op: its family, its name, and for each attribute that kernels restrict, the types."""
    families = _families()
    registered = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type in ("CPU", "DEFAULT") and not kernel.label:
            registered.setdefault(kernel.op, []).append(kernel)
    lines = []
    for op in _all_ops():
        words = [families.get(op.name, "internal"), op.name]
        if op.name in registered:
            words += _types(op, registered[op.name])
        elif op.name.startswith("_"):
            continue  # TensorFlow's own, for other devices: its builds differ in them.
        else:
            words.append("nowhere")
        lines.append(" ".join(words) + "\n")
    return "".join(sorted(lines))


def _all_ops():
    serialised = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    return op_def_pb2.OpList.FromString(serialised).op


def _families():
    """The family of an op is the module of TensorFlow with its generated wrapper: `gen_array_ops`."""
    families = {}
    for module in pkgutil.iter_modules(ops.__path__):
        if module.name.startswith("gen_") and module.name.endswith("_ops"):
            wrappers = importlib.import_module(f"{ops.__name__}.{module.name}")
            for name, wrapper in vars(wrappers).items():
                if inspect.isfunction(wrapper):
                    families.setdefault(name.replace("_", "").lower(), module.name[len("gen_") : -len("_ops")])
    return {op.name: families[op.name.lower()] for op in _all_ops() if op.name.lower() in families}


def _types(op, registrations):
    """`T=float,double` for each attribute of a type that not every registration leaves open."""
    for attr in op.attr:
        if attr.type != "type":
            continue
        allowed = list(attr.allowed_values.list.type)
        types = set()
        for registration in registrations:
            named = [c.allowed_values.list.type for c in registration.constraint if c.name == attr.name]
            types.update(named[0] if named else allowed or ["any"])
        if allowed:
            types.intersection_update(allowed)
        if "any" not in types:
            yield attr.name + "=" + ",".join(sorted(_name(type) for type in types))


def _name(dtype):
    return types_pb2.DataType.Name(dtype).removeprefix("DT_").lower()


if __name__ == "__main__":
    LIST.write_text(text())
