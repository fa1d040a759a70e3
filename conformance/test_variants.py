"""Lists, maps and optionals in variants: what they hold, their zeros and sums, and what they refuse."""

import importlib

import numpy as np
import pytest
import tensorflow as tf

v1 = tf.compat.v1
raw = tf.raw_ops


def fed(value):
    """A value whose shape only the server knows."""
    return v1.placeholder_with_default(tf.constant(value), None)


def shape_of(dims):
    return tf.constant(-1 if dims is None else dims, tf.int32)


def reserved(dims, count, dtype=tf.float32):
    return raw.TensorListReserve(element_shape=shape_of(dims), num_elements=count, element_dtype=dtype)


def list_of(*values, dims=None, dtype=tf.float32):
    new = raw.EmptyTensorList(element_shape=shape_of(dims), max_num_elements=-1, element_dtype=dtype)
    for value in values:
        new = raw.TensorListPushBack(input_handle=new, tensor=tf.constant(value, dtype))
    return new


def stacked(handle, dims=None, dtype=tf.float32):
    return raw.TensorListStack(input_handle=handle, element_shape=shape_of(dims), element_dtype=dtype)


def joined(handle, dims, lengths=()):
    return raw.TensorListConcatV2(
        input_handle=handle,
        element_shape=fed(-1 if dims is None else dims),
        leading_dims=np.int64(lengths),
        element_dtype=tf.float32,
    ).tensor


def map_of(*pairs):
    new = raw.EmptyTensorMap()
    for key, value in pairs:
        new = raw.TensorMapInsert(input_handle=new, key=key, value=value)
    return new


def looked_up(handle, key, dtype=tf.float32):
    return raw.TensorMapLookup(input_handle=handle, key=key, value_dtype=dtype)


def optional_of(*parts):
    return raw.OptionalFromValue(components=[tf.constant(part) for part in parts])


def value_of(optional, *types):
    return raw.OptionalGetValue(optional=optional, output_types=types, output_shapes=[None] * len(types))


def test_lists_of_a_batch_are_joined_in_pairs(target):
    a, b = list_of(1.0, 2.0), list_of(3.0)
    both = raw.TensorListConcatLists(
        input_a=tf.stack([a, b]), input_b=tf.stack([b, a]), element_dtype=tf.float32
    )
    with v1.Session(target) as session:
        first, second = session.run([stacked(handle) for handle in tf.unstack(both, num=2)])
    assert first.tolist() == [1, 2, 3]
    assert second.tolist() == [3, 1, 2]


def test_elements_without_a_value_take_their_length_from_what_is_known(target):
    with v1.Session(target) as session:
        assert session.run(joined(reserved([-1, 3], 1), [4, 3])).shape == (4, 3)
        assert session.run(joined(reserved([-1, 3], 2), [4, 3], [1, 2])).shape == (3, 3)


def test_maps_are_added_and_their_zeros_are_empty(target):
    a = map_of((1, [1.0, 2.0]), (2, [5.0, 5.0]))
    b = map_of((1, [10.0, 20.0]), (3, [7.0, 7.0]))
    total = tf.add_n([a, b])
    with v1.Session(target) as session:
        sums = session.run([looked_up(total, key) for key in (1, 2, 3)])
        assert [each.tolist() for each in sums] == [[11, 22], [5, 5], [7, 7]]
        assert session.run(raw.TensorMapSize(input_handle=total)) == 3
        assert session.run(raw.TensorMapSize(input_handle=tf.zeros_like(a))) == 0


def test_gradients_of_one_map_meet(target):
    # The client knows these gradients only with its module of maps.
    importlib.import_module("tensorflow.python.ops.map_ops")
    x, y = tf.constant(2.0), tf.constant(3.0)
    both = map_of((1, x), (2, y))
    with v1.Session(target) as session:
        assert session.run(tf.gradients(looked_up(both, 1) * 5 + looked_up(both, 2) * 7, [x, y])) == [5, 7]


def test_optionals_are_added_and_have_zeros(target):
    a, b = optional_of(1.0, 2), optional_of(10.0, 20)
    nothing = tf.add_n([raw.OptionalNone(), raw.OptionalNone()])
    with v1.Session(target) as session:
        assert session.run(value_of(tf.add_n([a, b]), tf.float32, tf.int32)) == [11, 22]
        assert session.run(value_of(tf.zeros_like(a), tf.float32, tf.int32)) == [0, 0]
        assert not session.run(raw.OptionalHasValue(optional=nothing))
        assert not session.run(raw.OptionalHasValue(optional=tf.zeros_like(raw.OptionalNone())))


def test_zeros_of_a_list_of_another_task(cluster):
    two = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        made = list_of([1.0, 2.0])
    with tf.device("/job:worker/task:0"):
        zeros = stacked(tf.zeros_like(made))
        total = stacked(tf.add_n([made, list_of([5.0, 5.0])]))
    with v1.Session(two.target()) as session:
        assert session.run(zeros).tolist() == [[0, 0]]
        assert session.run(total).tolist() == [[6, 7]]


def length(handle):
    return raw.TensorListLength(input_handle=handle)


