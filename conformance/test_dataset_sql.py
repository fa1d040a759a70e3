"""Rows of SQLite databases."""

import sqlite3

import pytest
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.ops import gen_experimental_dataset_ops

from conformance.test_dataset import check

ROWS = """
create table s(id integer primary key, first text, n integer, r real, b boolean, bl blob, nul text);
insert into s values(1, 'John', -5, 1.5, 1, x'00ff41', NULL), (2, 'Jane', 300, -2.5, 0, 'text', NULL),
    (3, '12abc', 9223372036854775807, 3.0, 5, '', NULL);
create table empty(x int);
"""
QUERIES = {
    "first, n, r": [tf.string, tf.int64, tf.float64],
    "n, n, n, n": [tf.int32, tf.int16, tf.int8, tf.uint8],
    "n, b, r": [tf.uint16, tf.bool, tf.int64],
    "n, r, bl, nul": [tf.string] * 4,
    "first, bl, nul": [tf.float64] * 3,
    "nope": [tf.int64],
    "n, r": [tf.int64],
}


@pytest.mark.parametrize("columns", QUERIES)
def test_rows_have_the_types_that_are_asked_for(target, tmp_path, columns):
    path = str(tmp_path / "database")
    with sqlite3.connect(path) as connection:
        connection.executescript(ROWS)

    def build(query=f"select {columns} from s order by id"):
        types = QUERIES[columns]
        variant = gen_experimental_dataset_ops.sql_dataset(
            "sqlite", path, query, output_types=types, output_shapes=[[]] * len(types)
        )
        return dataset_ops._VariantDataset(variant, tuple(tf.TensorSpec([], dtype) for dtype in types))

    check(target, build)
