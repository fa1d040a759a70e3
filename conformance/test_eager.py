"""Eager execution on remote tasks: ops, tensors, variables, functions, datasets, checkpoints."""

import tempfile
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation, context, executor
from tensorflow.python.framework import ops
from tensorflow.python.ops import functional_ops, resource_variable_ops

from conformance.rig import tf2

# How a client sends ops: a call for each, or a stream for each of its threads.
SENDING = {"calls": "False", "stream": "True"}
WORKER, PS = "/job:worker/task:0", "/job:ps/task:0"


@pytest.fixture(params=tf2.MIXES)
def tasks(request, cluster):
    return cluster(num_workers=2, num_ps=2, engines=tf2.MIXES[request.param])


@pytest.fixture(params=SENDING)
def sending(request):
    return {"TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE": SENDING[request.param]}


def ops_and_tensors(jobs):
    tf2.connect(jobs)
    with tf.device(WORKER):
        a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        b = tf.matmul(a, a)
        text = tf.strings.join(["a", "b"], "-")
    assert "/job:worker/replica:0/task:0" in b.backing_device, b.backing_device
    np.testing.assert_allclose(b, [[7, 10], [15, 22]])
    assert text.numpy() == b"a-b"
    with tf.device(PS):
        # The inputs are on another task.
        c = b + 1
    assert "/job:ps/replica:0/task:0" in c.backing_device
    with tf.device("/job:localhost"):
        d = c * 2
    np.testing.assert_allclose(d, [[16, 22], [32, 46]])
    for dtype in [tf.float32, tf.float64, tf.int8, tf.int32, tf.int64, tf.bool, tf.complex64, tf.bfloat16, tf.uint16]:
        here = tf.cast(tf.constant([[0, 1], [1, 0]]), dtype)
        with tf.device(WORKER):
            there = tf.identity(here)
        with tf.device(PS):
            there = tf.reshape(there, [4])
        assert there.dtype == dtype
        np.testing.assert_array_equal(there.numpy(), here.numpy().reshape(4))
    with tf.device(WORKER):
        empty, scalar, strings = tf.zeros([0, 3]), tf.constant(7), tf.constant(["", "ü", "x" * 1000])
        parts = tf.split(tf.range(6), 3)
        ragged = tf.ragged.constant([[1, 2], [], [3]]) + 1
        sparse = tf.sparse.to_dense(tf.sparse.from_dense([[0, 1], [2, 0]]))
    assert empty.shape == [0, 3] and int(scalar) == 7
    assert strings.numpy().tolist() == [b"", "ü".encode(), b"x" * 1000]
    assert [part.numpy().tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]
    assert ragged.to_list() == [[2, 3], [], [4]]
    assert sparse.numpy().tolist() == [[0, 1], [2, 0]]
    large = np.random.default_rng(1).normal(size=(1000, 500)).astype(np.float32)
    with tf.device(WORKER):
        there = tf.constant(large) * 2
    with tf.device(PS):
        there = there - 1
    np.testing.assert_array_equal(there.numpy(), large * 2 - 1)


def test_ops_and_tensors(tasks, sending):
    tf2.run(ops_and_tensors, tasks, **sending)


