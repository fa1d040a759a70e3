"""Runs programs on both engines and compares what comes out."""

import collections
import dataclasses
import queue
import re
import threading

import numpy as np
import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.programs import options
from conformance.programs.build import Builder
from conformance.programs.program import array
from conformance.rig import cluster

ENGINES = ("tensorflow", "tensorfleet")
HUNG = "Hung"
RUN_MILLISECONDS = 20_000
# TensorFlow now and then never answers a partial run after one that failed.
PARTIAL_SECONDS = 10
# What is computed in another order is rounded in another way.
RELATIVE = {"float32": 1e-4, "float64": 1e-9, "float16": 3e-2, "bfloat16": 2e-1}
RELATIVE |= {"complex64": 1e-4, "complex128": 1e-9}


@dataclasses.dataclass(frozen=True)
class Failed:
    code: str
    node: str | None
    message: str

    def __str__(self):
        return f"{self.code} at {self.node}: {self.message}"


@dataclasses.dataclass
class Difference:
    """A step on which the engines disagree, and how."""

    part: int
    step: int
    why: str
    outcomes: dict

    def has_hung(self):
        """Whether an engine still has not answered."""
        return any(isinstance(each, Failed) and each.code == HUNG for each in self.outcomes.values())

    def __str__(self):
        outcomes = "".join(f"\n  {engine}: {_show(self.outcomes[engine])}" for engine in ENGINES)
        return f"part {self.part}, step {self.step}: {self.why}{outcomes}"


class Engines:
    """A cluster of each engine: two workers and a ps with two CPU devices each."""

    def __init__(self, owner, unique):
        self._owner, self._unique = owner, unique
        self._clusters = {}
        self.steps = 0
        self.failures = 0

    def targets(self, task="worker:0"):
        for engine in ENGINES:
            running = self._clusters.get(engine)
            if running is None or any(task.exit_code is not None for task in running.tasks()):
                if running is not None:
                    running.close()
                jobs = {"ps": 1, "worker": 2}
                config = v1.ConfigProto(device_count={"CPU": 2})
                engines = dict.fromkeys(jobs, engine)
                self._clusters[engine] = cluster.Cluster(self._owner, jobs, engines, config)
        job, index = task.split(":")
        return {engine: self._clusters[engine].target(job, int(index)) for engine in ENGINES}

    def difference(self, program):
        """Runs a program on both engines and returns the first difference, or nothing."""
        builder = Builder(self._unique)
        targets = self.targets(program.master)
        config = options.config(program.options)
        sessions, asked = {}, collections.defaultdict(Asked)
        hung = False
        try:
            for part_index, part in enumerate(program.parts):
                before = len(builder.initializers)
                builder.add(part.statements)
                for engine, target in targets.items():
                    if engine not in sessions:
                        sessions[engine] = v1.Session(target, graph=builder.graph, config=config)
                initializers = builder.initializers[before:]
                run = lambda session: _attempt(lambda: session.run(initializers, options=_options()))
                found, failed = self._compare(sessions, run, part_index, -1)
                if found or failed:
                    return found
                for step_index, step in enumerate(part.steps):
                    run = lambda session: _run(session, builder, step, asked[session])
                    found, failed = self._compare(sessions, run, part_index, step_index)
                    hung = failed == HUNG or found and found.has_hung()
                    if found or hung:
                        return found
                    if failed and builder.resources:
                        # What else happened before the failure is a matter of luck.
                        return None
            return None
        finally:
            for engine, session in sessions.items():
                alive = all(task.exit_code is None for task in self._clusters[engine].tasks())
                if alive and not hung:
                    session.close()
                else:
                    _abandon(session)
            if hung:
                # Who has not answered may never end what it was asked for, nor begin anything else.
                self._close()

    def _close(self):
        for running in self._clusters.values():
            running.close()
        self._clusters.clear()

    def reset(self):
        """Forgets the state of all programs so far."""
        for target in self.targets().values():
            v1.Session.reset(target)

    def _compare(self, sessions, run, part, step):
        outcomes = {engine: run(session) for engine, session in sessions.items()}
        self.steps += 1
        expected = outcomes[ENGINES[0]]
        failed = expected.code if isinstance(expected, Failed) else None
        self.failures += failed is not None
        why = compare(*(outcomes[engine] for engine in ENGINES))
        return (Difference(part, step, why, outcomes) if why else None), failed


# What TensorFlow's own servers cannot do.
DEFECTS = (
    "This use case is currently not supported",
    # Functions that are not inlined see the devices of one task.
    "but available devices are [",
    # Results of functions on a part of a device's name.
    "output_devices are not specified",
)
# Which of the nodes that cannot be together is named is a matter of who is looked at first.
CONTRADICTION = "Cannot colocate nodes"


def compare(expected, actual):
    """Returns what is different about an outcome, or nothing."""
    if isinstance(expected, Failed):
        if expected.code == HUNG or any(words in expected.message for words in DEFECTS):
            return None
    if isinstance(expected, Failed) or isinstance(actual, Failed):
        if not isinstance(actual, Failed):
            return "should have failed"
        if not isinstance(expected, Failed):
            return "failed"
        if expected.code != actual.code:
            return "error codes differ"
        if all(CONTRADICTION in failed.message for failed in (expected, actual)):
            return None
        return None if _is_same_node(expected.node, actual.node) else "another node is named"
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        if why := _values_differ(want, have):
            return f"fetch {index}: {why}"
    return None


