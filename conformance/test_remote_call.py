"""Functions that run on a device of another task: `RemoteCall`."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.data.ops import multi_device_iterator_ops
from tensorflow.python.framework import function
from tensorflow.python.ops import functional_ops

v1 = tf.compat.v1

MIXES = {"alone": {}, "tensorflow_ps": {"ps": "tensorflow"}}


@pytest.fixture(params=MIXES)
def session(request, cluster):
    tasks = cluster(num_workers=2, num_ps=1, engines=MIXES[request.param])
    config = v1.ConfigProto(operation_timeout_in_ms=30_000)
    with v1.Session(tasks.target(), config=config) as session:
        yield session


def remote(args, types, f, target):
    with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
        return functional_ops.remote_call(args=args, Tout=types, f=f, target=target)


PS = "/job:ps/replica:0/task:0/device:CPU:0"


def test_a_function_on_another_task(session):
    @function.Defun(tf.float32, tf.float32)
    def f(x, y):
        return x * y, x - y

    x = v1.placeholder(tf.float32, [None])
    target = v1.placeholder(tf.string, [])
    product, difference = remote([x, [2.0, 3.0]], [tf.float32, tf.float32], f, target)
    fetches = [product, difference]
    for device in [PS, "/job:worker/replica:0/task:1/device:CPU:0"] * 2:
        have = session.run(fetches, {x: [4.0, 5.0], target: device})
        np.testing.assert_allclose(have, [[8, 15], [2, 2]])


def test_the_error_of_a_remote_function_comes_back(session):
    @function.Defun(tf.float32, tf.int32)
    def f(x, i):
        return tf.gather(x, i)

    result = remote([[1.0, 2.0], [7]], [tf.float32], f, PS)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not in"):
        session.run(result)


def device(index, job="worker", task=0):
    return f"/job:{job}/replica:0/task:{task}/device:CPU:{index}"


@pytest.fixture
def devices(cluster):
    """A session with two tasks of two devices each."""
    tasks = cluster(
        num_workers=2, num_ps=0, session_config=v1.ConfigProto(device_count={"CPU": 2})
    )
    with v1.Session(tasks.target(), config=v1.ConfigProto(operation_timeout_in_ms=30_000)) as session:
        yield session


def reader_of(dataset):
    """A function that reads an element of the iterator that a handle names."""

    @function.Defun(tf.string)
    def read(handle):
        types, shapes = v1.data.get_output_types(dataset), v1.data.get_output_shapes(dataset)
        return v1.data.Iterator.from_string_handle(handle, types, shapes).get_next()

    return read


@pytest.mark.parametrize("there", [device(0), device(1), device(0, task=1), device(1, task=1)])
def test_an_iterator_is_read_where_it_is(devices, there):
    with tf.device(there):
        dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3])
        handle = v1.data.make_one_shot_iterator(dataset).string_handle()
    target = v1.placeholder(tf.string, [])
    with tf.device(device(0)):
        element = functional_ops.remote_call(args=[handle], Tout=[tf.int32], f=reader_of(dataset), target=target)
    assert [devices.run(element, {target: there}) for _ in range(3)] == [[1], [2], [3]]
    with pytest.raises(tf.errors.OutOfRangeError):
        devices.run(element, {target: there})
    elsewhere = device(1 if there.endswith("0") else 0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Attempted create an iterator on device"):
        devices.run(element, {target: elsewhere})


def test_a_pipeline_reads_iterators_of_other_tasks(devices):
    places = [device(index, task=task) for task in (0, 1) for index in (0, 1)]
    handles = []
    for place in places:
        with tf.device(place):
            dataset = tf.data.Dataset.from_tensor_slices([place])
            handles.append(v1.data.make_one_shot_iterator(dataset).string_handle())
    read = reader_of(dataset)
    with tf.device(device(0)):
        pairs = tf.data.Dataset.zip(
            (tf.data.Dataset.from_tensor_slices(places), tf.data.Dataset.from_tensor_slices(tf.stack(handles)))
        )
        read_all = pairs.map(
            lambda place, handle: functional_ops.remote_call(args=[handle], Tout=[tf.string], f=read, target=place)
        )
        iterator = v1.data.make_initializable_iterator(read_all)
        element = iterator.get_next()
    devices.run(iterator.initializer)
    assert [devices.run(element)[0] for _ in places] == [place.encode() for place in places]
    with pytest.raises(tf.errors.OutOfRangeError):
        devices.run(element)


def test_elements_are_dealt_out_to_devices(devices):
    with tf.device(device(0)):
        dataset = tf.data.Dataset.range(6)
        iterator = multi_device_iterator_ops.MultiDeviceIterator(
            dataset, [device(0), device(1)], source_device=device(0)
        )
        first, second = iterator.get_next()
    devices.run(iterator.initializer)
    assert [devices.run([first, second]) for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    with pytest.raises(tf.errors.OutOfRangeError):
        devices.run([first, second])
