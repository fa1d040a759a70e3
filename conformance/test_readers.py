"""Readers and the input pipelines of TensorFlow 1: queues of file names, readers, batches."""

import gzip
import threading
import zlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import data_flow_ops

SECONDS = 60_000


def message(raised):
    """The op's own words: TensorFlow's client puts others around them."""
    return raised.value.message.replace("\n", " ")


def write(path, data):
    path.write_bytes(data)
    return str(path)


class Pipeline:
    """A reader on a closed queue with some work, and what one does with it."""

    def __init__(self, reader, work, up_to=None):
        queue = v1.FIFOQueue(32, [tf.string], shapes=[[]])
        self.fill = [queue.enqueue_many([work])] if work else []
        self.close = queue.close()
        self.read = reader.read(queue) if up_to is None else reader.read_up_to(queue, up_to)
        self.counts = [reader.num_records_produced(), reader.num_work_units_completed()]
        self.reset = reader.reset()

    def start(self, session):
        session.run(self.fill)
        session.run(self.close)

    def everything(self, session):
        """All records, with the counts after each, until the queue is at its end."""
        self.start(session)
        seen = []
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient"):
            while True:
                key, value = session.run(self.read)
                seen.append((key, value, *session.run(self.counts)))
        return seen


def test_lines(target, tmp_path):
    first = write(tmp_path / "a.txt", b"header\nl1\r\nl2\nl3")
    empty = write(tmp_path / "empty", b"")
    last = write(tmp_path / "b.txt", b"header\n\nx\n")
    lines = Pipeline(v1.TextLineReader(skip_header_lines=1), [first, empty, last])
    with v1.Session(target) as session:
        seen = lines.everything(session)
        assert seen == [
            (f"{first}:2".encode(), b"l1", 1, 0),
            (f"{first}:3".encode(), b"l2", 2, 0),
            (f"{first}:4".encode(), b"l3", 3, 0),
            (f"{last}:2".encode(), b"", 4, 2),
            (f"{last}:3".encode(), b"x", 5, 2),
        ]
        session.run(lines.reset)
        assert session.run(lines.counts) == [0, 0]


def test_several_lines_at_once_are_of_one_file(target, tmp_path):
    first = write(tmp_path / "a.txt", b"1\n2\n3\n4\n")
    second = write(tmp_path / "b.txt", b"5\n6\n7\n")
    lines = Pipeline(v1.TextLineReader(), [first, second], up_to=3)
    with v1.Session(target) as session:
        lines.start(session)
        batches = [session.run(lines.read)[1].tolist() + session.run(lines.counts) for _ in range(3)]
        assert batches == [[b"1", b"2", b"3", 3, 0], [b"4", 4, 1], [b"5", b"6", b"7", 7, 1]]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(lines.read)


def test_a_missing_file(target, tmp_path):
    there = write(tmp_path / "there", b"x\n")
    lines = Pipeline(v1.TextLineReader(), [str(tmp_path / "nowhere"), there])
    with v1.Session(target) as session:
        lines.start(session)
        with pytest.raises(tf.errors.NotFoundError, match="nowhere; No such file or directory"):
            session.run(lines.read)
        # The reader goes on with what comes next.
        assert session.run(lines.read)[1] == b"x"


def test_whole_files_and_identity(target, tmp_path):
    first = write(tmp_path / "a", b"one\ntwo")
    second = write(tmp_path / "b", b"")
    for reader, values in [(v1.WholeFileReader, [b"one\ntwo", b""]), (v1.IdentityReader, None)]:
        names = [first.encode(), second.encode()]
        files = Pipeline(reader(), names)
        with v1.Session(target) as session:
            expected = zip(names, values or names, [1, 2], [1, 2])
            assert files.everything(session) == list(expected)


@pytest.mark.parametrize(
    "layout, records",
    [
        (dict(record_bytes=3), [b"012", b"345", b"678"]),
        (dict(record_bytes=5), [b"01234", b"56789"]),
        (dict(record_bytes=4, hop_bytes=2), [b"0123", b"2345", b"4567", b"6789"]),
        (dict(record_bytes=2, hop_bytes=3), [b"01", b"34", b"67"]),
        (dict(record_bytes=11), []),
    ],
    ids=str,
)
def test_records_of_one_size(target, tmp_path, layout, records):
    plain = b"HH0123456789FFF"
    files = {"": write(tmp_path / "plain", plain), "ZLIB": write(tmp_path / "z", zlib.compress(plain))}
    for encoding, name in files.items():
        if encoding and layout.get("hop_bytes"):
            continue
        reader = v1.FixedLengthRecordReader(
            header_bytes=2, footer_bytes=3, encoding=encoding or None, **layout
        )
        fixed = Pipeline(reader, [name])
        with v1.Session(target) as session:
            seen = fixed.everything(session)
            assert [value for _, value, *_ in seen] == records
            assert [key for key, *_ in seen] == [f"{name}:{i}".encode() for i in range(len(records))]


