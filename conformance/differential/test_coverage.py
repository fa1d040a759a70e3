"""How many of TensorFlow's kernels have an equal here, as `docs/ops.md` states it."""

import re

import tensorflow as tf

from tensorflow.python.framework import op_def_registry

from conformance.differential import signatures
from conformance.rig.servers import ROOT

ROW = re.compile(r"\| `(\w+)` \| (.*) \| .* \|")


def computed():
    """The types by op and attribute, as the list of ops has them; no attribute means all types."""
    found = {}
    for line in (ROOT / "docs" / "ops.md").read_text().splitlines():
        if row := ROW.fullmatch(line):
            op, types = row.groups()
            parts = [part.split(": ") for part in types.split("; ")] if types != "all" else []
            found[op] = {attr: set(names.split(", ")) for attr, names in parts}
    return found


def test_the_numbers_of_kernels_are_true():
    ops = computed()

    def is_ours(op, signature):
        return op in ops and all(
            _name(type) in ops[op].get(attr, {_name(type)}) for attr, type in signature
        )

    theirs = [
        (op, each)
        for op, all_of_op in signatures.registered().items()
        for each in all_of_op
        if _is_allowed(op, each)
    ]
    ours = sum(is_ours(op, signature) for op, signature in theirs)
    stated = (ROOT / "crates" / "ops" / "tests" / "it" / "signatures.txt").read_text().strip()
    assert stated == f"{ours:,} of {len(theirs):,}"


def _is_allowed(op, signature):
    """Whether the definition allows the types: some kernels are of types that no node can have."""
    attrs = {attr.name: attr.allowed_values.list.type for attr in op_def_registry.get(op).attr}
    return all(not attrs.get(attr) or type in attrs[attr] for attr, type in signature)


def _name(type):
    name = tf.as_dtype(type).name
    return {"float16": "half", "float32": "float", "float64": "double"}.get(name, name)
