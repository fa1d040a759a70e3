"""The machine itself: it must see differences, and write what the Rust tests read."""

import json

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from conformance.differential import compare, golden, graphs, runner
from conformance.differential.cases import Case, OnlyShapes, Tolerance
from conformance.differential.compare import Failed, Returned
from conformance.differential.draw import Draw

FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def why(want, have, tolerance=None):
    def outcome(value):
        return value if isinstance(value, Failed) else Returned([graphs.as_array(value)])

    return compare.difference(Case("Op", tolerance=tolerance), outcome(want), outcome(have))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_are_compared_to_the_last_bit(dtype):
    one = np.array([1, np.nan, np.inf, 0], dtype)
    assert why(one, one) is None
    next_one = np.array([1 + float(ml_dtypes.finfo(dtype).eps), np.nan, np.inf, 0], dtype)
    assert why(one, next_one) == "output 0: values differ at [0]"
    assert why(one, next_one, Tolerance(ulps=1, reason="test")) is None
    assert why(one, -one) == "output 0: values differ at [0]"
    minus_zero = np.array([1, np.nan, np.inf, -0.0], dtype)
    assert why(one, minus_zero) == "output 0: values differ at [3]"


def test_no_tolerance_reaches_infinity():
    generous = Tolerance(ulps=1e6, atol=1e6, reason="test")
    one, infinite, nan = (np.array([x], np.float32) for x in (1, np.inf, np.nan))
    assert why(one, infinite, generous) and why(infinite, one, generous)
    assert why(one, nan, generous) and why(nan, one, generous)
    assert why(infinite, -infinite, generous)


def test_complex_numbers_are_compared_by_part():
    one = np.array([complex(1, np.nan)], np.complex64)
    assert why(one, one) is None
    assert why(one, np.array([complex(2, np.nan)], np.complex64))
    assert why(one, np.array([complex(1, 0)], np.complex64))


def test_everything_else_is_compared_too():
    assert why(np.int32(1), np.int64(1)) == "output 0: types differ"
    assert why(np.ones(2), np.ones(3)) == "output 0: shapes differ"
    assert why(np.ones(2), np.ones([2, 1]), OnlyShapes("test")) == "output 0: shapes differ"
    assert why(np.ones(2), np.zeros(2), OnlyShapes("test")) is None
    assert why(np.array([b"a"]), np.array([b"b"])) == "output 0: values differ"
    assert why(np.array([True]), np.array([False])) == "output 0: values differ"
    assert why(Failed(3, ""), Failed(3, "other words")) is None
    assert why(Failed(3, ""), Failed(5, "")) == "error codes differ"
    assert why(Failed(3, ""), np.ones(1)) == "should have failed"
    assert why(np.ones(1), Failed(3, "")) == "failed"


def test_draws_are_repeatable():
    draw = lambda: Draw(7).array(tf.float32, [5], special=True)
    np.testing.assert_array_equal(draw(), draw())


def test_the_death_of_tensorflow_costs_one_case(reference, target):
    fine = [Case("Neg", [np.array([value], "f")]) for value in (1, 2)]
    fatal = Case("Abort", attrs={"error_msg": "on purpose"})
    with pytest.warns(UserWarning, match="TensorFlow died with SIGABRT of Abort"):
        outcomes = list(runner.run([fine[0], fatal, fine[1]], reference, target))
    assert [difference for _, difference in outcomes] == [None, None, None]
    assert len(list(runner.reference_outcomes([fine[0], fatal, fine[1]], reference))) == 2


def check_golden(reference, case, expected):
    ((built, outcome),) = runner.reference_outcomes([case], reference)
    assert json.loads(golden._line(built, outcome)) == expected


def test_golden_lines_hold_a_case(reference):
    check_golden(
        reference,
        Case("ConcatV2", [[np.array([1, np.nan], "f"), np.array([-np.inf], "f")], np.int32(0)]),
        {
            "op": "ConcatV2",
            "attrs": {"N": {"i": 2}, "T": {"type": "DT_FLOAT"}, "Tidx": {"type": "DT_INT32"}},
            "inputs": [
                {"dtype": "DT_FLOAT", "shape": [2], "data": [1, "NaN"]},
                {"dtype": "DT_FLOAT", "shape": [1], "data": ["-Infinity"]},
                {"dtype": "DT_INT32", "shape": [], "data": [0]},
            ],
            "outputs": [{"dtype": "DT_FLOAT", "shape": [3], "data": [1, "NaN", "-Infinity"]}],
        },
    )


def test_golden_lines_hold_an_error(reference):
    check_golden(
        reference,
        Case("Reshape", [np.array([1j], np.complex64), np.array([2])]),
        {
            "op": "Reshape",
            "attrs": {"T": {"type": "DT_COMPLEX64"}, "Tshape": {"type": "DT_INT64"}},
            "inputs": [
                {"dtype": "DT_COMPLEX64", "shape": [1], "data": [[0, 1]]},
                {"dtype": "DT_INT64", "shape": [1], "data": [2]},
            ],
            "error": {"code": 3},
        },
    )


def test_golden_lines_hold_every_kind_of_attribute(reference):
    check_golden(
        reference,
        Case("ReduceJoin", [np.array(["a", "b"]), np.int32(0)], {"separator": ","}),
        {
            "op": "ReduceJoin",
            "attrs": {"keep_dims": {"b": False}, "separator": {"s": "LA=="}},
            "inputs": [
                {"dtype": "DT_STRING", "shape": [2], "data": ["YQ==", "Yg=="]},
                {"dtype": "DT_INT32", "shape": [], "data": [0]},
            ],
            "outputs": [{"dtype": "DT_STRING", "shape": [], "data": ["YSxi"]}],
        },
    )
    shapes = tf.compat.v1.AttrValue()
    shapes.list.shape.add().dim.add(size=-1)
    shapes.list.shape.add(unknown_rank=True)
    assert golden.encode_attr(shapes) == {"list": [{"shape": [-1]}, {"shape": None}]}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_golden_floats_are_read_back_as_they_were(dtype):
    values = Draw(1).array(dtype, [100])
    written = json.loads(json.dumps(golden.encode_tensor(values)))
    np.testing.assert_array_equal(np.array(written["data"]).astype(dtype), values)


def test_golden_integers_keep_every_bit():
    values = np.array([0, 2**63, 2**64 - 1], np.uint64)
    assert golden.encode_tensor(values)["data"] == [0, 2**63, 2**64 - 1]
