"""The tables, one family a file."""

import importlib

FAMILIES = ["elementwise", "reductions", "moving", "products", "linalg", "networks", "images", "input", "sparse", "strings", "random"]


def load():
    """Returns every row."""
    from conformance.bench.kernels import row

    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
    return row.all_rows()