def test_bad_layouts(target, tmp_path):
    name = write(tmp_path / "f", b"0123")
    for layout in [{"record_bytes": -3}, {"header_bytes": -1}, {"footer_bytes": -1}, {"hop_bytes": -1}]:
        fixed = Pipeline(v1.FixedLengthRecordReader(**{"record_bytes": 3, **layout}), [name])
        with v1.Session(target) as session:
            with pytest.raises(tf.errors.InvalidArgumentError, match=f"{next(iter(layout))} must be"):
                session.run(fixed.read)


def records_file(path, records, compression=""):
    with tf.io.TFRecordWriter(str(path), compression) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_tf_records(target, tmp_path, compression):
    records = [b"first", b"", b"x" * 100_000]
    name = records_file(tmp_path / "records", records, compression)
    options = None
    if compression:
        kind = getattr(v1.io.TFRecordCompressionType, compression)
        options = v1.io.TFRecordOptions(kind)
    reader = Pipeline(v1.TFRecordReader(options=options), [name])
    with v1.Session(target) as session:
        seen = reader.everything(session)
    assert [value for _, value, *_ in seen] == records
    offsets = [0, 16 + 5, 2 * 16 + 5]
    assert [key for key, *_ in seen] == [f"{name}:{offset}".encode() for offset in offsets]


def test_a_file_that_holds_no_records(target, tmp_path):
    name = write(tmp_path / "text", b"garbage garbage garbage")
    reader = Pipeline(v1.TFRecordReader(), [name])
    with v1.Session(target) as session:
        reader.start(session)
        with pytest.raises(tf.errors.DataLossError, match="corrupted record at 0"):
            session.run(reader.read)


def test_states_are_saved_and_restored(target):
    reader = v1.IdentityReader()
    queue = v1.FIFOQueue(9, [tf.string], shapes=[[]])
    fill, read = queue.enqueue_many([["a", "b", "c"]]), reader.read(queue)
    state, count = reader.serialize_state(), reader.num_records_produced()
    given = v1.placeholder(tf.string)
    restore = reader.restore_state(given)
    with v1.Session(target) as session:
        session.run(fill)
        session.run(read)
        saved = session.run(state)
        assert saved == b'\x08\x01\x10\x01\x18\x01"\x01a'
        session.run(read)
        assert session.run(count) == 2
        session.run(restore, {given: saved})
        assert session.run(count) == 1
        for wrong, words in [(b"\x08\x05\x10\x03", "Inconsistent work started"), (b"\xff", "Could not parse")]:
            with pytest.raises(tf.errors.InvalidArgumentError, match=words):
                session.run(restore, {given: wrong})


def test_open_files_have_no_state_to_save(target):
    reader = v1.TextLineReader()
    with v1.Session(target) as session:
        for op in [reader.serialize_state(), reader.restore_state(b"")]:
            with pytest.raises(tf.errors.UnimplementedError, match="Reader (Serialize|Restore)State"):
                session.run(op)


def test_a_reader_waits_for_work_without_holding_a_thread(target):
    """More steps wait than any pool has threads, and the one that brings work still runs."""
    reader = v1.IdentityReader()
    queue = v1.FIFOQueue(100, [tf.string], shapes=[[]])
    keys = v1.placeholder(tf.string, [None])
    fill = queue.enqueue_many([keys])
    with v1.Session(target) as session:
        reads = [reader.read(queue)[1] for _ in range(24)]
        seen = []

        def run(read):
            seen.append(session.run(read, options=v1.RunOptions(timeout_in_ms=SECONDS)))

        threads = [threading.Thread(target=run, args=[read], daemon=True) for read in reads]
        for thread in threads:
            thread.start()
        session.run(fill, {keys: [b"%d" % i for i in range(len(reads))]})
        for thread in threads:
            thread.join(SECONDS / 1000)
        assert sorted(seen) == sorted(b"%d" % i for i in range(len(reads)))


