"""Servers as tests see them: started, waited for, killed, and read when something went wrong."""

import itertools
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINES = ("tensorfleet", "tensorflow")

# Generous: it bounds a server that hangs, not one that is slow on a busy machine.
START_SECONDS = 60
STOP_SECONDS = 30


class ServerDied(AssertionError):
    """A server that a test needs has ended, or never started."""


class Servers:
    """All servers of a test run, by way of the supervisor."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self._ids = itertools.count(1)
        self.started = []
        self._running = {}
        self._lock = threading.Lock()
        self._supervisor = subprocess.Popen(
            [sys.executable, "-m", "conformance.rig.supervisor"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._reader = threading.Thread(target=self._dispatch, daemon=True)
        self._reader.start()

    def start(self, engine, server_def, env=None):
        """Starts one task and returns without waiting for it."""
        id = next(self._ids)
        name = f"/job:{server_def.job_name}/task:{server_def.task_index}"
        stem = f"{id:03}-{server_def.job_name}-{server_def.task_index}-{engine}"
        path = self.directory / f"{stem}.pb"
        path.write_bytes(server_def.SerializeToString())
        server = Server(self, id, name, engine, self.directory / f"{stem}.log")
        request = {"start": engine, "server_def": str(path), "log": str(server.log_path)}
        if engine == "tensorfleet":
            request["binary"] = str(tensorfleet_binary())
        with self._lock:
            self._running[id] = server
            self.started.append(server)
        # Tests look at logs, and a failed one shows them; TensorFlow's level is for the client.
        self._send(id, env={"TENSORFLEET_LOG": "info", **(env or {})}, **request)
        return server

    def start_single(self, engine):
        """Starts a cluster of one task, `/job:worker/task:0`, on a port of its own choice."""
        from tensorflow.core.protobuf import cluster_pb2, tensorflow_server_pb2

        job = cluster_pb2.JobDef(name="worker", tasks={0: "127.0.0.1:0"})
        server_def = tensorflow_server_pb2.ServerDef(
            cluster=cluster_pb2.ClusterDef(job=[job]), job_name="worker", protocol="grpc"
        )
        return self.start(engine, server_def)

    def running(self):
        with self._lock:
            return list(self._running.values())

    def close(self):
        """Ends every server and the supervisor."""
        self._supervisor.stdin.close()
        self._supervisor.wait(STOP_SECONDS)

    def _send(self, id, **request):
        line = json.dumps({"id": id, **request}).encode() + b"\n"
        with self._lock:
            try:
                self._supervisor.stdin.write(line)
                self._supervisor.stdin.flush()
            except OSError as error:
                raise ServerDied(f"the supervisor of all servers has ended: {error}") from error

    def _dispatch(self):
        for line in self._supervisor.stdout:
            event = json.loads(line)
            with self._lock:
                server = self._running[event["id"]]
                if "exit" in event:
                    del self._running[event["id"]]
            server._learn(event)
        for server in self.running():
            server._learn({"exit": "the supervisor ended"})


class Server:
    """One server process: one task of a cluster."""

    def __init__(self, servers, id, name, engine, log_path):
        self.name, self.engine, self.log_path = name, engine, log_path
        self.pid = None
        self._servers, self._id = servers, id
        self._target = None
        self._exit = None
        self._changed = threading.Condition()

    def __repr__(self):
        return f"{self.engine} server {self.name}"

    @property
    def target(self):
        """The address it serves, once it does: `grpc://host:port`."""
        with self._changed:
            done = lambda: self._target is not None or self._exit is not None
            if not self._changed.wait_for(done, START_SECONDS):
                raise ServerDied(f"{self} did not serve within {START_SECONDS} s\n{self.log()}")
            if self._target is None:
                raise ServerDied(f"{self} ended with {self._exit} at its start\n{self.log()}")
            return self._target

    @property
    def exit_code(self):
        """The exit code, negative for a signal; nothing while it runs."""
        with self._changed:
            return self._exit

    def signal(self, number):
        self._servers._send(self._id, signal=int(number))

    def wait(self, seconds=STOP_SECONDS):
        """Waits for its end and returns the exit code."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._exit is not None, seconds):
                raise ServerDied(f"{self} did not end within {seconds} s\n{self.log()}")
            return self._exit

    def kill(self):
        """Ends it at once, as a crash would."""
        if self.exit_code is None:
            self.signal(signal.SIGKILL)
            self.wait()

    def log(self, start=0, limit=20_000):
        """What it wrote since a position, the end of it when that is a lot."""
        try:
            with open(self.log_path, "rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(start, size - limit))
                return file.read().decode(errors="replace")
        except FileNotFoundError:
            return ""

    def log_size(self):
        return os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0

    def _learn(self, event):
        with self._changed:
            self.pid = event.get("pid", self.pid)
            self._target = event.get("target", self._target)
            self._exit = event.get("exit", self._exit)
            self._changed.notify_all()


def tensorfleet_binary():
    """The server under test: `TENSORFLEET_BIN`, or what cargo built last."""
    if path := os.environ.get("TENSORFLEET_BIN"):
        return pathlib.Path(path)
    built = [ROOT / "target" / profile / "tensorfleet" for profile in ("debug", "release")]
    built = [path for path in built if path.exists()]
    if not built:
        raise RuntimeError("no server binary: run `cargo build`, or set TENSORFLEET_BIN")
    return max(built, key=lambda path: path.stat().st_mtime)


def status(target):
    """What the tasks of a target's cluster tell of themselves, by task."""
    command = [tensorfleet_binary(), "status", "-o", "json", target]
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=START_SECONDS, text=True)
    return {task["task"]: task for task in json.loads(done.stdout)}
