"""The command that comes with the package."""

import json
import os
import signal
import subprocess
import sys

import pytest


def tensorfleet(*arguments, **options):
    command = os.path.join(os.path.dirname(sys.executable), "tensorfleet")
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True} | options
    return subprocess.Popen([command, *arguments], **options)


def test_the_command_is_there_and_is_small_to_start():
    process = tensorfleet("--version")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.startswith("tensorfleet ")
    loaded = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "tensorfleet", "--version"],
        capture_output=True,
        text=True,
        timeout=60,
    ).stderr
    assert "tensorflow" not in loaded.replace("tensorfleet", "")
    assert "numpy" not in loaded
    assert "asyncio" not in loaded


def test_it_serves_and_stops():
    process = tensorfleet("serve", '--cluster={"worker": ["localhost:0"]}')
    assert process.stdout.readline().startswith("grpc://localhost:")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 0


def test_a_mistake_is_one_line_and_a_code():
    process = tensorfleet("sevre")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "sevre" in output


def test_a_server_ends_with_its_parent():
    program = (
        "import subprocess, sys, os\n"
        "server = subprocess.Popen([sys.executable, '-m', 'tensorfleet', 'serve',\n"
        "    '--cluster={\"w\": [\"localhost:0\"]}', '--exit-with-parent'], stdout=subprocess.PIPE)\n"
        "server.stdout.readline()\n"
        "os._exit(0)\n"
    )
    # The server holds the pipe of its standard error: this returns when it has ended, too.
    parent = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert b"stopping" in parent.stderr


LAUNCHED = """
import json, os, sys
config = json.loads(os.environ["TF_CONFIG"])
print(json.dumps([config["task"], sorted(config["cluster"])]), sys.argv[1:])
"""


@pytest.fixture
def program(tmp_path):
    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return [sys.executable, str(path)]

    return write


def launch(*arguments):
    process = tensorfleet("launch", *arguments)
    output, _ = process.communicate(timeout=120)
    return process.returncode, output


def test_launch_runs_a_program_for_each_worker(program):
    code, output = launch("--workers=2", "--ps=1", "--chief", "--", *program(LAUNCHED), "--x-y=1")
    assert code == 0, output
    for job, index in (("chief", 0), ("worker", 0), ("worker", 1)):
        line = json.dumps([{"type": job, "index": index}, ["chief", "ps", "worker"]])
        assert f"[{job}/{index}" in output
        assert f"{line} ['--x-y=1']" in output
    assert "[ps/0    ] server: stopped, 0 restarts" in output


def test_launch_ends_with_the_first_failure(program):
    failing = program(
        "import json, os, sys, time\n"
        "if json.loads(os.environ['TF_CONFIG'])['task']['index'] == 1: sys.exit(9)\n"
        "time.sleep(600)\n"
    )
    code, output = launch("--workers=2", "--ps=1", "--", *failing)
    assert code == 9, output


def test_launch_restarts_what_died(program, tmp_path):
    dying = program(
        "import os, signal, sys\n"
        f"path = {str(tmp_path / 'tries')!r}\n"
        "tries = len(open(path).read()) if os.path.exists(path) else 0\n"
        "open(path, 'a').write('x')\n"
        "if tries < 2: os.kill(os.getpid(), signal.SIGKILL)\n"
        "print('third try')\n"
    )
    code, output = launch("--workers=1", "--ps=0", "--max-restarts=2", "--", *dying)
    assert code == 0, output
    assert "third try" in output
    code, output = launch("--workers=1", "--", "no-such-program")
    assert code == 1
    assert "no-such-program" in output


def test_launch_passes_signals_on(program):
    process = tensorfleet(
        "launch", "--workers=1", "--", *program(
            "import signal, sys, time\n"
            "signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))\n"
            "print('ready', flush=True)\n"
            "time.sleep(600)\n"
        )
    )
    while "ready" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate(timeout=60)
    assert "exit status: 5" in output