def errors(jobs):
    """An op that fails leaves the context as it was."""
    tf2.connect(jobs)

    def fails(error, words, op):
        with pytest.raises(error, match=words):
            with tf.device(WORKER):
                op()
                context.async_wait()
        tf.experimental.async_clear_error()
        with tf.device(WORKER):
            assert int(tf.constant(1) + tf.constant(2)) == 3

    fails(tf.errors.InvalidArgumentError, "not in|indices", lambda: tf.gather(tf.constant([1, 2]), [7]).numpy())
    fails(tf.errors.InvalidArgumentError, "by zero", lambda: (tf.constant([1]) // tf.constant([0])).numpy())
    fails(tf.errors.InvalidArgumentError, "no more", lambda: tf.debugging.Assert(False, ["no more"]))
    fails(tf.errors.InvalidArgumentError, "", lambda: tf.io.decode_png(tf.constant("nothing")).numpy())
    fails(tf.errors.NotFoundError, "", lambda: tf.io.read_file("/no/such/file").numpy())


def test_errors(tasks, sending):
    tf2.run(errors, tasks, **sending)


def variables(jobs):
    tf2.connect(jobs)
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])
        w = tf.Variable([[1.0]], shape=tf.TensorShape([None, 1]))
        names = tf.Variable(["a", "b"])
    with tf.device("/job:ps/task:1"):
        other = tf.Variable(3.0)
    v.assign_add([1.0, 1.0])
    v.assign_sub([0.5, 0.5])
    np.testing.assert_allclose(v.numpy(), [1.5, 2.5])
    w.assign(tf.ones([3, 1]))
    assert w.numpy().shape == (3, 1)
    names[1].assign("c")
    assert names.numpy().tolist() == [b"a", b"c"]
    v.scatter_nd_update([[1]], [9.0])
    np.testing.assert_allclose(v.numpy(), [1.5, 9.0])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(v * v) * other
    dv, dother = tape.gradient(loss, [v, other])
    np.testing.assert_allclose(dv, [9, 54])
    np.testing.assert_allclose(dother, 1.5 * 1.5 + 81)
    optimizer = tf.keras.optimizers.legacy.Adam(0.1)
    optimizer.apply_gradients([(dv, v), (dother, other)])
    np.testing.assert_allclose(v.numpy(), [1.4, 8.9], rtol=1e-4)
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):
        v.assign([1.0, 2.0, 3.0])
    del v


def test_variables(tasks, sending):
    tf2.run(variables, tasks, **sending)


