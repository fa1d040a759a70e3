"""Runs cases on TensorFlow in this process and on a server, and reports differences."""

import dataclasses
import itertools
import time

import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.differential import compare, graphs
from conformance.differential.cases import Case

# So many cases share a graph: enough to share its cost, few enough that pruning it is cheap.
BATCH = 48
RUN_MILLISECONDS = 30_000


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


def run(cases, target):
    """Runs cases on both sides and yields each with its difference, or with nothing."""
    for batch in batches(cases, BATCH):
        graph, built = graphs.build(batch)
        with v1.Session("", graph=graph, config=_config()) as reference:
            with v1.Session(target, graph=graph, config=_config()) as server:
                for each in built:
                    expected, actual = outcome(reference, each), outcome(server, each)
                    why = compare.difference(each.case, expected, actual)
                    yield each.case, why and Difference(each.case, why, expected, actual)


def reference_outcomes(cases):
    """Runs cases on TensorFlow only and yields each, as built, with its outcome."""
    for batch in batches(cases, BATCH):
        graph, built = graphs.build(batch)
        with v1.Session("", graph=graph, config=_config()) as reference:
            for each in built:
                yield each, outcome(reference, each)


def run_for(generators, target, seconds, seed):
    """Runs fresh cases of all generators in turn, until the time is up; one round at least."""
    end = time.monotonic() + seconds
    for round_seed in itertools.count(seed):
        cases = [case for generator in generators for case in generator.cases(round_seed)]
        for case, difference in run(cases, target):
            yield case, difference
            if time.monotonic() > end and round_seed > seed:
                return
        if time.monotonic() > end:
            return


def outcome(session, built):
    """Runs one case in a session."""
    options = v1.RunOptions(timeout_in_ms=RUN_MILLISECONDS)
    # Some kernels of TensorFlow write into what they are fed.
    feeds = {tensor: value.copy() for tensor, value in built.feeds.items()}
    try:
        values = session.run(built.fetches, feeds, options=options)
    except tf.errors.OpError as error:
        return compare.Failed(error.error_code, _last_line(error.message))
    return compare.Returned([graphs.as_array(value) for value in values if value is not None])


def batches(items, size):
    iterator = iter(items)
    while batch := list(itertools.islice(iterator, size)):
        yield batch


def _config():
    config = v1.ConfigProto()
    # A graph rewritten for speed tests the rewriter, and takes longer than the op it has.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    config.graph_options.optimizer_options.opt_level = -1
    return config


def _last_line(message):
    """The op's own words, without the client's account of where it was made."""
    lines = [line for line in message.split("\n") if line.strip()]
    lines = [line for line in lines if "[[{{node" not in line and "Original stack" not in line]
    return lines[-1] if lines else ""
