"""Branches that constants decide: what only the other side needs is neither computed nor asked for.

`x` is a placeholder that nobody feeds, so a step fails exactly if it needs it.
"""

import pytest
import tensorflow as tf

v1 = tf.compat.v1


@pytest.fixture(params=[1, 2])
def version(request):
    (v1.disable_control_flow_v2 if request.param == 1 else v1.enable_control_flow_v2)()
    yield request.param
    v1.disable_control_flow_v2()


def one():
    return tf.ones([2])


def constant(x):
    return tf.cond(tf.constant(False), lambda: x * 2.0, one)


def computed(x):
    return tf.cond(tf.less(tf.constant(3), 2), lambda: x * 2.0, one)


def computed_before(x):
    with tf.control_dependencies([tf.random.uniform([])]):
        return tf.cond(tf.constant(False), lambda: x + 1.0, one)


def in_a_branch(x):
    yes, no = tf.constant(True), tf.constant(False)
    return tf.cond(no, one, lambda: tf.cond(yes, one, lambda: x))


def in_a_loop(x):
    choice = lambda y: tf.cond(tf.constant(False), lambda: y + x, lambda: y * 1.0)
    return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, choice(y)), [0, one()])[1]


def beside_a_loop(x):
    loop = lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 1.0), [0, one()])[1]
    return tf.cond(tf.constant(True), loop, lambda: x)


def gradient(x):
    weight = one() * v1.placeholder_with_default(2.0, [])
    return v1.gradients(tf.cond(tf.constant(False), lambda: weight * x, lambda: weight * 1.0), weight)[0]


@pytest.mark.parametrize(
    "make", [constant, computed, computed_before, in_a_branch, in_a_loop, beside_a_loop, gradient]
)
def test_what_is_never_taken_needs_nothing(target, version, make):
    x = v1.placeholder(tf.float32, [2])
    fetch = tf.identity(make(x)) + 1.0
    with v1.Session(target) as session:
        assert session.run(fetch).tolist() == [2.0, 2.0]


def fed(x):
    return tf.cond(v1.placeholder_with_default(False, []), lambda: x, one)


def drawn(x):
    return tf.cond(tf.random.uniform([]) > 2.0, lambda: x, one)


def entered(x):
    loop = lambda: tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + 1.0), [0, x])[1]
    return tf.cond(tf.constant(False), loop, one)


def in_a_function(x):
    return tf.function(lambda x: tf.cond(tf.constant(False), lambda: x, one))(x)


@pytest.mark.parametrize("make", [fed, drawn, entered, in_a_function])
def test_what_may_be_taken_needs_all_of_its_inputs(target, version, make):
    x = v1.placeholder(tf.float32, [2])
    fetch = tf.identity(make(x)) + 1.0
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(fetch)


def test_calls_of_what_is_never_taken_have_no_effects(target, version):
    x = v1.placeholder(tf.float32, [2])
    variable = v1.get_variable("v", initializer=1.0, use_resource=True)
    added = tf.function(lambda: variable.assign_add(1.0))()
    fetch = tf.identity(tf.cond(tf.constant(False), lambda: x + added, one)) + 1.0
    with v1.Session(target) as session:
        session.run(variable.initializer)
        assert session.run(fetch).tolist() == [2.0, 2.0]
        assert session.run(variable.read_value()) == 1.0


@pytest.mark.parametrize("version, is_needed", [(1, False), (2, True)], indirect=["version"])
def test_loops_without_turns(target, version, is_needed):
    x = v1.placeholder(tf.float32, [2])
    limit = tf.math.floormod(tf.constant(8), 4)
    _, y = v1.while_loop(lambda i, y: i < limit, lambda i, y: (i + 1, y + x), [tf.constant(0), one()])
    with v1.Session(target) as session:
        if is_needed:
            with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
                session.run(y)
        else:
            assert session.run(y).tolist() == [1.0, 1.0]


def test_a_call_that_is_run_by_name_computes_its_results(target):
    x = v1.placeholder(tf.float32, [2])
    doubled = tf.function(lambda x: x * 2.0)(x)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value"):
            session.run(doubled.op)


def test_a_fetch_that_is_dead_is_an_internal_error(target):
    alive, dead = v1.raw_ops.Switch(data=tf.constant(1.0), pred=v1.placeholder_with_default(False, []))
    with v1.Session(target) as session:
        assert session.run(alive) == 1.0
        with pytest.raises(tf.errors.InternalError, match="Failed to fetch outputs for step"):
            session.run(dead)