def functions(jobs):
    tf2.connect(jobs)
    with tf.device(PS):
        a = tf.Variable([1.0, 2.0])
    with tf.device("/job:ps/task:1"):
        b = tf.Variable(10.0)

    @tf.function
    def update(x):
        a.assign_add(x)
        b.assign_sub(1.0)
        return a * b, a.read_value()

    for count in range(1, 4):
        for worker in ["/job:worker/task:0", "/job:worker/task:1"]:
            with tf.device(worker):
                product, value = update([1.0, 1.0])
                assert worker[:11] in product.backing_device
            np.testing.assert_allclose(product, value * b)
    np.testing.assert_allclose(a.numpy(), [7, 8])
    np.testing.assert_allclose(b.numpy(), 4)

    @tf.function
    def loops(n):
        total = tf.constant(0.0)
        for i in tf.range(n):
            if i % 2 == 0:
                b.assign_add(1.0)
            else:
                total += tf.reduce_sum(a)
            total += b
        return total

    want, value = 0.0, 4.0
    for i in range(5):
        if i % 2 == 0:
            value += 1
        else:
            want += 15
        want += value
    with tf.device(WORKER):
        np.testing.assert_allclose(loops(5), want)
    np.testing.assert_allclose(b.numpy(), value)

    @tf.function
    def inner(x):
        with tf.device("/job:ps/task:1"):
            return x + b

    @tf.function
    def outer(x):
        with tf.device(PS):
            y = inner(x) * 2
        return y, tf.map_fn(lambda e: e + 1, tf.stack([y, y]))

    with tf.device(WORKER):
        y, mapped = outer(tf.constant(1.0))
    np.testing.assert_allclose(y, 2 * (1 + value))
    np.testing.assert_allclose(mapped, [2 * (1 + value) + 1] * 2)

    # The client itself plans when no device is asked for.
    y, _ = outer(tf.constant(2.0))
    np.testing.assert_allclose(y, 2 * (2 + value))

    @tf.function
    def stays():
        with tf.device("/job:ps/task:1"):
            kept = b + 1
        return kept, tf.constant(5)

    with tf.device(WORKER):
        kept, five = stays()
    assert "/job:ps/replica:0/task:1" in kept.backing_device, kept.backing_device
    np.testing.assert_allclose(kept, value + 1)
    with tf.device(WORKER):
        np.testing.assert_allclose(kept + 1, value + 2)

    with tf.device(WORKER):
        x = tf.constant([3.0, 4.0])

    @tf.function
    def passes(x, y):
        return y, x + y, x

    with tf.device("/job:worker/task:1"):
        y, added, same = passes(x, tf.constant(1.0))
    np.testing.assert_allclose(added, [4, 5])
    np.testing.assert_allclose(same, [3, 4])
    np.testing.assert_allclose(y, 1)

    @tf.function
    def gradient(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(a * x) * b
        return tape.gradient(loss, [a, b])

    with tf.device(WORKER):
        da, db = gradient(tf.constant([1.0, 2.0]))
    np.testing.assert_allclose(da, np.array([1, 2]) * value)
    np.testing.assert_allclose(db, 7 + 16)

    @tf.function(experimental_attributes={"_noinline": True})
    def both(x):
        a.assign_add([x, x])
        b.assign_sub(x)
        return b.read_value()

    @tf.function
    def calls(x):
        """Calls that ask to stay calls, of which each needs both ps."""
        total = both(x)
        for _ in tf.range(2):
            total += both(-x) if x > 0 else both(x)
        return total

    with tf.device(WORKER):
        np.testing.assert_allclose(calls(tf.constant(2.0)), 3 * (value - 2) + 6)
        both(tf.constant(2.0))

    @tf.function
    def fails(i):
        return tf.gather(a, i)

    with pytest.raises(tf.errors.InvalidArgumentError):
        with tf.device(WORKER):
            fails(tf.constant([5])).numpy()
    tf.experimental.async_clear_error()
    with tf.device(WORKER):
        np.testing.assert_allclose(fails(tf.constant([1])), [8])


def test_functions(tasks, sending):
    tf2.run(functions, tasks, **sending)


def lines(jobs):
    """A function that fails names the line of the program, however deep in other functions it is."""
    tf2.connect(jobs)
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])

    @tf.function
    def takes(index):
        return tf.gather(v, index)  # The first line.

    @tf.function
    def asserts(x):
        tf.debugging.Assert(x > 0, ["no", x])  # The second line.
        return v * x

    @tf.function
    def repeats(x):
        for _ in tf.range(3):
            x = tf.debugging.check_numerics(tf.math.log(x), "not a number")  # The third line.
        return x

    with open(__file__) as file:
        text = file.read().splitlines()
    for function, argument, marker in [(takes, [9], "first"), (asserts, -1.0, "second"), (repeats, -1.0, "third")]:
        number = 1 + next(i for i, line in enumerate(text) if line.endswith(f"# The {marker} line."))
        with pytest.raises(tf.errors.InvalidArgumentError) as caught, tf.device(WORKER):
            function(tf.constant(argument))
        message = caught.value.message
        assert message.startswith("Graph execution error:\n\nDetected at node "), message
        assert f'test_eager.py", line {number}, in {function.__name__}' in message, message


@pytest.mark.parametrize("mix", ["alone", "tensorflow_ps"])
def test_lines(cluster, mix):
    tasks = cluster(num_workers=1, num_ps=1, engines=tf2.MIXES[mix])
    tf2.run(lines, tasks, TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE="False")


def datasets(jobs):
    tf2.connect(jobs)
    with tf.device(WORKER):
        data = tf.data.Dataset.range(10).map(lambda x: x * 2).batch(4).prefetch(1)
        assert [batch.numpy().tolist() for batch in data] == [[0, 2, 4, 6], [8, 10, 12, 14], [16, 18]]
        iterator = iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0]).repeat(2))

        @tf.function
        def total(iterator, n):
            sum = 0.0
            for _ in tf.range(n):
                sum += next(iterator)
            return sum

        assert float(total(iterator, 3)) == 4.0
        with pytest.raises(tf.errors.OutOfRangeError):
            total(iterator, 3).numpy()


