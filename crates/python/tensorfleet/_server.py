"""Servers in this process, as TensorFlow's are."""

import functools
import os
from typing import Any

from tensorfleet import _native, _wire
from tensorfleet._definitions import serialized_config, serialized_server_def
from tensorfleet._stoppable import Stoppable
from tensorfleet.errors import _translated

# How long a wait goes on before Python may look for signals.
_TURN_SECONDS = 0.1

# TensorFlow's servers live on when a program forgets them, and its tutorials do.
_serving: set["_native.Server"] = set()


@functools.cache
def _host(process: int) -> _native.Host:
    """The threads that all servers of a process share."""
    return _native.Host()


class Server(Stoppable):
    """A server of one task of a cluster.

    Takes what `tf.distribute.Server` takes, and does what it does:

        >>> import tensorfleet
        >>> cluster = {"ps": ["localhost:2222"], "worker": ["localhost:2223"]}
        >>> ps = tensorfleet.Server(cluster, job_name="ps", task_index=0)
        >>> ps.join()

    It serves until `stop()`, or until the process ends; it may be used from several threads.

    Args:
      server_or_cluster_def: a `tf.train.ServerDef`, `tf.train.ClusterDef` or `tf.train.ClusterSpec`, or
        a dictionary from jobs to lists of addresses. Port 0 takes a free port.
      job_name: the job of the task; may be left out where the cluster has one job only.
      task_index: its number; may be left out where the job has one task only.
      protocol: `"grpc"`.
      config: a `tf.compat.v1.ConfigProto`, or a dictionary of its fields: what sessions get unless they
        say otherwise.
      start: whether to serve at once.

    Raises:
      TypeError, ValueError: the arguments do not fit together.
      tf.errors.OpError: the server cannot be made, because its port is taken, for one. Where TensorFlow
        is not imported, the exception of the same name in `tensorfleet.errors`.
    """

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        message = serialized_server_def(
            server_or_cluster_def, job_name, task_index, protocol, config
        )
        with _translated():
            native = _host(os.getpid()).server(message)
        self._adopt(native)
        if start:
            self.start()

    @classmethod
    def _of(cls, native: "_native.Server") -> "Server":
        server = cls.__new__(cls)
        server._adopt(native)
        _serving.add(native)
        return server

    def _adopt(self, native: "_native.Server") -> None:
        self._native = native
        self._process = os.getpid()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> "Server":
        """A cluster of one task, on a free port of this machine.

        >>> with tensorfleet.Server.create_local_server() as server:
        ...     session = tf.compat.v1.Session(server.target)
        """
        return Server({"local": ["localhost:0"]}, config=config, start=start)

    def start(self) -> None:
        """Serves; one that serves already goes on."""
        with _translated():
            self._mine().start()
        _serving.add(self._native)

    def stop(self) -> None:
        """Stops: calls under way have a moment to end, then the port is free and `join()` returns."""
        with _translated():
            self._mine().stop()
        _serving.discard(self._native)

    def join(self) -> None:
        """Waits until the server has stopped. Ctrl-C interrupts it."""
        with _translated():
            while not self._mine().wait(_TURN_SECONDS):
                pass

    @property
    def target(self) -> str:
        """The target for sessions, as `grpc://localhost:2222`."""
        return self._mine().target()

    @property
    def server_def(self) -> Any:
        """What the server was told: a `tf.train.ServerDef` where TensorFlow is imported, else a
        dictionary."""
        with _translated():
            return _wire.read_server_def(self._mine().server_def())

    def __repr__(self) -> str:
        return f"<tensorfleet.Server {self._native.target()}>"

    def _mine(self) -> "_native.Server":
        if os.getpid() != self._process:
            raise RuntimeError(
                "this server belongs to the process that this one was forked from; its threads are "
                "not here. Make servers after the fork, or start processes by `spawn`: "
                "multiprocessing.set_start_method('spawn')"
            )
        return self._native


def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Server], list[Server]]:
    """Starts a cluster in this process, on free ports, and returns its workers and its parameter servers.

    >>> workers, ps = tensorfleet.create_local_cluster(num_workers=2, num_ps=2)
    >>> session = tf.compat.v1.Session(workers[0].target)

    The arguments are those of `tf.test.create_local_cluster`.
    """
    for what, count in (("num_workers", num_workers), ("num_ps", num_ps)):
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"`{what}` must be an int, not {count!r}")
        if count < 0:
            raise ValueError(f"`{what}` must not be negative, but is {count}")
    configs = [
        b"" if config is None else serialized_config(config) for config in (worker_config, ps_config)
    ]
    with _translated():
        workers, ps = _host(os.getpid()).local_cluster(num_workers, num_ps, protocol, *configs)
    return [Server._of(native) for native in workers], [Server._of(native) for native in ps]
