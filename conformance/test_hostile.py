"""Requests that no honest client sends: an error for the sender, nothing for anybody else.

TensorFlow's own server ends on several of these, so they are ours alone.
`TENSORFLEET_FUZZ_SECONDS=600` makes the tests that draw their requests go on for ten minutes.
"""

import itertools
import os
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2

from conformance.rig import wire
from conformance.rig.graphs import const, func, function, graph, node, shaped_const
from conformance.rig.mutate import Mutator

v1 = tf.compat.v1
Code = grpc.StatusCode

METHODS = {
    "MasterService": "CreateSession ExtendSession PartialRunSetup RunStep CloseSession ListDevices "
    "Reset MakeCallable RunCallable ReleaseCallable",
    "WorkerService": "GetStatus CreateWorkerSession DeleteWorkerSession RegisterGraph "
    "DeregisterGraph RunGraph CleanupGraph CleanupAll RecvTensor MarkRecvFinished Logging Tracing "
    "RecvBuf GetStepSequence CompleteGroup CompleteInstance",
}
FUZZ_SECONDS = float(os.environ.get("TENSORFLEET_FUZZ_SECONDS", 0))

pytestmark = pytest.mark.ours("TensorFlow's server does not survive all of this")


class Bystander:
    """Another client with a session, a variable and steps, that must notice nothing."""

    def __init__(self, target):
        self.graph = tf.Graph()
        with self.graph.as_default():
            counter = v1.get_variable("bystander", initializer=0, use_resource=True)
            self.count = counter.assign_add(1, read_value=True)
            self.session = v1.Session(target)
            self.session.run(counter.initializer)
        self.expected = 0

    def check(self):
        self.expected += 1
        options = v1.RunOptions(timeout_in_ms=20_000)
        assert self.session.run(self.count, options=options) == self.expected


@pytest.fixture
def bystander(server):
    """Checks after the test that another client is well."""
    bystander = Bystander(server.target)
    yield bystander
    bystander.check()
    bystander.session.close()


@pytest.fixture
def master(target, bystander):
    master = wire.Service(target, "MasterService")
    yield master
    master.close()


@pytest.fixture
def worker(target, bystander):
    worker = wire.Service(target, "WorkerService")
    yield worker
    worker.close()


def run(master, graph_def, *fetches, timeout=60, **fields):
    """Makes a session, runs a step, closes the session. Returns the code and the words."""
    try:
        session = master.start("CreateSession", graph_def=graph_def, timeout=timeout).result()
    except grpc.RpcError as error:
        return error.code(), error.details()
    try:
        call = dict(session_handle=session.session_handle, fetch=fetches, timeout=timeout)
        master.start("RunStep", **call, **fields).result()
        return Code.OK, ""
    except grpc.RpcError as error:
        return error.code(), error.details()
    finally:
        master.call("CloseSession", session_handle=session.session_handle)


def refused(outcome, code=Code.INVALID_ARGUMENT, words=""):
    """Checks that a request was refused with words that help."""
    assert outcome[0] == code and words in outcome[1], outcome
    assert len(outcome[1]) > 10, outcome


# --- Bytes that are no message.

BROKEN = {
    "garbage": b"\xff" * 40,
    "a length without end": b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f",
    "a length beyond the end": b"\x0a\x7fabc",
    "an endless varint": b"\x10" + b"\xff" * 30,
    "a group that never ends": b"\x0b" * 100,
    "field zero": b"\x02\x00",
    "text that is no text": b"\x0a\x02\xc3\x28\x12\x02\xc3\x28\x42\x02\xc3\x28",
    "a million times the same field": b"\x0a\x00" * 100_000,
}


@pytest.mark.parametrize("service", METHODS)
@pytest.mark.parametrize("kind", BROKEN)
def test_bytes_that_are_no_message(target, bystander, service, kind):
    called = wire.Service(target, service)
    for method in METHODS[service].split():
        if method in ("Reset", "CleanupAll"):
            continue  # Whatever can be read of them ends what others have, as it should.
        code, words = called.send(method, BROKEN[kind])
        assert code not in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.UNKNOWN), (method, code)
    bystander.check()
    called.close()