def test_datasets(tasks, sending):
    tf2.run(datasets, tasks, **sending)


def state(jobs):
    """Tables, random generators, checkpoints."""
    tf2.connect(jobs)
    with tf.device(WORKER):
        keys = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
        table = tf.lookup.StaticHashTable(keys, -1)
        assert table.lookup(tf.constant(["b", "c"])).numpy().tolist() == [2, -1]
        mutable = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
        mutable.insert(["x"], [5])
        assert mutable.lookup(tf.constant(["x", "y"])).numpy().tolist() == [5, -1]
        generator = tf.random.Generator.from_seed(3)
        first = generator.normal([2]).numpy()
    np.testing.assert_array_equal(first, tf.random.Generator.from_seed(3).normal([2]).numpy())
    with tf.device(PS):
        v = tf.Variable([1.0, 2.0])
    with tf.device("/job:ps/task:1"):
        w = tf.Variable("text")
    checkpoint = tf.train.Checkpoint(v=v, w=w)
    with tempfile.TemporaryDirectory() as directory:
        manager = tf.train.CheckpointManager(checkpoint, directory, max_to_keep=2)
        path = manager.save()
        v.assign([5.0, 6.0])
        w.assign("other")
        checkpoint.restore(path).assert_consumed()
        np.testing.assert_allclose(v.numpy(), [1, 2])
        assert w.numpy() == b"text"
        np.testing.assert_allclose(tf.train.load_variable(path, "v/.ATTRIBUTES/VARIABLE_VALUE"), [1, 2])


def test_state(tasks, sending):
    tf2.run(state, tasks, **sending)


def threads(jobs):
    """Each thread has a stream of its own; tensors of one are used by others."""
    tf2.connect(jobs)
    with tf.device(PS):
        v = tf.Variable(0.0)
    failures = []

    def work(worker):
        try:
            with tf.device(f"/job:worker/task:{worker % 2}"):
                x = tf.constant(0.0)
                for _ in range(30):
                    x = x + 1.0
                v.assign_add(x)
        except Exception as error:  # Shown by the main thread.
            failures.append(error)

    workers = [threading.Thread(target=work, args=[i]) for i in range(4)]
    for thread in workers:
        thread.start()
    for thread in workers:
        thread.join()
    assert not failures, failures
    assert float(v.numpy()) == 120.0


def test_threads(tasks, sending):
    tf2.run(threads, tasks, **sending)


def packed(jobs):
    """One handle for a variable, or a tensor, on each of several tasks."""
    tf2.connect(jobs)
    with tf.device("/job:worker/replica:0/task:0/device:CPU:0"):
        first = resource_variable_ops.ResourceVariable(1.0)
    with tf.device("/job:worker/replica:0/task:1/device:CPU:0"):
        second = resource_variable_ops.ResourceVariable(2.0)
        tensor = tf.zeros([2])
    both = ops.pack_eager_tensors([first.handle, second.handle])
    assert both.device.endswith("COMPOSITE:0")

    def read(task):
        with tf.device(f"/job:worker/replica:0/task:{task}/device:CPU:0"):
            return resource_variable_ops.read_variable_op(both, dtype=tf.float32)

    add = tf.function(lambda: read(0) + read(1))
    with tf.device("/job:worker/replica:0/task:0"):
        assert float(add()) == 3.0
    assert float(add()) == 3.0

    @tf.function
    def increase(x):
        with tf.device("/job:worker/replica:0/task:1/device:CPU:0"):
            y = x + 1.0
        return y + 1.0

    with tf.device("/job:ps/replica:0/task:0/device:CPU:0"):
        np.testing.assert_allclose(increase(ops.pack_eager_tensors([tensor])), [2, 2])


def test_packed(tasks, sending):
    tf2.run(packed, tasks, **sending)


