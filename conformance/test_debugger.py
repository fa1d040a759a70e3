"""Steps that TensorFlow's first debugger watches (`RunOptions.debug_options`), by its own tools."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.debug.lib import debug_data, debug_utils

CPU = "/job:{}/replica:0/task:0/device:CPU:0"
# Otherwise what is watched may have been optimised away.
PLAIN = v1.ConfigProto()
PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True
PLAIN.graph_options.optimizer_options.opt_level = -1


class Program:
    def __init__(self):
        self.x = v1.placeholder(tf.float32, [2], name="x")
        self.by_reference = v1.get_variable("v", initializer=[1.0, 2.0], use_resource=False)
        self.resource = v1.get_variable("r", initializer=[3.0, 2.0], use_resource=True)
        y = tf.identity(self.x * self.by_reference, name="y")
        z = tf.add(y, self.resource, name="z")
        first, second = tf.split(z, 2, name="s")
        self.sum = tf.add(first, second, name="q")
        self.assign = v1.assign(self.by_reference, z, name="a")
        self.initializer = v1.global_variables_initializer()

    def run(self, target, fetches, options):
        """Runs a step and returns what it fetched and what it recorded about itself."""
        metadata = v1.RunMetadata()
        options.output_partition_graphs = True
        with v1.Session(target, config=PLAIN) as session:
            session.run(self.initializer)
            fetched = session.run(fetches, {self.x: [1.0, 2.0]}, options=options, run_metadata=metadata)
        return fetched, metadata


def dumped(directory, metadata):
    """The files of a step, checked against the graphs that it ran."""
    return debug_data.DebugDumpDir(str(directory), partition_graphs=metadata.partition_graphs)


def watch(options, directory, node, slot=0, debug_ops="DebugIdentity", **more):
    debug_utils.add_debug_tensor_watch(
        options, node, slot, debug_ops=debug_ops, debug_urls=f"file://{directory}", **more
    )


def test_a_tensor_is_watched(target, tmp_path):
    program, options = Program(), v1.RunOptions()
    watch(options, tmp_path, "z", debug_ops=["DebugIdentity", "DebugNanCount"], global_step=7)
    fetched, metadata = program.run(target, program.sum, options)
    assert fetched == [10.0]
    dump = dumped(tmp_path, metadata)
    assert {data.watch_key for data in dump.dumped_tensor_data} == {"z:0:DebugIdentity", "z:0:DebugNanCount"}
    (value,) = dump.get_tensors("z", 0, "DebugIdentity")
    np.testing.assert_array_equal(value, [4.0, 6.0])
    (count,) = dump.get_tensors("z", 0, "DebugNanCount")
    assert count == [0]
    (core,) = dump.core_metadata if isinstance(dump.core_metadata, list) else [dump.core_metadata]
    assert (core.global_step, core.input_names, core.output_names) == (7, ["x:0"], ["q:0"])
    assert dump.node_op_type("z") == "AddV2"


def test_everything_is_watched(target, tmp_path):
    program, options = Program(), v1.RunOptions()
    graph = v1.get_default_graph()
    debug_utils.watch_graph(options, graph, debug_urls=f"file://{tmp_path}")
    fetched, metadata = program.run(target, [program.sum, program.assign], options)
    np.testing.assert_array_equal(fetched[0], [10.0])
    np.testing.assert_array_equal(fetched[1], [4.0, 6.0])
    dump = dumped(tmp_path, metadata)
    values = {
        "v:0": [1.0, 2.0],
        "mul:0": [1.0, 4.0],
        "y:0": [1.0, 4.0],
        "z:0": [4.0, 6.0],
        "s:0": [4.0],
        "s:1": [6.0],
        "q:0": [10.0],
        "a:0": [4.0, 6.0],
    }
    for name, value in values.items():
        node, slot = name.split(":")
        (seen,) = dump.get_tensors(node, int(slot), "DebugIdentity")
        np.testing.assert_array_equal(seen, value, name)


def test_a_tensor_of_another_task_is_watched(cluster, tmp_path):
    two = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps"):
        doubled = tf.multiply(v1.placeholder_with_default([1.0, 2.0], [2]), 2.0, name="doubled")
    with tf.device("/job:worker"):
        total = tf.reduce_sum(doubled, name="total")
    options, metadata = v1.RunOptions(output_partition_graphs=True), v1.RunMetadata()
    watch(options, tmp_path, "doubled")
    watch(options, tmp_path, "total")
    with v1.Session(two.target(), config=PLAIN) as session:
        assert session.run(total, options=options, run_metadata=metadata) == 6.0
    dump = dumped(tmp_path, metadata)
    assert set(dump.devices()) == {CPU.format("ps"), CPU.format("worker")}
    (value,) = dump.get_tensors("doubled", 0, "DebugIdentity")
    np.testing.assert_array_equal(value, [2.0, 4.0])


def test_attributes_of_debug_ops(target, tmp_path):
    program, options = Program(), v1.RunOptions()
    watch(options, tmp_path, "z", debug_ops="DebugNumericSummary(lower_bound=4.5;gated_grpc=false)")
    _, metadata = program.run(target, program.sum, options)
    (summary,) = dumped(tmp_path, metadata).get_tensors("z", 0, "DebugNumericSummary")
    # Initialised, elements, NaN, below, negative, zero, positive, above, least, greatest.
    np.testing.assert_array_equal(summary[:10], [1, 2, 0, 1, 0, 0, 1, 0, 4, 6])


@pytest.mark.parametrize(["node", "slot"], [("nothing", 0), ("z", 3)])
def test_what_is_not_there_is_not_watched(target, tmp_path, node, slot):
    program, options = Program(), v1.RunOptions()
    watch(options, tmp_path, node, slot)
    fetched, metadata = program.run(target, program.sum, options)
    assert fetched == [10.0]
    assert dumped(tmp_path, metadata).dumped_tensor_data == []


def test_a_debug_op_that_does_not_exist(target, tmp_path):
    program, options = Program(), v1.RunOptions()
    watch(options, tmp_path, "z", debug_ops="DebugNothing")
    with pytest.raises(tf.errors.FailedPreconditionError, match="debug node DebugNothing for tensor z:0"):
        program.run(target, program.sum, options)


def test_a_debug_op_that_does_not_exist_may_be_left_out(target, tmp_path):
    program, options = Program(), v1.RunOptions()
    watch(
        options,
        tmp_path,
        "z",
        debug_ops=["DebugNothing", "DebugIdentity"],
        tolerate_debug_op_creation_failures=True,
    )
    _, metadata = program.run(target, program.sum, options)
    (data,) = dumped(tmp_path, metadata).dumped_tensor_data
    assert data.watch_key == "z:0:DebugIdentity"


@pytest.mark.ours("TensorFlow's servers send tensors to debug servers")
def test_a_debug_server_is_refused_by_name(target):
    program, options = Program(), v1.RunOptions()
    debug_utils.add_debug_tensor_watch(options, "z", 0, debug_urls="grpc://127.0.0.1:1")
    with pytest.raises(tf.errors.UnimplementedError, match="debug_options.*grpc://127.0.0.1:1"):
        program.run(target, program.sum, options)
