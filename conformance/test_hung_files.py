"""Files that never answer, as on a network file system that is gone: they stop nobody else.

A named pipe that nobody opens at its other end hangs whoever opens it.
"""

import os
import signal
import threading

import numpy as np
import pytest
import tensorflow as tf

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's steps wait for their files for good")

SOON = v1.RunOptions(timeout_in_ms=200)
PATIENT = v1.RunOptions(timeout_in_ms=60_000)


def read_file(pipe):
    return v1.read_file(pipe)


def write_file(pipe):
    return tf.io.write_file(pipe, "x")


def append(pipe):
    return tf.print("x", output_stream="file://" + pipe)


def reader(pipe):
    names = v1.FIFOQueue(9, [tf.string])
    with tf.control_dependencies([names.enqueue(pipe)]):
        return v1.WholeFileReader().read(names)[1]


def lines(pipe):
    return v1.data.make_one_shot_iterator(tf.data.TextLineDataset(pipe)).get_next()


def mapped(pipe):
    files = tf.data.Dataset.from_tensors(pipe).map(tf.io.read_file, num_parallel_calls=2)
    return v1.data.make_one_shot_iterator(files.prefetch(1)).get_next()


def restore(pipe):
    os.rename(pipe, pipe + ".index")
    return tf.raw_ops.RestoreV2(prefix=pipe, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32])[0]


def table(pipe):
    initializer = tf.lookup.TextFileInitializer(pipe, tf.string, 0, tf.int64, -1)
    return tf.lookup.StaticHashTable(initializer, -1)._initialize()  # pylint: disable=protected-access


def vocabulary(pipe):
    return tf.random.fixed_unigram_candidate_sampler(
        true_classes=[[np.int64(0)]], num_true=1, num_sampled=1, unique=False, range_max=2, vocab_file=pipe
    )[0]


def descriptors(pipe):
    return tf.io.decode_proto([b""], "a.B", ["c"], [tf.int32], descriptor_source=pipe)[0]


def cached(pipe):
    os.rename(pipe, pipe + ".index")
    return v1.data.make_one_shot_iterator(tf.data.Dataset.range(3).cache(pipe)).get_next()


def loaded(pipe):
    os.rename(pipe, pipe + ".pipe")
    os.mkdir(pipe)
    os.rename(pipe + ".pipe", os.path.join(pipe, "snapshot.metadata"))
    reader = tf.function(lambda shards: shards).get_concrete_function(tf.TensorSpec([], tf.variant))
    reader.add_to_graph()
    return tf.raw_ops.DatasetCardinality(
        input_dataset=tf.raw_ops.LoadDataset(
            path=pipe, reader_func_other_args=[], output_types=[tf.int64], output_shapes=[[]], reader_func=reader
        )
    )


KINDS = [
    read_file,
    write_file,
    append,
    reader,
    lines,
    mapped,
    restore,
    table,
    vocabulary,
    descriptors,
    cached,
    loaded,
]


@pytest.fixture(scope="module", name="server")
def server_of_these_tests(all_servers):
    server = all_servers.start_single("tensorfleet")
    yield server
    server.kill()


def computes(session, tensor):
    """Whether a step gets a thread to compute on."""
    return session.run(tensor, options=PATIENT) == 300 * 300 * 300


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_step_is_given_up_and_others_go_on(server, tmp_path, kind):
    with tf.Graph().as_default():
        product = tf.reduce_sum(tf.matmul(tf.ones([300, 300]), tf.ones([300, 300])))
        hung = []
        for number in range(4):
            pipe = str(tmp_path / f"pipe{number}")
            os.mkfifo(pipe)
            hung.append(kind(pipe))
        with v1.Session(server.target) as session:
            for step in hung:
                with pytest.raises(tf.errors.DeadlineExceededError):
                    session.run(step, options=SOON)
                assert computes(session, product)


def test_fifty_reads_hang_while_steps_with_files_go_on(server, tmp_path):
    plain = tmp_path / "plain"
    plain.write_text("a\nb\n", encoding="utf-8")
    with tf.Graph().as_default():
        pipes = [str(tmp_path / f"pipe{number}") for number in range(50)]
        for pipe in pipes:
            os.mkfifo(pipe)
        begun = v1.FIFOQueue(99, [tf.bool])
        reads = [v1.read_file(pipe) for pipe in pipes] + [begun.enqueue(True)]
        product = tf.reduce_sum(tf.matmul(tf.ones([300, 300]), tf.ones([300, 300])))
        contents, begin = v1.read_file(str(plain)), begun.dequeue()
        line = v1.data.make_one_shot_iterator(tf.data.TextLineDataset(str(plain))).get_next()
        session = v1.Session(server.target)
        ended = []

        def run():
            try:
                session.run(reads)
            except tf.errors.OpError as error:
                ended.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        assert session.run(begin, options=PATIENT)
        assert computes(session, product)
        assert session.run(contents, options=PATIENT) == b"a\nb\n"
        assert [session.run(line, options=PATIENT) for _ in "ab"] == [b"a", b"b"]
        session.close()
        thread.join()
        assert isinstance(ended[0], tf.errors.CancelledError)


def test_a_step_goes_on_when_its_file_answers(server, tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    with tf.Graph().as_default(), v1.Session(server.target) as session:
        begun = v1.FIFOQueue(1, [tf.bool])
        write, begin = tf.print("late", output_stream="file://" + pipe), begun.dequeue()
        both = tf.group(write, begun.enqueue(True))
        thread = threading.Thread(target=lambda: session.run(both))
        thread.start()
        assert session.run(begin, options=PATIENT)
        with open(pipe, "rb") as file:
            assert file.read() == b"late\n"
        thread.join()


def test_a_server_stops_although_reads_hang(all_servers, tmp_path):
    pipe = str(tmp_path / "pipe")
    os.mkfifo(pipe)
    server = all_servers.start_single("tensorfleet")
    with tf.Graph().as_default(), v1.Session(server.target) as session:
        read = v1.read_file(pipe)
        for _ in range(3):
            with pytest.raises(tf.errors.DeadlineExceededError):
                session.run(read, options=SOON)
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
