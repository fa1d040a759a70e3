"""Clusters with faults to order, seen through bare sockets: no TensorFlow is needed."""

import socket
import subprocess
import sys

import pytest
from tensorfleet.testing import Cluster

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"


def answers(task, seconds=20.0):
    """Whether the task answers the first bytes of HTTP/2; nothing if it does not within the time."""
    host, port = task.address.split(":")
    with socket.create_connection((host, int(port)), timeout=seconds) as connection:
        connection.sendall(PREFACE)
        try:
            return len(connection.recv(9)) > 0
        except TimeoutError:
            return None


@pytest.mark.parametrize("processes", [False, True])
def test_faults_come_and_go(processes):
    with Cluster(num_workers=1, num_ps=1, processes=processes) as cluster:
        ps, address = cluster.ps[0], cluster.ps[0].address
        assert answers(ps)
        ps.partition()
        assert answers(ps, 0.3) is None
        ps.heal()
        assert answers(ps)
        ps.freeze()
        assert answers(ps, 0.3) is None
        ps.thaw()
        assert answers(ps)
        ps.kill()
        assert not ps.running
        with pytest.raises(OSError):
            answers(ps)
        ps.restart()
        assert ps.address == address
        assert answers(ps)
        ps.slow(0.2)
        assert answers(ps, 0.3) is None
        ps.heal()
        assert answers(cluster.workers[0])


def test_faults_come_at_their_step(tensorfleet_cluster):
    cluster = tensorfleet_cluster(num_workers=2, num_ps=0)
    cluster.at_step(2, cluster.workers[1].kill)
    cluster.step()
    assert cluster.workers[1].running
    cluster.step()
    assert not cluster.workers[1].running
    with pytest.raises(ValueError, match="is over"):
        cluster.at_step(1, cluster.workers[0].kill)
    assert sorted(cluster.cluster_spec) == ["worker"]
    with pytest.raises(RuntimeError, match="does not run"):
        cluster.workers[1].freeze()


def test_the_fixture_works_in_several_processes_at_once(tmp_path):
    pytest.importorskip("xdist")
    (tmp_path / "test_mine.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('turn', range(4))\n"
        "def test_mine(tensorfleet_cluster, turn):\n"
        "    cluster = tensorfleet_cluster(num_workers=1, num_ps=1)\n"
        "    cluster.ps[0].kill()\n"
        "    assert cluster.workers[0].running and not cluster.ps[0].running\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
