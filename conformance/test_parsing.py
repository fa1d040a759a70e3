"""Parsing in whole programs: records through readers, queues and parsers into batches."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1


def example(**features):
    return tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString()


def floats(*values):
    return tf.train.Feature(float_list=tf.train.FloatList(value=values))


def integers(*values):
    return tf.train.Feature(int64_list=tf.train.Int64List(value=values))


def strings(*values):
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=values))


FEATURES = {
    "label": tf.io.FixedLenFeature([], tf.int64),
    "pixels": tf.io.FixedLenFeature([2, 2], tf.float32),
    "words": tf.io.VarLenFeature(tf.string),
    "weight": tf.io.FixedLenFeature([1], tf.float32, default_value=[0.5]),
}


def record(number):
    return example(
        label=integers(number),
        pixels=floats(*(number + i for i in range(4))),
        words=strings(*(b"w%d" % i for i in range(number % 3))),
    )


def test_examples_through_queue_runners(target, tmp_path):
    """The usual input of TensorFlow 1: records, parsed one by one and shuffled into batches."""
    names = []
    for file in range(2):
        names.append(str(tmp_path / f"{file}.tfrecord"))
        with tf.io.TFRecordWriter(names[-1]) as writer:
            for row in range(10):
                writer.write(record(file * 10 + row))
    with tf.Graph().as_default() as graph:
        files = v1.train.string_input_producer(names, num_epochs=1, shuffle=False)
        _, serialized = v1.TFRecordReader().read(files)
        parsed = v1.parse_single_example(serialized, FEATURES)
        dense = [parsed["label"], parsed["pixels"], parsed["weight"]]
        batch = v1.train.shuffle_batch(
            dense, batch_size=5, capacity=20, min_after_dequeue=5, num_threads=2, seed=1
        )
        with v1.Session(target, graph=graph) as session:
            session.run(v1.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            seen = []
            with pytest.raises(tf.errors.OutOfRangeError):
                while True:
                    labels, pixels, weights = session.run(batch)
                    expected = labels[:, None, None] + np.float32([[0, 1], [2, 3]])
                    assert np.array_equal(pixels, expected)
                    assert np.array_equal(weights, np.full([5, 1], 0.5, np.float32))
                    seen.extend(labels.tolist())
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)
    assert sorted(seen) == list(range(20))


def test_a_batch_of_examples(target):
    serialized = [record(number) for number in range(5)]
    parsed = v1.parse_example(serialized, FEATURES)
    with v1.Session(target) as session:
        values = session.run(parsed)
    assert values["label"].tolist() == list(range(5))
    assert values["pixels"].shape == (5, 2, 2)
    assert values["words"].dense_shape.tolist() == [5, 2]
    assert values["words"].values.tolist() == [b"w0", b"w0", b"w1", b"w0"]
    assert values["words"].indices.tolist() == [[1, 0], [2, 0], [2, 1], [4, 0]]


def test_sparse_examples_are_batched_by_queues(target):
    """Sparse tensors go through a queue as handles and come out as a batch."""
    with tf.Graph().as_default() as graph:
        numbers = v1.train.range_input_producer(12, num_epochs=1, shuffle=False).dequeue()
        table = tf.constant([record(number) for number in range(12)])
        parsed = v1.parse_single_example(tf.gather(table, numbers), FEATURES)
        words, label = v1.train.batch([parsed["words"], parsed["label"]], batch_size=4)
        with v1.Session(target, graph=graph) as session:
            session.run(v1.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            for start in (0, 4, 8):
                found, labels = session.run([words, label])
                assert labels.tolist() == list(range(start, start + 4))
                counts = np.bincount(found.indices[:, 0], minlength=4)
                assert counts.tolist() == [number % 3 for number in labels]
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=30, ignore_live_threads=True)


def test_sequences(target):
    steps = [floats(1, 2), floats(3, 4), floats(5, 6)]
    one = tf.train.SequenceExample(
        context=tf.train.Features(feature={"length": integers(3)}),
        feature_lists=tf.train.FeatureLists(
            feature_list={"steps": tf.train.FeatureList(feature=steps)}
        ),
    ).SerializeToString()
    context, lists = v1.parse_single_sequence_example(
        one,
        {"length": tf.io.FixedLenFeature([], tf.int64)},
        {"steps": tf.io.FixedLenSequenceFeature([2], tf.float32)},
    )
    with v1.Session(target) as session:
        length, values = session.run([context["length"], lists["steps"]])
    assert length == 3
    assert values.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    "features, words",
    [
        ({"missing": tf.io.FixedLenFeature([], tf.int64)}, r"Feature: missing \(data type: int64\) is required but could not be found"),
        ({"label": tf.io.FixedLenFeature([], tf.float32)}, "Data types don't match"),
        ({"pixels": tf.io.FixedLenFeature([3], tf.float32)}, "Number of float values != expected"),
        ({"label": tf.io.VarLenFeature(tf.string)}, "Data types don't match. Expected type: string"),
    ],
    ids=["missing", "type", "count", "sparse type"],
)
def test_examples_that_do_not_fit(target, features, words):
    parsed = v1.parse_example([record(1)], features)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            session.run(parsed)


def test_what_is_no_example(target):
    parsed = v1.parse_example([b"garbage"], FEATURES)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse example input"):
            session.run(parsed)


def test_large_batches_are_parsed_like_small_ones(target):
    """Enough bytes for several threads: order and defaults must not change."""
    count = 2000
    rows = [
        example(id=integers(row), vector=floats(*([float(row)] * 64)), tags=integers(*range(row % 4)))
        for row in range(count)
    ]
    parsed = v1.parse_example(
        rows,
        {
            "id": tf.io.FixedLenFeature([], tf.int64),
            "vector": tf.io.FixedLenFeature([64], tf.float32),
            "tags": tf.io.VarLenFeature(tf.int64),
            "padded": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
        },
    )
    with v1.Session(target) as session:
        values = session.run(parsed)
    assert np.array_equal(values["id"], np.arange(count))
    assert np.array_equal(values["vector"], np.repeat(np.arange(count, dtype=np.float32), 64).reshape(-1, 64))
    assert values["tags"].values.tolist() == [tag for row in range(count) for tag in range(row % 4)]
    assert values["padded"].shape == (count, 0)


def test_tensors_survive_serialisation(target):
    for value in [np.float32([[1, 2], [3, 4]]), np.int64(7), np.array([b"a", b"bc"], object)]:
        tensor = tf.constant(value)
        there = tf.io.parse_tensor(tf.io.serialize_tensor(tensor), tensor.dtype)
        with v1.Session(target) as session:
            assert np.array_equal(session.run(there), value)


def sequence(context=None, **lists):
    lists = {key: tf.train.FeatureList(feature=steps) for key, steps in lists.items()}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context or {}),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    ).SerializeToString()


ONE, TWO, THREE = [sequence({"c": floats(*range(count))}) for count in (1, 2, 3)]
NO_VALUES = sequence({"c": tf.train.Feature()})
PAIRS = {"a": tf.io.FixedLenSequenceFeature([2], tf.int64)}


@pytest.mark.parametrize(
    "serialized, context, lists, words",
    [
        ([TWO, sequence()], {"c": tf.io.FixedLenFeature([2], tf.float32)}, None,
         r"Feature: c \(data type: float\) is required but could not be found"),
        ([sequence()] * 2, {"c": tf.io.FixedLenFeature([2], tf.float32)}, None, "expected 2, but found 0"),
        (ONE, {"c": tf.io.FixedLenFeature([2], tf.float32)}, None, "expected 2, but found 1"),
        ([ONE, THREE], {"c": tf.io.FixedLenFeature([2], tf.float32)}, None, "expected 2, but found 3"),
        ([TWO, ONE], {"c": tf.io.FixedLenFeature([2], tf.float32)}, None, "Unexpected number of elements in example 1"),
        ([NO_VALUES], {"c": tf.io.FixedLenFeature([2], tf.float32, [8.0, 9.0])}, None,
         "Unexpected number of elements in example 0"),
        ([sequence(a=[integers(1, 2), integers(3)])], None, PAIRS,
         r"Feature list 'a' has an unexpected number of values.  Total values size: 3 .* \[\?,2\]"),
        ([sequence(a=[integers(1), integers(2, 3, 4)])], None, PAIRS,
         r"Name: 0, Key: a, Index: 0.  Number of values != expected.  values size: 1 but output shape: \[2\]"),
        (b"nope", {"c": tf.io.FixedLenFeature([2], tf.float32)}, None, "Invalid protocol message input, example id: 0"),
    ],
)
def test_sequences_that_do_not_fit(target, serialized, context, lists, words):
    if isinstance(serialized, bytes):
        parsed = tf.io.parse_single_sequence_example(serialized, context, lists, example_name="0")
    else:
        names = [str(row) for row in range(len(serialized))]
        parsed = tf.io.parse_sequence_example(serialized, context, lists, example_names=names)
    with v1.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError, match=words):
        session.run(parsed)


def test_what_is_no_tensor(target):
    parsed = tf.io.parse_tensor(b"\xfb\xff\xfe", tf.float32)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"as TensorProto, base64: \+//\+"):
            session.run(parsed)


@pytest.mark.parametrize("serialized", [b"", [b""]])
def test_a_default_without_values_is_none(target, serialized):
    parsed = tf.raw_ops.ParseExampleV2(
        serialized=serialized, names=[], sparse_keys=[], dense_keys=["k"], ragged_keys=[],
        dense_defaults=[tf.constant([], tf.float32)], num_sparse=0, sparse_types=[], ragged_value_types=[],
        ragged_split_types=[], dense_shapes=[[0]],
    )
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Feature: k \(data type: float\) is required"):
            session.run(parsed)


def nested(number, content, length=None):
    return bytes([number << 3 | 2, len(content) if length is None else length]) + content


def odd(feature, key=b"a", rest=b""):
    """An example of one feature, encoded by hand, and what follows its entry."""
    return nested(1, nested(1, nested(1, key) + nested(2, feature)) + rest)


SEVEN = nested(3, b"\x08\x07")
WHOLE = example(a=integers(5), b=strings(b"xy", b"z"), c=floats(1.5, 2.5))

ODD = {
    "a feature twice": odd(SEVEN, rest=odd(nested(3, nested(1, b"\x08")))[2:]),
    "two examples side by side": odd(SEVEN) + odd(nested(3, nested(1, b"\x08"))),
    "packed twice": odd(nested(3, nested(1, b"\x05") + nested(1, b"\x06"))),
    "packed and alone": odd(nested(3, nested(1, b"\x05") + b"\x08\x06")),
    "alone and packed": odd(nested(3, b"\x08\x06" + nested(1, b"\x05"))),
    "two kinds in a feature": odd(SEVEN + nested(1, nested(1, b"q"))),
    "no list": odd(b"\x20\x01" + SEVEN),
    "no list, then a good one": odd(b"\x20\x01", rest=odd(SEVEN)[2:]),
    "no list in what nobody wants": odd(b"\x20\x01", b"z", rest=odd(SEVEN)[2:]),
    "a number that ends early": odd(nested(3, nested(1, b"\x85"))),
    "a pack that ends early": odd(nested(3, nested(1, b"\x05", length=9))),
    "floats and some bytes": odd(nested(2, nested(1, b"\0\0\x80\x3f\0\0")), b"c", rest=odd(SEVEN)[2:]),
    "floats that end early": odd(nested(2, nested(1, b"\0\0\x80\x3f", length=9)), b"c"),
    "a string that ends early": odd(nested(1, nested(1, b"q", length=9)), b"b"),
    "the value before the key": nested(1, nested(1, nested(2, SEVEN) + nested(1, b"a"))),
    "a key without value": nested(1, nested(1, nested(1, b"a"))),
    "a third field in an entry": nested(1, nested(1, nested(1, b"a") + nested(2, SEVEN) + nested(2, SEVEN))),
    "another field in features": nested(1, nested(2, b"x") + odd(SEVEN)[2:]),
    "other fields around": b"\x10\x05" + nested(2, b"zz") + odd(SEVEN) + b"\x1d\0\0\0\0",
    "a group": b"\x0b\x0c" + odd(SEVEN),
} | {f"the first {count} bytes": WHOLE[:count] for count in range(len(WHOLE))}


def test_odd_encodings_are_read_as_by_tensorflow_s_fast_parser(target):
    features = {
        "a": tf.io.FixedLenFeature([], tf.int64, default_value=9),
        "b": tf.io.VarLenFeature(tf.string),
        "c": tf.io.FixedLenSequenceFeature([], tf.float32, allow_missing=True),
    }
    batch, single = v1.placeholder(tf.string, [None]), v1.placeholder(tf.string, [])
    parsers = [
        (tf.io.parse_example(batch, features), lambda message: {batch: [message]}),
        (tf.io.parse_single_example(single, features), lambda message: {single: message}),
    ]

    def outcome(session, fetch, feeds):
        try:
            found = session.run(fetch, feeds)
        except tf.errors.InvalidArgumentError as error:
            return error.message.removeprefix("From /job:worker/replica:0/task:0:\n").partition("\n")[0]
        return found["a"].tolist(), found["b"].values.tolist(), found["c"].tolist()

    with v1.Session() as theirs, v1.Session(target) as ours:
        for name, message in ODD.items():
            for fetch, feeds in parsers:
                want = outcome(theirs, fetch, feeds(message))
                assert outcome(ours, fetch, feeds(message)) == want, name
