"""What TensorFlow 2 clients leave behind: nothing, whether they end well or are killed.

`TENSORFLEET_SOAK=10` does ten times as much.
"""

import gc
import subprocess
import sys

import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensorflow_server_pb2

from conformance.rig import graphs, servers, tf2, wire
from conformance.test_soak import FACTOR, eventually, memory, open_files

pytestmark = pytest.mark.ours("measures our server")
CLOSURES, FUNCTIONS = 1000 * FACTOR, 100 * FACTOR
CONTEXTS, KILLED = 100 * FACTOR, 20 * FACTOR

# Allocators keep a little. A leak of some dozen kilobytes for each closure is more.
SLACK_BYTES = 48 << 20


def held(target):
    """How much the contexts of each task hold, and how many steps are open."""
    kinds = ["tensors", "functions", "components"]

    def of(task):
        counts = [sum(context[kind] for context in task["contexts"]) for kind in kinds]
        return [len(task["contexts"]), task["open_steps"], *counts]

    return {name: of(task) for name, task in servers.status(target).items()}


def closures(jobs):
    """Does as much as it is told to, line by line."""
    strategy = tf2.strategy(jobs)
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    with strategy.scope():
        variables = [tf.Variable(tf.zeros([8, 8])) for _ in range(3)]

    @tf.function
    def step(amount):
        for variable in variables:
            variable.assign_add(tf.ones([8, 8]) * amount)
        return tf.add_n([variable.read_value() for variable in variables])

    for line in sys.stdin:
        num_closures, num_functions = map(int, line.split())
        for _ in range(num_closures):
            coordinator.schedule(step, args=(tf.constant(1.0),))
        coordinator.join()
        for number in range(num_functions):
            traced = tf.function(lambda by: variables[number % 3] * by)
            assert coordinator.schedule(traced, args=(tf.constant(0.0),)).fetch().shape == (8, 8)
            del traced
            gc.collect()
        gc.collect()
        print("did", num_closures, num_functions, flush=True)


def does(process, num_closures, num_functions):
    process.stdin.write(f"{num_closures} {num_functions}\n")
    process.stdin.flush()
    lines = []
    for line in process.stdout:
        if line.startswith("did"):
            return
        lines.append(line)
    raise AssertionError("the program ended:\n" + "".join(lines))


def test_closures_and_functions(cluster):
    tasks = cluster(num_workers=2, num_ps=2)
    process = tf2.start(closures, tasks)
    does(process, 200, 20)
    before = held(tasks.target())
    resources = {task: (memory(task), open_files(task)) for task in tasks.tasks()}
    does(process, CLOSURES, FUNCTIONS)
    # The client is late with letting go of the last handles and functions, before and after.
    few = 8

    def is_as_before():
        now = held(tasks.target())
        pairs = [(new, old) for name in now for new, old in zip(now[name], before[name])]
        return all(new <= old + few for new, old in pairs)

    eventually(is_as_before)
    for task, (bytes_before, files_before) in resources.items():
        eventually(lambda: open_files(task) <= files_before + 2)
        grown = memory(task) - bytes_before
        assert grown < SLACK_BYTES, f"{task} grew by {grown >> 10} KiB"
    process.kill()
    process.wait()