WRONG = {
    "reserve": (
        lambda: length(reserved([], fed([1, 1]))),
        "The num_elements to reserve must be a tensor size 1, but got [2]\n",
    ),
    "element shape": (
        lambda: raw.TensorListStack(input_handle=list_of(1.0), element_shape=fed([[1]]), element_dtype=tf.float32),
        "Shape must be at most rank 1 but is rank 2\n",
    ),
    "index": (
        lambda: length(raw.TensorListSetItem(input_handle=list_of(1.0), index=fed([0]), item=2.0)),
        "Expected argument 1 to be a scalar. ReceivedTensor<type: int32 shape: [1] values: 0>\n",
    ),
    "size": (
        lambda: length(raw.TensorListResize(input_handle=list_of(1.0), size=fed([1]))),
        "size must be a scalar\n",
    ),
    "scatter": (
        lambda: length(
            raw.TensorListScatterV2(
                tensor=[1.0], indices=[0], element_shape=shape_of([]), num_elements=fed([1])
            )
        ),
        "num_elements must be a scalar\n",
    ),
    "several": (lambda: length(tf.stack([list_of(), list_of()])), "Input list must be a scalar saw: [2]\n"),
    "first dimension": (
        lambda: joined(list_of([[0.0, 1.0]], dims=[-1, 2]), [3, 2]),
        "First entry of element_shape input does not match the first dim of list element at index: 0 "
        "Expected: 3 Actual: 1\n",
    ),
    "merged shapes": (
        lambda: joined(reserved([2, 3], 1), [5, 3]),
        "PartialTensorShape: Incompatible shapes during merge: [5,3] vs. [2,3]\n",
    ),
    "nothing to join": (
        lambda: joined(list_of(dims=[2, -1]), None),
        "All except the first dimension must be fully defined when concating an empty tensor list. "
        "element_shape: [?]\n",
    ),
    "no values to join": (
        lambda: joined(reserved([-1, -1], 1), [4, -1]),
        "Trying to concat list with only uninitialized tensors but element_shape_except_first_dim is not "
        "fully defined: [?]\n",
    ),
    "batch": (
        lambda: raw.TensorListPushBackBatch(
            input_handles=tf.stack([list_of(dims=[]), list_of(dims=[])]), tensor=fed([[1.0], [2.0]])
        ),
        "Tried to append a tensor with incompatible shape to a list at index 0. Op element shape: [1] "
        "list shape: []\n",
    ),
    "zeros of several": (
        lambda: tf.zeros_like(tf.stack([list_of(), list_of()])),
        "ZerosLike non-scalar Tensor with dtype=DT_VARIANT is not supported.\n",
    ),
    "zeros of strings": (
        lambda: length(tf.zeros_like(list_of("a", dtype=tf.string))),
        "Trying to compute zeros_like for unsupported dtype string\n",
    ),
    "sum of strings": (
        lambda: length(tf.add_n([list_of("a", dtype=tf.string)] * 2)),
        "Trying to add unsupported dtype 7\n",
    ),
    "no list": (
        lambda: length(map_of()),
        "Input handle is not a list. Saw: 'Variant<type: tensorflow::TensorMap value: TensorMap>'\n",
    ),
    "optional for a list": (
        lambda: length(optional_of([1.0, 2.0])),
        "Saw: 'Variant<type: tensorflow::data::Optional value: OptionalVariant<values: "
        "(Tensor<type: float shape: [2] values: 1 2>)>>'\n",
    ),
    "no map": (
        lambda: raw.TensorMapSize(input_handle=raw.OptionalNone()),
        "Input handle is not a map. Saw: 'Variant<type: tensorflow::data::Optional value: "
        "OptionalVariant<None>>'\n",
    ),
    "no optional": (
        lambda: raw.OptionalHasValue(optional=list_of()),
        "Input to OptionalHasValue must be an OptionalVariant object.\n",
    ),
    "key": (lambda: looked_up(map_of(), ["a", "b"]), 'Could not find key "a b".\n'),
    "erased key": (
        lambda: raw.TensorMapSize(
            input_handle=raw.TensorMapErase(input_handle=map_of(), key=[[1, 2], [3, 4]], value_dtype=tf.float32)
        ),
        'Trying to erase non-existent item. Could not find key "[1 2][3 4]".\n',
    ),
    "shapes of keys": (
        lambda: raw.TensorMapStackKeys(input_handle=map_of((1, 1.0), ([2], 1.0)), key_dtype=tf.int32),
        "Keys must all have the same shape.\n",
    ),
    "types of keys": (
        lambda: raw.TensorMapStackKeys(input_handle=map_of((1, 1.0)), key_dtype=tf.float32),
        "Key does not match requested dtype.\n",
    ),
    "shapes of values": (
        lambda: raw.TensorMapSize(input_handle=tf.add_n([map_of((1, [1.0])), map_of((1, [1.0, 2.0]))])),
        "Trying to add two tensors with incompatible element shapes. One is [2] and the other is [1]\n",
    ),
    "sum with nothing": (
        lambda: raw.OptionalHasValue(optional=tf.add_n([raw.OptionalNone(), optional_of(1.0)])),
        "Cannot add optionals because one has a value and the other doesn't.\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_does_not_fit_is_refused_in_the_same_words(target, name):
    build, words = WRONG[name]
    fetch = build()
    with v1.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(fetch.op if fetch.dtype == tf.variant else fetch)
    assert words in raised.value.message


def test_different_variants_do_not_add_up(target):
    total = tf.add_n([map_of((1, 1.0)), list_of(1.0)])
    with v1.Session(target) as session, pytest.raises(tf.errors.InternalError) as raised:
        session.run(raw.TensorMapSize(input_handle=total))
    assert "Variants a and b have different type ids." in raised.value.message


def test_the_gradient_of_a_loop_says_which_outputs_it_lacks(target):
    v1.enable_control_flow_v2()
    try:
        x = tf.constant(2.0)
        _, y = v1.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, y * x), [0, x])
        with v1.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
            session.run(y)
            session.run(tf.gradients(y, x))
    finally:
        v1.disable_control_flow_v2()
    assert "outputs. Try using tf.compat.v1.experimental.output_all_intermediates(True)." in raised.value.message
