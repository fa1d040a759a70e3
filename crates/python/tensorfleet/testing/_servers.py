"""The servers behind the gates of a test's cluster: in this process, or in one of their own."""

import os
import signal
import subprocess
import sys
import tempfile
from typing import Protocol

from tensorfleet import _native
from tensorfleet.errors import _from_code, _translated

_ANY = "127.0.0.1:0"


class Running(Protocol):
    """A server that runs behind a gate."""

    def address(self) -> str: ...
    def kill(self) -> None: ...
    def freeze(self) -> bool: ...
    def thaw(self) -> None: ...


class InProcess:
    """A server of this process. Its gate does what its death and its sleep would do."""

    def __init__(self, host: "_native.Host", server_def: bytes) -> None:
        with _translated():
            self._server = host.server(server_def, _ANY)
            self._server.start()

    def address(self) -> str:
        return self._server.address()

    def kill(self) -> None:
        with _translated():
            self._server.stop()

    def freeze(self) -> bool:
        return False

    def thaw(self) -> None:
        pass


class Process:
    """A server in a process of its own, which dies with this one."""

    def __init__(self, server_def: bytes) -> None:
        with tempfile.NamedTemporaryFile(suffix=".pb") as definition:
            definition.write(server_def)
            definition.flush()
            command = [sys.executable, "-m", "tensorfleet", "serve", "--grpc_only"]
            command += [f"--server_def={definition.name}", f"--bind={_ANY}", "--exit-with-parent"]
            self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            assert self._process.stdout is not None
            line = self._process.stdout.readline().strip()
        if not line.startswith("grpc://"):
            self._process.wait()
            _, code, message = [*line.split(" ", 2), "2", "the server ended"][:3]
            raise _from_code(int(code), message)
        self._port = line.rsplit(":", 1)[1]

    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def freeze(self) -> bool:
        os.kill(self._process.pid, signal.SIGSTOP)
        # The signal is on its way until all of its threads have stopped.
        os.waitpid(self._process.pid, os.WUNTRACED)
        return True

    def thaw(self) -> None:
        os.kill(self._process.pid, signal.SIGCONT)