class Clients:
    """Clients of one task, message by message."""

    def __init__(self, server):
        self.server, self.target = server, server.target
        self.eager = wire.Service(server.target, "eager.EagerService")
        self.devices = wire.Service(server.target, "WorkerService").call("GetStatus").device_attributes

    def creation(self, id, seconds):
        server_def = tensorflow_server_pb2.ServerDef(job_name="worker", protocol="grpc")
        server_def.cluster.job.add(name="worker").tasks[0] = self.target.removeprefix("grpc://")
        return dict(
            server_def=server_def,
            keep_alive_secs=seconds,
            context_id=id,
            cluster_device_attributes=self.devices,
        )

    def items(self, id):
        """A function, and a tensor that stays."""
        function = graphs.function("f", graphs.node("y", "Neg", "x", T=tf.float32), result="y:y:0")
        tensor = wire.MESSAGES["SendTensorOp"](
            op_id=7, tensors=[tf.make_tensor_proto([1.0] * 1000)], device_name=self.devices[0].name
        )
        items = [
            dict(register_function=wire.MESSAGES["RegisterFunctionOp"](function_def=function)),
            dict(send_tensor=tensor),
        ]
        queue = [wire.MESSAGES["QueueItem"](**item) for item in items]
        return dict(context_id=id, queue=queue)

    def waiting(self, id):
        """A receive of what nobody sends."""
        device = self.devices[0]
        attrs = {
            "tensor_type": dict(type=1),
            "tensor_name": dict(s=b"never"),
            "send_device": dict(s=device.name.encode()),
            "recv_device": dict(s=device.name.encode()),
            "send_device_incarnation": dict(i=1),
            "client_terminated": dict(b=False),
        }
        attrs = [
            wire.MESSAGES["OperationAttr"](key=key, value=tf.compat.v1.AttrValue(**value))
            for key, value in attrs.items()
        ]
        operation = wire.MESSAGES["Operation"](id=9, name="_Recv", attrs=attrs, device=device.name)
        return dict(context_id=id, queue=[wire.MESSAGES["QueueItem"](operation=operation)])

    def contexts(self):
        (task,) = servers.status(self.target).values()
        return len(task["contexts"])


@pytest.fixture
def clients(cluster):
    clients = Clients(cluster(num_workers=1, num_ps=0).task("worker"))
    yield clients
    clients.eager.close()


def test_contexts_that_are_closed_and_dropped(clients):
    """Half of the clients close their contexts; the leases of the others run out."""

    def churn(first, count):
        for id in range(first, first + count):
            clients.eager.call("CreateContext", **clients.creation(id, seconds=1))
            clients.eager.call("Enqueue", **clients.items(id))
            if id % 2:
                clients.eager.call("CloseContext", context_id=id, context_view_id=0)
        eventually(lambda: clients.contexts() == 0)

    churn(1, CONTEXTS // 10)
    before, files = memory(clients.server), open_files(clients.server)
    churn(10_000, CONTEXTS)
    assert memory(clients.server) - before < SLACK_BYTES
    assert open_files(clients.server) <= files + 2


# Many clients in one process, each with a connection of its own, that all wait.
KILLED_CLIENTS = """
import sys
import grpc
options = [("grpc.use_local_subchannel_pool", 1)]
calls = []
for line in sys.stdin:
    channel = grpc.insecure_channel(sys.argv[1], options=options)
    for method, request in zip(["CreateContext", "Enqueue", "Enqueue"], line.split()):
        call = channel.unary_unary("/tensorflow.eager.EagerService/" + method)
        calls.append((channel, call.future(bytes.fromhex(request))))
        if len(calls) % 3:
            calls[-1][1].result()
print("waiting", flush=True)
calls[-1][1].result()
"""


def test_clients_that_are_killed(clients):
    def kill(first, count):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED_CLIENTS, clients.target.removeprefix("grpc://")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for id in range(first, first + count):
            requests = [
                wire.MESSAGES["CreateContextRequest"](**clients.creation(id, seconds=1)),
                wire.MESSAGES["EnqueueRequest"](**clients.items(id)),
                wire.MESSAGES["EnqueueRequest"](**clients.waiting(id)),
            ]
            process.stdin.write(" ".join(each.SerializeToString().hex() for each in requests) + "\n")
        process.stdin.close()
        assert process.stdout.readline() == "waiting\n"
        # A context whose client waits is not given up, however short its lease.
        assert clients.contexts() == count
        process.kill()
        process.wait()
        process.stdout.close()
        eventually(lambda: clients.contexts() == 0)

    kill(1, 5)
    before, files = memory(clients.server), open_files(clients.server)
    kill(1000, KILLED)
    eventually(lambda: open_files(clients.server) <= files + 2)
    assert memory(clients.server) - before < SLACK_BYTES
    (task,) = servers.status(clients.target).values()
    assert task["open_steps"] == 0
    assert task["work"]["eager"]["running"] == 0, task["work"]
