"""All cases, one idea a file."""

import dataclasses
import importlib

from conformance.bench import case

# In the order of the report.
MODULES = [
    "start",
    "step",
    "session",
    "transfer",
    "null_step",
    "tasks",
    "executor",
    "loops",
    "training",
    "embedding",
    "asynchronous",
    "mixed",
    "strategy",
    "durability",
    "products",
    "convolution",
    "maths",
    "updates",
    "input",
]


@dataclasses.dataclass(frozen=True)
class Sizes:
    """How large the cases are whose size the machine must allow."""

    workers: tuple = (1, 2, 4, 8, 16, 32)
    ps: int = 4
    dense_mb: tuple = (100, 1000)
    sparse_mb: tuple = (1000, 16000)
    transfer_mb: int = 1000


def load(sizes):
    """Returns every case."""
    for name in MODULES:
        module = importlib.import_module(f"conformance.bench.cases.{name}")
        if hasattr(module, "add_cases"):
            module.add_cases(sizes)
    return case.all_cases()
