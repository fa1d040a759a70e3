"""What comes and goes leaves nothing behind: sessions, steps, failures, clients.

`TENSORFLEET_SOAK=10` does ten times as much.
"""

import os
import signal
import subprocess
import sys
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf

from conformance.rig import wire
from conformance.rig.servers import ROOT

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("measures our server")
FACTOR = int(os.environ.get("TENSORFLEET_SOAK", 1))
SESSIONS, STEPS, FAILURES = 1000 * FACTOR, 10_000 * FACTOR, 1000 * FACTOR

# Allocators keep a little, and servers remember the numbers of recent requests. A leak of a few
# kilobytes for each step, or a few dozen for each session, is more.
SLACK_BYTES = 48 << 20


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
    churn(master, graph_def, SESSIONS // 10, STEPS // 10, FAILURES // 10)
    before = {task: (memory(task), open_files(task)) for task in tasks.tasks()}
    churn(master, graph_def, SESSIONS, STEPS, FAILURES)
    for task, (bytes_before, files_before) in before.items():
        eventually(lambda: open_files(task) <= files_before + 2)
        grown = memory(task) - bytes_before
        assert grown < SLACK_BYTES, f"{task} grew by {grown >> 10} KiB"


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
    files = {task: open_files(task) for task in tasks.tasks()}
    request = wire.MESSAGES["RunStepRequest"](session_handle=session, fetch=["waits:0"])
    address = tasks.target().removeprefix("grpc://")
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, address, request.SerializeToString().hex()],
        stdout=subprocess.PIPE,
        cwd=ROOT,
        text=True,
    )
    try:
        assert client.stdout.readline() == "running\n"
        ahead = tasks.task("worker")
        eventually(lambda: open_files(ahead) > files[ahead])
    finally:
        client.send_signal(signal.SIGKILL)
        client.wait(30)
    eventually(lambda: all(open_files(task) <= files[task] + 1 for task in tasks.tasks()))
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

    def burst(first):
        for number in range(first, first + 5000):
            question = {"step_id": number, "rendezvous_key": key.replace("edge", big)}
            worker.start("RecvTensor", **question).cancel()
        worker.call("GetStatus")

    # A burst has up to 50 MB under way at once; what is left of the next ones is what counts.
    burst(1)
    before = memory(task)
    for turn in range(1, 6):
        burst(1 + turn * 5000)
    grown = memory(task) - before
    assert grown < 80 << 20, f"grew by {grown >> 10} KiB"
    worker.close()
