"""Input pipelines over a hundred thousand records: a step is a whole pass, asked for batch by batch."""

import atexit
import functools
import shutil
import tempfile

import numpy as np
import tensorflow as tf

from conformance.bench.case import Program, case, v1

_RECORDS, _FILES, _BATCH = 100_000, 8, 125
_PER_FILE = _RECORDS // _FILES
_READ = 500

_FEATURES = {
    "label": tf.io.FixedLenFeature([], tf.int64),
    "pixels": tf.io.FixedLenFeature([32], tf.float32),
    "words": tf.io.VarLenFeature(tf.int64),
    "name": tf.io.FixedLenFeature([], tf.string),
}


class Pass(Program):
    """Runs through a dataset, and adds up the labels."""

    def __init__(self, cluster, graph, pipeline):
        super().__init__(cluster)
        self._initialise, self._next, self._batches = pipeline
        self._session = v1.Session(cluster.target(), graph=graph)
        self._total = None

    def step(self):
        self._session.run(self._initialise)
        run = self._session.make_callable(self._next)
        self._total = sum(int(run()) for _ in range(self._batches))

    def values(self):
        return [self._total]

    def close(self):
        self._session.close()


class Reading(Pass):
    """The same with queues: files are read and parsed into one, batches taken out of it."""

    def __init__(self, cluster, graph, pipeline):
        fill, self._read, take, self._reads = pipeline
        super().__init__(cluster, graph, (fill, take, None))

    def step(self):
        self._session.run(self._initialise)
        read, take = self._session.make_callable(self._read), self._session.make_callable(self._next)
        self._total = 0
        for _ in range(self._reads):
            for _ in range(int(read()) // _BATCH):
                self._total += int(take())


@functools.cache
def _directory():
    path = tempfile.mkdtemp(prefix="tensorfleet-bench-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return path


@functools.cache
def _records():
    """Files of examples; making a thousand of them is enough, their order differs from file to file."""
    draw = np.random.RandomState(3)
    examples = []
    for index in range(1000):
        feature = {
            "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[index])),
            "pixels": tf.train.Feature(float_list=tf.train.FloatList(value=draw.uniform(size=32))),
            "words": tf.train.Feature(int64_list=tf.train.Int64List(value=range(index % 7))),
            "name": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"example %d" % index])),
        }
        examples.append(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    paths = [f"{_directory()}/{file}.tfrecord" for file in range(_FILES)]
    for path in paths:
        with tf.io.TFRecordWriter(path) as writer:
            for index in draw.randint(len(examples), size=_PER_FILE):
                writer.write(examples[index])
    return paths


@functools.cache
def _lines():
    """Files of numbers with commas between them."""
    draw = np.random.RandomState(4)
    paths = [f"{_directory()}/{file}.csv" for file in range(_FILES)]
    for path in paths:
        table = np.c_[draw.randint(1000, size=_PER_FILE), draw.uniform(size=(_PER_FILE, 7))]
        np.savetxt(path, table, fmt=["%d"] + 7 * ["%.4f"], delimiter=",")
    return paths


def _pass(dataset):
    iterator = v1.data.make_initializable_iterator(dataset)
    return iterator.initializer, tf.reduce_sum(iterator.get_next()["label"]), _RECORDS // _BATCH


def _parse_batch(serialized):
    return tf.io.parse_example(serialized, _FEATURES)


@case("input/batches parsed", jobs={"worker": 1}, program=Pass, target=1.0, one_step=True)
def parsed_by_batch():
    """100,000 records of files: shuffled, batched, parsed, made ahead"""
    records = tf.data.TFRecordDataset(_records()).shuffle(10_000, seed=1).batch(_BATCH)
    return _pass(records.map(_parse_batch, num_parallel_calls=2).prefetch(2))


@case("input/records parsed", jobs={"worker": 1}, program=Pass, target=1.0, one_step=True)
def parsed_one_by_one():
    """100,000 records of files read side by side: parsed each, shuffled, batched, made ahead"""
    records = tf.data.Dataset.from_tensor_slices(_records()).interleave(
        tf.data.TFRecordDataset, cycle_length=4, block_length=16, num_parallel_calls=2
    )
    features = {name: feature for name, feature in _FEATURES.items() if name != "words"}
    examples = records.map(lambda each: tf.io.parse_single_example(each, features), num_parallel_calls=2)
    return _pass(examples.shuffle(10_000, seed=1).batch(_BATCH).prefetch(2))


@case("input/lines", jobs={"worker": 1}, program=Pass, target=1.0, one_step=True)
def lines():
    """100,000 lines of text: decoded as CSV, filtered, batched, made ahead"""
    defaults = [[0]] + 7 * [[0.0]]
    rows = tf.data.TextLineDataset(_lines()).map(lambda line: tf.io.decode_csv(line, defaults), num_parallel_calls=2)
    rows = rows.map(lambda label, *rest: {"label": label, "numbers": tf.stack(rest)})
    return _pass(rows.filter(lambda row: row["label"] >= 0).batch(_BATCH).prefetch(2))


@case("input/reader and queues", jobs={"worker": 1}, program=Reading, target=1.0, one_step=True)
def reader_and_queues():
    """100,000 records from a reader: parsed into a shuffling queue, taken out in batches"""
    files = tf.queue.FIFOQueue(_FILES, tf.string, shapes=[[]], shared_name="files")
    reader = v1.TFRecordReader(name="reader")
    examples = _parse_batch(reader.read_up_to(files, _READ)[1])
    labels, pixels = examples["label"], examples["pixels"]
    queue = tf.queue.RandomShuffleQueue(
        20_000, 0, [tf.int64, tf.float32], shapes=[[], [32]], seed=1, shared_name="examples"
    )
    with tf.control_dependencies([queue.enqueue_many([labels, pixels])]):
        count = tf.size(labels)
    label, _ = queue.dequeue_many(_BATCH)
    return files.enqueue_many([_records()]), count, tf.reduce_sum(label), _RECORDS // _READ
