"""Every op with a generator, on a few fixed cases each. The command line runs more of them."""

import pytest

from conformance.differential import runner
from conformance.differential.cases import generators

SEED = 1
CASES_PER_OP = 16

GENERATORS = generators()


@pytest.mark.parametrize("op", GENERATORS)
def test_op(op, target):
    cases = GENERATORS[op].cases(SEED, CASES_PER_OP)
    outcomes = list(runner.run(cases, target))
    differences = [str(difference) for _, difference in outcomes if difference]
    assert len(outcomes) == len(cases)
    if differences:
        pytest.fail(
            f"{len(differences)} of {len(cases)} cases differ\n\n" + "\n\n".join(differences[:5]),
            pytrace=False,
        )
