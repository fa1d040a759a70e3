"""Runs programs on both engines and compares what comes out."""

import base64
import json
import pickle
import select
import subprocess
import sys

import tensorflow.compat.v1 as v1

from conformance.programs.run import ENGINES, Failed, compare
from conformance.rig import cluster
from conformance.rig.servers import ROOT

# Generous: it bounds a client that waits for ever.
PROGRAM_SECONDS = 60
# TensorFlow ties what goes into the branches of a condition to where it comes from, and then finds that
# this is on another device of the task than the function.
CONDITION_TIED = ("Cannot colocate nodes", "_cond_input_")


class Clients:
    """A cluster of each engine, two workers and a ps with two CPU devices each, and its client."""

    def __init__(self, owner):
        self._owner = owner
        self._clients = {}
        self.statements = 0
        self.failures = 0

    def difference(self, program):
        """Runs a program on both engines and returns the first difference, or nothing."""
        outcomes = {engine: self._client(engine).run(program) for engine in ENGINES}
        for engine, outcome in outcomes.items():
            if isinstance(outcome, str):
                self._clients.pop(engine).close()
                if engine == ENGINES[0]:
                    return None  # TensorFlow's own trouble.
        expected, actual = (outcomes[engine] for engine in ENGINES)
        if isinstance(actual, str):
            return f"tensorfleet: {actual}"
        for (id, want), (_, have) in zip(expected, actual):
            self.statements += 1
            self.failures += isinstance(want, tuple)
            want, have = _outcome(want), _outcome(have)
            if isinstance(want, Failed) and all(words in want.message for words in CONDITION_TIED):
                return None
            if why := compare(want, have):
                return f"%{id}: {why}\n  tensorflow: {_show(want)}\n  tensorfleet: {_show(have)}"
        return None

    def close(self):
        for client in self._clients.values():
            client.close()
        self._clients.clear()

    def _client(self, engine):
        if engine not in self._clients:
            self._clients[engine] = Client(self._owner, engine)
        return self._clients[engine]


class Client:
    """A process that runs programs on a cluster of one engine."""

    def __init__(self, owner, engine):
        jobs = {"ps": 1, "worker": 2}
        config = v1.ConfigProto(device_count={"CPU": 2})
        self._cluster = cluster.Cluster(owner, jobs, dict.fromkeys(jobs, engine), config)
        addresses = {job: self._cluster.spec.job_tasks(job) for job in self._cluster.spec.jobs}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "conformance.eager_programs.client", json.dumps(addresses)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._process.stdout.readline()

    def run(self, program):
        """Returns the outcomes of a program, or what became of the client instead."""
        try:
            self._process.stdin.write(program.to_json() + "\n")
            self._process.stdin.flush()
            ready, _, _ = select.select([self._process.stdout], [], [], PROGRAM_SECONDS)
            line = self._process.stdout.readline() if ready else None
        except OSError as error:
            return f"the client is gone: {error}"
        if not line:
            return "no answer" if line is None else f"the client died: {self._process.wait(10)}"
        return pickle.loads(base64.b64decode(line))

    def close(self):
        self._process.kill()
        self._process.wait()
        self._cluster.close()


def _outcome(raw):
    """What the client wrote, as programs with sessions have it. Nodes have other names in functions."""
    return Failed(raw[0], None, raw[1]) if isinstance(raw, tuple) else raw


def _show(outcome):
    return str(outcome)[:500]
