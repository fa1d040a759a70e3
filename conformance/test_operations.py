"""What an operator sees of a server, and how it ends, with TensorFlow's client at work."""

import json
import os
import pty
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
    tasks = servers.status(target).values()
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


def test_a_status_tells_what_steps_wait_for_and_what_variables_hold(all_servers):
    server = all_servers.start_single("tensorfleet")
    queue = tf.queue.FIFOQueue(3, [tf.int32], shapes=[[]], shared_name="q", name="numbers")
    value, enqueue = queue.dequeue(name="take"), queue.enqueue(42)
    weights = v1.get_variable("weights", [10, 4], use_resource=True)
    with v1.Session(server.target) as session:
        session.run(weights.initializer)
        session.run(weights.assign_add(tf.ones([10, 4])).op)
        blocked = Step(session, value)
        until(lambda: any(step["waits"] for step in status(server.target)["steps"]))
        seen = status(server.target)
        [(step, wait)] = [(step, wait) for step in seen["steps"] for wait in step["waits"]]
        assert (wait["node"], wait["op"]) == ("take", "QueueDequeueV2")
        assert (wait["for"], wait["what"]) == ("resource", "numbers")
        assert 0 <= wait["seconds"] <= step["seconds"]
        assert [session["handle"] for session in seen["sessions"]] == [step["session"]]
        assert ":" in seen["sessions"][0]["client"]
        resources = {resource["name"]: resource for resource in seen["top_resources"]}
        assert resources["q"]["kind"] == "queues"
        assert [resources["q"][field] for field in ("entries", "capacity", "waiting")] == [0, 3, 1]
        assert resources["weights"]["kind"] == "variables"
        assert [resources["weights"][field] for field in ("dtype", "shape", "bytes")] == ["float", "[10,4]", 160]
        assert resources["weights"]["updates"] == 2
        assert seen["memory"]["variables"] >= 160
        session.run(enqueue)
        blocked.join(SECONDS)
        assert blocked.value == 42
        until(lambda: status(server.target)["steps"] == [])
    until(lambda: status(server.target)["sessions"] == [])
    kinds = [event["kind"] for event in status(server.target)["events"]]
    assert kinds == ["session_opened", "session_closed"]
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


def command(*arguments, env=None):
    """Runs a command to its end."""
    binary = servers.tensorfleet_binary()
    variables = {name: text for name, text in os.environ.items() if not name.lower().endswith("_proxy")}
    return subprocess.run(
        [binary, *map(str, arguments)], capture_output=True, timeout=SECONDS, text=True, env={**variables, **(env or {})}
    )


def findings(*arguments, env=None):
    """The exit code of a check, and what is not fine, as (level, what)."""
    done = command("check", "-o", "json", *arguments, env=env)
    found = json.loads(done.stdout)
    bad = [finding for finding in found if finding["level"] != "fine"]
    assert all(finding["cause"] and finding["remedy"] for finding in bad)
    return done.returncode, [(finding["level"], finding["what"]) for finding in bad]


def test_a_check_finds_nothing_where_nothing_is_wrong(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=1)
    assert findings(tasks.target(), "--path", tmp_path) == (0, [])
    text = command("check", tasks.target(), "--path", tmp_path).stdout
    assert f"{tmp_path} is one directory for ps/0, worker/0" in text
    assert "2 ways from task to task are open" in text
    assert "nothing is in the way" in text


def test_a_check_tells_what_is_wrong_and_why(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=1)
    code, found = findings(tasks.target(), "--path", tmp_path / "missing", env={"http_proxy": "http://proxy:1"})
    assert code == 1
    assert found[0] == ("warning", "http_proxy is set here")
    assert [what.split(":")[0] for _, what in found[1:]] == [
        f"{task} has no {tmp_path / 'missing'}" for task in ("ps/0", "worker/0")
    ]
    tasks.task("ps").kill()
    code, found = findings(tasks.target())
    assert code == 1
    assert [level for level, _ in found] == ["error", "error"]
    assert found[0][1].startswith("ps/0 does not answer")
    assert found[1][1].startswith("worker/0 cannot reach ps/0")
    # Another cluster than the one that it was started with.
    address = tasks.target().removeprefix("grpc://")
    code, found = findings("--cluster", json.dumps({"worker": [address], "chief": ["localhost:1"]}))
    assert code == 1
    [different] = [what for _, what in found if "another cluster" in what]
    assert "it lacks chief/0" in different and "ps/0 is in it alone" in different


