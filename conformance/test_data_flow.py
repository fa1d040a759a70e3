"""Queues, barriers, staging areas, accumulators, tables, tensor arrays and lists, as v1 programs use them."""

import threading

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import data_flow_ops


def test_a_queue_hands_elements_over_in_order(target):
    queue = tf.queue.FIFOQueue(3, [tf.float32, tf.string], shapes=[[], []], name="q")
    fill = queue.enqueue_many([[1.0, 2.0, 3.0], ["a", "b", "c"]])
    one, two = queue.dequeue(), queue.dequeue_many(2)
    with v1.Session(target) as session:
        session.run(fill)
        assert session.run(queue.size()) == 3
        assert session.run(one) == [1.0, b"a"]
        numbers, words = session.run(two)
        assert numbers.tolist() == [2.0, 3.0]
        assert words.tolist() == [b"b", b"c"]
        assert session.run(queue.size()) == 0


def test_a_dequeue_waits_for_an_element(target):
    queue = tf.queue.FIFOQueue(1, [tf.int32], shapes=[[]])
    value = v1.placeholder(tf.int32, [])
    enqueue, dequeue = queue.enqueue(value), queue.dequeue_many(3)
    with v1.Session(target) as session:
        results = []
        thread = threading.Thread(target=lambda: results.append(session.run(dequeue)))
        thread.start()
        for number in range(3):
            session.run(enqueue, {value: number})
        thread.join()
        assert results[0].tolist() == [0, 1, 2]


def test_a_closed_queue_ends_its_readers(target):
    queue = tf.queue.FIFOQueue(5, [tf.int32], shapes=[[]], shared_name="ending")
    enqueue, close = queue.enqueue(1), queue.close()
    dequeue, rest = queue.dequeue(), queue.dequeue_up_to(4)
    with v1.Session(target) as session:
        session.run(enqueue)
        session.run(close)
        assert session.run(queue.is_closed())
        assert session.run(rest).tolist() == [1]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(dequeue)
        with pytest.raises(tf.errors.CancelledError, match="FIFOQueue 'ending' is closed."):
            session.run(enqueue)
        with pytest.raises(tf.errors.CancelledError, match="is already closed"):
            session.run(close)


def test_a_padding_queue_pads_to_the_largest(target):
    queue = tf.queue.PaddingFIFOQueue(5, [tf.int32], shapes=[[None]])
    value = v1.placeholder(tf.int32, [None])
    enqueue, dequeue = queue.enqueue(value), queue.dequeue_many(2)
    with v1.Session(target) as session:
        session.run(enqueue, {value: [1, 2, 3]})
        session.run(enqueue, {value: [4]})
        assert session.run(dequeue).tolist() == [[1, 2, 3], [4, 0, 0]]


def test_a_priority_queue_hands_out_the_lowest(target):
    queue = tf.queue.PriorityQueue(5, [tf.string], shapes=[[]])
    enqueue = queue.enqueue_many([np.int64([3, 1, 2]), ["c", "a", "b"]])
    dequeue = queue.dequeue_many(3)
    with v1.Session(target) as session:
        session.run(enqueue)
        assert session.run(dequeue)[1].tolist() == [b"a", b"b", b"c"]


def test_an_accumulator_averages_and_drops_stale_gradients(target):
    accumulator = v1.ConditionalAccumulator(tf.float32, shape=[2])
    gradient, step = v1.placeholder(tf.float32, [2]), v1.placeholder(tf.int64, [])
    apply, take = accumulator.apply_grad(gradient, step), accumulator.take_grad(2)
    with v1.Session(target) as session:
        session.run(apply, {gradient: [1, 2], step: 0})
        session.run(apply, {gradient: [3, 2], step: 0})
        assert session.run(take).tolist() == [2, 2]
        session.run(apply, {gradient: [3, 2], step: 0})
        assert session.run(accumulator.num_accumulated()) == 0


