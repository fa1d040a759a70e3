"""The Rust client on a server: ours, and with `--engine tensorflow` TensorFlow's."""

import re
import subprocess

from conformance.rig import servers


def test_a_rust_program_trains(target):
    # As the server is built, so that nothing is built twice.
    build = ["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"]
    subprocess.run(build, cwd=servers.ROOT, check=True, timeout=900)
    program = servers.ROOT / "target" / "debug" / "examples" / "train_digits"
    run = subprocess.run([program, target], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run.stdout)]
    assert len(losses) == 6 and losses[-1] < 0.1 < losses[0], run.stdout
