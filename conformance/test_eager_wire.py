"""The eager service message by message: what a broken client sends is refused, and the context goes on."""

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow.core.protobuf import tensorflow_server_pb2

from conformance.rig import wire

CONTEXT = 4242
DEVICE = "/job:worker/replica:0/task:0/device:CPU:0"
INVALID, MISSING, ABORTED = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.ABORTED,
)


class Client:
    """A context on one task."""

    def __init__(self, target):
        self.address = target.removeprefix("grpc://")
        self.service = wire.Service(target, "eager.EagerService")
        self.devices = wire.Service(target, "WorkerService").call("GetStatus").device_attributes
        self._id = 100

    def server_def(self, job="worker", index=0):
        server_def = tensorflow_server_pb2.ServerDef(job_name=job, task_index=index, protocol="grpc")
        server_def.cluster.job.add(name="worker").tasks[0] = self.address
        return server_def

    def creation(self, **changes):
        fields = dict(
            server_def=self.server_def(),
            keep_alive_secs=600,
            context_id=CONTEXT,
            cluster_device_attributes=self.devices,
        )
        return fields | changes

    def items(self, *items):
        return dict(context_id=CONTEXT, queue=[wire.MESSAGES["QueueItem"](**item) for item in items])

    def operation(self, name, inputs=(), attrs=None, id=None, device=DEVICE, **fields):
        self._id += 1
        attrs = [
            wire.MESSAGES["OperationAttr"](key=key, value=tf.compat.v1.AttrValue(**value))
            for key, value in (attrs or {}).items()
        ]
        return wire.MESSAGES["Operation"](
            id=self._id if id is None else id, name=name, op_inputs=inputs, attrs=attrs, device=device, **fields
        )

    def run(self, *args, **fields):
        """Runs an op and returns its values."""
        item = {"operation": self.operation(*args, id=-1, **fields)}
        response = self.service.call("Enqueue", **self.items(item)).queue_response[0]
        return [tf.make_ndarray(tensor) for tensor in response.tensor]

    def fails(self, code, message, *args, **fields):
        """Runs an op that must fail, and one that must not."""
        item = {"operation": self.operation(*args, **fields)}
        self.service.fails(code, "Enqueue", message, **self.items(item))
        assert self.run("Neg", [value(1.0)], FLOAT) == [-1]


def value(constant):
    return wire.MESSAGES["OperationInput"](tensor=tf.make_tensor_proto(constant))


def kept(id, output=0, device=DEVICE):
    handle = wire.MESSAGES["RemoteTensorHandle"](op_id=id, output_num=output, device=device, op_device=device, dtype=1)
    return wire.MESSAGES["OperationInput"](remote_handle=handle)


FLOAT = {"T": {"type": tf.float32.as_datatype_enum}}


@pytest.fixture
def client(server):
    client = Client(server.target)
    client.service.call("CreateContext", **client.creation())
    yield client
    client.service.call("CloseContext", context_id=CONTEXT, context_view_id=99)
    client.service.close()


@pytest.mark.ours("TensorFlow's server dies of some of these")
def test_operations(client):
    client.fails(MISSING, "is neither a type of a primitive operation", "Nope", [value(1.0)])
    client.fails(MISSING, "nor a name of a function registered", "f", [value(1.0)], is_function=True)
    client.fails(INVALID, "expected 2 inputs, got 1", "Add", [value(1.0)], FLOAT)
    client.fails(INVALID, "expected 2 inputs, got 3", "Add", [value(1.0)] * 3, FLOAT)
    client.fails(INVALID, "expected to be a float tensor but is a int32", "Add", [value(1.0), value(2)], FLOAT)
    client.fails(INVALID, "missing attr 'T'", "Add", [value(1.0)] * 2)
    client.fails(INVALID, "attr 'T'", "Add", [value(1.0)] * 2, {"T": {"i": 3}})
    client.fails(INVALID, "allowed values", "Add", [value(1.0)] * 2, {"T": {"type": tf.resource.as_datatype_enum}})
    client.fails(INVALID, "", "MatMul", [value([[1.0]]), value([[1.0], [2.0]])], FLOAT)
    client.fails(INVALID, "unknown device", "Neg", [value(1.0)], FLOAT, device=DEVICE.replace("CPU", "GPU"))
    client.fails(INVALID, "unknown device", "Neg", [value(1.0)], FLOAT, device="/job:nobody/task:0/device:CPU:0")
    client.fails(INVALID, "", "Neg", [value(1.0)], FLOAT, device="qwert//:::")
    for handle in [kept(9999), kept(101, -5), kept(101, 7)]:
        client.fails(INVALID, "Unable to find the relevant tensor remote_handle", "Neg", [handle], FLOAT)
    client.fails(INVALID, "unknown device", "Neg", [kept(1, device="/job:nobody/task:1/device:CPU:0")], FLOAT)
    client.fails(INVALID, "", "Neg", [wire.MESSAGES["OperationInput"]()], FLOAT)
    client.fails(INVALID, "RunComponentFunction", "Neg", [value(1.0)], FLOAT, is_component_function=True)
    for broken in [dict(dtype=999), dict(dtype=1, tensor_content=b"123")]:
        broken = wire.MESSAGES["OperationInput"](tensor=tensor_pb2.TensorProto(**broken))
        client.fails(INVALID, "", "Neg", [broken], FLOAT)
    huge = tf.make_tensor_proto(1.0)
    huge.tensor_shape.dim.add(size=1 << 50)
    client.fails(INVALID, "", "Neg", [wire.MESSAGES["OperationInput"](tensor=huge)], FLOAT)
    for op in ["_Arg", "_Retval", "Switch", "Merge", "Enter"]:
        client.fails(INVALID, "", op, [value(1.0)], FLOAT)


