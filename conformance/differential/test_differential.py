"""Every op with a generator, on a few fixed cases each. The command line runs more of them."""

import pytest

from conformance.differential import runner
from conformance.differential.cases import generators

SEED = 1
CASES_PER_OP = 16

GENERATORS = generators()

# Differences that are known and not yet mended: the test says when they are.
OPEN = {
    "EncodeJpeg": "our encoder keeps less of noisy images than libjpeg",
    "EncodeJpegVariableQuality": "our encoder keeps less of noisy images than libjpeg",
}


@pytest.mark.parametrize("op", GENERATORS)
def test_op(op, reference, target):
    cases = GENERATORS[op].cases(SEED, CASES_PER_OP)
    outcomes = list(runner.run(cases, reference, target))
    differences = [str(difference) for _, difference in outcomes if difference]
    assert len(outcomes) == len(cases)
    if op in OPEN:
        assert differences, f"{op} is mended, and no longer open: {OPEN[op]}"
    elif differences:
        pytest.fail(
            f"{len(differences)} of {len(cases)} cases differ\n\n" + "\n\n".join(differences[:5]),
            pytrace=False,
        )
