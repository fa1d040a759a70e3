"""The tutorials' programs as they are printed, on our servers."""

HELLO = """
    import tensorflow as tf
    tf.compat.v1.disable_eager_execution()
    c = tf.constant("Hello, distributed TensorFlow!")
    server = tf.compat.v1.train.Server.create_local_server()
    sess = tf.compat.v1.Session(server.target)
    print(sess.run(c))
"""

CLUSTER = """
    import tensorflow as tf
    tf.compat.v1.disable_eager_execution()
    workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=2)
    with tf.device("/job:ps/task:0"):
        weights = tf.compat.v1.get_variable("weights", [3], initializer=tf.zeros_initializer())
    with tf.device("/job:ps/task:1"):
        bias = tf.compat.v1.get_variable("bias", [], initializer=tf.ones_initializer())
    with tf.device("/job:worker/task:1"):
        update = weights.assign_add([1.0, 2.0, 3.0])
        result = tf.reduce_sum(update) * bias
    with tf.compat.v1.Session(workers[0].target) as session:
        session.run(tf.compat.v1.global_variables_initializer())
        session.run(result)
        print(session.run(result))
    print(type(workers[0]).__module__)
"""

STRATEGY = """
    import tensorflow as tf

    def create_in_process_cluster(num_workers, num_ps):
        from socket import socket
        ports = []
        held = []
        for _ in range(num_workers + num_ps):
            s = socket()
            s.bind(("localhost", 0))
            held.append(s)
            ports.append(s.getsockname()[1])
        for s in held:
            s.close()
        cluster_dict = {"worker": ["localhost:%s" % port for port in ports[:num_workers]]}
        if num_ps > 0:
            cluster_dict["ps"] = ["localhost:%s" % port for port in ports[num_workers:]]
        cluster_spec = tf.train.ClusterSpec(cluster_dict)
        worker_config = tf.compat.v1.ConfigProto()
        for i in range(num_workers):
            tf.distribute.Server(cluster_spec, job_name="worker", task_index=i,
                                 config=worker_config, protocol="grpc")
        for i in range(num_ps):
            tf.distribute.Server(cluster_spec, job_name="ps", task_index=i, protocol="grpc")
        return tf.distribute.cluster_resolver.SimpleClusterResolver(cluster_spec, rpc_layer="grpc")

    resolver = create_in_process_cluster(2, 2)
    strategy = tf.distribute.ParameterServerStrategy(
        resolver,
        variable_partitioner=tf.distribute.experimental.partitioners.MinSizePartitioner(
            min_shard_bytes=8, max_shards=2))
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        table = tf.Variable(tf.zeros([4, 2]))
        steps = tf.Variable(0, dtype=tf.int64)

    @tf.function
    def step(iterator):
        batch = next(iterator)
        rows = tf.nn.embedding_lookup(table, batch % 4)
        for shard in table.variables:
            shard.assign_add(tf.ones_like(shard))
        steps.assign_add(1)
        return tf.reduce_sum(tf.cast(batch, tf.float32)) + 0 * tf.reduce_sum(rows)

    def dataset():
        return tf.data.Dataset.range(8).repeat().batch(4)

    iterator = iter(coordinator.create_per_worker_dataset(dataset))
    results = [coordinator.schedule(step, args=(iterator,)) for _ in range(10)]
    coordinator.join()
    assert sum(coordinator.fetch(r) for r in results) > 0
    print(int(steps.numpy()), table.variables[0].numpy().tolist())
"""


def test_hello(run_program):
    assert run_program(HELLO, command=("-m", "tensorfleet", "run")) == (
        "b'Hello, distributed TensorFlow!'\n"
    )


def test_a_local_cluster(run_program):
    output = run_program("import tensorfleet; tensorfleet.patch()\n" + _flat(CLUSTER))
    assert output == "12.0\ntensorfleet._server\n"


def test_the_parameter_server_strategy_in_one_process(run_program):
    output = run_program("import tensorfleet; tensorfleet.patch()\n" + _flat(STRATEGY))
    assert output.endswith("10 [[10.0, 10.0], [10.0, 10.0]]\n")


def test_names_come_back(run_program):
    output = run_program(
        """
        import tensorflow as tf
        theirs = tf.distribute.Server
        import tensorfleet
        with tensorfleet.patched():
            assert tf.distribute.Server is tensorfleet.Server
            assert tf.compat.v1.train.Server is tensorfleet.Server
            assert tf.test.create_local_cluster is tensorfleet.create_local_cluster
            server = tf.distribute.Server(tf.train.ClusterSpec({"w": ["localhost:0"]}))
            assert isinstance(server.server_def, tf.train.ServerDef)
            again = tf.distribute.Server(server.server_def, config=tf.compat.v1.ConfigProto(
                device_count={"CPU": 2}))
            assert again.server_def.default_session_config.device_count["CPU"] == 2
            try:
                tf.distribute.Server({"w": ["localhost:0"]}, job_name="x", task_index=0)
            except tf.errors.InvalidArgumentError as error:
                print(error.error_code)
        assert tf.distribute.Server is theirs
        assert tf.compat.v1.train.Server is theirs
        """
    )
    assert output == "3\n"


EXIT = """
    import sys, threading
    import tensorfleet
    tensorfleet.patch()
    import tensorflow as tf
    tf.compat.v1.disable_eager_execution()
    workers, ps = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    with tf.device("/job:ps/task:0"):
        total = tf.compat.v1.get_variable("total", [1000], initializer=tf.zeros_initializer())
    with tf.device("/job:worker/task:1"):
        update = total.assign_add(tf.ones([1000]))
        silent = tf.queue.FIFOQueue(1, [tf.float32]).dequeue()
    graph = tf.compat.v1.get_default_graph()
    session = tf.compat.v1.Session(workers[0].target)
    session.run(tf.compat.v1.global_variables_initializer())
    waits = threading.Event()

    def wait():
        with tf.compat.v1.Session(workers[1].target, graph=graph) as own:
            waits.set()
            own.run(silent)

    threading.Thread(target=wait, daemon=True).start()
    waits.wait()
    # As a program ends that raises in the middle of its training loop.
    for step in range(1000):
        session.run(update.op)
        if step == 20:
            break
    print("ends now", flush=True)
"""


def test_the_interpreter_may_end_in_the_middle_of_training(run_program):
    assert run_program(EXIT) == "ends now\n"


def _flat(text):
    import textwrap

    return textwrap.dedent(text)
