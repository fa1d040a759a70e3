"""Servers that let in only who has a certificate or a token, and what their users hold."""

import json
import os
import subprocess
import threading

import grpc

from conformance.rig import ports, servers

ROLES = ["peer", "trainer", "reader", "operator", "admin"]


def command(*arguments):
    return [str(servers.tensorfleet_binary()), *map(str, arguments)]


def run(directory, *arguments, check=True):
    done = subprocess.run(
        command(*arguments), cwd=directory, capture_output=True, text=True, timeout=120
    )
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


class Process:
    """A server or proxy of ours, by its flags; ready when it has printed its target."""

    def __init__(self, directory, *arguments):
        self.lines = []
        self.process = subprocess.Popen(
            command(*arguments),
            cwd=directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # What is said is looked at; TensorFlow's own variable would silence it.
            env={**os.environ, "TENSORFLEET_LOG": "info"},
        )
        # Read all the time, or a full pipe would stop it.
        threading.Thread(target=self._read, daemon=True).start()
        self.target = self.process.stdout.readline().strip()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def says(self, words, since=0):
        return any(words in line for line in self.lines[since:])

    def kill(self):
        self.process.kill()
        self.process.wait(30)


class Fleet:
    """A parameter server and a worker that speak TLS, and what their users hold."""

    def __init__(self, directory, *flags, people=()):
        self.directory = directory
        self.addresses = {job: f"localhost:{ports.reserve()}" for job in ("ps", "worker")}
        self.cluster = json.dumps({job: [address] for job, address in self.addresses.items()})
        self.started = []
        run(directory, "certs", "init")
        for job in self.addresses:
            run(directory, "certs", "issue", "--job", job, "--task", 0, "--host", "localhost")
        run(directory, "certs", "issue", "--name", "root", "--role", "admin")
        self.tokens = {role: self.token(role) for role in ROLES[1:]}
        for name in ("mallory", *people):
            self.token(name, "trainer")
        self.servers = {
            job: self.start(
                "serve",
                f"--cluster={self.cluster}",
                f"--job_name={job}",
                *self.tls(f"{job}-0"),
                "--tokens=tokens",
                *flags,
            )
            for job in self.addresses
        }

    def token(self, name, role=None):
        made = run(self.directory, "tokens", "add", name, "--role", role or name).stdout.strip()
        (self.directory / f"{name}.token").write_text(made)
        return made

    def tls(self, name):
        return [f"--tls_cert=certs/{name}.pem", f"--tls_key=certs/{name}-key.pem", "--tls_ca=certs/ca.pem"]

    def start(self, *arguments):
        process = Process(self.directory, *arguments)
        self.started.append(process)
        return process

    def proxy(self, job="worker", token="trainer"):
        target = f"--target=grpcs://{self.addresses[job]}"
        return self.start("proxy", target, "--tls_ca=certs/ca.pem", f"--token_file={token}.token")

    def channel(self, job, certificate=None):
        read = lambda name: (self.directory / "certs" / name).read_bytes()
        own = (read(f"{certificate}-key.pem"), read(f"{certificate}.pem")) if certificate else (None, None)
        credentials = grpc.ssl_channel_credentials(read("ca.pem"), *own)
        return grpc.secure_channel(self.addresses[job], credentials)

    def kill(self):
        for process in self.started:
            process.kill()