def test_sparse_gradients_are_added_as_tensorflow_adds_them(target):
    """Rows of one gradient that have the same index, as lookups of a word twice make them, stay apart."""
    found = []
    for where in ("", target):
        with tf.Graph().as_default(), v1.Session(where) as session:
            accumulator = v1.SparseConditionalAccumulator(tf.float32, shape=[6, 1])
            for indices, values in [([3, 3, 1], [[1.0], [2.0], [3.0]]), ([1, 3, 5], [[4.0], [5.0], [6.0]])]:
                session.run(accumulator.apply_grad(indices, values))
            found.append(session.run(accumulator.take_grad(2)))
    for ours, theirs in zip(*found):
        np.testing.assert_array_equal(ours, theirs)


def test_a_tensor_array_carries_a_loop_and_its_gradient(target):
    x = v1.placeholder(tf.float32, [])

    def body(i, array):
        return i + 1, array.write(i, x * tf.cast(i, tf.float32))

    array = tf.TensorArray(tf.float32, size=4)
    _, array = v1.while_loop(lambda i, _: i < 4, body, [0, array])
    stacked = array.stack()
    (gradient,) = v1.gradients(stacked, x)
    with v1.Session(target) as session:
        values, slope = session.run([stacked, gradient], {x: 2.0})
    assert values.tolist() == [0, 2, 4, 6]
    assert slope == 6


def test_a_table_finds_what_it_was_filled_with(target):
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(["a", "b"], np.int64([1, 2])), np.int64(-1)
    )
    found = table.lookup(tf.constant(["b", "x"]))
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
            session.run(found)
        session.run(v1.tables_initializer())
        assert session.run(found).tolist() == [2, -1]
        assert session.run(table.size()) == 2


def test_lists_grow_shrink_and_stack(target):
    raw = tf.raw_ops
    empty = raw.EmptyTensorList(
        element_shape=tf.constant([], tf.int32), max_num_elements=-1, element_dtype=tf.float32
    )
    one = raw.TensorListPushBack(input_handle=empty, tensor=1.0)
    two = raw.TensorListPushBack(input_handle=one, tensor=2.0)
    rest, last = raw.TensorListPopBack(
        input_handle=two, element_shape=tf.constant([], tf.int32), element_dtype=tf.float32
    )
    stacked = raw.TensorListStack(
        input_handle=two, element_shape=tf.constant([], tf.int32), element_dtype=tf.float32
    )
    with v1.Session(target) as session:
        length, popped, values = session.run([raw.TensorListLength(input_handle=rest), last, stacked])
    assert (length, popped, values.tolist()) == (1, 2.0, [1.0, 2.0])


def test_a_seeded_shuffle_queue_has_tensorflow_s_order(target):
    with tf.Graph().as_default():
        queue = tf.queue.RandomShuffleQueue(20, 0, [tf.int32], shapes=[[]], seed=7)
        fill, many, one = queue.enqueue_many([list(range(10))]), queue.dequeue_many(6), queue.dequeue()
        with v1.Session(target) as session:
            session.run(fill)
            assert session.run(many).tolist() == [7, 1, 5, 6, 4, 3]
            assert session.run(one) == 2


def test_a_staging_area_keeps_tuples_between_steps(target):
    area = data_flow_ops.StagingArea([tf.int32, tf.string], shapes=[[], []], capacity=2)
    number = v1.placeholder(tf.int32, [])
    put, get, peek = area.put([number, tf.as_string(number)]), area.get(), area.peek(1)
    size, clear = area.size(), area.clear()
    with v1.Session(target) as session:
        for value in (4, 5):
            session.run(put, {number: value})
        assert session.run(size) == 2
        assert session.run(peek) == [5, b"5"]
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(put, {number: 6}, options=v1.RunOptions(timeout_in_ms=300))
        assert session.run(get) == [4, b"4"]
        session.run(clear)
        assert session.run(size) == 0