def nested_attr(depth):
    """An attribute whose value is a function with an attribute whose value is …"""
    value = attr_value_pb2.AttrValue(i=1).SerializeToString()
    for _ in range(depth):
        entry = b"\x0a\x01a\x12" + varint(len(value)) + value
        func = b"\x0a\x01f\x12" + varint(len(entry)) + entry
        value = b"\x52" + varint(len(func)) + func
    return value


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out + bytes([number]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


@pytest.mark.parametrize("depth", [10, 100, 5000])
def test_messages_in_messages_without_end(master, depth):
    entry = field(1, b"f") + field(2, nested_attr(depth))
    node_bytes = field(1, b"n") + field(2, b"NoOp") + field(5, entry)
    code, _ = master.send("CreateSession", field(1, field(1, node_bytes)))
    assert code in (Code.OK, Code.INVALID_ARGUMENT, Code.INTERNAL)


def test_variants_in_variants_without_end(master):
    data = b""
    for _ in range(2000):
        data = field(15, field(3, data)) + b"\x08\x15"
    feed = field(1, b"x:0") + field(2, data)
    code, _ = master.send("RunStep", field(1, b"nobody") + field(2, feed))
    assert code in (Code.ABORTED, Code.INVALID_ARGUMENT, Code.INTERNAL)


# --- Graphs that are no graphs.

CYCLE = [node("a", "Neg", "b", T=tf.float32), node("b", "Neg", "a", T=tf.float32)]
GRAPHS = {
    "a cycle": (CYCLE, "a:0", Code.INVALID_ARGUMENT, "cycle"),
    "itself as input": ([node("a", "Neg", "a", T=tf.float32)], "a:0", Code.INVALID_ARGUMENT, "cycle"),
    "an unknown op": ([node("a", "NoSuchOp")], "a:0", Code.NOT_FOUND, "NoSuchOp"),
    "an input that is not there": (
        [node("a", "Neg", "gone", T=tf.float32)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "gone",
    ),
    "an output that is not there": (
        [const("c", 1.0), node("a", "Neg", "c:7", T=tf.float64)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "",
    ),
    "two nodes of one name": (
        [const("c", 1.0), const("c", 2.0)],
        "c:0",
        Code.INVALID_ARGUMENT,
        "c",
    ),
    "a wrong type of input": (
        [const("c", 1), node("a", "Neg", "c", T=tf.float32)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "",
    ),
    "an attribute of another kind": (
        [const("c", 1.0), node("a", "Neg", "c", T="text")],
        "a:0",
        Code.INVALID_ARGUMENT,
        "T",
    ),
    "no attribute at all": ([node("c", "Const")], "c:0", Code.INVALID_ARGUMENT, "attr"),
    "too many inputs": (
        [const("c", 1.0), node("a", "Neg", "c", "c", "c", T=tf.float64)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "a",
    ),
    "a list of negative length": (
        [node("a", "AddN", N=-5, T=tf.float32)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "N",
    ),
    "a list of absurd length": (
        [node("a", "AddN", N=1 << 62, T=tf.float32)],
        "a:0",
        Code.INVALID_ARGUMENT,
        "",
    ),
    "a fetch that is not there": ([const("c", 1.0)], "nowhere:0", Code.NOT_FOUND, "nowhere"),
    "a name that is no name": ([node("a b", "NoOp")], "a b:0", Code.INVALID_ARGUMENT, "a b"),
    "a device that is no device": (
        [const("c", 1.0), node("a", "Neg", "c", T=tf.float64, device="//::/")],
        "a:0",
        Code.INVALID_ARGUMENT,
        "",
    ),
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_graphs_that_are_no_graphs(master, worker, kind):
    nodes, fetch, code, words = GRAPHS[kind]
    refused(run(master, graph(*nodes), fetch), code, words)
    registered = graph(*nodes).SerializeToString()
    code, _ = worker.send("RegisterGraph", field(2, registered))
    assert code not in (Code.UNAVAILABLE, Code.UNKNOWN, Code.DEADLINE_EXCEEDED)


LOOPS = {
    "a round without a loop": [const("c", 1.0), node("a", "NextIteration", "c", T=tf.float64)],
    "an exit without a loop": [const("c", 1.0), node("a", "Exit", "c", T=tf.float64)],
    "a loop that is never left": [
        const("c", 1.0),
        node("e", "Enter", "c", T=tf.float64, frame_name="f"),
        node("a", "Identity", "e", T=tf.float64),
    ],
    "frames that disagree": [
        const("c", 1.0),
        node("e", "Enter", "c", T=tf.float64, frame_name="f"),
        node("g", "Enter", "c", T=tf.float64, frame_name="g"),
        node("a", "AddV2", "e", "g", T=tf.float64),
    ],
    "a merge of nothing": [node("a", "Merge", N=0, T=tf.float32)],
    "a merge that waits for itself": [node("a", "Merge", "a", "a", N=2, T=tf.float32)],
    "a switch without a side": [
        const("c", 1.0),
        const("p", True),
        node("s", "Switch", "c", "p", T=tf.float64),
        node("a", "Identity", "s:0", T=tf.float64),
    ],
    "a thousand loops in one another": [
        const("e0", 1.0),
        *(
            node(f"e{i}", "Enter", f"e{i - 1}", T=tf.float64, frame_name=f"f{i}")
            for i in range(1, 1000)
        ),
        node("x999", "Exit", "e999", T=tf.float64),
        *(node(f"x{i}", "Exit", f"x{i + 1}", T=tf.float64) for i in range(998, 0, -1)),
        node("a", "Identity", "x1", T=tf.float64),
    ],
}


@pytest.mark.parametrize("kind", LOOPS)
def test_control_flow_that_goes_nowhere(master, kind):
    code, words = run(master, graph(*LOOPS[kind]), "a:0", timeout=20)
    assert code not in (Code.UNAVAILABLE, Code.UNKNOWN), words


def test_loops_without_end_leave_room_for_others(target, master, bystander):
    endless = graph(
        const("c", 1.0),
        const("p", True),
        node("e", "Enter", "c", T=tf.float64, frame_name="f"),
        node("pe", "Enter", "p", T=tf.bool, frame_name="f", is_constant=True),
        node("m", "Merge", "e", "n", N=2, T=tf.float64),
        node("l", "LoopCond", "pe"),
        node("s", "Switch", "m", "l", T=tf.float64),
        node("n", "NextIteration", "s:1", T=tf.float64),
        node("a", "Exit", "s", T=tf.float64),
    )
    sessions = [master.call("CreateSession", graph_def=endless).session_handle for _ in range(16)]
    steps = [
        master.start("RunStep", session_handle=session, fetch=["a:0"], timeout=120)
        for session in sessions
    ]
    for _ in range(10):
        bystander.check()
    for step in steps[::2]:
        step.cancel()
    for session in sessions:
        master.call("CloseSession", session_handle=session)
    for step in steps[1::2]:
        assert step.exception(timeout=20).code() == Code.CANCELLED


# --- Functions.


def chain(depth):
    """Functions of which each calls the next."""
    for i in range(depth):
        yield function(f"f{i}", node("c", f"f{i + 1}", "x"), result="c:y:0")
    yield function(f"f{depth}", node("c", "Neg", "x", T=tf.float32), result="c:y:0")


def test_functions_that_call_functions_ten_thousand_deep(master):
    calls = graph(const("c", np.float32(1)), node("a", "f0", "c"), functions=chain(10_000))
    code, words = run(master, calls, "a:0")
    assert code in (Code.OK, Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED), (code, words)


def test_functions_that_call_functions_without_being_inlined(master):
    functions = list(chain(10_000))
    for each in functions:
        each.attr["_noinline"].b = True
    calls = graph(const("c", np.float32(1)), node("a", "f0", "c"), functions=functions)
    code, words = run(master, calls, "a:0")
    assert code in (Code.OK, Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED), (code, words)


def test_functions_that_double(master):
    doubling = [
        function(
            f"f{i}",
            node("c", f"f{i + 1}", "x"),
            node("d", f"f{i + 1}", "c:y:0"),
            result="d:y:0",
        )
        for i in range(60)
    ]
    doubling.append(function("f60", node("c", "Neg", "x", T=tf.float32), result="c:y:0"))
    calls = graph(const("c", np.float32(1)), node("a", "f0", "c"), functions=doubling)
    session = master.call("CreateSession", graph_def=calls).session_handle
    step = master.start("RunStep", session_handle=session, fetch=["a:0"], timeout=15)
    code = step.code()  # It takes for ever, or is refused; it does not take all memory.
    assert code not in (Code.OK, Code.UNAVAILABLE, Code.UNKNOWN), code
    master.call("CloseSession", session_handle=session)


@pytest.mark.parametrize("op", ["f", "PartitionedCall", "SymbolicGradient"])
def test_functions_that_call_themselves(master, op):
    match op:
        case "f":
            call = node("c", "f", "x")
            result = "c:y:0"
        case "PartitionedCall":
            types = dict(Tin=[tf.float32], Tout=[tf.float32])
            call = node("c", "PartitionedCall", "x", f=func("f"), **types)
            result = "c:output:0"
        case _:
            types = dict(Tin=[tf.float32, tf.float32], Tout=[tf.float32])
            call = node("c", "SymbolicGradient", "x", "x", f=func("f"), **types)
            result = "c:output:0"
    recursive = function("f", call, result=result)
    calls = graph(const("c", np.float32(1)), node("a", "f", "c"), functions=[recursive])
    code, words = run(master, calls, "a:0", timeout=60)
    assert code in (Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED), (code, words)


BAD_CALLS = {
    "a function that is not there": dict(f=func("gone"), Tin=[tf.float32], Tout=[tf.float32]),
    "more results than there are": dict(f=func("f"), Tin=[tf.float32], Tout=[tf.float32] * 3),
    "fewer arguments than it takes": dict(f=func("f"), Tin=[], Tout=[tf.float32]),
    "results of another type": dict(f=func("f"), Tin=[tf.float32], Tout=[tf.string]),
    "arguments of another type": dict(f=func("f"), Tin=[tf.int32], Tout=[tf.float32]),
}


@pytest.mark.parametrize("kind", BAD_CALLS)
@pytest.mark.parametrize("op", ["PartitionedCall", "StatefulPartitionedCall", "noinline"])
def test_calls_that_do_not_fit(master, kind, op):
    attrs = dict(BAD_CALLS[kind])
    if op == "noinline":
        op, attrs["_noinline"] = "PartitionedCall", True
    wrong = len(attrs["Tin"]) and attrs["Tin"][0] == tf.int32
    value = np.int32(1) if wrong else np.float32(1)
    inputs = ["c"] if len(attrs["Tin"]) else []
    body = function("f", node("n", "Neg", "x", T=tf.float32), result="n:y:0")
    outputs = len(attrs["Tout"])
    calls = graph(
        const("c", value),
        node("call", op, *inputs, **attrs),
        node("a", "Identity", f"call:{outputs - 1}", T=attrs["Tout"][0]),
        functions=[body],
    )
    code, words = run(master, calls, "a:0")
    assert code in (Code.INVALID_ARGUMENT, Code.NOT_FOUND), (code, words)


# --- Tensors beyond any memory.

SIZES = {
    "negative": [-5],
    "too large for memory": [1 << 40],
    "too large for a number": [1 << 40, 1 << 40],
    "the largest number": [(1 << 63) - 1],
    "many dimensions": [2] * 300,
    "empty but absurd": [0, (1 << 63) - 1, (1 << 63) - 1],
}


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", [tf.float32, tf.string, tf.bool, tf.variant, tf.resource])
def test_constants_beyond_any_memory(master, size, dtype):
    code, words = run(master, graph(shaped_const("a", SIZES[size], dtype)), "a:0")
    assert code in (Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED, Code.OK), (code, words)
    if size != "empty but absurd":
        assert code != Code.OK


def i64(name, *values):
    return const(name, np.array(values, np.int64))


def i32(name, *values):
    return const(name, np.array(values, np.int32))


TEXT = const("s", np.array(["ab", "c"], object))
NUMBER = const("x", np.float32(1.5))
VECTOR = const("v", np.array([1.5, 2.5], np.float32))
MATRIX = const("m", np.ones((2, 2), np.float32))
HUGE, LARGE = 1 << 40, (1 << 31) - 1
GIANTS = {
    "Fill": [i64("d", HUGE), NUMBER, node("a", "Fill", "d", "x", T=tf.float32, index_type=tf.int64)],
    "Fill strings": [
        i64("d", HUGE),
        const("t", np.array("x", object)),
        node("a", "Fill", "d", "t", T=tf.string, index_type=tf.int64),
    ],
    "Fill overflow": [
        i64("d", HUGE, HUGE),
        NUMBER,
        node("a", "Fill", "d", "x", T=tf.float32, index_type=tf.int64),
    ],
    "RandomUniform": [
        i64("d", HUGE, 2),
        node("a", "RandomUniform", "d", T=tf.int64, dtype=tf.float32),
    ],
    "TruncatedNormal": [
        i32("d", LARGE, LARGE),
        node("a", "TruncatedNormal", "d", T=tf.int32, dtype=tf.float64),
    ],
    "Range": [
        i64("b", 0),
        node("a", "Range", "zero", "limit", "one", Tidx=tf.int64),
        const("zero", np.int64(0)),
        const("limit", np.int64((1 << 63) - 1)),
        const("one", np.int64(1)),
    ],
    "LinSpace": [
        NUMBER,
        const("n", np.int64(HUGE)),
        node("a", "LinSpace", "x", "x", "n", T=tf.float32, Tidx=tf.int64),
    ],
    "Tile": [VECTOR, i64("d", HUGE), node("a", "Tile", "v", "d", T=tf.float32, Tmultiples=tf.int64)],
    "Tile strings": [
        TEXT,
        i64("d", HUGE),
        node("a", "Tile", "s", "d", T=tf.string, Tmultiples=tf.int64),
    ],
    "Pad": [
        VECTOR,
        const("d", np.array([[HUGE, HUGE]])),
        node("a", "Pad", "v", "d", T=tf.float32, Tpaddings=tf.int64),
    ],
    "PadV2 strings": [
        TEXT,
        const("d", np.array([[HUGE, 0]])),
        const("z", np.array("x", object)),
        node("a", "PadV2", "s", "d", "z", T=tf.string, Tpaddings=tf.int64),
    ],
    "BroadcastTo": [
        NUMBER,
        i64("d", HUGE, 3),
        node("a", "BroadcastTo", "x", "d", T=tf.float32, Tidx=tf.int64),
    ],
    "OneHot": [
        i64("i", 0, 1),
        const("d", np.int32(LARGE)),
        NUMBER,
        node("j", "Tile", "i", "n", T=tf.int64, Tmultiples=tf.int32),
        i32("n", 1 << 20),
        node("a", "OneHot", "j", "d", "x", "x", T=tf.float32, TI=tf.int64, axis=-1),
    ],
    "Empty": [i32("d", LARGE, LARGE, 4), node("a", "Empty", "d", dtype=tf.float32)],
    "ScatterNd": [
        const("i", np.array([[0]])),
        const("u", np.array([1.0], np.float32)),
        i64("d", HUGE),
        node("a", "ScatterNd", "i", "u", "d", T=tf.float32, Tindices=tf.int64),
    ],
    "MatrixDiagV3": [
        VECTOR,
        const("k", np.int32(0)),
        const("n", np.int32(LARGE)),
        NUMBER,
        node("a", "MatrixDiagV3", "v", "k", "n", "n", "x", T=tf.float32),
    ],
    "ResizeBilinear": [
        const("i", np.ones((1, 1, 1, 1), np.float32)),
        i32("d", LARGE, LARGE),
        node("a", "ResizeBilinear", "i", "d", T=tf.float32),
    ],
    "SparseToDense": [
        const("i", np.array([[0]])),
        i64("d", HUGE),
        VECTOR,
        NUMBER,
        node("a", "SparseToDense", "i", "d", "x", "x", T=tf.float32, Tindices=tf.int64),
    ],
    "UnsortedSegmentSum": [
        VECTOR,
        i64("i", 0, 1),
        const("n", np.int64(HUGE)),
        node(
            "a", "UnsortedSegmentSum", "v", "i", "n", T=tf.float32, Tindices=tf.int64,
            Tnumsegments=tf.int64,
        ),
    ],
    "TensorListReserve": [
        i32("d", 2),
        const("n", np.int32(LARGE)),
        node("l", "TensorListReserve", "d", "n", element_dtype=tf.float32, shape_type=tf.int32),
        node("a", "TensorListStack", "l", "d", element_dtype=tf.float32),
    ],
    "broadcast": [
        i64("n", HUGE >> 20, 1),
        i64("k", 1, HUGE >> 20),
        NUMBER,
        node("f", "Fill", "n", "x", T=tf.float32, index_type=tf.int64),
        node("g", "Fill", "k", "x", T=tf.float32, index_type=tf.int64),
        node("a", "AddV2", "f", "g", T=tf.float32),
    ],
    "MatMul": [
        i64("n", HUGE >> 20, 1),
        i64("k", 1, HUGE >> 20),
        NUMBER,
        node("f", "Fill", "n", "x", T=tf.float32, index_type=tf.int64),
        node("g", "Fill", "k", "x", T=tf.float32, index_type=tf.int64),
        node("a", "MatMul", "f", "g", T=tf.float32),
    ],
}


@pytest.mark.parametrize("folded", [True, False])
@pytest.mark.parametrize("op", GIANTS)
def test_results_beyond_any_memory(master, op, folded):
    """Both when the graph is optimised, which computes what is constant, and in the step."""
    nodes = GIANTS[op]
    fed = {}
    if not folded:
        # A constant that is fed is none.
        first = next(each for each in nodes if each.op == "Const")
        tensor = first.attr["value"].tensor
        fed = {"feed": [dict(name=f"{first.name}:0", tensor=tensor)]}
    code, words = run(master, graph(*nodes), "a:0", **fed)
    assert code in (Code.INVALID_ARGUMENT, Code.RESOURCE_EXHAUSTED), (op, code, words)


# --- Keys, handles and names.


def test_handles_of_nobody(worker):
    run_graph = dict(session_handle="nobody", create_worker_session_called=True, graph_handle="none")
    worker.fails(Code.ABORTED, "RunGraph", "nobody", step_id=1, **run_graph)
    worker.fails(Code.ABORTED, "RunGraph", "none", graph_handle="none", step_id=1)
    worker.fails(Code.ABORTED, "DeregisterGraph", "none", graph_handle="none")
    worker.call("DeleteWorkerSession", session_handle="nobody")
    worker.call("CleanupGraph", step_id=-(1 << 63))


@pytest.mark.parametrize(
    "key",
    [
        "",
        ";",
        ";;;;;",
        "a;b;c;d;e",
        "/job:worker/replica:0/task:0/device:CPU:0;0;b;c;0:0",
        "/job:worker/replica:0/task:0/device:CPU:0;xyz;b;c;0:0",
        "/job:worker/replica:0/task:0/device:CPU:99;1;b;c;0:0",
        "/job:worker/replica:0/task:0/device:CPU:0;ffffffffffffffffffff;b;c;0:0",
        "/job:nowhere/replica:0/task:99999999999/device:CPU:0;1;b;c;0:0",
        "x" * 100_000,
        "é;ü;ß;\\0;\\n",
    ],
)
def test_keys_of_nothing(worker, key):
    code, words = worker.send(
        "RecvTensor",
        wire.MESSAGES["RecvTensorRequest"](step_id=7, rendezvous_key=key).SerializeToString(),
    )
    assert code in (Code.INVALID_ARGUMENT, Code.ABORTED), (code, words)
    assert len(words) < 4000


def test_names_without_end(master):
    long = "n" * 1_000_000
    nodes = [const(long, 1.0), node("a", "Neg", long, T=tf.float32)]
    code, words = run(master, graph(*nodes), "a:0")
    assert code == Code.INVALID_ARGUMENT, code
    code, _ = run(master, graph(const("c", 1.0)), long + ":0")
    assert code not in (Code.UNAVAILABLE, Code.UNKNOWN), code


def test_headers_without_end(target, bystander):
    channel = grpc.insecure_channel(target.removeprefix("grpc://"))
    stub = channel.unary_unary("/tensorflow.WorkerService/GetStatus")
    for size in [1 << 10, 1 << 16, 1 << 20]:
        try:
            stub(b"", metadata=[("key", "v" * size)], timeout=20)
        except grpc.RpcError as error:
            assert error.code() != Code.DEADLINE_EXCEEDED
    channel.close()


def test_methods_of_nobody(target, bystander):
    channel = grpc.insecure_channel(target.removeprefix("grpc://"))
    for path in ["/tensorflow.MasterService/NoSuch", "/no.Service/Such", "/", "/a/b/c/d"]:
        with pytest.raises(grpc.RpcError) as raised:
            channel.unary_unary(path)(b"", timeout=20)
        assert raised.value.code() == Code.UNIMPLEMENTED
    channel.close()


# --- Requests that are drawn.


def good_graph():
    """A graph with something of everything."""
    with tf.Graph().as_default() as made:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", initializer=np.ones((3, 2), "f"), use_resource=True)
        r = v1.get_variable("r", initializer=np.ones(2, "f"), use_resource=False)
        y = tf.nn.relu(tf.matmul(x, w) + r)

        @tf.function
        def f(a):
            return tf.while_loop(lambda i, b: i < 3, lambda i, b: (i + 1, b * 2), [0, a])[1]

        z = tf.cond(tf.reduce_sum(y) > 0, lambda: f(y), lambda: -y)
        s = tf.strings.join([tf.as_string(z), tf.constant("a")])
        v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(z)))
        q = v1.FIFOQueue(3, [tf.float32])
        q.enqueue(1.0, name="enqueue")
        tf.gather(tf.reshape(z, [-1]), tf.constant([0, 1]), name="gathered")
        tf.identity(s, name="s")
        v1.global_variables_initializer()
    return made.as_graph_def()


def rounds(count):
    """Numbers of rounds: `count`, or as many as the long run has time for."""
    if not FUZZ_SECONDS:
        yield from range(count)
        return
    end = time.monotonic() + FUZZ_SECONDS
    yield from itertools.takewhile(lambda _: time.monotonic() < end, itertools.count())


# What a server may say to a request that it could not carry out.
LOST = (Code.UNAVAILABLE, Code.UNKNOWN)


def test_changed_graphs(server, master, bystander):
    original = good_graph()
    fetches = ["s:0", "gathered:0", "x:0"]
    for seed in rounds(150):
        mutator = Mutator(seed)
        changed = graph_pb2.GraphDef()
        changed.CopyFrom(original)
        mutator.graph(changed)
        code, words = _session(master, changed.SerializeToString(), fetches, mutator)
        assert code not in LOST and server.exit_code is None, (seed, code, words)
        if seed % 10 == 0:
            bystander.check()


def test_changed_bytes(server, master, worker, bystander):
    original = good_graph().SerializeToString()
    for seed in rounds(150):
        mutator = Mutator(seed)
        data = mutator.data(original)
        code, words = _session(master, data, ["s:0", "gathered:0"], mutator)
        assert code not in LOST and server.exit_code is None, (seed, code, words)
        code, words = worker.send("RegisterGraph", field(2, data))
        assert code not in LOST and server.exit_code is None, (seed, code, words)
        if seed % 10 == 0:
            bystander.check()


def test_changed_steps(server, master, worker, bystander):
    session = master.call("CreateSession", graph_def=good_graph()).session_handle
    init = dict(session_handle=session, target=["init"], timeout=30)
    master.start("RunStep", **init).result()
    feed = dict(name="x:0", tensor=tf.make_tensor_proto(np.ones((2, 3), "f")))
    step = wire.MESSAGES["RunStepRequest"](
        session_handle=session, feed=[feed], fetch=["s:0"], target=["GradientDescent"]
    ).SerializeToString()
    setup = wire.MESSAGES["PartialRunSetupRequest"](
        session_handle=session, feed=["x:0"], fetch=["s:0"]
    ).SerializeToString()
    run_graph = wire.MESSAGES["RunGraphRequest"](
        session_handle=session, create_worker_session_called=True, graph_handle="x", step_id=5
    ).SerializeToString()
    for seed in rounds(150):
        mutator = Mutator(seed)
        for service, method, data in [
            (master, "RunStep", step),
            (master, "PartialRunSetup", setup),
            (master, "MakeCallable", setup),
            (worker, "RunGraph", run_graph),
            (worker, "CreateWorkerSession", run_graph),
        ]:
            code, words = service.send(method, mutator.data(data), timeout=30)
            assert code not in LOST and server.exit_code is None, (seed, method, code, words)
        if seed % 10 == 0:
            bystander.check()


def _session(master, graph_bytes, fetches, mutator):
    """Makes a session of a graph's bytes and runs some steps in it."""
    stub = master.channel.unary_unary(
        "/tensorflow.MasterService/CreateSession",
        response_deserializer=wire.MESSAGES["CreateSessionResponse"].FromString,
    )
    try:
        session = stub(field(1, graph_bytes), timeout=30).session_handle
    except grpc.RpcError as error:
        return error.code(), error.details()
    step = dict(session_handle=session, timeout=5)
    values = tf.make_tensor_proto(np.ones((2, 3), "f"))
    feed = [dict(name="x:0", tensor=values)]
    worst = (Code.OK, "")
    for run in [dict(target=["init"]), *(dict(fetch=[fetch], feed=feed) for fetch in fetches)]:
        error = master.start("RunStep", **step, **run).exception()
        if error is not None and error.code() in LOST:
            worst = (error.code(), error.details())
    master.call("CloseSession", session_handle=session)
    return worst
