"""Clusters: one process a task, each of either engine."""

from tensorflow.core.protobuf import tensorflow_server_pb2
from tensorflow.python.training import server_lib

from conformance.rig import ports

HOST = "127.0.0.1"
# TensorFlow's server ends, rather than says so, when another process took its port after all.
START_ATTEMPTS = 3


class Cluster:
    """A running cluster.

    `jobs` maps a job to its number of tasks, `engines` a job to its engine.
    """

    def __init__(self, servers, jobs, engines, session_config=None, env=None):
        self._servers, self._engines = servers, engines
        self._session_config, self._env = session_config, env
        self._tasks = {}
        for attempt in range(START_ATTEMPTS):
            addresses = {
                job: [f"{HOST}:{ports.reserve()}" for _ in range(count)]
                for job, count in jobs.items()
            }
            self.spec = server_lib.ClusterSpec(addresses)
            for job, count in jobs.items():
                for index in range(count):
                    self.start(job, index)
            try:
                for task in self._tasks.values():
                    task.target
                return
            except AssertionError as error:
                self.close()
                if attempt + 1 == START_ATTEMPTS or "address" not in str(error).lower():
                    raise

    def task(self, job, index=0):
        """Returns the server of a task."""
        return self._tasks[job, index]

    def tasks(self):
        return list(self._tasks.values())

    def target(self, job="worker", index=0):
        """Returns the address of a task as a session takes it."""
        return f"grpc://{self.spec.task_address(job, index)}"

    def server_def(self, job, index):
        return tensorflow_server_pb2.ServerDef(
            cluster=self.spec.as_cluster_def(),
            job_name=job,
            task_index=index,
            protocol="grpc",
            default_session_config=self._session_config,
        )

    def start(self, job, index=0):
        """Starts a task, or starts it again after its end, at the same address."""
        server = self._servers.start(self._engines[job], self.server_def(job, index), self._env)
        self._tasks[job, index] = server
        return server

    def restart(self, job, index=0):
        """Kills a task and waits until a new one serves at its address."""
        self.task(job, index).kill()
        server = self.start(job, index)
        server.target
        return server

    def close(self):
        for task in self._tasks.values():
            task.kill()
        self._tasks.clear()