def test_an_input_pipeline_of_queue_runners(target, tmp_path):
    """Files of CSV, read by several threads, shuffled, batched and counted in two epochs."""
    names = []
    for file in range(3):
        rows = "".join(f"{file * 10 + row},{row}.5,name{row}\n" for row in range(10))
        names.append(write(tmp_path / f"{file}.csv", ("id,value,name\n" + rows).encode()))
    with tf.Graph().as_default() as graph:
        files = v1.train.string_input_producer(names, num_epochs=2, shuffle=True, seed=1)
        _, line = v1.TextLineReader(skip_header_lines=1).read(files)
        number, value, name = tf.io.decode_csv(line, [[0], [0.0], [""]])
        batch = v1.train.shuffle_batch(
            [number, value, name], batch_size=8, capacity=32, min_after_dequeue=8, num_threads=2,
            allow_smaller_final_batch=True,
        )
        start = v1.group(v1.global_variables_initializer(), v1.local_variables_initializer())
        with v1.Session(target, graph=graph) as session:
            session.run(start)
            coordinator = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            numbers = []
            try:
                while not coordinator.should_stop():
                    ids, values, texts = session.run(batch)
                    assert np.array_equal(values, ids % 10 + np.float32(0.5))
                    assert [f"name{i % 10}".encode() for i in ids] == texts.tolist()
                    numbers.extend(ids.tolist())
            except tf.errors.OutOfRangeError:
                pass
            finally:
                coordinator.request_stop()
                coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)
    assert sorted(numbers) == sorted(2 * list(range(30)))


def test_images_of_fixed_size_through_queue_runners(target, tmp_path):
    """The CIFAR tutorial's input: a label and an image in each record."""
    random = np.random.default_rng(1)
    images = random.integers(0, 256, (12, 1 + 8), dtype=np.uint8)
    images[:, 0] = np.arange(12)
    name = write(tmp_path / "images.bin", images.tobytes())
    with tf.Graph().as_default() as graph:
        files = v1.train.string_input_producer([name], num_epochs=1, shuffle=False)
        _, record = v1.FixedLengthRecordReader(record_bytes=9).read(files)
        pixels = tf.io.decode_raw(record, tf.uint8)
        label, image = pixels[0], tf.reshape(pixels[1:], [2, 2, 2])
        batch = v1.train.batch([label, image], batch_size=4)
        with v1.Session(target, graph=graph) as session:
            session.run(v1.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            labels = []
            try:
                while True:
                    some, arrays = session.run(batch)
                    labels.extend(some.tolist())
                    assert np.array_equal(arrays, images[some, 1:].reshape(-1, 2, 2, 2))
            except tf.errors.OutOfRangeError:
                pass
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)
    assert labels == list(range(12))


def test_a_compressed_file_of_lines_is_read_whole(target, tmp_path):
    name = write(tmp_path / "text.gz", gzip.compress(b"a\nb"))
    contents = tf.io.decode_compressed(tf.io.read_file(name), compression_type="GZIP")
    with v1.Session(target) as session:
        assert session.run(contents) == b"a\nb"


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_record_input_gives_each_record_once_an_epoch(target, tmp_path, compression):
    expected = []
    for file in range(5):
        with tf.io.TFRecordWriter(str(tmp_path / f"in.{file}"), compression) as writer:
            for record in range(6):
                expected.append(f"{file}-{record}".encode())
                writer.write(expected[-1])
    source = data_flow_ops.RecordInput(
        file_pattern=str(tmp_path / "in.*"), parallelism=2, buffer_size=8, batch_size=3, batches=2,
        shift_ratio=0.33, seed=10, compression_type=compression or None,
    )
    records = source.get_yield_op()
    with v1.Session(target) as session:
        epochs = [np.concatenate([session.run(records) for _ in range(5)], axis=None) for _ in range(3)]
    assert all(sorted(epoch) == expected for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_record_input_without_files_or_sense(target):
    def run(**arguments):
        with tf.Graph().as_default(), v1.Session(target) as session:
            return session.run(v1.raw_ops.RecordInput(**arguments))

    with pytest.raises(tf.errors.NotFoundError, match="Found no files at /nowhere"):
        run(file_pattern="/nowhere")
    with pytest.raises(tf.errors.InvalidArgumentError, match="batch_size must be non-negative but got -1"):
        run(file_pattern="/nowhere", batch_size=-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="file_parallelism should >= 0, got -3"):
        run(file_pattern="/nowhere", file_parallelism=-3)


def test_stores_of_lmdb_are_refused(target):
    raw = tf.raw_ops
    with v1.Graph().as_default(), v1.Session(target) as session:
        dataset = raw.LMDBDataset(filenames=["x"], output_types=[tf.string], output_shapes=[[]])
        for op in (raw.LMDBReader(), dataset):
            with pytest.raises(tf.errors.UnimplementedError, match="LMDB support is removed"):
                session.run(op.op)
