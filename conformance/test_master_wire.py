"""The master's answers to requests that Python's session never sends: wrong, stale, repeated.

Other clients do, and so does a session that outlives its server.
"""

import itertools

import grpc
import pytest
from tensorflow.core.framework import graph_pb2, node_def_pb2
from tensorflow.core.protobuf import config_pb2

from conformance.rig import wire

_request_ids = itertools.count(1)


@pytest.fixture
def master(target):
    master = wire.Service(target, "MasterService")
    yield master
    master.close()


def graph(*nodes):
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = 2474
    graph_def.versions.min_consumer = 12
    graph_def.node.extend(nodes)
    return graph_def


def const(name, value):
    node = node_def_pb2.NodeDef(name=name, op="Const")
    node.attr["dtype"].type = 3
    node.attr["value"].tensor.dtype = 3
    node.attr["value"].tensor.tensor_shape.SetInParent()
    node.attr["value"].tensor.int_val.append(value)
    return node


def create_session(master, *nodes):
    return master.call("CreateSession", graph_def=graph(*nodes)).session_handle


def test_a_step_over_the_raw_service(master):
    session = create_session(master, const("x", 41))
    reply = master.call("RunStep", session_handle=session, fetch=["x:0"])
    assert [tensor.name for tensor in reply.tensor] == ["x:0"]
    assert reply.status_code == 0
    master.call("CloseSession", session_handle=session)


@pytest.mark.parametrize("method", ["RunStep", "ExtendSession"])
def test_unknown_sessions_are_aborted(master, method):
    message = "Session deadbeef is not found."
    master.fails(grpc.StatusCode.ABORTED, method, message, session_handle="deadbeef")


def test_closing_an_unknown_session_is_aborted(master):
    message = "Session deadbeef is not found. Possibly, this master has restarted."
    master.fails(grpc.StatusCode.ABORTED, "CloseSession", message, session_handle="deadbeef")


def test_a_closed_session_is_unknown(master):
    session = create_session(master, const("x", 1))
    master.call("CloseSession", session_handle=session)
    master.fails(grpc.StatusCode.ABORTED, "RunStep", session_handle=session, fetch=["x:0"])


def test_extending_counts_versions(master):
    session = create_session(master)
    extend = dict(session_handle=session, graph_def=graph(const("a", 1)))
    reply = master.call("ExtendSession", current_graph_version=0, **extend)
    assert reply.new_graph_version == 1
    master.fails(
        grpc.StatusCode.ABORTED,
        "ExtendSession",
        "Current version is 1 but caller expected 0.",
        current_graph_version=0,
        **extend,
    )
    reply = master.call(
        "ExtendSession",
        session_handle=session,
        graph_def=graph(const("b", 2)),
        current_graph_version=1,
    )
    assert reply.new_graph_version == 2
    reply = master.call("RunStep", session_handle=session, fetch=["b:0", "a:0"])
    assert {tensor.name for tensor in reply.tensor} == {"a:0", "b:0"}


def test_a_node_cannot_be_added_twice(master):
    session = create_session(master, const("x", 1))
    master.fails(
        grpc.StatusCode.INVALID_ARGUMENT,
        "ExtendSession",
        "GraphDef argument to Extend includes node 'x', which was created by a previous call",
        session_handle=session,
        graph_def=graph(const("x", 2)),
    )


@pytest.mark.parametrize("in_body", [False, True], ids=["status", "body"])
def test_errors_of_a_step_go_where_the_client_wants_them(master, in_body):
    session = create_session(master, const("x", 1))
    run = dict(session_handle=session, fetch=["gone:0"], store_errors_in_response_body=in_body)
    if in_body:
        reply = master.call("RunStep", **run)
        assert reply.status_code == grpc.StatusCode.NOT_FOUND.value[0]
        assert "gone" in reply.status_error_message
    else:
        master.fails(grpc.StatusCode.NOT_FOUND, "RunStep", "gone", **run)


def test_a_repeated_request_is_refused(master):
    """The transport may deliver a request twice; running the step twice would be wrong."""
    session = create_session(master, const("x", 1))
    run = dict(session_handle=session, fetch=["x:0"], request_id=1_234_567)
    master.call("RunStep", **run)
    master.fails(
        grpc.StatusCode.ABORTED,
        "RunStep",
        "The same RunStep (Master) request was received twice",
        **run,
    )


def test_unknown_ops_are_named(master):
    """TensorFlow refuses the whole graph; tensorfleet waits until a step needs the op."""
    with pytest.raises(grpc.RpcError) as raised:
        session = create_session(master, node_def_pb2.NodeDef(name="strange", op="NoSuchOp"))
        master.call("RunStep", session_handle=session, target=["strange"], request_id=77)
    assert raised.value.code() == grpc.StatusCode.NOT_FOUND
    assert "Op type not registered 'NoSuchOp'" in raised.value.details()


def test_devices_without_a_session(master):
    reply = master.call("ListDevices")
    (device,) = reply.local_device
    assert device.name == "/job:worker/replica:0/task:0/device:CPU:0"
    assert not reply.remote_device


def test_callables_over_the_raw_service(master):
    session = create_session(master, const("x", 7))
    options = config_pb2.CallableOptions(fetch=["x:0"])
    make = dict(session_handle=session, options=options)
    handles = [
        master.call("MakeCallable", request_id=next(_request_ids), **make).handle for _ in range(2)
    ]
    assert len(set(handles)) == 2
    reply = master.call("RunCallable", session_handle=session, handle=handles[1])
    assert reply.fetch[0].dtype == 3
    master.call("ReleaseCallable", session_handle=session, handle=handles[1])
    reply = master.call("RunCallable", session_handle=session, handle=handles[0])
    assert reply.fetch[0].dtype == 3


def test_unknown_methods_are_unimplemented(master):
    stub = master.channel.unary_unary("/tensorflow.MasterService/NoSuchMethod")
    with pytest.raises(grpc.RpcError) as raised:
        stub(b"", timeout=60)
    assert raised.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_tensor_that_is_fetched_twice_is_returned_once(master):
    handle = master.call("CreateSession", graph_def=graph(const("a", 1), const("b", 2))).session_handle
    reply = master.call("RunStep", session_handle=handle, fetch=["b:0", "a:0", "b:0", "a", "b"])
    assert sorted(each.name for each in reply.tensor) == ["a:0", "b:0"]
    master.call("CloseSession", session_handle=handle)