@pytest.mark.ours("TensorFlow's server dies of some of these")
def test_functions(client):
    def register(function, **fields):
        operation = wire.MESSAGES["RegisterFunctionOp"](function_def=function, **fields)
        client.service.call("Enqueue", **client.items({"register_function": operation}))

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def plus_one(x):
        return x + 1.0

    function = plus_one.get_concrete_function().function_def
    name = function.signature.name
    register(function)
    register(function)
    assert client.run(name, [value(1.0)], is_function=True) == [2]
    client.fails(INVALID, "Expected 1 arguments", name, [], is_function=True)
    client.fails(INVALID, "argument 0 is a int32", name, [value(1)], is_function=True)
    client.fails(MISSING, "", name, [value(1.0)])
    client.fails(MISSING, "", "Neg", [value(1.0)], FLOAT, is_function=True)
    function.signature.name = "part"
    register(function, is_component_function=True)
    client.fails(MISSING, "", "part", [value(1.0)], is_function=True)

    def component(*args, **fields):
        operation = client.operation(*args, is_function=True, **fields)
        return dict(context_id=CONTEXT, operation=operation, output_num=[4])

    run = component("part", [value(1.0)], id=900, is_component_function=True, func_step_id=7)
    client.service.call("RunComponentFunction", **run)
    assert client.run("Neg", [kept(900, 4)], FLOAT) == [-2]
    internal = grpc.StatusCode.INTERNAL
    client.service.fails(internal, "RunComponentFunction", "component", **component("part", [value(1.0)]))
    client.service.fails(internal, "RunComponentFunction", "", context_id=CONTEXT)
    for inputs in [[], [value(1)], [kept(9999)]]:
        wrong = component("part", inputs, is_component_function=True)
        client.service.fails(INVALID, "RunComponentFunction", "", **wrong)
    wrong = component("nobody", [value(1.0)], is_component_function=True)
    client.service.fails(MISSING, "RunComponentFunction", "", **wrong)
    forget = {"remove_function": wire.MESSAGES["RemoveFunctionOp"](function_name="nobody")}
    client.service.fails(INVALID, "Enqueue", "non-existent function", **client.items(forget))
    assert client.run(name, [value(1.0)], is_function=True) == [2]


def test_items(client):
    def send(tensor, id=500):
        return {"send_tensor": wire.MESSAGES["SendTensorOp"](op_id=id, tensors=[tensor], device_name=DEVICE)}

    one = tf.make_tensor_proto(1.0)
    gone = {"handle_to_decref": wire.MESSAGES["RemoteTensorHandle"](op_id=9999)}
    assert len(client.service.call("Enqueue", **client.items(send(one), {})).queue_response) == 2
    # What comes before a failure was done, what comes after it was not.
    three = client.items(send(one, 510), gone, send(one, 511))
    client.service.fails(INVALID, "Enqueue", "Unable to find the relevant tensor", **three)
    assert client.run("Neg", [kept(510)], FLOAT) == [-1]
    client.fails(INVALID, "Unable to find", "Neg", [kept(511)], FLOAT)
    # A dataset lives where it was made.
    dataset = tensor_pb2.TensorProto(dtype=tf.variant.as_datatype_enum)
    dataset.variant_val.add(type_name="tensorflow::DatasetVariantWrapper")
    client.service.fails(INVALID, "Enqueue", "Unable to parse tensor proto", **client.items(send(dataset)))


def test_contexts(client):
    service, aborted = client.service, "Unable to find a context_id matching"
    service.fails(INVALID, "CreateContext", "invalid context id", **client.creation(context_id=0))
    # A context that is made anew, as after a broken connection, is a working one.
    service.call("CreateContext", **client.creation(context_view_id=2))
    service.fails(INVALID, "CreateContext", "already exists", **client.creation(context_view_id=1))
    service.fails(INVALID, "UpdateContext", "continuously incremented", context_id=CONTEXT, context_view_id=9)
    service.call("CloseContext", context_id=CONTEXT, context_view_id=1)
    assert service.call("KeepAlive", context_id=CONTEXT).context_view_id == 2
    attrs = {name: {"s": DEVICE.encode()} for name in ["send_device", "recv_device"]}
    attrs |= {"tensor_name": {"s": b"t"}, "send_device_incarnation": {"i": 1}}
    sent = client.operation("_Send", [value(3.0)], attrs | FLOAT)
    service.call("Enqueue", **client.items({"operation": sent}))
    attrs["tensor_type"] = FLOAT["T"]
    np.testing.assert_allclose(client.run("_Recv", [], attrs), [3.0])
    for method in ["KeepAlive", "Enqueue", "WaitQueueDone"]:
        service.fails(ABORTED, method, aborted, context_id=1)
    # Who is called by a name that its client's cluster does not have is told so.
    for role in [("nobody", 0), ("worker", 7)]:
        other = client.creation(context_id=5, server_def=client.server_def(*role))
        service.fails(grpc.StatusCode.INTERNAL, "CreateContext", "Could not parse port", **other)
