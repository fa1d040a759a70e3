"""Servers without TensorFlow: what they take, what they refuse, how they end."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading

import pytest
import tensorfleet
from tensorfleet import Server, create_local_cluster, errors


def test_a_server_tells_where_it_is_and_what_it_was_told():
    cluster = {"ps": ["localhost:0"], "worker": {3: "localhost:0"}}
    with Server(cluster, job_name="worker", task_index=3) as server:
        assert server.target.startswith("grpc://localhost:")
        if "tensorflow" not in sys.modules:
            assert server.server_def == {
                "cluster": {"ps": {0: "localhost:0"}, "worker": {3: "localhost:0"}},
                "job_name": "worker",
                "task_index": 3,
                "protocol": "grpc",
            }


def test_what_is_clear_need_not_be_said():
    with Server({"worker": ["localhost:0"]}) as server:
        assert server.target


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        (("grpc://localhost:1",), TypeError, "Could not convert `server_or_cluster_def`"),
        ((None,), TypeError, "Could not convert `server_or_cluster_def`"),
        (({"worker": "localhost:0"},), TypeError, "must be a list or dictionary"),
        (({"worker": [3]},), TypeError, "an address must be a string"),
        (({"a": ["localhost:0"], "b": []},), ValueError, "explicit `job_name`"),
        (({"a": ["localhost:0", "localhost:0"]},), ValueError, "explicit `task_index`"),
        (({"a": ["localhost:0"]}, "b"), ValueError, "No such job in cluster: 'b'"),
        (({"a": ["localhost:0"]}, "b", 0), errors.InvalidArgumentError, "no job `b`"),
        (({"a": ["localhost:0"]}, "a", 1), errors.InvalidArgumentError, "no task 1"),
        (({"a": ["localhost:0"]}, "a", "0"), TypeError, "`task_index` must be of type int"),
        (({"a": ["localhost:0"]}, "a", -1), errors.InvalidArgumentError, "task -1"),
        (({"a": ["localhost:0"]}, "a", 0, "http"), errors.InvalidArgumentError, "`http`"),
        (({"a": ["localhost:0"]}, "a", 0, "grpc+verbs"), errors.UnimplementedError, "verbs"),
        (({"a": ["localhost:0"]}, "a", 0, None, 3), TypeError, "`config` must be"),
        (({"a": ["localhost:0"]}, "a", 0, None, {"gpus": 1}), ValueError, "no field 'gpus'"),
    ],
)
def test_bad_input_is_refused(arguments, kind, words):
    with pytest.raises(kind, match=words):
        Server(*arguments)


def test_a_taken_port_is_said():
    with Server.create_local_server() as server:
        with pytest.raises(errors.UnknownError, match="is taken"):
            Server({"worker": [server.target.removeprefix("grpc://")]})


def test_a_cluster_has_the_tasks_that_were_asked_for():
    workers, ps = create_local_cluster(2, 1, worker_config={"device_count": {"CPU": 2}})
    assert (len(workers), len(ps)) == (2, 1)
    assert len({server.target for server in workers + ps}) == 3
    for server in workers + ps:
        server.stop()


@pytest.mark.parametrize(
    ("counts", "kind"), [((-1, 1), ValueError), (("2", 1), TypeError), ((True, 0), TypeError)]
)
def test_a_cluster_of_nonsense_is_refused(counts, kind):
    with pytest.raises(kind):
        create_local_cluster(*counts)


def test_join_ends_when_another_thread_stops_the_server():
    server = Server.create_local_server()
    thread = threading.Thread(target=server.stop)
    thread.start()
    server.join()
    thread.join()
    with pytest.raises(errors.FailedPreconditionError):
        server.start()


def test_a_forked_child_is_told_what_to_do():
    server = Server.create_local_server()
    context = multiprocessing.get_context("fork")
    answers = context.Queue()

    def child():
        try:
            server.join()
        except RuntimeError as error:
            answers.put(str(error))

    process = context.Process(target=child)
    process.start()
    assert "spawn" in answers.get(timeout=30)
    process.join()
    server.stop()


def test_names_of_the_package():
    assert set(dir(tensorfleet)) >= {"Server", "patch", "testing", "__version__"}
    assert tensorfleet.__version__
    with pytest.raises(AttributeError):
        tensorfleet.nothing


def run(program):
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_control_c_ends_a_join():
    process = run(
        "import signal, sys, tensorfleet\n"
        # Whoever started the tests may have ignored the signal.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "server = tensorfleet.Server.create_local_server()\n"
        "try:\n    print('serving', flush=True)\n    server.join()\n"
        "except KeyboardInterrupt:\n    sys.exit(7)\n"
    )
    assert process.stdout.readline() == "serving\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_an_interpreter_ends_with_servers_running_and_threads_blocked():
    process = run(
        "import tensorfleet, threading\n"
        "servers = tensorfleet.create_local_cluster(2, 2)\n"
        "for server in servers[0]:\n"
        "    threading.Thread(target=server.join, daemon=True).start()\n"
        "print('done', flush=True)\n"
    )
    output, errors_written = process.communicate(timeout=60)
    assert (process.returncode, output, errors_written) == (0, "done\n", "")


EVERY_MOMENT = """
import signal, sys, tensorfleet

signal.signal(signal.SIGINT, signal.default_int_handler)
left = 0

def trace(frame, event, argument):
    global left
    if "tensorfleet" not in frame.f_code.co_filename:
        return None
    left -= 1
    if left == 0:
        signal.raise_signal(signal.SIGINT)
    return trace

def program():
    with tensorfleet.Server.create_local_server(config={"device_count": {"CPU": 1}}) as server:
        server.target, server.server_def
    workers, ps = tensorfleet.create_local_cluster(1, 1)
    for one in workers + ps:
        one.stop()
        one.join()

moment, interrupted = 0, True
while interrupted:
    moment, interrupted = moment + 1, False
    left = moment
    sys.settrace(trace)
    try:
        program()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        sys.settrace(None)
print(moment)
"""


def test_control_c_may_come_at_any_line():
    process = run(EVERY_MOMENT)
    output, errors_written = process.communicate(timeout=240)
    assert (process.returncode, errors_written) == (0, "")
    assert int(output) > 50, "the lines of the package were not seen"


def test_many_clusters_leave_nothing_behind():
    def held():
        with open("/proc/self/statm") as statm:
            pages = int(statm.read().split()[1])
        files, threads = (len(os.listdir(f"/proc/self/{what}")) for what in ("fd", "task"))
        return files, threads, threading.active_count(), pages * os.sysconf("SC_PAGE_SIZE")

    def turns(count):
        for _ in range(count):
            workers, ps = create_local_cluster(2, 2)
            for server in workers + ps:
                server.stop()

    # Caches fill in the first ones. `TENSORFLEET_CLUSTERS=1000` is the long way.
    turns(20)
    before = held()
    turns(int(os.environ.get("TENSORFLEET_CLUSTERS", "80")))
    files, threads, python_threads, memory = held()
    assert files <= before[0] + 4, "file descriptors"
    assert threads <= before[1] + 2, "threads"
    assert python_threads == before[2]
    assert memory <= before[3] + (8 << 20), "memory"
