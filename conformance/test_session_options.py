"""What a program can ask of a session beyond running: devices, isolation, timeouts, traces."""

import json
import threading

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.client import timeline

CPU = "/job:worker/replica:0/task:0/device:CPU:0"


def test_devices_are_listed(target):
    with v1.Session(target) as session:
        (device,) = session.list_devices()
    assert (device.name, device.device_type) == (CPU, "CPU")
    assert device.incarnation != 0
    assert device.memory_limit_bytes > 0


def test_incarnation_is_that_of_the_process(target):
    def incarnation():
        with v1.Session(target) as session:
            return session.list_devices()[0].incarnation

    assert incarnation() == incarnation()


def test_a_task_may_have_several_cpus(cluster):
    several = cluster(num_ps=0, session_config=v1.ConfigProto(device_count={"CPU": 3}))
    results = []
    for index in range(3):
        with v1.device(f"/device:CPU:{index}"):
            results.append(v1.constant(index) + 1)
    with v1.Session(several.target()) as session:
        names = [device.name for device in session.list_devices()]
        assert sorted(names) == [f"/job:worker/replica:0/task:0/device:CPU:{i}" for i in range(3)]
        assert session.run(results) == [1, 2, 3]
        assert session.run(v1.add_n(results)) == 6


def test_devices_of_every_task_are_listed(cluster):
    two = cluster(num_workers=2, num_ps=1)
    with v1.Session(two.target()) as session:
        names = {device.name for device in session.list_devices()}
    tasks = ["worker/replica:0/task:0", "worker/replica:0/task:1", "ps/replica:0/task:0"]
    assert names == {f"/job:{task}/device:CPU:0" for task in tasks}


def test_device_filters_hide_tasks(cluster):
    two = cluster(num_workers=2, num_ps=1)
    config = v1.ConfigProto(device_filters=["/job:ps", "/job:worker/task:0"])
    with v1.Session(two.target(), config=config) as session:
        names = {device.name for device in session.list_devices()}
    assert names == {CPU, "/job:ps/replica:0/task:0/device:CPU:0"}


def test_reset_clears_variables_and_closes_sessions(target):
    variable = v1.get_variable("v", initializer=3, use_resource=False)
    session = v1.Session(target)
    session.run(variable.initializer)
    v1.Session.reset(target)
    with pytest.raises(tf.errors.AbortedError, match="is not found"):
        session.run(variable)
    with v1.Session(target) as fresh:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value v"):
            fresh.run(variable)


def test_reset_spares_other_containers(target):
    with v1.container("kept"):
        kept = v1.get_variable("kept", initializer=1, use_resource=True)
    with v1.container("cleared"):
        cleared = v1.get_variable("cleared", initializer=2, use_resource=True)
    with v1.Session(target) as session:
        session.run(v1.global_variables_initializer())
    v1.Session.reset(target, ["cleared"])
    with v1.Session(target) as session:
        assert session.run(kept) == 1
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(cleared)
    v1.Session.reset(target, ["kept"])


@pytest.mark.parametrize("use_resource", [False, True], ids=["ref", "resource"])
def test_isolated_sessions_share_nothing(target, use_resource):
    variable = v1.get_variable("v", initializer=1, use_resource=use_resource)
    isolated = v1.ConfigProto(isolate_session_state=True)
    with v1.Session(target, config=isolated) as session, v1.Session(target) as other:
        session.run(variable.initializer)
        assert session.run(variable) == 1
        with pytest.raises(tf.errors.FailedPreconditionError):
            other.run(variable)
    with v1.Session(target, config=isolated) as session:
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(variable)


@pytest.mark.parametrize("way", ["run", "session"])
def test_a_run_that_takes_too_long_ends(target, way):
    queue = v1.FIFOQueue(1, tf.int32)
    take = queue.dequeue()
    config = v1.ConfigProto(operation_timeout_in_ms=300 if way == "session" else 0)
    options = v1.RunOptions(timeout_in_ms=300 if way == "run" else 0)
    with v1.Session(target, config=config) as session:
        with pytest.raises(tf.errors.DeadlineExceededError):
            session.run(take, options=options)
        # The run that was given up does not take the element.
        session.run(queue.enqueue(5))
        assert session.run(take) == 5


def test_closing_a_session_ends_its_runs(target):
    started, never = v1.FIFOQueue(1, tf.int32), v1.FIFOQueue(1, tf.int32)
    with v1.control_dependencies([started.enqueue(1)]):
        wait = never.dequeue()
    has_started = started.dequeue()
    session = v1.Session(target)
    errors = []

    def run():
        try:
            session.run(wait)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    session.run(has_started)
    session.close()
    thread.join()
    assert [type(error) for error in errors] == [tf.errors.CancelledError]


def trace(session, fetch, feed, **options):
    metadata = v1.RunMetadata()
    session.run(fetch, feed, options=v1.RunOptions(**options), run_metadata=metadata)
    return metadata