def test_getting_waits_for_what_is_staged(target):
    area = data_flow_ops.StagingArea([tf.int32], shapes=[[]])
    number = v1.placeholder(tf.int32, [])
    put, get = area.put([number]), area.get()
    with v1.Session(target) as session:
        results = []
        thread = threading.Thread(target=lambda: results.append(session.run(get)))
        thread.start()
        session.run(put, {number: 3})
        thread.join(20)
        assert results == [[3]]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_staging_map_finds_tuples_by_key(target, ordered):
    area = data_flow_ops.MapStagingArea([tf.int32, tf.int32], shapes=[[], []], names=["a", "b"], ordered=ordered)
    key = v1.placeholder(tf.int64, [])
    number = tf.cast(key, tf.int32)
    put = area.put(key, {"a": number, "b": number * 2})
    put_a, put_b = area.put(key, {"a": number}, indices=["a"]), area.put(key, {"b": -number}, indices=["b"])
    peek, get, first = area.peek(key), area.get(key), area.get()
    get_a = area.get(key, indices=["a"])
    size, incomplete = area.size(), area.incomplete_size()
    with v1.Session(target) as session:
        for value in (5, 1, 3):
            session.run(put, {key: value})
        assert session.run(peek, {key: 1}) == {"a": 1, "b": 2}
        assert session.run(get, {key: 3})[1] == {"a": 3, "b": 6}
        assert session.run(size) == 2
        if ordered:
            assert session.run(list(first)) == [1, {"a": 1, "b": 2}]
        else:
            session.run(get, {key: 1})
        session.run(put_b, {key: 9})
        assert session.run([size, incomplete]) == [1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError, match="The tensor for index '1' for key '9' was already initialized"):
            session.run(put_b, {key: 9})
        session.run(put_a, {key: 9})
        assert session.run([size, incomplete]) == [2, 0]
        assert session.run(get_a, {key: 9})[1] == {"a": 9}
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tensor at index '0' for key '9' has already been removed."):
            session.run(get_a, {key: 9})
        session.run(area.clear())
        assert session.run(size) == 0


def test_a_staging_area_refuses_what_never_fits(target):
    stage = tf.raw_ops.Stage(values=[np.int64([1, 2])], memory_limit=4, shared_name="small")
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.ResourceExhaustedError, match="combined size of '16' bytes"):
            session.run(stage)


def test_a_barrier_hands_out_whole_tuples(target):
    barrier = data_flow_ops.Barrier((tf.float32, tf.float32), shapes=((), ()), name="B")
    first = barrier.insert_many(0, ["a", "b", "c"], [1.0, 2.0, 3.0])
    second = barrier.insert_many(1, ["c", "a"], [30.0, 10.0])
    third = barrier.insert_many(1, ["b"], [20.0])
    sizes = [barrier.ready_size(), barrier.incomplete_size()]
    two, five = barrier.take_many(2), barrier.take_many(5, allow_small_batch=True)
    with v1.Session(target) as session:
        session.run(first)
        assert session.run(sizes) == [0, 3]
        session.run(second)
        assert session.run(sizes) == [2, 1]
        taken = session.run(two)
        assert taken.indices.tolist() == [-(1 << 63)] * 2
        assert taken.keys.tolist() == [b"c", b"a"]
        assert [values.tolist() for values in taken.values] == [[3, 1], [30, 10]]
        session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="is already closed"):
            session.run(barrier.close())
        with pytest.raises(tf.errors.CancelledError, match="attempted to insert a brand new key: zz"):
            session.run(barrier.insert_many(0, ["zz"], [1.0]))
        session.run(third)
        assert session.run(five).keys.tolist() == [b"b"]
        with pytest.raises(tf.errors.OutOfRangeError, match="is closed and has insufficient elements"):
            session.run(five)


def test_taking_waits_for_a_whole_tuple(target):
    barrier = data_flow_ops.Barrier((tf.int32, tf.string), shapes=((), ()))
    one, two = barrier.insert_many(0, ["k"], [7]), barrier.insert_many(1, ["k"], ["x"])
    take = barrier.take_many(1)
    with v1.Session(target) as session:
        results = []
        thread = threading.Thread(target=lambda: results.append(session.run(take)))
        thread.start()
        session.run(one)
        session.run(two)
        thread.join(20)
        assert [values.tolist() for values in results[0].values] == [[7], [b"x"]]


