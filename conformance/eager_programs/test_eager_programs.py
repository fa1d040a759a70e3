"""A fixed set of random TensorFlow 2 programs."""

import pytest

from conformance.eager_programs.generate import generate
from conformance.eager_programs.run import Clients
from conformance.programs.shrink import shrink

SEEDS = range(1, 41)
PER_TEST = 10
SHRINK_SECONDS = 20


@pytest.fixture(scope="module")
def clients(all_servers):
    clients = Clients(all_servers)
    yield clients
    clients.close()


@pytest.fixture(autouse=True)
def graph():
    """Programs have no graphs."""


@pytest.mark.ours("both engines take part")
@pytest.mark.parametrize("first", SEEDS[::PER_TEST])
def test_random_programs(clients, first):
    for seed in range(first, first + PER_TEST):
        program = generate(seed)
        if difference := clients.difference(program):
            shows = lambda smaller: clients.difference(smaller) is not None
            small = shrink(program, shows, SHRINK_SECONDS)
            pytest.fail(f"seed {seed}: {difference}\nshrunk to\n{small}", pytrace=False)


def test_programs_have_all_that_functions_can_do():
    drawn = {each.kind for seed in SEEDS for each in generate(seed).parts[0].statements}
    assert {"variable", "assign", "function", "again", "tape", "cond", "loop"} <= drawn
