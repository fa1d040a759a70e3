"""Every op definition of ours is TensorFlow's, word for word."""

import subprocess

from tensorflow.core.framework import op_def_pb2
from tensorflow.python.framework import op_def_registry, tensor_util

from conformance.differential import registered
from conformance.rig.servers import tensorfleet_binary


def our_ops():
    listed = subprocess.run([tensorfleet_binary(), "ops", "--proto"], check=True, capture_output=True)
    return op_def_pb2.OpList.FromString(listed.stdout).op


def simplified(op):
    """The parts that mean something at run time: documentation and type hints are left out."""
    op = op_def_pb2.OpDef.FromString(op.SerializeToString())
    op.summary = op.description = ""
    op.ClearField("deprecation")
    for arg in list(op.input_arg) + list(op.output_arg):
        arg.description = ""
        arg.ClearField("experimental_full_type")
        arg.ClearField("handle_data")
    for attr in op.attr:
        attr.description = ""
        for value in (attr.default_value, attr.allowed_values):
            if value.HasField("tensor"):
                normalise_tensor(value.tensor)
    return op


def normalise_tensor(tensor):
    """One value has several encodings."""
    array = tensor_util.MakeNdarray(tensor)
    tensor.CopyFrom(tensor_util.make_tensor_proto(array))


def test_there_are_ops():
    assert len(our_ops()) > 300


def test_every_definition_is_tensorflows():
    differences = []
    for ours in our_ops():
        theirs = op_def_registry.get(ours.name)
        if theirs is None:
            differences.append(f"{ours.name}: TensorFlow has no such op")
        elif simplified(ours) != simplified(theirs):
            differences.append(f"{ours.name}:\nours   {simplified(ours)}\nTensorFlow's {simplified(theirs)}")
    assert not differences, "\n".join(differences)


def test_the_list_of_tensorflows_ops_is_up_to_date():
    assert registered.LIST.read_text() == registered.text(), "python -m conformance.differential.registered writes it"
