"""Errors out of input pipelines: which function, iterator and nodes they name, as on TensorFlow in process."""

import re

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

Dataset = tf.data.Dataset


def pick(x):
    """Fails from 2 on."""
    return tf.gather([1, 2], tf.cast(x, tf.int32))


def nested(x):
    return Dataset.from_tensors(x).map(pick)


PIPELINES = {
    "map": lambda: Dataset.range(3).map(pick),
    "parallel map": lambda: Dataset.range(3).map(pick, num_parallel_calls=2),
    "filter": lambda: Dataset.range(3).filter(lambda x: pick(x) > 0),
    "flat map": lambda: Dataset.range(3).flat_map(nested),
    "interleave": lambda: Dataset.range(3).interleave(nested, cycle_length=2),
    "parallel interleave": lambda: Dataset.range(3).interleave(nested, cycle_length=2, num_parallel_calls=2),
    "scan": lambda: Dataset.range(3).scan(0, lambda state, x: (pick(x), x)),
    "batch": lambda: Dataset.range(3).map(pick).batch(2),
    "shuffle": lambda: Dataset.range(3).map(pick).shuffle(10),
    "cache": lambda: Dataset.range(3).map(pick).cache(),
    "repeat": lambda: Dataset.range(3).map(pick).repeat(2),
    "zip": lambda: Dataset.zip((Dataset.range(3), Dataset.range(3).map(pick))),
    "take and skip": lambda: Dataset.range(3).map(pick).skip(0).take(3),
    "choose": lambda: Dataset.choose_from_datasets([Dataset.range(3).map(pick)] * 2, Dataset.range(1, 2).repeat(4)),
    "group": lambda: Dataset.range(3).group_by_window(lambda x: x, lambda _, group: group.map(pick), 1),
    "group fails": lambda: Dataset.range(3).group_by_window(lambda x: x, lambda key, _: nested(pick(key)), 1),
    "too many": lambda: Dataset.range(3).apply(tf.data.experimental.assert_cardinality(2)),
    "too few": lambda: Dataset.range(3).apply(tf.data.experimental.assert_cardinality(4)),
}


def words(error):
    """The message without what Python writes around it, numbers of nodes and the task."""
    message = error.message.partition("\n\nOriginal stack trace")[0]
    message = message[message.rfind("\n\n") + 1 :] if message.startswith("Graph execution error") else message
    message = re.sub(r"(?m)^(Detected at node .*|Node: .*|From /job:worker/replica:0/task:0:|\d+ root error.*)\n", "", message)
    message = re.sub(r"(Dataset(V\d)?):\d+ ", r"\1 ", message)
    return re.sub(r"(__inference_\w+?)_\d+", r"\1", message).strip()


def errors(target, build, limit=6):
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.inject_prefetch = False
    with v1.Graph().as_default(), v1.Session(target) as session:
        iterator = v1.data.make_initializable_iterator(build().with_options(options))
        next_element = iterator.get_next()
        session.run(iterator.initializer)
        found = []
        for _ in range(limit):
            try:
                session.run(next_element)
                found.append(None)
            except tf.errors.OpError as error:
                found.append((type(error).__name__, words(error)))
                if isinstance(error, tf.errors.OutOfRangeError):
                    break
        return found


@pytest.mark.parametrize("build", PIPELINES.values(), ids=PIPELINES)
def test_errors_name_what_failed_and_where(target, build):
    theirs, ours = errors("", build), errors(target, build)
    assert ours == theirs
    assert any(ours)
