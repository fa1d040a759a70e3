"""Datasets in files: what one side saves, the other loads."""

import glob
import warnings

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.data.experimental.ops import snapshot

Dataset = tf.data.Dataset


def elements(target, build):
    """All elements of a dataset that is made once and iterated twice."""
    with v1.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(build())
        next_element = iterator.get_next()
        both = []
        with v1.Session(target) as session:
            for _ in range(2):
                session.run(iterator.initializer)
                found = []
                with pytest.raises(tf.errors.OutOfRangeError):
                    while True:
                        found.append(session.run(next_element))
                both.append(found)
    return both


def pairs(count):
    return Dataset.range(count).map(lambda x: (x, tf.repeat(tf.as_string(x), x)))


def plain(found):
    return [(int(number), list(names)) for number, names in found]


@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY"])
@pytest.mark.parametrize("writer", ["server", "client"])
def test_saved_datasets_are_exchanged(target, tmp_path, compression, writer):
    path = str(tmp_path / "saved")
    saves, loads = (target, "") if writer == "server" else ("", target)
    with v1.Graph().as_default(), v1.Session(saves) as session:
        session.run(pairs(5).save(path, compression=compression))
    first, again = elements(loads, lambda: Dataset.load(path, compression=compression))
    expected = [(i, [str(i).encode()] * i) for i in range(5)]
    assert plain(first) == plain(again) == expected


def test_elements_go_to_the_shards_that_a_function_names(target, tmp_path):
    path = str(tmp_path / "saved")
    offset = 1
    with v1.Graph().as_default(), v1.Session(target) as session:
        saving = Dataset.range(9).save(path, shard_func=lambda x: (x + offset) % 3)
        session.run(saving)
    assert len(glob.glob(f"{path}/*/*.shard")) == 3

    def one_after_the_other():
        return Dataset.load(path, reader_func=lambda shards: shards.flat_map(lambda shard: shard))

    actual, _ = elements(target, one_after_the_other)
    assert list(actual) == [2, 5, 8, 0, 3, 6, 1, 4, 7]


def test_what_is_not_there_or_not_as_promised(target, tmp_path):
    path = str(tmp_path / "saved")
    with v1.Graph().as_default(), v1.Session(target) as session:
        session.run(Dataset.range(2).save(path))

    def load(spec, path=path):
        return lambda: Dataset.load(path, element_spec=spec)

    cases = [
        (load(tf.TensorSpec([], tf.int64), "/nowhere/at/all"), tf.errors.NotFoundError, "Could not find metadata file"),
        (load(tf.TensorSpec([], tf.float32)), tf.errors.InvalidArgumentError, "Data type mismatch at component 0"),
        (load(tf.TensorSpec([2], tf.int64)), tf.errors.InvalidArgumentError, "Incompatible shapes at component 0"),
    ]
    for build, error, words in cases:
        for where in ("", target):
            with pytest.raises(error, match=words):
                elements(where, build)


@pytest.mark.parametrize("compression", [None, "AUTO", "GZIP"])
def test_a_snapshot_is_made_once(target, tmp_path, compression):
    def noise():
        drawn = Dataset.range(20).map(lambda x: tf.random.uniform([2]))
        return drawn.snapshot(str(tmp_path), compression=compression)

    first, again = elements(target, noise)
    order = lambda found: sorted(map(tuple, np.asarray(found).tolist()))
    assert order(first) == order(again) and len(first) == 20


def test_a_run_that_was_interrupted_is_as_if_it_had_not_been(target, tmp_path):
    def build():
        return Dataset.range(20).snapshot(str(tmp_path), compression=None)

    with v1.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(build())
        with v1.Session(target) as session:
            session.run(iterator.initializer)
            assert session.run(iterator.get_next()) == 0
    first, again = elements(target, build)
    assert sorted(first) == sorted(again) == list(range(20))


def test_a_snapshot_of_other_elements_is_another(target, tmp_path):
    def found(last, double):
        def build():
            values = np.append(np.arange(30), last)
            function = (lambda x: x * 2) if double else (lambda x: x * 3)
            return Dataset.from_tensor_slices(values).map(function).snapshot(str(tmp_path), compression=None)

        return sorted(elements(target, build)[0])

    twice = [2 * value for value in range(30)]
    assert found(50, double=True) == twice + [100]
    assert found(51, double=True) == twice + [102]
    assert found(50, double=False)[-1] == 150


