"""Gradients that the Rust client adds to graphs, against TensorFlow's own."""

import re
import subprocess

import numpy as np
import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import control_flow_util

from conformance import test_rust_client


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """The graph that the example writes, and the names of its cases."""
    path = tmp_path_factory.mktemp("gradients") / "graph.pb"
    subprocess.run([test_rust_client.example("export_gradients"), path], check=True, timeout=60)
    definition = v1.GraphDef.FromString(path.read_bytes())
    cases = [node.name[:-2] for node in definition.node if re.fullmatch(r"\w+/y", node.name)]
    return definition, cases


def test_gradients_are_those_of_tensorflow(exported, monkeypatch):
    definition, cases = exported
    assert len(cases) >= 85
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="")
        names = {node.name for node in definition.node}
        wanted = {}
        # Arrays of tensors are those of the first version, which TensorFlow differentiates only
        # without the second version of its control flow.
        monkeypatch.setattr(control_flow_util, "ENABLE_CONTROL_FLOW_V2", False)
        for case in cases:
            y = graph.get_tensor_by_name(f"{case}/y:0")
            count = sum(f"{case}/x{index}" in names for index in range(9))
            xs = [graph.get_tensor_by_name(f"{case}/x{index}:0") for index in range(count)]
            theirs = dict(enumerate(tf.gradients(y, xs)))
            theirs = {i: tf.convert_to_tensor(dx) for i, dx in theirs.items() if dx is not None}
            ours = {i: f"{case}/dx{i}:0" for i in range(count) if f"{case}/dx{i}" in names}
            assert theirs.keys() == ours.keys(), case
            wanted[case] = theirs, ours
        with v1.Session(graph=graph) as session:
            for case, (theirs, ours) in session.run(wanted).items():
                for index, expected in theirs.items():
                    # Single precision, in which some are computed, cancels out here and there.
                    np.testing.assert_allclose(
                        ours[index], expected, rtol=1e-5, atol=5e-6, err_msg=case
                    )