def test_top_prints_once_where_there_is_no_terminal(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    queue = tf.queue.FIFOQueue(1, [tf.int32], shapes=[[]], shared_name="tokens", name="tokens")
    with tf.device("/job:ps/task:0"):
        value = queue.dequeue(name="take")
    with v1.Session(tasks.target()) as session:
        blocked = Step(session, value)
        until(lambda: "WHO WAITS" in command("top", tasks.target(), "--interval=0.2").stdout)
        done = command("top", tasks.target(), "--interval=0.2")
        assert done.returncode == 0
        assert "2 tasks   0 steps/s" in done.stdout
        assert "waits for an element of the queue tokens" in done.stdout
        session.run(queue.enqueue(1))
        blocked.join(SECONDS)


def test_top_draws_on_a_terminal_and_leaves_it_as_it_was(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    theirs, ours = pty.openpty()
    process = subprocess.Popen(
        [servers.tensorfleet_binary(), "top", tasks.target(), "--interval=0.2"],
        stdin=ours, stdout=ours, stderr=ours, env={**os.environ, "TERM": "screen", "NO_COLOR": ""},
    )
    os.close(ours)
    seen = b""
    while seen.count(b"worker/0") < 3:
        seen += os.read(theirs, 65536)
    assert seen.startswith(b"\x1b[?1049h\x1b[?25l")
    assert b"ps/0" in seen and b"STEPS/S" in seen
    tasks.task("ps").kill()
    while b"do not answer" not in seen or b"\x1b[31m" not in seen:
        seen += os.read(theirs, 65536)
    os.write(theirs, b"q")
    end = b""
    while b"\x1b[?1049l" not in end:
        end += os.read(theirs, 65536)
    # A task does not answer.
    assert process.wait(SECONDS) == 1
    assert b"\x1b[?25h" in end
    os.close(theirs)


def test_steps_are_recorded_on_all_tasks(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        weights = v1.get_variable("weights", [4, 4], use_resource=True)
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(weights, tf.ones([4, 4]), name="product")
    path = tmp_path / "trace.json"
    with v1.Session(tasks.target()) as session:
        session.run(weights.initializer)
        binary = servers.tensorfleet_binary()
        arguments = [binary, "trace", tasks.target(), "--steps=3", "-o", path]
        recording = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        while recording.poll() is None:
            session.run(product)
        assert recording.returncode == 0
        assert "3 steps" in recording.stdout.read()
        # A record leaves nothing behind: the next one is a new one.
        assert "no step ran" in command("trace", tasks.target(), "--timeout=1", "-o", path).stderr
    events = json.loads(path.read_text())["traceEvents"]
    processes = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    assert sorted(processes.values()) == ["ps/0", "worker/0"]
    ran = [(processes[event["pid"]], event["name"]) for event in events if event["ph"] == "X"]
    assert ("worker/0", "MatMul") in ran and ("ps/0", "ReadVariableOp") in ran
    bars = [event for event in events if event.get("cat") == "step"]
    assert len({event["name"] for event in bars}) == 3
    arrows = [event for event in events if event.get("cat") == "tensor"]
    assert {processes[event["pid"]] for event in arrows if event["ph"] == "f"} == {"worker/0"}


def test_a_graph_is_drawn_as_it_is_placed(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        weights = v1.get_variable("weights", [4, 4], use_resource=True)
    with tf.device("/job:worker/task:0"):
        product = tf.matmul(weights, tf.ones([4, 4]), name="product")
    assert "no session is open" in command("graph", tasks.target()).stderr
    with v1.Session(tasks.target()) as session:
        session.run(weights.initializer)
        session.run(product)
        listed = command("graph", tasks.target()).stdout
        [number] = [line.split()[0] for line in listed.splitlines() if "product:0" in line]
        drawn = command("graph", tasks.target(), f"--step={number}").stdout
        assert 'label="ps/0 CPU:0"' in drawn and 'label="worker/0 CPU:0"' in drawn
        assert "product\\nMatMul" in drawn and "color=red" in drawn
        path = tmp_path / "step.svg"
        assert command("graph", tasks.target(), f"--step={number}", "-o", "svg", "--file", path).returncode == 0
        assert path.read_text().startswith("<svg") and "MatMul" in path.read_text()
        assert "kinds of steps" in command("graph", tasks.target(), "--step=99").stderr


def test_a_profile_tells_where_time_goes(cluster, tmp_path):
    tasks = cluster(num_workers=1, num_ps=0)
    with tf.name_scope("tower"):
        product = tf.matmul(tf.random.normal([300, 300]), tf.random.normal([300, 300]))
    path = tmp_path / "profile.svg"
    with v1.Session(tasks.target()) as session:
        session.run(product)
        arguments = [servers.tensorfleet_binary(), "profile", tasks.target(), "--seconds=1", "-o", path]
        recording = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        while recording.poll() is None:
            session.run(product)
        shown = recording.stdout.read()
    assert recording.returncode == 0
    [line] = [line for line in shown.splitlines() if "MatMul" in line]
    assert line.startswith("worker/0") and line.endswith("%")
    assert "<title>tower " in path.read_text() and "<title>MatMul " in path.read_text()


# Incidents that an operator has to understand: the cause is on one screen, or in one line of the log.


def top(target):
    return command("top", target, "--interval=0.1").stdout


def test_queues_that_wait_for_each_other_are_on_one_screen(cluster):
    tasks = cluster(num_workers=2, num_ps=1)
    with tf.device("/job:ps/task:0"):
        one, other = (tf.queue.FIFOQueue(1, [tf.int32], shapes=[[]], shared_name=name, name=name) for name in "ab")
        first = other.enqueue(one.dequeue(name="take_a"))
        second = one.enqueue(other.dequeue(name="take_b"))
    with v1.Session(tasks.target(index=0)) as left, v1.Session(tasks.target(index=1)) as right:
        steps = [Step(left, first), Step(right, second)]
        until(lambda: "take_a" in (seen := top(tasks.target())) and "take_b" in seen)
        seen = top(tasks.target())
        assert "ps/0 waits for an element of the queue a since" in seen
        assert "ps/0 waits for an element of the queue b since" in seen
        left.run(one.enqueue(1))
        for step in steps:
            step.join(SECONDS)


def test_a_hot_variable_is_on_one_screen(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    with tf.device("/job:ps/task:0"):
        cold, hot = (v1.get_variable(name, [4], use_resource=True) for name in ("cold", "hot"))
    with v1.Session(tasks.target()) as session:
        session.run([cold.initializer, hot.initializer])
        grow = hot.assign_add(tf.ones([4])).op
        looking = subprocess.Popen(
            [servers.tensorfleet_binary(), "top", tasks.target(), "--interval=0.5"], stdout=subprocess.PIPE, text=True
        )
        while looking.poll() is None:
            session.run(grow)
        lines = looking.stdout.read().splitlines()
    [heading] = [number for number, line in enumerate(lines) if line.startswith("VARIABLE")]
    assert lines[heading + 1].split()[:2] == ["hot", "ps/0"]
    assert not any(line.startswith("cold") for line in lines)


def test_a_feed_that_grew_is_in_the_line_of_the_slow_step(cluster):
    tasks = cluster(num_workers=1, num_ps=0, env={"TENSORFLEET_SLOW_STEP": "0"})
    fed = v1.placeholder(tf.float32, [None])
    total = tf.reduce_sum(fed)
    with v1.Session(tasks.target()) as session:
        session.run(total, {fed: [1.0]})
        session.run(total, {fed: [1.0] * 3_000_000})
    slow = [line for line in tasks.task("worker").log().splitlines() if "slow: step" in line]
    assert "fed with" not in slow[0]
    assert "fed with 12 MB, took" in slow[1]


def test_a_task_of_another_cluster_is_named(cluster):
    tasks = cluster(num_workers=1, num_ps=1)
    address = tasks.target("ps").removeprefix("grpc://")
    mine = {"worker": ["127.0.0.1:0"], "ps": ["127.0.0.1:1", address]}
    other = subprocess.Popen(
        [servers.tensorfleet_binary(), "serve", "--cluster", json.dumps(mine), "--job_name=worker", "--exit_with_parent"],
        stdout=subprocess.PIPE, text=True,
    )
    try:
        target = other.stdout.readline().strip()
        _, found = findings(target)
        assert ("error", f"ps/0 answers at {address}, the address of ps/1") in found
        assert ("error", f"worker/0 finds ps/0 at {address}, where ps/1 should be") in found
    finally:
        other.kill()
        other.wait(SECONDS)
