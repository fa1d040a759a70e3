"""Input pipelines in sessions: what they give is what TensorFlow in the client's process gives."""

import gzip
import zlib

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.data.ops import multi_device_iterator_ops
from tensorflow.python.ops import gen_dataset_ops

Dataset = tf.data.Dataset


def drain(session, next_element, limit=200):
    """All elements, and the error that ended them; an end that is none is an error, too."""
    elements = []
    for _ in range(limit):
        try:
            elements.append(session.run(next_element))
        except tf.errors.OpError as error:
            return elements, error
    raise AssertionError("the dataset does not end")


def run_pipeline(target, build):
    with v1.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(build())
        next_element = iterator.get_next()
        with v1.Session(target) as session:
            session.run(iterator.initializer)
            return drain(session, next_element)


def assert_same(actual, expected):
    assert len(actual) == len(expected), f"{actual} != {expected}"
    for ours, theirs in zip(actual, expected):
        ours, theirs = tf.nest.flatten(ours), tf.nest.flatten(theirs)
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            assert np.asarray(a).dtype == np.asarray(b).dtype
            np.testing.assert_array_equal(a, b)


def check(target, build):
    """Runs a pipeline on the server and in this process."""
    expected, expected_error = run_pipeline("", build)
    actual, error = run_pipeline(target, build)
    assert_same(actual, expected)
    assert type(error) is type(expected_error), f"{error} instead of {expected_error}"
    return actual, error


def tensors():
    return Dataset.from_tensor_slices(
        {"x": np.arange(12, dtype=np.float32).reshape(6, 2), "name": [b"a", b"b", b"c", b"d", b"e", b"f"]}
    )


