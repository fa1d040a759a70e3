"""The process that owns all servers of a test run.

It reads requests and writes events, one JSON object a line:

    {"id": 1, "start": "tensorfleet", "binary": PATH, "server_def": PATH, "log": PATH, "env": {}}
    {"id": 1, "start": "tensorflow", "server_def": PATH, "log": PATH, "env": {}}
    {"id": 1, "signal": 9}

    {"id": 1, "pid": 4711}
    {"id": 1, "target": "grpc://127.0.0.1:2222"}
    {"id": 1, "exit": -9}

Why a process: importing TensorFlow takes seconds, so its servers are forked from one that has done
so, and a fork is only safe in a process without threads. When the tests end, even by a crash, its
input closes; it then kills every server, and the kernel does if the supervisor itself dies first.
"""

import ctypes
import json
import os
import selectors
import signal
import sys

_PR_SET_PDEATHSIG = 1


class _Child:
    def __init__(self, id, pid, output, log):
        self.id, self.pid, self.output, self.log = id, pid, output, log
        self.partial_line = b""
        self.has_target = False


class Supervisor:
    def __init__(self):
        self.children = {}
        self.selector = selectors.DefaultSelector()
        self.requests = b""
        # A signal handler must exist, or the wake-up file descriptor stays silent.
        wake_up, wake_up_end = os.pipe()
        os.set_blocking(wake_up_end, False)
        signal.set_wakeup_fd(wake_up_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # An interrupt from the keyboard is for the tests; they close our input when they end.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.selector.register(sys.stdin, selectors.EVENT_READ, self.read_requests)
        self.selector.register(wake_up, selectors.EVENT_READ, lambda: self.reap(wake_up))

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.data() == "end":
                    for child in self.children.values():
                        os.kill(child.pid, signal.SIGKILL)
                    return

    def read_requests(self):
        data = os.read(sys.stdin.fileno(), 1 << 16)
        if not data:
            return "end"
        *lines, self.requests = (self.requests + data).split(b"\n")
        for request in map(json.loads, lines):
            if "start" in request:
                self.start(request)
            elif request["id"] in self.children:
                os.kill(self.children[request["id"]].pid, request["signal"])

    def start(self, request):
        if request["start"] == "tensorflow":
            import tensorflow  # noqa: F401  Slow once; the children inherit it.
        output, output_end = os.pipe()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            try:
                _become_server(request, parent, output_end, log)
            except BaseException:
                import traceback

                os.write(log, traceback.format_exc().encode())
            finally:
                os._exit(1)
        os.close(output_end)
        child = self.children[request["id"]] = _Child(request["id"], pid, output, log)
        self.selector.register(output, selectors.EVENT_READ, lambda: self.read_output(child))
        _report(id=child.id, pid=pid)

    def read_output(self, child):
        data = os.read(child.output, 1 << 16)
        if not data:
            self.selector.unregister(child.output)
            return
        os.write(child.log, data)
        *lines, child.partial_line = (child.partial_line + data).split(b"\n")
        for line in lines:
            if line.startswith(b"grpc://") and not child.has_target:
                child.has_target = True
                _report(id=child.id, target=line.decode().strip())

    def reap(self, wake_up):
        os.read(wake_up, 1 << 10)
        for child in list(self.children.values()):
            pid, status = os.waitpid(child.pid, os.WNOHANG)
            if pid == 0:
                continue
            # What it said last comes before the news of its end.
            while child.output in self.selector.get_map():
                self.read_output(child)
            os.close(child.output)
            os.close(child.log)
            del self.children[child.id]
            _report(id=child.id, exit=os.waitstatus_to_exitcode(status))


def _become_server(request, parent, output, log):
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return  # The supervisor died before the line above.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(log, 2)
    os.environ.update(request["env"])
    if request["start"] == "tensorfleet":
        binary = request["binary"]
        os.closerange(3, 256)
        os.execv(binary, [binary, "serve", f"--server_def={request['server_def']}"])
    _serve_tensorflow(request["server_def"])


def _serve_tensorflow(path):
    import tensorflow as tf
    from tensorflow.core.protobuf import tensorflow_server_pb2

    with open(path, "rb") as file:
        server_def = tensorflow_server_pb2.ServerDef.FromString(file.read())
    server = tf.distribute.Server(server_def)
    os.write(1, f"{server.target}\n".encode())
    server.join()


def _report(**event):
    os.write(sys.__stdout__.fileno(), json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    Supervisor().run()
