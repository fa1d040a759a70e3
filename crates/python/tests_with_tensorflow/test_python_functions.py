"""Python functions in graphs, on servers of the same process: as on TensorFlow's own."""

PROGRAM = """
    import sys
    if sys.argv[1] == "tensorfleet":
        import tensorfleet
        tensorfleet.patch()
    import numpy as np
    import tensorflow as tf
    v1 = tf.compat.v1
    v1.disable_eager_execution()
    server = v1.train.Server.create_local_server()
    x = v1.placeholder(tf.float32, [None])
    s = v1.placeholder(tf.string, [None])

    def fails(kind):
        def function(value):
            raise kind("on purpose")
        return tf.numpy_function(function, [x], tf.float32)

    cases = {
        "numpy": tf.numpy_function(lambda a: (a * 2).astype(np.float32), [x], tf.float32),
        "two": tf.numpy_function(lambda a, b: (a.sum(), b), [x, s], [tf.float32, tf.string]),
        "strings": tf.numpy_function(lambda a: np.array([b + b"!" for b in a], object), [s], tf.string),
        "scalar string": tf.numpy_function(lambda a: a + b"?", [s[0]], tf.string),
        "eager": tf.py_function(lambda a: tf.reduce_sum(a) + 1, [x], tf.float32),
        "gradient": v1.gradients(tf.py_function(lambda a: a * a, [x], tf.float32), x)[0],
        "nothing": tf.numpy_function(lambda a: None, [x], []),
        "bfloat16": tf.numpy_function(lambda a: a + a, [tf.cast(x, tf.bfloat16)], tf.bfloat16),
        "empty": tf.numpy_function(lambda a: a, [x[:0]], tf.float32),
        "wrong type": tf.numpy_function(lambda a: np.int64(3), [x], tf.float32),
        "too many": tf.numpy_function(lambda a: (a, a), [x], [tf.float32]),
        "stops": fails(StopIteration),
        "value": fails(ValueError),
        "type": fails(TypeError),
        "memory": fails(MemoryError),
        "missing": fails(NotImplementedError),
        "other": fails(KeyError),
    }
    with v1.Session(server.target) as session:
        for name, fetch in cases.items():
            try:
                value = session.run(fetch, {x: [1.0, 2.0], s: ["a", "bc"]})
                print(name, [np.asarray(v).tolist() for v in (value if isinstance(value, list) else [value])])
            except tf.errors.OpError as error:
                line = next(l for l in error.message.splitlines() if "purpose" in l or "returned" in l
                            or "returns" in l)
                print(name, type(error).__name__, line)

    def elements():
        yield from range(5)

    data = tf.data.Dataset.from_generator(elements, output_types=tf.int64)
    data = data.map(lambda e: tf.numpy_function(lambda a: a * 10, [e], tf.int64), num_parallel_calls=2)
    iterator = v1.data.make_initializable_iterator(data.batch(2))
    batch = iterator.get_next()
    with v1.Session(server.target) as session:
        session.run(iterator.initializer)
        try:
            while True:
                print(session.run(batch).tolist())
        except tf.errors.OutOfRangeError:
            print("end")

    # A function that opens a session on the server that calls it.
    def nested(value):
        with tf.Graph().as_default(), v1.Session(server.target) as inner:
            return inner.run(tf.constant(value) + 1)

    with v1.Session(server.target) as session:
        print(session.run(tf.numpy_function(nested, [x], tf.float32), {x: [1.0]}).tolist())
"""


def test_functions_do_what_they_do_on_tensorflows_servers(run_program):
    ours = run_program(PROGRAM, "tensorfleet").splitlines()
    theirs = run_program(PROGRAM, "tensorflow").splitlines()
    assert ours == theirs
    assert len(ours) == 22
