"""Branches, loops and functions, on one task and spread over several.

Every program is a function that builds a graph and returns what to fetch and what it must be. The
same programs run in a session of one task, and in a cluster where parts of them are elsewhere.
"""

import contextlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.framework import function as v1_function

from conformance.rig import cluster as clusters

PROGRAMS = {}


def program(build):
    """Registers a program. It gets a function from a job to a device scope."""
    PROGRAMS[build.__name__] = build
    return build


@contextlib.contextmanager
def control_flow(version):
    enabled = v1.control_flow_v2_enabled()
    (v1.enable_control_flow_v2 if version == 2 else v1.disable_control_flow_v2)()
    yield
    (v1.enable_control_flow_v2 if enabled else v1.disable_control_flow_v2)()


def choose(condition, then, otherwise):
    return tf.cond(v1.placeholder_with_default(condition, []), then, otherwise)


@program
def branches(on):
    x = v1.placeholder_with_default(3.0, [])
    with on("ps"):
        y = x * 2
    return [
        (choose(True, lambda: x + y, lambda: x - y), 9),
        (choose(False, lambda: x + y, lambda: x - y), -3),
        # A branch that computes nothing, and one without inputs.
        (choose(False, lambda: x + y, lambda: y), 6),
        (choose(True, lambda: tf.constant(5.0), lambda: y), 5),
    ]


@program
def nested_branches(on):
    x = v1.placeholder_with_default(3.0, [])

    def inner(offset):
        with on("ps"):
            return choose(offset > 1, lambda: x + offset, lambda: x - offset)

    return [
        (choose(True, lambda: inner(2), lambda: inner(1)), 5),
        (choose(False, lambda: inner(2), lambda: inner(1)), 2),
    ]


@program
def a_branch_parts_between_devices(on):
    x = v1.placeholder_with_default(3.0, [])

    def then():
        with on("ps"):
            y = x * 2
        with on("worker"):
            z = y + 1
        with on("ps"):
            return z * z

    return [(choose(True, then, lambda: x), 49), (choose(False, then, lambda: x), 3)]


@program
def only_the_chosen_branch_has_effects(on):
    with on("ps"):
        v = v1.get_variable("v", initializer=1.0, use_resource=True)
        w = v1.get_variable("w", initializer=1.0, use_resource=True)
    one = tf.cond(v1.placeholder_with_default(True, []), lambda: v.assign_add(10.0), lambda: w + 1)
    with tf.control_dependencies([one]):
        return [(v.read_value(), 11), (w.read_value(), 1)]


@program
def loops(on):
    with on("ps"):
        start = tf.identity(v1.placeholder_with_default(1.0, []))
    limit = v1.placeholder_with_default(100.0, [])
    doubled, count = tf.while_loop(
        lambda x, i: x < limit, lambda x, i: (x * 2, i + 1), (start, tf.constant(0))
    )
    # The condition is false at once.
    never, _ = tf.while_loop(lambda x, i: x > limit, lambda x, i: (x * 2, i + 1), (start, 0))
    return [(doubled, 128), (count, 7), (never, 1)]


@program
def a_loops_body_parts_between_devices(on):
    with on("ps"):
        step = tf.identity(v1.placeholder_with_default(3.0, []))

    def body(i, total):
        with on("ps"):
            squared = i * step
        with on("worker"):
            return i + 1, total + squared

    _, total = tf.while_loop(lambda i, _: i < 5, body, (0.0, 0.0))
    return [(total, 30)]


@program
def a_loops_condition_is_elsewhere(on):
    def condition(i, _):
        with on("ps"):
            return tf.reduce_sum(tf.stack([i, 1.0])) < 5

    def body(i, total):
        with on("worker"):
            return i + 1, total + i

    _, total = tf.while_loop(condition, body, (0.0, 0.0))
    return [(total, 6)]


@program
def nested_loops(on):
    def outer(i, total):
        def inner(j, subtotal):
            with on("ps"):
                return j + 1, subtotal + i * j

        _, subtotal = tf.while_loop(lambda j, _: j < i, inner, (0.0, 0.0))
        return i + 1, total + subtotal

    _, total = tf.while_loop(lambda i, _: i < 5, outer, (0.0, 0.0))
    return [(total, sum(i * j for i in range(5) for j in range(i)))]


@program
def a_loop_in_a_branch(on):
    x = v1.placeholder_with_default(3.0, [])

    def loop():
        def body(i, total):
            with on("ps"):
                return i + 1, total * x

        return tf.while_loop(lambda i, _: i < 3, body, (0, tf.constant(1.0)))[1]

    return [(choose(True, loop, lambda: x), 27), (choose(False, loop, lambda: x), 3)]


@program
def a_branch_in_a_loop(on):
    def body(i, total):
        def odd():
            with on("ps"):
                return total + i

        return i + 1, tf.cond(tf.equal(i % 2, 1), odd, lambda: total)

    _, total = tf.while_loop(lambda i, _: i < 6, body, (0, 0))
    return [(total, 9)]


