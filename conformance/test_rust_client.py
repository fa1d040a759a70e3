"""The Rust client on a server: ours, and with `--engine tensorflow` TensorFlow's."""

import re
import subprocess

from conformance.rig import servers


def example(name):
    """The path of an example's program."""
    # As the server is built, so that nothing is built twice.
    build = ["cargo", "build", "--quiet", "--workspace", "--bins", "--examples"]
    subprocess.run(build, cwd=servers.ROOT, check=True, timeout=900)
    return servers.ROOT / "target" / "debug" / "examples" / name


def test_a_rust_program_trains(target):
    run = subprocess.run([example("train_digits"), target], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    losses = [float(loss) for loss in re.findall(r"loss ([\d.]+)", run.stdout)]
    assert len(losses) == 6 and losses[-1] < 0.1 < losses[0], run.stdout


def test_a_rust_program_asks_for_gradients(target):
    run = subprocess.run([example("tensorflow_server"), target], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "the trace of the inverse is 0.700" in run.stdout
    assert "[[-0.1100, 0.1400], [0.0700, -0.1800]]" in run.stdout
