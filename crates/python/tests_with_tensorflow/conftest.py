"""Programs with TensorFlow in them run in processes of their own: each gets a fresh one."""

import os
import subprocess
import sys
import textwrap

import pytest

# A program that hangs is a failure, not the end of the tests.
SECONDS = 300


@pytest.fixture
def run_program(tmp_path):
    """Runs a program and returns what it wrote."""

    def run(text, *arguments, command=()):
        path = tmp_path / "program.py"
        path.write_text(textwrap.dedent(text))
        environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "TF_USE_LEGACY_KERAS": "1"}
        done = subprocess.run(
            [sys.executable, *command, str(path), *arguments],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        return done.stdout

    return run
