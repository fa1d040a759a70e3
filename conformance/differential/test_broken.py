"""What is asked of all ops alike: inputs that do not fit are refused as TensorFlow refuses them."""

import pytest

from conformance.differential import runner
from conformance.differential.cases import generators
from conformance.differential.variations import all_broken

GENERATORS = generators()
SEED = 1
CASES = 2

# Where the two are known to differ, and may.
OPEN = {
    "EncodePng": "images are compressed by another implementation",
    "FractionalMaxPoolGrad": "TensorFlow takes a gradient of any shape, and reads beyond it",
    "SdcaOptimizer": "TensorFlow reads beyond its inputs",
    "SdcaOptimizerV2": "TensorFlow reads beyond its inputs",
    "StaticRegexFullMatch": "TensorFlow's client takes the pattern in a message for a node",
}


@pytest.mark.parametrize("op", [op for op in GENERATORS if op not in OPEN])
def test_broken_inputs(op, reference, target):
    cases = all_broken(GENERATORS[op], SEED, CASES)
    differences = [str(found) for _, found in runner.run(cases, reference, target) if found]
    if differences:
        shown = "\n\n".join(differences)
        pytest.fail(f"{len(differences)} of {len(cases)} cases differ\n\n{shown}", pytrace=False)
