"""What a benchmark is: a cluster, a program that runs on it, and what we want of the ratio.

A graph case is a function that builds a graph and returns a `Step`:

    @case("step/nothing", jobs={"worker": 1}, target=0.6)
    def nothing():
        '''A step that does nothing.'''
        return Step(tf.no_op())

The graph is built once and both sides run it. What is not a session that runs one step again and
again (starting a server, opening sessions) is a `Program` of its own, given instead of a graph.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from conformance.bench import process

v1 = tf.compat.v1

_ALL = []


@dataclasses.dataclass
class Step:
    """One step of a graph case, and how its numbers are looked at."""

    run: object
    feeds: dict = dataclasses.field(default_factory=dict)
    # Fetched and compared between the sides, after a few steps and again after the last.
    values: object = None
    # Steps before the first comparison. The second comes after as many steps on either side.
    steps_before_check: int = 1
    # The largest relative difference; sums of many numbers may differ by their order.
    tolerance: float = 1e-4
    # The same after thousands of steps, where rounding has grown; None for no second look.
    final_tolerance: float | None = 1e-3


@dataclasses.dataclass(frozen=True)
class Curve:
    """The line through some cases: cost over the number of tasks, or over a size."""

    name: str
    x: float
    x_label: str


@dataclasses.dataclass
class Case:
    name: str
    about: str
    jobs: dict
    # Makes the program of one side; see `Program`.
    program: object
    # At most this much of TensorFlow's time, and of its memory.
    target: float | None = None
    resident_target: float | None = None
    # What a step moves or computes, for rates beside the physical limits.
    moved_bytes: int | None = None
    flops: int | None = None
    # Ops in a step, to tell the cost of one.
    ops: int | None = None
    curve: Curve | None = None
    # Engines of our side by job, where it is not ours alone.
    engines: dict = dataclasses.field(default_factory=dict)
    # Memory that both sides together need at most, besides the servers' own.
    memory: int = 0
    # Whether `--quick` leaves it out.
    slow: bool = False
    # Whether a round is one step, because the step is the whole life of a server or session.
    one_step: bool = False


class Program:
    """What one side of a case does; `cluster` is a running cluster of that side, if it needs one."""

    def __init__(self, cluster):
        self.cluster = cluster

    def step(self):
        """One step, on the clock."""
        raise NotImplementedError

    def steps(self, count):
        """Several steps, on the clock."""
        for _ in range(count):
            self.step()

    def before_check(self):
        """The steps before the first comparison."""
        self.step()

    def values(self):
        """The numbers that both sides must agree on."""
        return []

    def tolerance(self, final):
        """The largest relative difference of values, None for no comparison."""
        return 1e-4

    def before_round(self):
        """What has to be done between rounds, off the clock."""

    def server_pids(self):
        """The processes whose time and memory count."""
        return [task.pid for task in self.cluster.tasks()]

    def cpu_seconds(self):
        """Processor time of the servers so far."""
        return process.cpu_seconds(self.server_pids())

    def close(self):
        pass


class SessionProgram(Program):
    """Runs a step in a session on the first worker."""

    def __init__(self, cluster, graph, step):
        super().__init__(cluster)
        self._step = step
        self.session = v1.Session(cluster.target(), graph=graph)
        with graph.as_default():
            self.session.run(_initialisers(graph))

    def step(self):
        self.session.run(self._step.run, self._step.feeds)

    def before_check(self):
        self.steps(self._step.steps_before_check)

    def values(self):
        step = self._step
        fetches = step.run if step.values is None else step.values
        return self.session.run(fetches, step.feeds)

    def tolerance(self, final):
        return self._step.final_tolerance if final else self._step.tolerance

    def close(self):
        self.session.close()


def case(name, *, jobs, program=SessionProgram, **options):
    """Adds the graph that a function builds to the benchmarks."""

    def add(build):
        def programs(clusters):
            graph = tf.Graph()
            with graph.as_default():
                v1.set_random_seed(7)
                step = build()
            return [program(cluster, graph, step) for cluster in clusters]

        _ALL.append(Case(name, _first_line(build), jobs, programs, **options))
        return build

    return add


def program_case(name, *, jobs, about, program, **options):
    """Adds a program of its own kind; `program` takes the cluster of a side."""

    def programs(clusters):
        return [program(cluster) for cluster in clusters]

    _ALL.append(Case(name, about, jobs, programs, **options))


def all_cases():
    return list(_ALL)


def variable(name, value_or_shape, *, resource=True, seed=1, scale=1.0):
    """A float variable with the same contents on both sides, without a constant in the graph."""
    shape = np.shape(value_or_shape) if isinstance(value_or_shape, np.ndarray) else value_or_shape
    if isinstance(value_or_shape, np.ndarray):
        initial = v1.constant_initializer(value_or_shape)
    else:
        initial = v1.random_uniform_initializer(-scale, scale, seed=seed)
    return v1.get_variable(name, shape, tf.float32, initial, use_resource=resource)


def noise(*shape, seed=1):
    """Numbers between -1 and 1, the same in every run."""
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def on(job, task=0):
    """The device of a task."""
    return tf.device(f"/job:{job}/task:{task}")


def _initialisers(graph):
    return [variable.initializer for variable in graph.get_collection("variables")]


def _first_line(function):
    return (function.__doc__ or "").strip().splitlines()[0].rstrip(".")
