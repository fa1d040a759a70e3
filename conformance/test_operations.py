"""What an operator sees of a server, and how it ends, with TensorFlow's client at work."""

import json
import signal
import subprocess
import threading

import pytest
import tensorflow as tf
import tensorflow.compat.v1 as v1

from conformance.rig import servers

pytestmark = pytest.mark.ours("TensorFlow's server has no status and does not drain")

SECONDS = 60


def status(target):
    """The status of the task at a target."""
    command = [servers.tensorfleet_binary(), "status", "-o", "json", target]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=SECONDS, text=True)
    tasks = json.loads(done.stdout)
    return next(task for task in tasks if target.endswith(task["address"]))


def until(condition):
    """Waits for a condition that a server will come to; the time limit of the test bounds it."""
    while not condition():
        pass


class Step(threading.Thread):
    """A step on a thread of its own, and what came of it."""

    def __init__(self, session, fetch):
        super().__init__(daemon=True)
        self.session, self.fetch, self.value, self.error = session, fetch, None, None
        self.start()

    def run(self):
        try:
            self.value = self.session.run(self.fetch)
        except tf.errors.OpError as error:
            self.error = error


def test_a_status_tells_of_sessions_and_failures(all_servers):
    server = all_servers.start_single("tensorfleet")
    with tf.device("/job:worker/task:0"):
        wrong = tf.debugging.check_numerics(tf.constant(1.0) / v1.placeholder_with_default(0.0, []), "no")
    with v1.Session(server.target) as session:
        session.run(tf.constant(1.0))
        for _ in range(3):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(wrong)
        seen = status(server.target)
        assert seen["state"] == "serving"
        assert [session["steps"] for session in seen["sessions"]] == [4]
        assert seen["work"]["step"]["done"] == 4
        assert seen["errors"] == {"INVALID_ARGUMENT": 3}
    assert status(server.target)["sessions"] == []
    log = server.log()
    assert "opened session" in log
    assert "closed session" in log and "and 4 steps" in log
    # One line of three: the others came within the same second.
    failures = [line for line in log.splitlines() if "failed: INVALID_ARGUMENT" in line]
    assert 1 <= len(failures) <= 3
    assert "node" in failures[0]
    server.kill()


def test_a_server_that_is_told_to_stop_refuses_steps_and_tells_those_under_way(all_servers):
    server = all_servers.start_single("tensorfleet")
    queue = tf.queue.FIFOQueue(1, [tf.int32], shapes=[[]], shared_name="q")
    value, enqueue = queue.dequeue(), queue.enqueue(42)
    # Without a limit, TensorFlow's client never ends closing a session of a server that is gone.
    session = v1.Session(server.target, config=v1.ConfigProto(operation_timeout_in_ms=10000))
    blocked = Step(session, value)
    until(lambda: status(server.target)["work"]["step"]["running"] == 1)
    server.signal(signal.SIGTERM)
    until(lambda: status(server.target)["state"] == "draining")
    refused = Step(session, enqueue)
    until(lambda: status(server.target)["errors"].get("UNAVAILABLE", 0) > 0)
    # A second signal does not wait for the time of grace.
    server.signal(signal.SIGTERM)
    assert server.wait() == 0
    # It hears at once that its step is over, and need not try again.
    blocked.join(SECONDS)
    assert isinstance(blocked.error, tf.errors.AbortedError)
    assert "has stopped" in blocked.error.message
    refused.join(SECONDS)
    assert isinstance(refused.error, (tf.errors.UnavailableError, tf.errors.DeadlineExceededError))
    with pytest.raises((tf.errors.UnavailableError, tf.errors.DeadlineExceededError)):
        session.close()


def test_a_task_is_stopped_from_its_own_machine(all_servers):
    server = all_servers.start_single("tensorfleet")
    binary = servers.tensorfleet_binary()
    subprocess.run([binary, "drain", server.target], check=True, timeout=SECONDS)
    with pytest.raises(tf.errors.UnavailableError, match="draining"):
        v1.Session(server.target, config=v1.ConfigProto(operation_timeout_in_ms=5000)).run(tf.constant(1))
    assert status(server.target)["state"] == "draining"
    subprocess.run([binary, "stop", server.target], check=True, timeout=SECONDS)
    assert server.wait() == 0


def test_tensorflows_servers_are_told_apart(all_servers):
    theirs = all_servers.start_single("tensorflow")
    command = [servers.tensorfleet_binary(), "stop", theirs.target]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, text=True)
    assert done.returncode == 1
    assert "is not tensorfleet's" in done.stderr
    theirs.kill()
