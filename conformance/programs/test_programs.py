"""A fixed set of random programs, those that once showed a difference, and the machine that finds
them."""

import pathlib

import pytest

from conformance.programs import run
from conformance.programs.generate import generate
from conformance.programs.program import from_json
from conformance.programs.shrink import shrink

SEEDS = range(1, 321)
PER_TEST = 20
# What is left out, and why.
OPEN = {
    231: "TensorFlow's placer refuses it in some runs and not in others",
    228: "two changes of a variable, one before and one behind a cond, come in another order",
}
SHRINK_SECONDS = 20
FOUND = sorted(pathlib.Path(__file__).with_name("found").glob("*.json"))


@pytest.fixture(scope="module")
def engines(all_servers):
    return run.Engines(all_servers, "test")


@pytest.fixture(autouse=True)
def graph():
    """Programs have graphs of their own."""


@pytest.mark.ours("both engines take part")
@pytest.mark.parametrize("first", SEEDS[::PER_TEST])
def test_random_programs(engines, first):
    engines.reset()
    for seed in [each for each in range(first, first + PER_TEST) if each not in OPEN]:
        program = generate(seed)
        if difference := engines.difference(program):
            shows = lambda smaller: engines.difference(smaller) is not None
            small = shrink(program, shows, SHRINK_SECONDS)
            pytest.fail(f"seed {seed}: {difference}\nshrunk to\n{small}", pytrace=False)


@pytest.mark.ours("both engines take part")
@pytest.mark.parametrize("path", FOUND, ids=lambda path: path.stem)
def test_found_programs(engines, path):
    program = from_json(path.read_text())
    if difference := engines.difference(program):
        pytest.fail(f"{difference}\n{program}", pytrace=False)


def test_programs_survive_being_written_down():
    program = generate(1)
    assert from_json(program.to_json()) == program


def test_shrinking_keeps_what_shows_the_difference():
    program = generate(5)
    wanted = program.parts[0].statements[-1].id
    shows = lambda p: any(s.id == wanted for part in p.parts for s in part.statements)
    small = shrink(program, shows, seconds=10)
    assert [s.id for part in small.parts for s in part.statements] == [wanted]


def test_differences_are_seen():
    import numpy as np

    failed = run.Failed("NotFoundError", "a", "")
    one, other = np.array([1.0], "f"), np.array([1.1], "f")
    assert run.compare([one], [one]) is None
    assert run.compare([one], [other]) == "fetch 0: values differ"
    assert run.compare([np.int32(1)], [np.int64(1)]) == "fetch 0: types or shapes differ"
    assert run.compare(failed, [one]) == "should have failed"
    assert run.compare([one], failed) == "failed"
    assert run.compare(failed, run.Failed("NotFoundError", "b", "")) == "another node is named"
    assert run.compare(failed, run.Failed("InternalError", "a", "")) == "error codes differ"
