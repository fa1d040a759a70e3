"""Runs cases on TensorFlow and on a server, and reports differences."""

import dataclasses
import itertools
import time
import warnings

import tensorflow.compat.v1 as v1

from conformance.differential import compare, graphs
from conformance.differential.cases import Case
from conformance.differential.draw import Draw
from conformance.differential.reference import config, outcome
from conformance.differential.variations import all_cases, broken

# So many cases share a graph: enough to share its cost, few enough that pruning it is cheap.
BATCH = 48


@dataclasses.dataclass(frozen=True)
class Difference:
    """A case on which the two disagree."""

    case: Case
    why: str
    expected: object
    actual: object

    def __str__(self):
        return (
            f"{self.case}\n  {self.why}\n"
            f"  tensorflow:  {self.expected}\n  tensorfleet: {self.actual}"
        )


def run(cases, reference, target):
    """Runs cases on both sides and yields each with its difference, or with nothing.

    A case that TensorFlow does not survive tells nothing about the server: it comes with a warning.
    """
    for batch in batches(cases, BATCH):
        graph, built = graphs.build(batch)
        with v1.Session(target, graph=graph, config=config()) as server:
            for each in built:
                expected = reference.outcome(graph, each.fetches, each.feeds)
                actual = outcome(server, each.fetches, each.feeds)
                if isinstance(expected, compare.Died):
                    warnings.warn(f"TensorFlow {expected} of {each.case}", stacklevel=2)
                    yield each.case, None
                    continue
                why = compare.difference(each.case, expected, actual)
                yield each.case, why and Difference(each.case, why, expected, actual)


def reference_outcomes(cases, reference):
    """Runs cases on TensorFlow only and yields each that it survives, as built, with its outcome."""
    for batch in batches(cases, BATCH):
        graph, built = graphs.build(batch)
        for each in built:
            expected = reference.outcome(graph, each.fetches, each.feeds)
            if not isinstance(expected, compare.Died):
                yield each, expected


def run_for(generators, reference, target, seconds, seed):
    """Runs fresh cases of all generators in turn, until the time is up; one round at least.

    The first round has each generator's own cases and all types, others have broken cases, too.
    """
    end = time.monotonic() + seconds
    for round_seed in itertools.count(seed):
        cases = [case for each in generators for case in all_cases(each, round_seed)]
        if round_seed > seed:
            draw = Draw(round_seed)
            cases = [each for case in cases for each in (case, broken(case, draw)) if each]
        for case, difference in run(cases, reference, target):
            yield case, difference
            if time.monotonic() > end and round_seed > seed:
                return
        if time.monotonic() > end:
            return


def batches(items, size):
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch

