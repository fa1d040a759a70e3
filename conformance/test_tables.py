"""Lookup tables, queues and files: the words of errors, and tables in checkpoints."""

import re

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import data_flow_ops, gen_data_flow_ops, lookup_ops


def dense(key=tf.int64, empty=0, deleted=-1, **options):
    return lookup_ops.DenseHashTable(
        key, tf.int64, default_value=-1, empty_key=empty, deleted_key=deleted, checkpoint=True, **options
    )


@pytest.mark.parametrize("writer", ["server", "client"])
def test_dense_tables_are_exchanged_in_checkpoints(target, tmp_path, writer):
    numbers = dense(name="numbers", initial_num_buckets=8)
    texts = dense(tf.string, "", "$", name="texts", initial_num_buckets=4)
    vectors = dense(tf.int64, [0, 0], [-1, -1], name="vectors", initial_num_buckets=4)
    saver = v1.train.Saver([table for table in v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)])
    count = tf.range(20, dtype=tf.int64)
    fill = [
        numbers.insert(count * 7 + 1, count),
        texts.insert(tf.as_string(count), count),
        vectors.insert(tf.stack([count + 1, count], 1), count),
    ]
    found = [
        numbers.lookup(tf.constant([8, 9], tf.int64)),
        texts.lookup(tf.constant(["7", "x"])),
        vectors.lookup(tf.constant([[5, 4], [4, 5]], tf.int64)),
        numbers.size(),
    ]
    saves, restores = (target, "") if writer == "server" else ("", target)
    with v1.Session(saves) as session:
        session.run(fill)
        session.run(numbers.erase(tf.constant([1], tf.int64)))
        assert len(session.run(numbers.export())[0]) == 32
        path = saver.save(session, str(tmp_path / "tables"))
    with v1.Session(restores) as session:
        saver.restore(session, path)
        a, b, c, size = session.run(found)
    assert (list(a), list(b), list(c), size) == ([1, -1], [7, -1], [4, -1], 19)


def shared(kind, *args, **options):
    return lambda: kind(*args, shared_name="shared", **options).queue_ref.op


FIFO, SHUFFLE, PADDING = v1.FIFOQueue, v1.RandomShuffleQueue, v1.PaddingFIFOQueue
def test_what_was_removed_leaves_its_place_in_a_dense_table(target):
    exported = []
    for where in ("", target):
        with v1.Graph().as_default(), v1.Session(where) as session:
            table = dense(initial_num_buckets=8)
            session.run(table.insert(tf.constant([11, 12, 13], tf.int64), tf.constant([1, 2, 3], tf.int64)))
            session.run(table.remove(tf.constant([12, 15], tf.int64)))
            assert session.run(table.size()) == 2
            exported.append([part.tolist() for part in session.run(table.export())])
    assert exported[0] == exported[1]


def barrier(types, shapes):
    return lambda: data_flow_ops.Barrier(types, shapes=shapes, shared_name="b").ready_size()


CONFLICTS = {
    "capacity": (shared(FIFO, 10, tf.float32), shared(FIFO, 15, tf.float32)),
    "types": (shared(FIFO, 10, tf.float32), shared(FIFO, 10, tf.int32)),
    "shapes": (shared(FIFO, 10, tf.float32, [[1]]), shared(FIFO, 10, tf.float32, [[2]])),
    "kind": (shared(FIFO, 10, tf.float32), shared(SHUFFLE, 10, 5, tf.float32)),
    "least": (shared(SHUFFLE, 10, 5, tf.float32), shared(SHUFFLE, 10, 3, tf.float32)),
    "seeds": (shared(SHUFFLE, 10, 5, tf.float32, seed=1), shared(SHUFFLE, 10, 5, tf.float32, seed=2)),
    "padding": (shared(PADDING, 10, tf.float32, [[3]]), shared(PADDING, 10, tf.float32, [[2]])),
    "several shapes": (
        shared(FIFO, 10, [tf.float32] * 2, [[1], []]), shared(FIFO, 10, [tf.float32] * 2, [[1], [3]])
    ),
    "barrier types": (barrier([tf.float32, tf.float32], [[], []]), barrier([tf.float32, tf.int32], [[], []])),
    "barrier shapes": (barrier([tf.float32], [[]]), barrier([tf.float32], [[2]])),
    "no conflict": (shared(PADDING, 10, tf.float32, [[None]]), shared(PADDING, 10, tf.float32, [[3]])),
}