def test_one_iteration_at_a_time_fills_a_cache_file(target, tmp_path):
    path = tmp_path / "cache"
    with v1.Session(target) as session:
        iterators = [v1.data.make_initializable_iterator(Dataset.range(3).cache(str(path))) for _ in range(2)]
        first, second = (iterator.get_next() for iterator in iterators)
        session.run([iterator.initializer for iterator in iterators])
        assert session.run(first) == 0
        with pytest.raises(tf.errors.AlreadyExistsError, match="concurrent caching iterator running"):
            session.run(second)
        assert [session.run(first) for _ in range(2)] == [1, 2]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(first)
        session.run(iterators[1].initializer)
        assert [session.run(second) for _ in range(3)] == [0, 1, 2]
    assert not list(tmp_path.glob("*.lockfile"))


def legacy(path, count=5, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pairs(count).apply(snapshot.legacy_snapshot(path, **options))


@pytest.mark.parametrize("compression", [None, "GZIP", "SNAPPY"])
@pytest.mark.parametrize("writer", ["server", "client"])
def test_first_snapshots_are_exchanged(target, tmp_path, compression, writer):
    writes, reads = (target, "") if writer == "server" else ("", target)
    options = {"compression": compression, "snapshot_name": "mine"}
    expected = [(i, [str(i).encode()] * i) for i in range(5)]
    written, read_back = elements(writes, lambda: legacy(str(tmp_path), **options))
    assert plain(written) == plain(read_back) == expected
    # The input of the second dataset is not what was written, and is not asked.
    read, _ = elements(reads, lambda: legacy(str(tmp_path), 3, mode="read", **options))
    assert plain(read) == expected
    assert sorted(path.name for path in (tmp_path / "custom-mine").iterdir()) == ["custom", "snapshot.metadata"]


def test_a_first_snapshot_is_complete_with_its_last_element(target, tmp_path):
    with v1.Graph().as_default(), v1.Session(target) as session:
        iterators = [v1.data.make_one_shot_iterator(legacy(str(tmp_path))) for _ in range(2)]
        steps = [iterator.get_next()[0] for iterator in iterators]
        # The second iterator finds a snapshot under way and leaves it alone.
        assert [[session.run(step) for step in steps] for _ in range(5)] == [[i, i] for i in range(5)]
        assert len(glob.glob(f"{tmp_path}/*/*/00000000.snapshot")) == 1
        again = v1.data.make_one_shot_iterator(legacy(str(tmp_path))).get_next()[0]
        assert [session.run(again) for _ in range(5)] == list(range(5))


@pytest.mark.parametrize(
    "options, files",
    [
        ({"shard_size_bytes": 60}, 12),
        ({"num_writer_threads": 3, "writer_buffer_size": 2}, 3),
        ({"mode": "passthrough"}, 0),
        ({"shuffle_on_read": True, "shuffle_seed": 7, "shard_size_bytes": 60}, 12),
    ],
)
def test_settings_of_first_snapshots(target, tmp_path, options, files):
    def build():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Dataset.range(40).apply(snapshot.legacy_snapshot(str(tmp_path), **options))

    for found in elements(target, build):
        assert sorted(found) == list(range(40))
    assert len(glob.glob(f"{tmp_path}/*/*/*.snapshot")) == files


def test_first_snapshots_that_are_not_there(target, tmp_path):
    for options in ({"mode": "read"}, {"mode": "read", "snapshot_name": "none"}):
        with v1.Graph().as_default(), v1.Session(target) as session:
            step = v1.data.make_one_shot_iterator(legacy(str(tmp_path), **options)).get_next()
            with pytest.raises(tf.errors.NotFoundError):
                session.run(step)
    for options in ({"mode": "x"}, {"compression": "x"}, {"pending_snapshot_expiry_seconds": 0}):
        with v1.Graph().as_default(), v1.Session(target) as session:
            step = v1.data.make_initializable_iterator(legacy(str(tmp_path), **options)).initializer
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(step)