def client_takes_part(jobs):
    """The client is a task too: it has variables, runs parts of functions and calls others."""
    tf2.connect(jobs)
    own = tf.Variable(0)

    @tf.function
    def reads():
        with tf.device("/job:localhost/task:0"):
            value = own.read_value()
        return value + 1

    with tf.device(WORKER):
        assert int(reads()) == 1

    @tf.function(input_signature=[tf.TensorSpec([], tf.int32)])
    def body(x):
        return x + 1

    called = body.get_concrete_function()

    @tf.function
    def calls(x):
        return functional_ops.remote_call(args=[x], Tout=[tf.int32], f=called, target=WORKER)

    with tf.device("/job:localhost/task:0"):
        np.testing.assert_array_equal(calls(tf.constant(1)), [2])

    @tf.function
    def both(i):
        with tf.device("/job:localhost/replica:0/task:0/cpu:0"):
            a = tf.constant([2]) + i
        with tf.device("/job:worker/replica:0/task:0/cpu:0"):
            b = tf.constant([1])
        return a + b

    np.testing.assert_array_equal(both(tf.constant([2])), [5])

    @tf.function
    def ambiguous(i):
        with tf.device("/job:worker"):
            return i + tf.constant([2])

    with pytest.raises(tf.errors.InvalidArgumentError, match="must match exactly one device"):
        ambiguous(tf.constant([2])).numpy()


def test_client_takes_part(tasks, sending):
    tf2.run(client_takes_part, tasks, **sending)


def pipelined(jobs):
    """Ops are sent without waiting; an error shows when somebody waits, and only on its stream."""
    tf2.connect(jobs)
    with tf.device(WORKER):
        x, y = tf.ones([2, 2]), tf.zeros([2, 2])
        for count in range(200):
            y = x + y
            if count % 13 == 0:
                assert y.shape == [2, 2]
        np.testing.assert_array_equal(y.numpy(), np.full([2, 2], 200))
    with pytest.raises(tf.errors.InvalidArgumentError, match="by zero"), tf.device(WORKER):
        # The answer may come before the call returns.
        tf.constant(3) // tf.constant(0)
        context.async_wait()
    other = executor.new_executor(enable_async=False, enable_streaming_enqueue=False)
    with context.executor_scope(other), tf.device(WORKER):
        assert int(tf.constant(4) // tf.constant(2)) == 2
    tf.experimental.async_clear_error()
    with tf.device(WORKER):
        iterator = iter(tf.data.Dataset.from_tensor_slices([1.0, 2.0]).batch(1))
        v = tf.Variable(1.0)

        @tf.function
        def train(iterator):
            v.assign_add(tf.reduce_mean(next(iterator)))

        with pytest.raises(tf.errors.OutOfRangeError):
            for _ in range(3):
                train(iterator)
            context.async_wait()
        tf.experimental.async_clear_error()
        assert float(v.numpy()) == 4.0


def test_pipelined(tasks):
    tf2.run(pipelined, tasks, TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE="True")


def cancelled(jobs):
    """Functions that wait end when their caller gives up."""
    tf2.connect(jobs)
    queue = tf.queue.FIFOQueue(1, tf.int32)
    waits = tf.function(lambda: queue.dequeue()).get_concrete_function()
    for delay in [0, 0.5]:
        manager = cancellation.CancellationManager()
        call = manager.get_cancelable_function(waits)
        if delay:
            threading.Timer(delay, manager.start_cancel).start()
        else:
            manager.start_cancel()
        with pytest.raises(tf.errors.CancelledError):
            with tf.device("/job:worker/replica:0/task:1"):
                call()
    with tf.device("/job:worker/replica:0/task:1"):
        assert int(tf.constant(1) + 1) == 2


def test_cancelled(tasks):
    tf2.run(cancelled, tasks, TF_ENABLE_EAGER_CLIENT_STREAMING_ENQUEUE="False")
