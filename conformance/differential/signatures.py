"""The kernels of TensorFlow, by op and types."""

import functools
import itertools

from tensorflow.python.framework import kernels


@functools.cache
def registered():
    """All signatures by op, each a tuple of pairs of an attribute and a type."""
    found = {}
    for kernel in kernels.get_all_registered_kernels().kernel:
        if kernel.device_type in ("CPU", "DEFAULT") and not kernel.label:
            names = [constraint.name for constraint in kernel.constraint]
            types = [constraint.allowed_values.list.type for constraint in kernel.constraint]
            for chosen in itertools.product(*types):
                found.setdefault(kernel.op, set()).add(tuple(sorted(zip(names, chosen))))
    return {op: signatures for op, signatures in found.items() if not op.startswith("_")}


def of_node(node):
    """The signatures that a node has, one for each choice of attributes that kernels restrict."""
    for names in _restricted(node.op):
        yield tuple((name, node.attr[name].type) for name in names)


@functools.cache
def _restricted(op):
    return {tuple(name for name, _ in each) for each in registered().get(op, ())}
