"""From nothing to a serving parameter server: how long it takes and how much memory it holds.

Unlike those of the other cases, TensorFlow's server is a fresh interpreter here, as users start it.
"""

import json
import os
import subprocess
import sys

from conformance.bench.case import Program, program_case
from conformance.rig import cluster, ports, servers

_TENSORFLOW = """
import json, sys
import tensorflow as tf
server = tf.distribute.Server(json.loads(sys.argv[1]), job_name="ps", task_index=0)
print(server.target, flush=True)
server.join()
"""


class Start(Program):
    """Starts a server and waits until it serves; that is one step."""

    def __init__(self, side):
        super().__init__(None)
        self._side = side
        self._server = None
        self._ended_cpu = 0.0

    def before_round(self):
        self.close()

    def step(self):
        spec = json.dumps({"ps": [f"{cluster.HOST}:{ports.reserve()}"]})
        if self._side == "tensorflow":
            command = [sys.executable, "-c", _TENSORFLOW, spec]
        else:
            command = [servers.tensorfleet_binary(), "serve", "--job_name=ps", f"--cluster={spec}"]
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TENSORFLEET_LOG": "error"}
        self._server = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        line = self._server.stdout.readline()
        if not line.startswith("grpc://"):
            raise RuntimeError(f"the server of {self._side} did not start: {line!r}")

    def server_pids(self):
        return [self._server.pid] if self._server else []

    def cpu_seconds(self):
        return self._ended_cpu + super().cpu_seconds()

    def close(self):
        if self._server:
            self._ended_cpu += super().cpu_seconds()
            self._server.kill()
            self._server.wait()
            self._server.stdout.close()
            self._server = None


program_case(
    "start",
    jobs={},
    about="From the command to a parameter server that serves; its memory then",
    program=Start,
    target=0.02,
    resident_target=0.15,
    one_step=True,
)
