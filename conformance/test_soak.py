"""What comes and goes leaves nothing behind: sessions, steps, failures, clients.

`TENSORFLEET_SOAK=10` does ten times as much.
"""

import itertools
import os
import signal
import subprocess
import sys
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import servers, wire

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("measures our server")
FACTOR = int(os.environ.get("TENSORFLEET_SOAK", 1))
SESSIONS, STEPS, FAILURES = 500 * FACTOR, 5000 * FACTOR, 500 * FACTOR

# A leak makes a task grow in every round. Allocators and tables that grow once do not: they find
# their size after a round or two, later on some machines than on others.
ROUNDS = 5


def memory(server):
    with open(f"/proc/{server.pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files(server):
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def eventually(check, seconds=30):
    """Waits until something holds; what is released late is released all the same."""
    end = time.monotonic() + seconds
    while not check() and time.monotonic() < end:
        time.sleep(0.05)
    assert check()


def settles(tasks, load, slack):
    """Puts a load on tasks, round by round, until none grows by more than a slack any more."""
    growing = {task: [] for task in tasks}
    for _ in range(ROUNDS):
        before = {task: memory(task) for task in growing}
        load()
        for task, grown in growing.items():
            grown.append(memory(task) - before[task])
        growing = {task: grown for task, grown in growing.items() if grown[-1] >= slack}
        if not growing:
            return
    pytest.fail(f"bytes that tasks grew by in each round: {growing}")


@pytest.fixture
def tasks(cluster):
    return cluster(num_workers=2, num_ps=2)


@pytest.fixture
def master(tasks):
    master = wire.Service(tasks.target(), "MasterService")
    yield master
    master.close()


def graph_over_all_tasks():
    """A graph whose steps cross tasks, one of which fails."""
    with tf.Graph().as_default() as graph:
        at = v1.placeholder_with_default(np.int32(0), [], name="at")
        with tf.device("/job:ps/task:0"):
            v = v1.get_variable("v", initializer=np.ones(1000, "f"), use_resource=True)
            part = tf.gather(v, [at], name="part")
        with tf.device("/job:ps/task:1"):
            doubled = part * 2.0
            queue = v1.FIFOQueue(1, [tf.float32], shared_name="empty")
            queue.dequeue(name="waits")
        with tf.device("/job:worker/task:1"):
            tf.identity(doubled + 1.0, name="result")
        tf.group(v.initializer, name="init")
    return graph.as_graph_def()


def open_steps(tasks):
    return sum(task["open_steps"] for task in servers.status(tasks.target()).values())


# So many calls are under way at once.
BATCH = 50


def churn(master, graph_def, sessions, steps, failures):
    """Opens sessions in batches, each with its share of steps and failures."""
    bad = [dict(name="at:0", tensor=tf.make_tensor_proto(np.int32(5000)))]
    for first in range(0, sessions, BATCH):
        count = min(BATCH, sessions - first)
        opened = [master.start("CreateSession", graph_def=graph_def) for _ in range(count)]
        handles = [call.result().session_handle for call in opened]
        if first == 0:
            master.call("RunStep", session_handle=handles[0], target=["init"])
        for _ in range(steps // sessions):
            good = [
                master.start("RunStep", session_handle=handle, fetch=["result:0"])
                for handle in handles
            ]
            for step in good:
                assert tf.make_ndarray(step.result().tensor[0].tensor) == [3.0]
        for _ in range(failures // sessions):
            failing = [
                master.start("RunStep", session_handle=handle, fetch=["result:0"], feed=bad)
                for handle in handles
            ]
            for step in failing:
                assert step.exception().code() == grpc.StatusCode.INVALID_ARGUMENT
        for call in [master.start("CloseSession", session_handle=handle) for handle in handles]:
            call.result()


def test_nothing_is_left_of_sessions_and_steps(tasks, master):
    graph_def = graph_over_all_tasks()
    churn(master, graph_def, SESSIONS // 5, STEPS // 5, FAILURES // 5)
    files = {task: open_files(task) for task in tasks.tasks()}
    load = lambda: churn(master, graph_def, SESSIONS, STEPS, FAILURES)
    # Less than a leak of a few kilobytes for each step, or of a few dozen for each session.
    settles(tasks.tasks(), load, FACTOR * 24 << 20)
    for task, files_before in files.items():
        eventually(lambda: open_files(task) <= files_before + 2)


CLIENT = """
import sys
import grpc
channel = grpc.insecure_channel(sys.argv[1])
call = channel.unary_unary("/tensorflow.MasterService/RunStep")
future = call.future(bytes.fromhex(sys.argv[2]))
print("running", flush=True)
future.result()
"""


def test_the_step_of_a_client_that_is_killed_is_cancelled(tasks, master):
    session = master.call("CreateSession", graph_def=graph_over_all_tasks()).session_handle
    request = wire.MESSAGES["RunStepRequest"](session_handle=session, fetch=["waits:0"])
    address = tasks.target().removeprefix("grpc://")
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, address, request.SerializeToString().hex()],
        stdout=subprocess.PIPE,
        cwd=servers.ROOT,
        text=True,
    )

    def takers():
        queues = servers.status(tasks.target())["/job:ps/replica:0/task:1"]["top_resources"]
        return sum(queue["waiting"] for queue in queues if queue["name"] == "empty")

    try:
        assert client.stdout.readline() == "running\n"
        eventually(lambda: takers() == 1)
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait(30)
    eventually(lambda: takers() == 0 and open_steps(tasks) == 0)
    # The dequeue that waited takes nothing any more: what comes now is for somebody else.
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:1"):
            queue = v1.FIFOQueue(1, [tf.float32], shared_name="empty")
            put, take = queue.enqueue(7.0), queue.dequeue()
        with v1.Session(tasks.target()) as other:
            other.run(put)
            assert other.run(take, options=v1.RunOptions(timeout_in_ms=20_000)) == 7.0
    master.call("CloseSession", session_handle=session)


def test_a_tensor_that_is_asked_for_too_late_is_not_waited_for(tasks):
    """Many questions for steps that are over; each ends with its caller."""
    worker = wire.Service(tasks.target("ps"), "WorkerService")
    task = tasks.task("ps")
    devices = worker.call("GetStatus").device_attributes
    key = f"{devices[0].name};{devices[0].incarnation:x};{devices[0].name};edge;0:0"
    big = "x" * 10_000
    numbers = itertools.count(1)

    def burst():
        for number in itertools.islice(numbers, 5000):
            question = {"step_id": number, "rendezvous_key": key.replace("edge", big)}
            worker.start("RecvTensor", **question).cancel()
        worker.call("GetStatus")
        eventually(lambda: open_steps(tasks) == 0)

    # Half of what the questions of a burst have in them.
    settles([task], burst, 25 << 20)
    worker.close()
