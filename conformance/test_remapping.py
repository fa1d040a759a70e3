"""Vocabularies that have changed, and matrices moved to them; tensors of several parts as one."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import composite_tensor_ops


def run(target, build):
    """Builds a graph and runs what it returns."""
    with tf.Graph().as_default() as graph:
        fetches = build()
    with v1.Session(target, graph=graph) as session:
        return session.run(fetches)


@pytest.fixture
def vocabularies(tmp_path):
    """Returns the names of a new and of an old vocabulary."""
    (tmp_path / "new").write_text("knitting\neminem\nunknown\n")
    (tmp_path / "old").write_text("knitting\ncat\neminem\n")
    (tmp_path / "twice").write_text("cat\ncat\n")
    return tmp_path


@pytest.mark.parametrize(
    ("attrs", "remapping"),
    [
        ({"num_new_vocab": 3}, [0, 2, -1]),
        ({"num_new_vocab": 2, "new_vocab_offset": 1}, [2, -1]),
        ({"num_new_vocab": 3, "old_vocab_size": 2}, [0, -1, -1]),
        ({"num_new_vocab": 0}, []),
    ],
)
def test_new_entries_are_found_among_old_ones(target, vocabularies, attrs, remapping):
    attrs = {"new_vocab_offset": 0, **attrs}
    new, old = str(vocabularies / "new"), str(vocabularies / "old")
    found = run(target, lambda: tf.raw_ops.GenerateVocabRemapping(new_vocab_file=new, old_vocab_file=old, **attrs))
    assert found.remapping.tolist() == remapping
    assert found.num_present == sum(old >= 0 for old in remapping)


@pytest.mark.parametrize(
    ("old", "attrs", "error", "words"),
    [
        ("old", {"num_new_vocab": 4}, tf.errors.InvalidArgumentError, "must be larger than last new vocab entry"),
        ("old", {"old_vocab_size": 9}, tf.errors.InvalidArgumentError, "expected 9 but got 3"),
        ("twice", {}, tf.errors.FailedPreconditionError, "Key cat has 0 and trying to add value 1"),
        ("absent", {}, tf.errors.NotFoundError, "No such file or directory"),
    ],
)
def test_wrong_vocabularies_are_refused(target, vocabularies, old, attrs, error, words):
    attrs = {"new_vocab_offset": 0, "num_new_vocab": 3, **attrs}
    new, old = str(vocabularies / "new"), str(vocabularies / old)
    with pytest.raises(error, match=words):
        run(target, lambda: tf.raw_ops.GenerateVocabRemapping(new_vocab_file=new, old_vocab_file=old, **attrs))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """Returns the prefix of a checkpoint, which TensorFlow has written."""
    with tf.Graph().as_default():
        v1.get_variable("matrix", initializer=np.arange(16, dtype=np.float32).reshape(4, 4))
        v1.get_variable("vector", initializer=np.arange(4, dtype=np.float32))
        v1.get_variable("integers", initializer=np.int32([[1, 2]]))
        saver = v1.train.Saver()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            return saver.save(session, str(tmp_path_factory.mktemp("remap") / "model"))


def remap(checkpoint, name="matrix", rows=(2, 0), columns=(), initial=(), shape=(2, 4)):
    return lambda: tf.raw_ops.LoadAndRemapMatrix(
        ckpt_path=checkpoint,
        old_tensor_name=name,
        row_remapping=np.int64(rows),
        col_remapping=np.int64(columns),
        initializing_values=np.float32(initial),
        num_rows=shape[0],
        num_cols=shape[1],
    )


def test_rows_and_columns_move(target, checkpoint):
    old = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert run(target, remap(checkpoint)).tolist() == old[[2, 0]].tolist()
    columns = remap(checkpoint, columns=[1, 0, 3], shape=(2, 3))
    assert run(target, columns).tolist() == old[[2, 0]][:, [1, 0, 3]].tolist()
    added = remap(checkpoint, rows=[0, -1], columns=[1, -1, 0], initial=[10, 11, 12, 13], shape=(2, 3))
    assert run(target, added).tolist() == [[1, 10, 0], [11, 12, 13]]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"rows": [0, -1], "initial": [1]}, tf.errors.InvalidArgumentError, "more missing values remain"),
        ({"initial": [1]}, tf.errors.InvalidArgumentError, "only 0 elements were used"),
        ({"rows": [0, 0]}, tf.errors.UnimplementedError, "Old ID 0 is mapped to both new ID 0 and 1"),
        ({"shape": (3, 4)}, tf.errors.InvalidArgumentError, "Size of row_remapping is 2 instead of"),
        ({"shape": (2, 3)}, tf.errors.InvalidArgumentError, "2nd dimension is 4 instead of being equal to num_cols=3"),
        ({"name": "vector"}, tf.errors.InvalidArgumentError, "invalid rank 1 instead of expected shape of rank 2"),
        ({"name": "integers"}, tf.errors.InvalidArgumentError, "invalid type int32 instead of expected type float"),
        ({"name": "absent"}, tf.errors.NotFoundError, "Key absent not found in checkpoint"),
    ],
)
def test_matrices_that_do_not_fit_are_refused(target, checkpoint, arguments, error, words):
    with pytest.raises(error, match=words):
        run(target, remap(checkpoint, **arguments))


def test_parts_travel_in_a_variant(target):
    def build():
        ragged = tf.ragged.constant([[1, 2], [3]])
        variant = composite_tensor_ops.composite_tensor_to_variants(ragged)
        return composite_tensor_ops.composite_tensor_from_variant(variant, ragged._type_spec).to_tensor()

    assert run(target, build).tolist() == [[1, 2], [3, 0]]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (tf.SparseTensorSpec([2, 2], tf.int32), "Expected a SPARSE_TENSOR_SPEC .* contains a RAGGED_TENSOR_SPEC"),
        (tf.RaggedTensorSpec([2, None], tf.int64), "component 0 had dtype DT_INT32; expected dtype DT_INT64"),
        (tf.RaggedTensorSpec([2, None, None], tf.int32), "has 2 tensor components; expected 3 components"),
    ],
)
def test_a_variant_of_another_type_is_refused(target, spec, words):
    def build():
        variant = composite_tensor_ops.composite_tensor_to_variants(tf.ragged.constant([[1, 2], [3]]))
        return composite_tensor_ops.composite_tensor_from_variant(variant, spec)

    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        run(target, build)