def _is_same_node(one, other):
    """Whether two names mean one node. A node of a function has its own name, or one with all calls around
    it, by who put it into the graph: that is TensorFlow's optimiser for some steps, and its runtime for
    others."""
    if one is None or other is None:
        return one == other
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _values_differ(want, have):
    if want is None and have is None:
        return None
    want, have = np.asarray(want), np.asarray(have)
    if want.dtype != have.dtype or want.shape != have.shape:
        return "types or shapes differ"
    relative = RELATIVE.get(want.dtype.name)
    if relative is None:
        return None if np.array_equal(want, have) else "values differ"
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    want, have = want.astype(wide), have.astype(wide)
    with np.errstate(all="ignore"):
        finite = np.abs(want[np.isfinite(want)])
        size = max(1.0, finite.max() if finite.size else 0)
        same = (want == have) | (np.abs(want - have) <= relative * size)
        same |= ~np.isfinite(want) & ~np.isfinite(have) & (np.isnan(want) == np.isnan(have))
    return None if same.all() else "values differ"


def _run(session, builder, step, asked):
    fetches = [tensor for arg in step.fetches if (tensor := builder.tensor(arg)) is not None]
    # To run a placeholder is an error even if it is fed, and two errors race.
    ops = [op for id in step.targets for op in builder.operations(id)]
    targets = [op for op in ops if op.type != "Placeholder"]
    feeds = {}
    for feed in step.feeds:
        tensor = builder.tensor(feed.arg)
        if tensor is None or _is_rewritten(tensor.op):
            continue
        if builder.graph.is_feedable(tensor):
            feeds[tensor] = array(feed.value, feed.arg.type.dtype, feed.shape)
    if not fetches and not targets or asked.collides(feeds, fetches, targets):
        return []
    if step.mode == "callable":
        return _attempt(lambda: _run_callable(session, fetches + targets, feeds))
    if step.mode == "partial" and fetches:
        partially = lambda: _run_partially(session, fetches, feeds, step.first)
        return _within_limit(lambda: _attempt(partially))
    return _attempt(lambda: session.run(fetches + targets, feeds, options=_options()))


def _is_rewritten(op):
    """Whether TensorFlow's optimiser puts another node in the place of a product or a sum of equals, or of
    constants that are passed on, and does not see what is fed for it."""
    return op.type == "IdentityN" or op.type in ("AddN", "Mul") and len(op.inputs) > 1 and len({each.ref() for each in op.inputs}) == 1


class Asked:
    """What a session was asked for. TensorFlow's master knows steps by one number for the names of feeds,
    fetches and targets, one after the other, and so takes some steps for others."""

    def __init__(self):
        self._known = {}

    def collides(self, feeds, fetches, targets):
        fed = {each.name for each in feeds}
        # What is fed and fetched the client answers itself.
        fetched = {each.name for each in fetches} - fed
        parts = [sorted(names) for names in (fed, fetched, {each.name for each in targets})]
        lengths = tuple(len(part) for part in parts)
        return self._known.setdefault(tuple(sum(parts, [])), lengths) != lengths


def _run_callable(session, fetches, feeds):
    call = session.make_callable(fetches, list(feeds), accept_options=True)
    return call(*feeds.values(), options=_options())


def _run_partially(session, fetches, feeds, first):
    """Runs a step in two parts, the first with some of the feeds and some of the fetches."""
    num_feeds, num_fetches = first
    feeds = list(feeds.items())
    handle = session.partial_run_setup(fetches, [tensor for tensor, _ in feeds])
    early = session.partial_run(handle, fetches[:num_fetches], dict(feeds[:num_feeds]))
    return early + session.partial_run(handle, fetches[num_fetches:], dict(feeds[num_feeds:]))


def _within_limit(run):
    """Runs what takes no time limit of its own. Who does not answer keeps a thread."""
    outcome = queue.SimpleQueue()
    threading.Thread(target=lambda: outcome.put(run()), daemon=True).start()
    try:
        return outcome.get(timeout=PARTIAL_SECONDS)
    except queue.Empty:
        return Failed(HUNG, None, "no answer")


def _attempt(run):
    try:
        return run()
    except tf.errors.OpError as error:
        return Failed(type(error).__name__, _node(error.message), _words(error.message))
    except (TypeError, ValueError, RuntimeError) as error:
        # The client's own opinion, the same on both engines.
        return Failed(type(error).__name__, None, str(error).split("\n")[0])


def _options():
    return v1.RunOptions(timeout_in_ms=RUN_MILLISECONDS)


def _node(message):
    found = re.search(r"\{\{node ([^}]+)\}\}", message)
    return found and found.group(1)


def _words(message):
    """The words of the error itself, without where its node was made and where it was found."""
    frame = re.compile(r"Graph execution error|Detected at node|\s*File |Node: |From /job|Original stack|\S+ root error")
    lines = [line.strip() for line in message.split("\n") if line.strip() and not frame.match(line)]
    lines = [line for line in lines if not line.startswith("[[")]
    return lines[0][:300] if lines else ""


def _show(outcome):
    if isinstance(outcome, Failed):
        return str(outcome)
    return "; ".join(
        str(None if value is None else np.asarray(value).tolist())[:300] for value in outcome
    )


def _abandon(session):
    """Lets go of a session whose server is gone: closing it would wait for the server."""
    session._session = None
    session._closed = True