def message(target, builds, feeds=None):
    """What the last of several steps fails with, without the words around it; `None` if it does not."""
    with v1.Graph().as_default():
        v1.set_random_seed(7)
        fetches = [build() for build in builds]
        with v1.Session(target) as session:
            for fetch in fetches[:-1]:
                session.run(fetch)
            try:
                session.run(fetches[-1], feeds)
            except tf.errors.OpError as error:
                text = re.sub(r"^From /job:\S+\n", "", error.message.split("\nOriginal stack")[0])
                lines = [line for line in text.split("\n") if line and not line.startswith(("\t", " ", "Detected", "Node:", "Graph", "From "))]
                return type(error), lines[0]


@pytest.mark.parametrize("name", CONFLICTS)
def test_two_descriptions_of_a_queue_must_agree(target, name):
    v1.Session.reset(target)
    ours = message(target, CONFLICTS[name])
    with v1.Graph().as_default(), v1.Session("") as session:
        v1.set_random_seed(7)
        first, second = (build() for build in CONFLICTS[name])
        session.run(first)
        try:
            session.run(second)
            theirs = None
        except tf.errors.OpError as error:
            theirs = error
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert ours[0] is type(theirs) and ours[1] in theirs.message


def test_a_handle_of_the_older_kind(target):
    queue = v1.FIFOQueue(3, [tf.int32], shapes=[[]])
    size = gen_data_flow_ops.queue_size(gen_data_flow_ops.fake_queue(queue.queue_ref))
    with v1.Session(target) as session:
        session.run(queue.enqueue(1))
        assert session.run(size) == 1


@pytest.mark.parametrize(
    "build",
    [
        lambda path: tf.io.read_file(path),
        lambda path: tf.io.read_file(v1.placeholder_with_default([path, path], None)),
        lambda path: tf.io.matching_files(v1.placeholder_with_default([[path]], None)),
    ],
)
def test_files_that_are_none(target, tmp_path, build):
    fetch = [lambda: build(str(tmp_path))]
    ours, theirs = message(target, fetch), message("", fetch)
    assert ours == theirs is not None


def test_a_scheme_without_a_file_system_is_named(target):
    error, words = message(target, [lambda: tf.io.read_file("ftp://nowhere/file")])
    assert error is tf.errors.UnimplementedError
    assert "File system scheme 'ftp' not implemented" in words


def test_dense_tables_grow_and_lose_entries_as_tensorflows_do(target):
    exported = []
    for where in ("", target):
        steps = []
        with v1.Graph().as_default(), v1.Session(where) as session:
            table = dense(initial_num_buckets=4)
            keys = v1.placeholder(tf.int64)
            inserts, erases = table.insert(keys, keys * 10), table.erase(keys)
            for op, values in [
                (inserts, [11, 12, 13]), (inserts, [14, 15, 16, 17]), (erases, [12, 15, 99]), (inserts, [-7, 2**40]),
                (inserts, [5, 5, 5]), (erases, range(10, 17)), (inserts, range(100, 140)), (erases, [5]),
            ]:  # fmt: skip
                session.run(op, {keys: list(values)})
                steps.append([part.tolist() for part in session.run(table.export())])
                steps.append(session.run(table.size()))
        exported.append(steps)
    assert exported[0] == exported[1]


@pytest.mark.parametrize("shape", [[3, 2], [2, 2, 2]])
def test_dense_tables_take_vectors_of_keys(target, shape):
    table = dense()
    keys = v1.placeholder_with_default(tf.ones(shape, tf.int64), None)
    words = re.escape(f"Expected key shape [{shape[0]}] got [{','.join(map(str, shape))}]")
    with v1.Session(target) as session:
        for op in (table.insert(keys, keys), table.erase(keys), table.lookup(keys)):
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(op)


def test_an_empty_vocabulary_is_refused(target, tmp_path):
    path = tmp_path / "vocabulary"
    path.write_text("")
    table = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, shared_name="words")
    for size, words in [(-1, "Read less bytes than requested"), (0, "Finished reading 0 of lines from")]:
        initialized = tf.raw_ops.InitializeTableFromTextFileV2(
            table_handle=table, filename=str(path), key_index=-2, value_index=-1, vocab_size=size
        )
        with v1.Session(target) as session:
            with pytest.raises(tf.errors.OutOfRangeError, match=words):
                session.run(initialized)


def test_a_barrier_without_shapes_holds_scalars(target):
    barrier = data_flow_ops.Barrier(tf.float32, name="barrier")
    nothing = barrier.insert_many(0, ["a", "b"], v1.placeholder_with_default(tf.zeros([2, 0]), None))
    something = barrier.insert_many(0, ["a", "b"], [1.0, 2.0])
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tensors with no elements are not supported"):
            session.run(nothing)
        session.run(something)
        assert session.run(barrier.ready_size()) == 2