def test_a_server_has_no_python_functions(target):
    called = v1.py_func(lambda x: x + 1, [1.0], tf.float32)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Could not find callback with key=pyfunc_"):
            session.run(called)


def test_a_server_keeps_no_tensors_for_a_session(target):
    handle = v1.get_session_handle(tf.constant([1.0, 2.0]) * 3)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="GetSessionHandle called on null session state"):
            session.run(handle)


def scattered(op, **more):
    length = v1.placeholder_with_default([0, 1, 2], None)
    return op(tensor=[1.0, 2.0], indices=length, element_shape=tf.constant([], tf.int32), **more)


def concatenated(op, **more):
    shape = tf.constant([-1, 2], tf.int32)
    reserved = tf.raw_ops.TensorListReserve(element_shape=shape, num_elements=2, element_dtype=tf.float32)
    return op(input_handle=reserved, element_dtype=tf.float32, **more)


def read_twice():
    array = tf.raw_ops.TensorArrayV3(size=1, dtype=tf.float32, clear_after_read=True)
    flow = tf.raw_ops.TensorArrayWriteV3(handle=array.handle, index=0, value=1.0, flow_in=array.flow)
    read = lambda: tf.raw_ops.TensorArrayReadV3(handle=array.handle, index=0, flow_in=flow, dtype=tf.float32)
    first = read()
    with tf.control_dependencies([first]):
        return read()


WRONG = {
    "rows": (
        lambda: tf.raw_ops.TensorListLength(input_handle=scattered(tf.raw_ops.TensorListScatterV2, num_elements=-1)),
        "Invalid number of rows in input tensor. Expected: 3 Actual: 2",
    ),
    "rows of a list": (
        lambda: tf.raw_ops.TensorListLength(
            input_handle=tf.raw_ops.TensorListScatterIntoExistingList(
                input_handle=tf.raw_ops.TensorListReserve(
                    element_shape=tf.constant([], tf.int32), num_elements=3, element_dtype=tf.float32
                ),
                tensor=[1.0, 2.0],
                indices=v1.placeholder_with_default([0], None),
            )
        ),
        "Expected len(indices) == tensor.shape[0], but saw: 1 vs. 2",
    ),
    "lengths": (
        lambda: concatenated(
            tf.raw_ops.TensorListConcatV2, element_shape=tf.constant([-1, 2], tf.int32), leading_dims=np.int64([1])
        ),
        "List contains uninitialized tensor at index 1 but leading_dims has only 1 elements.",
    ),
    "old": (
        lambda: concatenated(tf.raw_ops.TensorListConcat, element_shape=[None, 2]),
        "Concating lists with uninitialized tensors is not supported",
    ),
    "twice": (read_twice, "it was cleared after a previous read (perhaps try setting clear_after_read = false?)."),
    "tags": (
        lambda: tf.raw_ops.ScalarSummary(tags=v1.placeholder_with_default(["a", "b"], None), values=[1.0]),
        "tags and values are not the same shape: [2] != [1]\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_tensorflow_s_words(target, name):
    build, words = WRONG[name]
    fetch = build()
    with v1.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session.run(fetch)
    assert words in raised.value.message


def test_a_barrier_refuses_what_does_not_fit_when_its_tuple_is_whole(target):
    barrier = data_flow_ops.Barrier((tf.float32, tf.string), shapes=((), ()))
    first, second = barrier.insert_many(0, ["key"], [[1.0, 2.0]]), barrier.insert_many(1, ["key"], ["word"])
    with v1.Session(target) as session:
        session.run(first)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"tuple component 2. Expected \[\], got \[2\]"):
            session.run(second)


def test_an_empty_line_of_a_vocabulary_is_named_by_its_byte(target, tmp_path):
    path = tmp_path / "words"
    path.write_text("one\ntwo\n\nthree\n")
    index = tf.lookup.TextFileIndex
    words = tf.lookup.TextFileInitializer(str(path), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    table = tf.lookup.StaticHashTable(words, -1)
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="empty line found at position 9."):
            session.run(table._init_op)