@program
def a_loop_updates_a_variable(on):
    with on("ps"):
        v = v1.get_variable("v", initializer=1.0, use_resource=True)

    def body(i):
        with tf.control_dependencies([v.assign_add(2.0)]):
            return i + 1

    count = tf.while_loop(lambda i: i < 4, body, [tf.constant(0)])
    with tf.control_dependencies(tf.nest.flatten(count)):
        return [(v.read_value(), 9)]


@program
def a_loop_reads_a_variable_for_its_condition(on):
    with on("ps"):
        v = v1.get_variable("v", initializer=1.0, use_resource=True)

    def condition(i):
        with tf.control_dependencies([i]):
            return v.read_value() < 20

    def body(i):
        with tf.control_dependencies([i]):
            doubled = v.assign(v * 2)
        with tf.control_dependencies([doubled]):
            return i + 1

    count = tf.while_loop(condition, body, [tf.constant(0)])
    return [(count, 5)]


@program
def values_of_a_loop_are_swapped(on):
    a, b, n = tf.while_loop(
        lambda a, b, n: n < 3, lambda a, b, n: (b, a, n + 1), (tf.constant(1), tf.constant(2), 0)
    )
    return [(a, 2), (b, 1), (n, 3)]


@program
def cases(on):
    x = v1.placeholder_with_default(3.0, [])
    with on("ps"):
        y = x + 1
    branches = [lambda: x, lambda: y * 2, lambda: x * y]
    index = [v1.placeholder_with_default(i, []) for i in (0, 1, 2, 7, -1)]
    return list(zip([tf.switch_case(i, branches) for i in index], [3, 8, 12, 12, 12]))


@program
def functions(on):
    @tf.function
    def twice(x):
        return x * 2, x

    @tf.function
    def twice_of_twice(x):
        return twice(twice(x)[0])[0] + 1

    x = v1.placeholder_with_default(3.0, [])
    return [(twice_of_twice(x), 13), (twice(x)[1], 3)]


@program
def functions_have_effects(on):
    v = v1.get_variable("v", initializer=1.0, use_resource=True)

    @tf.function
    def add(x):
        v.assign_add(x)
        return x * 2

    result = add(v1.placeholder_with_default(3.0, []))
    with tf.control_dependencies([result]):
        return [(result, 6), (v.read_value(), 4)]


@program
def a_function_with_control_flow(on):
    @tf.function
    def collatz(n):
        steps = 0
        while n > 1:
            if tf.equal(n % 2, 0):
                n = n // 2
            else:
                n = n * 3 + 1
            steps += 1
        return steps

    return [(collatz(v1.placeholder_with_default(6, [])), 8)]


@program
def a_function_that_is_not_to_be_inlined(on):
    @v1_function.Defun(tf.float32, noinline=True)
    def square(x):
        return x * x

    return [(square(v1.placeholder_with_default(3.0, [])), 9)]


@program
def equal_things_and_constants(on):
    """What an optimiser would compute once, or before the step."""
    x = v1.placeholder_with_default([1.0, 2.0], [2])
    with on("ps"):
        a = tf.identity(tf.constant(2.0) * 3.0)
    b = tf.identity(x * a) + tf.identity(x * a)
    c = tf.cond(v1.placeholder_with_default(True, []), lambda: b * 1.0, lambda: b + 0.0)
    with tf.control_dependencies([tf.no_op(), tf.constant(1)]):
        return [(tf.stop_gradient(c) - 0.0, [12, 24])]


def run(target, config, programs_on, build):
    expected = build(programs_on)
    with v1.Session(target, config=config) as session:
        session.run(v1.global_variables_initializer())
        fetched = session.run([tensor for tensor, _ in expected])
    for value, (_, wanted) in zip(fetched, expected):
        np.testing.assert_allclose(value, wanted)


def config(optimise):
    config = v1.ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = not optimise
    return config


@pytest.fixture(params=[1, 2], ids=["v1", "v2"])
def version(request):
    with control_flow(request.param):
        yield request.param


@pytest.fixture(scope="module")
def shared_cluster(all_servers, engine):
    jobs = {"ps": 1, "worker": 1}
    cluster = clusters.Cluster(all_servers, jobs, dict.fromkeys(jobs, engine))
    yield cluster
    cluster.close()


@pytest.mark.parametrize("optimise", [False, True], ids=["literal", "optimised"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_one_task(target, version, name, optimise):
    run(target, config(optimise), lambda job: contextlib.nullcontext(), PROGRAMS[name])


@pytest.mark.parametrize("optimise", [False, True], ids=["literal", "optimised"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_on_two_tasks(shared_cluster, version, name, optimise):
    target = shared_cluster.target()
    v1.Session.reset(target)
    run(target, config(optimise), lambda job: tf.device(f"/job:{job}"), PROGRAMS[name])