def test_a_full_trace_has_every_op(target):
    fed = v1.placeholder(tf.float32, [2, 2])
    product = v1.matmul(fed, fed, name="product")
    with v1.Session(target) as session:
        metadata = trace(
            session, product, {fed: [[1, 2], [3, 4]]}, trace_level=v1.RunOptions.FULL_TRACE
        )
    (device,) = [stats for stats in metadata.step_stats.dev_stats if stats.device == CPU]
    (stats,) = [stats for stats in device.node_stats if stats.node_name == "product"]
    assert stats.all_start_micros > 0
    assert 0 <= stats.op_start_rel_micros <= stats.op_end_rel_micros <= stats.all_end_rel_micros
    assert "MatMul" in stats.timeline_label
    assert list(stats.output[0].tensor_description.shape.dim)[0].size == 2

    chrome = json.loads(timeline.Timeline(metadata.step_stats).generate_chrome_trace_format())
    assert any("MatMul" in event["name"] for event in chrome["traceEvents"])


def test_a_run_without_trace_has_no_statistics(target):
    with v1.Session(target) as session:
        metadata = trace(session, v1.constant(1) + 1, {}, trace_level=v1.RunOptions.NO_TRACE)
    assert not metadata.step_stats.dev_stats


def test_partition_graphs_show_what_ran_where(cluster):
    one = cluster(num_workers=1, num_ps=1)
    fed = v1.placeholder(tf.float32, [])
    with v1.device("/job:ps/task:0"):
        doubled = v1.multiply(fed, 2.0, name="doubled")
    with v1.device("/job:worker/task:0"):
        result = v1.add(doubled, 1.0, name="result")
    with v1.Session(one.target()) as session:
        metadata = trace(session, result, {fed: 3.0}, output_partition_graphs=True)
    jobs = {
        node.name: node.device.split("/")[1]
        for partition in metadata.partition_graphs
        for node in partition.node
    }
    assert jobs["doubled"] == "job:ps"
    assert jobs["result"] == "job:worker"
    ops = [node.op for partition in metadata.partition_graphs for node in partition.node]
    assert {op.replace("Host", "") for op in ops} >= {"_Send", "_Recv"}


def test_soft_placement_falls_back_to_the_cpu(target):
    with v1.device("/device:GPU:0"):
        x = v1.constant(1) + 1
    with v1.Session(target, config=v1.ConfigProto(allow_soft_placement=True)) as session:
        assert session.run(x) == 2
    with v1.Session(target) as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            session.run(x)


def connected(source, replaced, fetch):
    """A prepared step in which one tensor takes the place of another."""
    x = v1.placeholder(tf.float32, [], name="x")
    y = tf.add(x * 2, 1.0, name="y")
    tf.negative(y, name="z")
    tf.constant(7.0, name="seven")
    options = config_pb2.CallableOptions(fetch=[fetch])
    options.tensor_connection.add(from_tensor=source, to_tensor=replaced)
    return options


@pytest.mark.parametrize("replaced, value", [("x:0", 15), ("mul:0", 8)])
def test_a_prepared_step_connects_tensors(target, replaced, value):
    options = connected("seven:0", replaced, "y:0")
    with v1.Session(target) as session:
        step = session._make_callable_from_options(options)
        assert step() == [value]
        assert step() == [value]


@pytest.mark.parametrize(
    "source, replaced, fetch, words",
    [
        ("no:0", "x:0", "y:0", 'Requested tensor connection from unknown node: "x:0".'),
        ("seven:4", "x:0", "y:0", 'from unknown edge: "x:0" (actual number of outputs = 1).'),
        ("z:0", "x:0", "y:0", 'connection between nodes "x" and "z" would create a cycle.'),
        ("seven:0", "y:0", "y:0", "y:0 is both fed and fetched."),
    ],
)
def test_tensors_that_cannot_be_connected(target, source, replaced, fetch, words):
    options = connected(source, replaced, fetch)
    with v1.Session(target) as session, pytest.raises(tf.errors.InvalidArgumentError) as raised:
        session._make_callable_from_options(options)()
    assert words in raised.value.message


def test_costs_are_told_of_every_second_step(target):
    x = v1.placeholder(tf.float32, [None, 2], name="x")
    y = tf.nn.relu(tf.matmul(x, [[1.0, 2.0], [3.0, 4.0]], name="product"), name="y")
    config = v1.ConfigProto(graph_options=v1.GraphOptions(build_cost_model=2))
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    with v1.Session(target, config=config) as session:
        costs = []
        for _ in range(4):
            metadata = v1.RunMetadata()
            session.run(y, {x: [[1.0, 1.0]] * 3}, options=v1.RunOptions(), run_metadata=metadata)
            assert not metadata.step_stats.dev_stats
            costs.append(metadata.cost_graph.node)
    assert [bool(nodes) for nodes in costs] == [False, True, False, True]
    nodes = {node.name: node for node in costs[1]}
    assert {"_SOURCE", "_SINK", "product", "y"} <= set(nodes)
    names = {node.id: node.name for node in costs[1]}
    assert nodes["y"].device == CPU
    assert [names[edge.preceding_node] for edge in nodes["y"].input_info] == ["product"]
    (output,) = nodes["y"].output_info
    assert [dim.size for dim in output.shape.dim] == [3, 2]
    assert (output.size, output.dtype) == (24, tf.float32.as_datatype_enum)
    assert any(node.is_final for node in costs[1])


def test_costs_are_not_told_unless_asked_for(target):
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session(target) as session:
        session.run(tf.constant(1) + 1, options=options, run_metadata=metadata)
    assert metadata.step_stats.dev_stats
    assert not metadata.cost_graph.node
