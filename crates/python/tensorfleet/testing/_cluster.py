"""A cluster for tests, each task behind a gate that can be slowed, held and shut."""

import functools
import os
from collections.abc import Callable
from typing import Any

from tensorfleet import _native, _wire
from tensorfleet._definitions import serialized_config
from tensorfleet._stoppable import Stoppable
from tensorfleet.errors import _translated
from tensorfleet.testing._servers import InProcess, Process, Running


@functools.cache
def _host(process: int) -> "_native.Host":
    return _native.Host(network_only=True)


class Task:
    """One task of a test's cluster. Faults last until they are mended or the task is restarted."""

    def __init__(self, job: str, index: int, gate: "_native.Gate") -> None:
        self.job = job
        self.index = index
        self._gate = gate
        self._server: Running | None = None
        self._start: Callable[[], Running] | None = None

    @property
    def address(self) -> str:
        """Where clients and the other tasks reach it; it stays over restarts."""
        return f"localhost:{self._gate.port()}"

    @property
    def target(self) -> str:
        """The target for sessions."""
        return f"grpc://{self.address}"

    @property
    def running(self) -> bool:
        return self._server is not None

    def kill(self) -> None:
        """Ends the task at once, as SIGKILL does: connections break, and what it held is gone."""
        self._gate.shut()
        if self._server is not None:
            self._server.kill()
            self._server = None

    def restart(self) -> None:
        """Starts the task again, at its old address and with nothing of what it held."""
        self.kill()
        assert self._start is not None
        self._server = self._start()
        self._gate.lead_to(self._server.address())
        self._gate.open()

    def freeze(self) -> None:
        """Lets the task do nothing until `thaw`, as SIGSTOP does, while its connections stay."""
        if self._server is None:
            raise RuntimeError(f"{self!r} does not run")
        if not self._server.freeze():
            self._gate.hold()

    def thaw(self) -> None:
        """Ends `freeze`."""
        if self._server is not None:
            self._server.thaw()
            self._gate.open()

    def partition(self) -> None:
        """Cuts the task off: nothing that is sent to it or answered by it arrives, until `heal`."""
        self._gate.hold()

    def slow(self, seconds: float) -> None:
        """Lets everything take so much longer each way, until `heal`."""
        self._gate.slow(seconds)

    def heal(self) -> None:
        """Ends `partition` and `slow`."""
        if self._server is not None:
            self._gate.open()

    def __repr__(self) -> str:
        state = "" if self.running else ", dead"
        return f"<task /job:{self.job}/task:{self.index} at {self.address}{state}>"


class Cluster(Stoppable):
    """A cluster for a test.

    Args:
      num_workers, num_ps: how many tasks the jobs `worker` and `ps` have.
      processes: whether each task gets a process of its own, which dies with this one; else all are in
        this process, which starts faster and can call its Python functions.
      worker_config, ps_config: a `tf.compat.v1.ConfigProto` or a dictionary of its fields.
    """

    def __init__(
        self,
        num_workers: int = 1,
        num_ps: int = 1,
        *,
        processes: bool = False,
        worker_config: Any = None,
        ps_config: Any = None,
    ) -> None:
        host = _host(os.getpid())
        with _translated():
            self.workers = [Task("worker", i, host.gate()) for i in range(num_workers)]
            self.ps = [Task("ps", i, host.gate()) for i in range(num_ps)]
        self._faults: dict[int, list[Callable[[], object]]] = {}
        self._steps = 0
        cluster = _wire.cluster_def(self._addresses())
        configs = {"worker": worker_config, "ps": ps_config}
        try:
            for task in self.tasks:
                config = configs[task.job]
                message = _wire.server_def(
                    cluster=cluster,
                    job_name=task.job,
                    task_index=task.index,
                    protocol="grpc",
                    config=None if config is None else serialized_config(config),
                )
                if processes:
                    task._start = functools.partial(Process, message)
                else:
                    task._start = functools.partial(InProcess, host, message)
                task.restart()
        except BaseException:
            self.stop()
            raise

    def _addresses(self) -> dict[str, dict[int, str]]:
        jobs = {"worker": self.workers, "ps": self.ps}
        return {job: {t.index: t.address for t in tasks} for job, tasks in jobs.items() if tasks}

    @property
    def tasks(self) -> list[Task]:
        """All tasks, the parameter servers first."""
        return [*self.ps, *self.workers]

    @property
    def cluster_spec(self) -> dict[str, list[str]]:
        """The cluster as `tf.train.ClusterSpec` takes it."""
        return {job: list(tasks.values()) for job, tasks in self._addresses().items()}

    @property
    def target(self) -> str:
        """The target for sessions on the first worker."""
        return self.workers[0].target

    def at_step(self, step: int, fault: Callable[[], object]) -> None:
        """Orders a fault, as `cluster.ps[0].kill`, for when `step()` has been called so many times."""
        if step <= self._steps:
            raise ValueError(f"step {step} is over; the last one was {self._steps}")
        self._faults.setdefault(step, []).append(fault)

    def step(self) -> None:
        """Counts a step of the program under test, and does what was ordered for it."""
        self._steps += 1
        for fault in self._faults.pop(self._steps, []):
            fault()

    def stop(self) -> None:
        """Ends all tasks."""
        for task in self.tasks:
            task.kill()