COMMON = {
    "range": lambda: Dataset.range(5),
    "range_step": lambda: Dataset.range(10, 1, -3),
    "range_float": lambda: Dataset.range(4, output_type=tf.float32),
    "empty": lambda: Dataset.range(0),
    "tensors": lambda: Dataset.from_tensors((tf.constant([1, 2]), "a")),
    "slices": tensors,
    "map": lambda: Dataset.range(5).map(lambda x: (x * 2, tf.as_string(x))),
    "map_captures": lambda: Dataset.range(3).map(lambda x, y=tf.constant([5, 7], tf.int64): x + y),
    "parallel_map": lambda: Dataset.range(50).map(lambda x: x * x, num_parallel_calls=4),
    "autotuned_map": lambda: Dataset.range(50).map(lambda x: x + 1, num_parallel_calls=-1),
    "map_error": lambda: Dataset.range(3, 0, -1).map(lambda x: 6 // (x - 1)),
    "batch": lambda: tensors().batch(4),
    "batch_exact": lambda: Dataset.range(7).batch(3, drop_remainder=True),
    "parallel_batch": lambda: Dataset.range(7).batch(3, num_parallel_calls=2),
    "batch_of_batches": lambda: Dataset.range(8).batch(2).batch(3),
    "repeat": lambda: Dataset.range(3).repeat(3),
    "repeat_never": lambda: Dataset.range(3).repeat(0),
    "repeat_nothing": lambda: Dataset.range(0).repeat(),
    "repeat_forever": lambda: Dataset.range(3).repeat().take(8),
    "take": lambda: Dataset.range(9).take(4),
    "take_all": lambda: Dataset.range(3).take(-1),
    "skip": lambda: Dataset.range(9).skip(4),
    "skip_all": lambda: Dataset.range(9).skip(-1),
    "prefetch": lambda: Dataset.range(20).prefetch(3),
    "prefetch_autotuned": lambda: Dataset.range(20).prefetch(-1),
    "training": lambda: tensors().map(lambda e: e["x"] * 2.0, num_parallel_calls=2)
    .shuffle(4, seed=5).repeat(3).batch(4).prefetch(2),
}


@pytest.mark.parametrize("name", COMMON)
def test_pipelines(target, name):
    check(target, COMMON[name])


MORE = {
    "filter": lambda: Dataset.range(10).filter(lambda x: x % 3 > 0),
    "filter_error": lambda: Dataset.range(3, 0, -1).filter(lambda x: 6 // (x - 1) > 3),
    "take_while": lambda: Dataset.range(10).take_while(lambda x: x < 4),
    "flat_map": lambda: Dataset.range(4).flat_map(lambda x: Dataset.range(x).map(lambda y: (x, y))),
    "interleave": lambda: Dataset.range(1, 7).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=3, block_length=2
    ),
    "interleave_wide": lambda: Dataset.range(1, 4).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=50
    ),
    "interleave_empty": lambda: Dataset.range(9).interleave(
        lambda x: Dataset.range(x % 3), cycle_length=2
    ),
    "parallel_interleave": lambda: Dataset.range(1, 9).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x % 4),
        cycle_length=3,
        block_length=2,
        num_parallel_calls=2,
    ),
    "autotuned_interleave": lambda: Dataset.range(1, 9).interleave(
        lambda x: Dataset.from_tensors(x).repeat(x % 4), cycle_length=4, num_parallel_calls=-1
    ),
    "legacy_interleave": lambda: Dataset.range(1, 9).apply(
        tf.data.experimental.parallel_interleave(
            lambda x: Dataset.from_tensors(x).repeat(x), cycle_length=3, block_length=2
        )
    ),
    "interleave_error": lambda: Dataset.range(3, 0, -1).interleave(
        lambda x: Dataset.range(6 // (x - 1)), cycle_length=2
    ),
    "zip": lambda: Dataset.zip((Dataset.range(3), tensors(), Dataset.range(10, 20))),
    "concatenate": lambda: Dataset.range(3).concatenate(Dataset.range(7, 9)).skip(1),
    "padded_batch": lambda: Dataset.range(1, 6)
    .map(lambda x: (tf.fill([x], x), tf.fill([2, x], "s")))
    .padded_batch(2, padded_shapes=([None], [3, None]), padding_values=(tf.constant(-1, tf.int64), "p")),
    "padded_batch_whole": lambda: Dataset.range(1, 6)
    .map(lambda x: tf.fill([x, 6 - x], x)).padded_batch(2, drop_remainder=True),
    "padded_batch_too_long": lambda: Dataset.range(1, 5)
    .map(lambda x: tf.fill([x], x)).padded_batch(2, padded_shapes=[3]),
    "unbatch": lambda: tensors().batch(4).unbatch(),
    "unbatch_uneven": lambda: Dataset.from_tensors(
        (v1.placeholder_with_default([1, 2], [None]), v1.placeholder_with_default([1], [None]))
    ).unbatch(),
    "cache": lambda: Dataset.range(5).shuffle(5, seed=1).cache().repeat(3),
    "shard": lambda: Dataset.range(10).shard(3, 1),
    "window": lambda: Dataset.range(7).window(3, shift=2).flat_map(lambda w: w.batch(3)),
    "window_stride": lambda: Dataset.range(12)
    .window(3, shift=5, stride=2, drop_remainder=True).flat_map(lambda w: w.batch(3)),
    "window_of_pairs": lambda: Dataset.zip((Dataset.range(5), Dataset.range(10, 15)))
    .window(2).flat_map(lambda a, b: Dataset.zip((a, b))),
    "group_by_window": lambda: Dataset.range(11).group_by_window(
        lambda x: x % 3, lambda key, window: window.batch(4).map(lambda b: (key, b)), 2
    ),
    "group_by_window_sizes": lambda: Dataset.range(20).group_by_window(
        lambda x: x % 3,
        lambda key, window: window.batch(10),
        window_size_func=lambda key: (key + 1) * 2,
    ),
    "buckets": lambda: Dataset.range(1, 12).map(lambda x: tf.fill([x % 5 + 1], x))
    .bucket_by_sequence_length(lambda e: tf.shape(e)[0], [2, 4], [3, 2, 2]),
    "group_by_reducer": lambda: Dataset.range(10).apply(
        tf.data.experimental.group_by_reducer(
            lambda x: (7 - x) % 3,
            tf.data.experimental.Reducer(
                lambda key: (key * 100, tf.constant(0.0)),
                lambda state, x: (state[0] + x, state[1] + 1.0),
                lambda total, count: (total, count),
            ),
        )
    ),
    "scan": lambda: Dataset.range(6).scan(
        tf.constant(10, tf.int64), lambda state, x: (state + x, (state * x, x))
    ),
    "ignore_errors": lambda: Dataset.range(5).map(lambda x: 6 // (x - 2)).ignore_errors(),
    "assert_more": lambda: Dataset.range(3).apply(tf.data.experimental.assert_cardinality(5)),
    "assert_fewer": lambda: Dataset.range(3).apply(tf.data.experimental.assert_cardinality(2)),
    "choose": lambda: Dataset.choose_from_datasets(
        [Dataset.range(3), Dataset.range(10, 12)],
        Dataset.from_tensor_slices(np.array([1, 0, 1, 1, 0, 0, 0, 1], np.int64)),
        stop_on_empty_dataset=False,
    ),
    "choose_stops": lambda: Dataset.choose_from_datasets(
        [Dataset.range(3), Dataset.range(10, 12)],
        Dataset.from_tensor_slices(np.array([1, 0, 1, 1, 0], np.int64)),
    ),
    "choose_wrong": lambda: Dataset.choose_from_datasets(
        [Dataset.range(3)], Dataset.from_tensor_slices(np.array([0, 5], np.int64))
    ),
    "sample": lambda: Dataset.sample_from_datasets(
        [Dataset.range(8), Dataset.range(10, 18)], weights=[0.3, 0.7], seed=3
    ),
    "unique": lambda: Dataset.from_tensor_slices([b"a", b"b", b"a", b"c", b"b"]).unique(),
    "rebatch": lambda: tensors().batch(4).rebatch([2, 1]),
    "rebatch_even": lambda: Dataset.range(10).batch(3).rebatch(4, drop_remainder=True),
    "rebatch_empty": lambda: Dataset.range(7).batch(4).rebatch([2, 0, 1]),
    "random": lambda: Dataset.random(seed=1).take(6).repeat(2),
    "random_again": lambda: Dataset.random(seed=1, rerandomize_each_iteration=True).take(3).repeat(3),
    "sparse": lambda: v1.data.Dataset.from_sparse_tensor_slices(
        tf.sparse.SparseTensor([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [4, 5])
    ),
    "sparse_slices": lambda: Dataset.from_tensor_slices(
        tf.sparse.SparseTensor([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [4, 5])
    ),
    "sparse_batch": lambda: Dataset.from_tensor_slices(
        tf.sparse.SparseTensor([[0, 0], [1, 2], [1, 3]], [1, 2, 3], [4, 5])
    ).batch(3),
    "ragged": lambda: Dataset.from_tensor_slices(tf.ragged.constant([[1, 2], [], [3]]))
    .map(lambda row: row * 2),
    "map_and_batch": lambda: Dataset.range(7).apply(
        tf.data.experimental.map_and_batch(lambda x: x * 2, 3, num_parallel_calls=2)
    ),
    "random_in_function": lambda: Dataset.range(4).map(
        lambda x: tf.random.uniform([], seed=7) + tf.cast(x, tf.float32)
    ),
    "enumerate": lambda: tensors().enumerate(start=5),
    "reduce": lambda: Dataset.from_tensors(
        tensors().reduce((0.0, ""), lambda s, e: (s[0] + e["x"][0], s[1] + e["name"]))
    ),
    "single_element": lambda: Dataset.from_tensors(Dataset.range(3, 4).get_single_element()),
    "loop_in_function": lambda: Dataset.range(5).map(
        lambda x: tf.while_loop(lambda i, a: i < x, lambda i, a: (i + 1, a * 2), (tf.constant(0, tf.int64), 1))[1]
    ),
    "list_in_function": lambda: Dataset.range(1, 4).map(
        lambda x: tf.map_fn(lambda i: i * x, tf.range(x))
    ),
    "nested": lambda: Dataset.range(3).map(lambda x: Dataset.range(x)).flat_map(lambda d: d),
    "options": lambda: Dataset.range(5).map(lambda x: x).with_options(_options()),
}


def _options():
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 2
    options.autotune.enabled = False
    return options


@pytest.mark.parametrize("name", MORE)
def test_transformations(target, name):
    check(target, MORE[name])


def interleaved(cycle, block, calls):
    cycle, block, calls = (tf.constant(number, tf.int64) for number in (cycle, block, calls))
    return Dataset.range(4).interleave(Dataset.from_tensors, cycle, block, calls)


REFUSED = {
    "cycle": lambda: interleaved(0, 1, 1),
    "block": lambda: interleaved(1, 0, 1),
    "more_calls_than_datasets": lambda: interleaved(2, 1, 3),
    "map_and_batch": lambda: Dataset.range(4).apply(
        tf.data.experimental.map_and_batch(lambda x: x, tf.constant(0, tf.int64))
    ),
    "prefetched_inputs": lambda: Dataset.range(4).apply(
        tf.data.experimental.parallel_interleave(
            Dataset.from_tensors, cycle_length=2, prefetch_input_elements=tf.constant(-1, tf.int64)
        )
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_settings_without_sense_are_refused_in_tensorflow_s_words(target, name):
    words = []
    for where in ("", target):
        with pytest.raises(tf.errors.InvalidArgumentError) as raised:
            run_pipeline(where, REFUSED[name])
        words.append(raised.value.message)
    last_line = lambda text: text.split("\n\t [[")[0].split("\n")[-1]
    assert last_line(words[1]) == last_line(words[0])


def test_an_error_in_what_is_read_ahead_comes_in_its_turn(target):
    def build():
        numbers = Dataset.from_tensor_slices([1.0, 2.0, float("nan"), 4.0])
        checked = numbers.map(lambda x: tf.debugging.check_numerics(x, "bad"))
        return checked.interleave(lambda x: Dataset.from_tensors(x).repeat(3), 2, 2, num_parallel_calls=1)

    check(target, build)


def below_two(number):
    """The number, which fails from two on."""
    with tf.control_dependencies([tf.raw_ops.Assert(condition=number < 2, data=["too large", number])]):
        return tf.identity(number)


FAILING = {
    "batches of a map": lambda data: data.apply(tf.data.experimental.map_and_batch(below_two, 3)),
    "keys of windows": lambda data: data.group_by_window(below_two, lambda _, group: group.batch(2), 1),
    "sizes of windows": lambda data: data.group_by_window(
        lambda number: number, lambda _, group: group.batch(2), window_size_func=lambda key: below_two(key) + 1
    ),
    "keys of reductions": lambda data: data.apply(reduction(key=below_two)),
    "first values of reductions": lambda data: data.apply(reduction(init=below_two)),
    "steps of reductions": lambda data: data.apply(reduction(step=lambda _, number: below_two(number))),
    "ends of reductions": lambda data: data.apply(reduction(end=below_two)),
    "scans": lambda data: data.scan(np.int64(0), lambda state, number: (state, below_two(number))),
    "conditions": lambda data: data.take_while(lambda number: below_two(number) >= 0),
}


def reduction(key=lambda number: number, init=lambda key: key, step=lambda state, number: state + number,
              end=lambda state: state):
    return tf.data.experimental.group_by_reducer(key, tf.data.experimental.Reducer(init, step, end))


def elements_and_errors(target, build):
    """What a pipeline gives, call by call, errors by their first line."""
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(build())
        element, found = iterator.get_next(), []
        with v1.Session(target) as session:
            session.run(iterator.initializer)
            for _ in range(20):
                try:
                    found.append(np.asarray(session.run(element)).tolist())
                except tf.errors.OutOfRangeError:
                    return found
                except tf.errors.OpError as error:
                    found.append((type(error), error.message.split("\n\t [[")[0].split("\n")[-1]))
    raise AssertionError(f"the dataset does not end: {found}")


@pytest.mark.parametrize("name", FAILING)
def test_what_comes_after_an_element_that_fails(target, name):
    build = lambda: FAILING[name](tf.data.Dataset.range(7))
    assert elements_and_errors(target, build) == elements_and_errors("", build)


def test_a_group_whose_reduction_fails_stays(target):
    def reduce(key, group):
        return tf.data.Dataset.zip((group, tf.data.Dataset.from_tensors(below_two(key))))

    iterator = v1.data.make_initializable_iterator(
        tf.data.Dataset.range(4).group_by_window(lambda number: number, reduce, window_size=1)
    )
    element = iterator.get_next()
    with v1.Session(target) as session:
        session.run(iterator.initializer)
        assert [session.run(element) for _ in range(2)] == [(0, 0), (1, 1)]
        for number in (2, 3, 2, 2):
            words = rf"Got error code INVALID_ARGUMENT and message: \{{\nassertion failed: \[too large\] \[{number}\]"
            with pytest.raises(tf.errors.InternalError, match=words):
                session.run(element)


def test_cardinalities(target):
    def cardinalities():
        numbers = Dataset.range(5)
        datasets = [
            numbers,
            numbers.map(lambda x: x),
            numbers.filter(lambda x: True),
            numbers.repeat(),
            numbers.repeat(3),
            numbers.repeat().take(3),
            numbers.repeat().skip(3),
            numbers.repeat().map(lambda x: x),
            numbers.batch(2),
            numbers.batch(2, drop_remainder=True),
            numbers.batch(2).unbatch(),
            numbers.batch(2, drop_remainder=True).unbatch(),
            numbers.window(2),
            numbers.window(2, shift=1, stride=2, drop_remainder=True),
            numbers.padded_batch(2),
            numbers.shuffle(2),
            numbers.cache(),
            numbers.shard(2, 1),
            numbers.skip(2),
            numbers.flat_map(lambda x: Dataset.range(3)),
            Dataset.zip((numbers, Dataset.range(4))),
            numbers.concatenate(Dataset.range(3)),
            numbers.scan(tf.constant(0, tf.int64), lambda s, x: (s, x)),
            numbers.prefetch(1),
            numbers.unique(),
            Dataset.random(),
            numbers.repeat().group_by_window(lambda x: x % 2, lambda _, window: window.batch(2), 2),
            numbers.group_by_window(lambda x: x % 2, lambda _, window: window.batch(2), 2),
            numbers.repeat().interleave(Dataset.range, cycle_length=2, num_parallel_calls=2),
            numbers.repeat().interleave(Dataset.range, cycle_length=2),
            numbers.apply(tf.data.experimental.assert_cardinality(7)),
            Dataset.sample_from_datasets([numbers, numbers]),
            Dataset.choose_from_datasets([numbers, numbers.repeat()], Dataset.range(2)),
        ]
        return tf.stack([dataset.cardinality() for dataset in datasets])

    check(target, lambda: Dataset.from_tensors(cardinalities()))


@pytest.fixture
def files(tmp_path):
    """A function that writes files and returns their names."""

    def write(*contents):
        names = []
        for content in contents:
            names.append(str(tmp_path / f"file{len(list(tmp_path.iterdir()))}"))
            with open(names[-1], "wb") as file:
                file.write(content)
        return names

    return write


COMPRESSIONS = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_text_lines(target, files, compression):
    compress = COMPRESSIONS[compression]
    names = files(compress(b"a\nb\r\n\n c"), compress(b""), compress(b"last\n"))
    check(target, lambda: tf.data.TextLineDataset(names, compression_type=compression))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_fixed_length_records(target, files, compression):
    compress = COMPRESSIONS[compression]
    names = files(compress(b"hhaabbccf"), compress(b"hhf"), compress(b"hhddf"))

    def build():
        return tf.data.FixedLengthRecordDataset(
            names, 2, header_bytes=2, footer_bytes=1, compression_type=compression
        )

    check(target, build)
    names = files(compress(b"hhaabbcf"))
    check(target, build)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_records(target, tmp_path, compression):
    names = [str(tmp_path / "one"), str(tmp_path / "two")]
    for name in names:
        with tf.io.TFRecordWriter(name, compression) as writer:
            for i in range(5):
                writer.write(name.encode() * i)
    elements, _ = check(
        target, lambda: tf.data.TFRecordDataset(names, compression_type=compression)
    )
    assert len(elements) == 10


def test_bad_records(target, tmp_path, files):
    name = str(tmp_path / "good")
    with tf.io.TFRecordWriter(name) as writer:
        writer.write(b"hello")
        writer.write(b"world")
    with open(name, "rb") as file:
        good = file.read()
    for bad in (good[:-3], good[:30], good[:25] + b"?" + good[26:], b"nothing like a record"):
        [broken] = files(bad)
        check(target, lambda: tf.data.TFRecordDataset([broken, name]))
        check(target, lambda: tf.data.TFRecordDataset([broken, name]).ignore_errors())
    _, error = check(target, lambda: tf.data.TFRecordDataset([str(tmp_path / "missing")]))
    assert isinstance(error, tf.errors.NotFoundError)


CSV = {
    "plain": (b"1,2\n3,4", [tf.int32, tf.int32], {}),
    "line_ends": (b"1,2\r\n3,4\r5,6\n", [tf.int32, tf.int64], {}),
    "quotes": (b'"a,b","c""d"\n"x\ny",z', [tf.string, tf.string], {}),
    "defaults": (b"1,\n,4\n", [[5], [6.5]], {}),
    "blank_line": (b"1\n\n3\n", [[7]], {}),
    "missing": (b"1,2\n,4\n", [tf.int32, tf.int32], {}),
    "header": (b"a,b\n1,2\n", [tf.float32, tf.float64], {"header": True}),
    "few": (b"1,2\n3", [tf.int32, tf.int32], {}),
    "many": (b"1,2\n3,4,5", [tf.int32, tf.int32], {}),
    "wrong": (b"1,x\n3,4", [tf.int32, tf.int32], {}),
    "selected": (b"1,2,3\n4,5,6\n", [tf.int32, tf.string], {"select_cols": [0, 2]}),
    "excluded": (b"1,2,3\n4,5,6\n", [tf.int32, tf.string], {"exclude_cols": [1]}),
    "delimiter": (b"1;2\n", [tf.int32, tf.int32], {"field_delim": ";"}),
    "no_quotes": (b'a,"b\nc",d', [tf.string, tf.string], {"use_quote_delim": False}),
    "na": (b"NA,1\n", [[5], tf.int32], {"na_value": "NA"}),
    "quote_inside": (b'a"b,c\nd,e', [tf.string, tf.string], {}),
    "quote_after": (b'"a"b,c\nd,"e"\n', [tf.string, tf.string], {}),
    "open_quote": (b'"abc,d\n', [tf.string, tf.string], {}),
}


@pytest.mark.parametrize("name", CSV)
def test_comma_separated_values(target, files, name):
    content, defaults, settings = CSV[name]
    names = files(content, content)
    check(target, lambda: tf.data.experimental.CsvDataset(names, defaults, **settings))


def test_parsed_examples(target):
    def example(i):
        features = {
            "number": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
            "floats": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5] * i)),
            "ragged": tf.train.Feature(float_list=tf.train.FloatList(value=[i] * (i % 3))),
            "bytes": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x", b"y"])),
        }
        if i == 2:
            del features["number"]
        return tf.train.Example(
            features=tf.train.Features(feature=features)
        ).SerializeToString()

    features = {
        "number": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
        "floats": tf.io.VarLenFeature(tf.float32),
        "bytes": tf.io.FixedLenFeature([2], tf.string),
        "ragged": tf.io.RaggedFeature(tf.float32),
    }

    def build():
        return (
            Dataset.from_tensor_slices([example(i) for i in range(5)])
            .batch(2)
            .apply(tf.data.experimental.parse_example_dataset(features, num_parallel_calls=2))
            .map(lambda e: {**e, "ragged": e["ragged"].to_tensor(-1.0)})
        )

    check(target, build)


def test_cache_in_a_file(target, tmp_path):
    """Either side reads what the other wrote."""
    for writer, reader in ((target, ""), ("", target)):
        name = str(tmp_path / f"cache{len(writer)}")
        written, _ = run_pipeline(
            writer, lambda: tensors().map(lambda e: (e["x"], e["name"])).cache(name).repeat(2)
        )
        assert len(written) == 12
        read, _ = run_pipeline(
            reader, lambda: tensors().map(lambda e: (e["x"] * 0.0, e["name"])).cache(name)
        )
        assert_same(read, written[:6])


SHUFFLES = {
    "small": lambda: Dataset.range(20).shuffle(7, seed=1),
    "whole": lambda: Dataset.range(20).shuffle(100, seed=2),
    "one": lambda: Dataset.range(5).shuffle(1, seed=3),
    "again": lambda: Dataset.range(10).shuffle(4, seed=3).repeat(4),
    "same_again": lambda: Dataset.range(10).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(3),
    "twice": lambda: Dataset.range(10).shuffle(4, seed=3).shuffle(5, seed=8),
    "and_repeat": lambda: Dataset.range(6).apply(
        tf.data.experimental.shuffle_and_repeat(4, count=3, seed=11)
    ),
    "large_seed": lambda: Dataset.range(10).shuffle(10, seed=2**40 + 5),
}


@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles_have_the_order_of_their_seeds(target, name):
    check(target, SHUFFLES[name])


def test_unseeded_shuffles_differ(target):
    with v1.Session(target) as session:
        iterator = v1.data.make_initializable_iterator(Dataset.range(100).shuffle(100).batch(100))
        next_element = iterator.get_next()
        orders = []
        for _ in range(2):
            session.run(iterator.initializer)
            orders.append(session.run(next_element))
    assert sorted(orders[0]) == sorted(orders[1]) == list(range(100))
    assert list(orders[0]) != list(orders[1])


def test_one_shot_iterator(target):
    next_element = v1.data.make_one_shot_iterator(
        Dataset.range(10).map(lambda x: x * 2).shuffle(3, seed=4).batch(3)
    ).get_next()
    with v1.Session("") as session:
        expected, _ = drain(session, next_element)
    with v1.Session(target) as session:
        actual, error = drain(session, next_element)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(next_element)
    assert_same(actual, expected)
    assert isinstance(error, tf.errors.OutOfRangeError)
    assert "End of sequence" in error.message


def test_iterators_of_sessions_are_their_own(target):
    next_element = v1.data.make_one_shot_iterator(Dataset.range(3)).get_next()
    with v1.Session(target) as one, v1.Session(target) as other:
        assert [one.run(next_element) for _ in range(2)] == [0, 1]
        assert other.run(next_element) == 0


def test_initializable_iterator_is_fed_and_starts_again(target):
    limit = v1.placeholder(tf.int64, [])
    iterator = v1.data.make_initializable_iterator(Dataset.range(limit))
    next_element = iterator.get_next()
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="has not been initialized"):
            session.run(next_element)
        for count in (2, 4):
            session.run(iterator.initializer, {limit: count})
            assert drain(session, next_element)[0] == list(range(count))


def test_reinitializable_iterator(target):
    train = Dataset.range(5).map(lambda x: x + 100)
    validate = Dataset.range(3)
    iterator = v1.data.Iterator.from_structure(
        v1.data.get_output_types(train), v1.data.get_output_shapes(train)
    )
    next_element = iterator.get_next()
    starts = [iterator.make_initializer(train), iterator.make_initializer(validate)]
    with v1.Session(target) as session:
        for _ in range(2):
            session.run(starts[0])
            assert session.run(next_element) == 100
            session.run(starts[1])
            assert drain(session, next_element)[0] == [0, 1, 2]


def test_feedable_iterator(target):
    train = v1.data.make_one_shot_iterator(Dataset.range(100, 200))
    validate = v1.data.make_initializable_iterator(Dataset.range(3))
    handle = v1.placeholder(tf.string, [])
    next_element = v1.data.Iterator.from_string_handle(handle, tf.int64, []).get_next()
    with v1.Session(target) as session:
        train_handle, validate_handle = session.run(
            [train.string_handle(), validate.string_handle()]
        )
        assert session.run(next_element, {handle: train_handle}) == 100
        session.run(validate.initializer)
        assert session.run(next_element, {handle: validate_handle}) == 0
        assert session.run(next_element, {handle: train_handle}) == 101
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not parse string_handle"):
            session.run(next_element, {handle: b"junk"})


def test_feedable_iterator_checks_types(target):
    handle = v1.data.make_one_shot_iterator(Dataset.range(3)).string_handle()
    next_element = v1.data.Iterator.from_string_handle(handle, tf.int32, []).get_next()
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Data type mismatch"):
            session.run(next_element)


def test_optional_elements(target):
    iterator = v1.data.make_initializable_iterator(Dataset.range(1).map(lambda x: (x, "a")))
    optional = iterator.get_next_as_optional()
    has_value, value = optional.has_value(), optional.get_value()
    with v1.Session(target) as session:
        session.run(iterator.initializer)
        assert session.run([has_value, value]) == [True, (0, b"a")]
        assert not session.run(has_value)
        with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
            session.run(value)


def test_several_next_elements_in_one_step(target):
    iterator = v1.data.make_one_shot_iterator(Dataset.range(4))
    first = iterator.get_next()
    with tf.control_dependencies([first]):
        second = iterator.get_next()
    with v1.Session(target) as session:
        assert session.run([first, second]) == [0, 1]
        assert session.run([first, second]) == [2, 3]


def test_variables_in_functions(target):
    offset = v1.get_variable("offset", initializer=tf.constant(10, tf.int64), use_resource=True)
    iterator = v1.data.make_initializable_iterator(Dataset.range(3).map(lambda x: x + offset))
    next_element = iterator.get_next()
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
        session.run(iterator.initializer)
        assert session.run(next_element) == 10
        # Elements may have been made ahead, so that a change shows in the next pass only.
        session.run(offset.assign(20))
        session.run(iterator.initializer)
        assert session.run(next_element) == 20


def test_saved_iterators_go_on_where_they_were(target, tmp_path):
    dataset = Dataset.range(20).shuffle(10, seed=3).map(lambda x: x * 2, num_parallel_calls=2)
    iterator = v1.data.make_initializable_iterator(dataset.repeat(2).batch(3).prefetch(2))
    next_element = iterator.get_next()
    saver = v1.train.Saver([tf.data.experimental.make_saveable_from_iterator(iterator)])
    with v1.Session(target) as session:
        session.run(iterator.initializer)
        for _ in range(4):
            session.run(next_element)
        path = saver.save(session, str(tmp_path / "iterator"))
        rest, _ = drain(session, next_element)
        saver.restore(session, path)
        assert_same(drain(session, next_element)[0], rest)
        assert len(rest) == 10


def test_dropped_iterators_stop_working(target):
    """An endless pipeline that works ahead ends with its iterator, so that the next one can run."""
    limit = v1.placeholder_with_default(tf.constant(1, tf.int64), [])
    dataset = Dataset.range(10**12).map(lambda x: x * limit, num_parallel_calls=4).prefetch(100)
    iterator = v1.data.make_initializable_iterator(dataset)
    next_element = iterator.get_next()
    with v1.Session(target) as session:
        for factor in range(1, 30):
            session.run(iterator.initializer, {limit: factor})
            assert [session.run(next_element) for _ in range(3)] == [0, factor, 2 * factor]


def test_pipelines_on_parameter_servers(cluster):
    started = cluster(num_workers=2, num_ps=1)
    with tf.device("/job:worker/task:1"):
        next_element = v1.data.make_one_shot_iterator(
            Dataset.range(4).map(lambda x: x + 1).batch(2)
        ).get_next()
    with tf.device("/job:ps/task:0"):
        total = v1.get_variable("total", initializer=tf.constant(0, tf.int64), use_resource=True)
    update = total.assign_add(tf.reduce_sum(next_element))
    with v1.Session(started.target("worker", 0)) as session:
        session.run(total.initializer)
        session.run(update)
        session.run(update)
        assert session.run(total) == 10
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(update)


def test_elements_are_dealt_out_to_devices(target):
    device = "/job:worker/replica:0/task:0/device:CPU:0"
    iterator = multi_device_iterator_ops.MultiDeviceIterator(
        Dataset.range(7).map(lambda x: x * 2), [device, device], source_device=device
    )
    first, second = iterator.get_next()
    with v1.Session(target) as session:
        for _ in range(2):
            session.run(iterator.initializer)
            assert session.run([first, second]) == [0, 2]
            assert session.run(second) == 6
            assert session.run([first, second]) == [4, 10]
            assert [session.run(first) for _ in range(2)] == [8, 12]
            for element in (first, second):
                with pytest.raises(tf.errors.OutOfRangeError):
                    session.run(element)


def test_options_are_kept(target):
    options = _options()
    dataset = Dataset.range(3).with_options(options).map(lambda x: x)
    kept = gen_dataset_ops.get_options(dataset._apply_debug_options()._variant_tensor)
    with v1.Session("") as session:
        expected = session.run(kept)
    with v1.Session(target) as session:
        message = session.run(kept)
    actual, wanted = tf.data.Options(), tf.data.Options()
    for options, serialized in ((actual, message), (wanted, expected)):
        proto = type(options._to_proto()).FromString(serialized)
        options._from_proto(proto)
    assert actual == wanted


def test_anonymous_iterator(target):
    dataset = Dataset.range(3)
    handle = gen_dataset_ops.anonymous_iterator_v3([tf.int64], [[]])
    with tf.control_dependencies([gen_dataset_ops.make_iterator(dataset._variant_tensor, handle)]):
        first = gen_dataset_ops.iterator_get_next(handle, [tf.int64], [[]])
        with tf.control_dependencies(first):
            text = gen_dataset_ops.iterator_to_string_handle(handle)
            again = gen_dataset_ops.iterator_from_string_handle_v2(text, [tf.int64], [[]])
            second = gen_dataset_ops.iterator_get_next(again, [tf.int64], [[]])
            # The handle keeps the iterator until the second element is there.
            with tf.control_dependencies(second):
                kept = gen_dataset_ops.iterator_to_string_handle(handle)
    with v1.Session(target) as session:
        assert session.run([first, second, kept])[:2] == [[0], [1]]


def test_records_are_written(target, tmp_path):
    name = str(tmp_path / "records")
    dataset = Dataset.range(3).map(lambda x: tf.strings.join(["record", tf.strings.as_string(x)]))
    write = tf.data.experimental.TFRecordWriter(name, compression_type="GZIP").write(dataset)
    with v1.Session(target) as session:
        session.run(write)
    elements, _ = run_pipeline("", lambda: tf.data.TFRecordDataset(name, compression_type="GZIP"))
    assert elements == [b"record0", b"record1", b"record2"]


def test_listed_files(target, files):
    names = files(b"a", b"b", b"c")
    pattern = names[0][:-1] + "*"
    check(target, lambda: Dataset.list_files(pattern, shuffle=False))
    check(target, lambda: Dataset.list_files(pattern, seed=3))


def test_waiting_for_an_element_can_be_given_up(target):
    queue = v1.FIFOQueue(10, [tf.int64], [[]])
    dataset = Dataset.range(10).map(lambda x: queue.dequeue() + 0 * x)
    iterator = v1.data.make_initializable_iterator(dataset)
    next_element = iterator.get_next()
    enqueue = queue.enqueue_many([np.arange(10)])
    with v1.Session(target) as session:
        session.run(iterator.initializer)
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(next_element, options=v1.RunOptions(timeout_in_ms=300))
        session.run(enqueue)
        assert session.run(next_element) >= 0
