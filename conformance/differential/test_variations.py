"""What is asked of all ops alike: every type that TensorFlow has a kernel for."""

import pytest

from conformance.differential import runner
from conformance.differential.cases import generators
from conformance.differential.variations import retyped

GENERATORS = generators()
SEED = 1

# What TensorFlow computes there is nobody's intention, or ours is known to differ.
OPEN = {
    "FusedResizeAndPadConv2D": "images are resized in single precision only",
    "ResourceScatterDiv": "quotients of complex numbers are rounded otherwise",
    "Round": "TensorFlow rounds whole numbers to zero",
    "UniqueV2": "whether the zeros of half types are equal depends on where they are",
}


@pytest.mark.parametrize("op", [op for op in GENERATORS if op not in OPEN])
def test_types(op, reference, target):
    cases = retyped(GENERATORS[op], SEED)
    differences = [str(found) for _, found in runner.run(cases, reference, target) if found]
    if differences:
        shown = "\n\n".join(differences[:5])
        pytest.fail(f"{len(differences)} of {len(cases)} cases differ\n\n{shown}", pytrace=False)
