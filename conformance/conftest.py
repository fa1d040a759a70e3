"""Fixtures of the conformance tests.

`target`   the address of a server with one task, shared by tests but without state of earlier ones
`cluster`  a function that starts a cluster for one test
`engine`   which server is under test, by `--engine`
"""

import collections
import faulthandler
import os
import threading

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
# Which instructions oneDNN takes depends on the machine; without it TensorFlow computes the same
# everywhere, and lives where a processor announces instructions that it does not have.
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
# A proxy has no business between processes of one machine.
os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("no_proxy"), "127.0.0.1,localhost"]))

import pytest
import tensorflow as tf

from conformance.rig import cluster as clusters
from conformance.rig import servers

# A test that hangs does so in a call to a server; when the servers are gone, the call fails.
TEST_SECONDS = 180


def pytest_addoption(parser):
    parser.addoption(
        "--engine",
        choices=servers.ENGINES,
        default="tensorfleet",
        help="the server under test; every test but those marked `ours` must pass on tensorflow",
    )


# What tests need and this machine lacks, with how many need it.
_MISSING = pytest.StashKey[dict]()

MARKERS = [
    "ours(why): a test that TensorFlow's own server cannot pass",
    "needs(is_there, what): a test of something that not every machine has",
]


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(config, items):
    """Leaves out what the engine or the machine cannot do."""
    is_ours = config.getoption("--engine") == "tensorfleet"

    def is_possible(item):
        needs = [mark.args[0] for mark in item.iter_markers("needs")]
        return all(needs) and (is_ours or item.get_closest_marker("ours") is None)

    missing = [mark.args[1] for item in items for mark in item.iter_markers("needs") if not mark.args[0]]
    config.stash[_MISSING] = collections.Counter(missing)
    left_out = [item for item in items if not is_possible(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if is_possible(item)]


def pytest_terminal_summary(terminalreporter, config):
    for what, count in config.stash.get(_MISSING, {}).items():
        terminalreporter.write_line(f"left out {count} tests: this machine has no {what}", yellow=True)


def pytest_report_header(config):
    engine = config.getoption("--engine")
    binary = servers.tensorfleet_binary() if engine == "tensorfleet" else "in-process fork"
    return f"engine: {engine} ({binary}), client: tensorflow {tf.__version__}"


@pytest.fixture(scope="session")
def engine(request):
    """The name of the engine under test."""
    return request.config.getoption("--engine")


@pytest.fixture(scope="session")
def all_servers(request, tmp_path_factory):
    """Owns every server of the run."""
    owner = servers.Servers(tmp_path_factory.mktemp("servers"))
    request.config.stash[_SERVERS] = owner
    yield owner
    owner.close()


@pytest.fixture(scope="session")
def shared_server(all_servers, engine):
    """Returns a function from nothing to the shared server, started anew if it has died."""
    server = None

    def get():
        nonlocal server
        if server is None or server.exit_code is not None:
            server = all_servers.start_single(engine)
        return server

    return get


@pytest.fixture
def server(shared_server):
    """The server with one task, `/job:worker/task:0`, shared by all tests.

    Earlier tests leave nothing on it: it is reset first. A test that it does not survive fails.
    """
    server = shared_server()
    tf.compat.v1.Session.reset(server.target)
    yield server
    if server.exit_code is not None:
        pytest.fail(f"{server} ended with {server.exit_code} during the test")


@pytest.fixture
def target(server):
    """The address of the shared server."""
    return server.target


@pytest.fixture
def cluster(all_servers, engine):
    """Returns a function that starts a cluster, which ends with the test.

    Jobs that `engines` does not name run the engine under test, so that
    `cluster(engines={"worker": "tensorflow"})` is our ps under TensorFlow's workers.
    """
    started = []

    def start(num_workers=1, num_ps=1, *, jobs=None, engines=None, session_config=None, env=None):
        jobs = dict(jobs or {}, ps=num_ps, worker=num_workers)
        jobs = {job: count for job, count in jobs.items() if count}
        chosen = {job: (engines or {}).get(job, engine) for job in jobs}
        started.append(clusters.Cluster(all_servers, jobs, chosen, session_config, env))
        return started[-1]

    yield start
    for each in started:
        each.close()


@pytest.fixture(autouse=True)
def graph():
    """A graph of the test's own, which is the default while it runs."""
    with tf.Graph().as_default() as graph:
        yield graph


# --- What happens around each test: a time limit, and the servers' logs when it fails.

_SERVERS = pytest.StashKey[servers.Servers]()
# What each server had written before the test, and the servers that were started before it.
_LOG_STARTS = pytest.StashKey[dict]()
_EARLIER = pytest.StashKey[set]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    owner = item.config.stash.get(_SERVERS, None)
    running = owner.running() if owner else []
    item.stash[_LOG_STARTS] = {server: server.log_size() for server in running}
    item.stash[_EARLIER] = set(owner.started) if owner else set()
    timer = threading.Timer(TEST_SECONDS, _end_all_servers, [item])
    timer.daemon = True
    timer.start()
    # Should even that not help, then the traceback of every thread is worth more than the run.
    faulthandler.dump_traceback_later(TEST_SECONDS + 60, exit=True)
    try:
        return (yield)
    finally:
        timer.cancel()
        faulthandler.cancel_dump_traceback_later()


def _end_all_servers(item):
    item.add_report_section("call", "time limit", f"no end after {TEST_SECONDS} s; servers killed")
    for server in item.config.stash[_SERVERS].running():
        server.kill()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    owner = item.config.stash.get(_SERVERS, None)
    if report.failed and owner:
        starts = item.stash[_LOG_STARTS]
        own = [server for server in owner.started if server not in item.stash[_EARLIER]]
        for server in [*starts, *own]:
            log = server.log(starts.get(server, 0))
            code = server.exit_code
            state = "running" if code is None else f"ended with {code}"
            if log or code is not None:
                report.sections.append((f"{server}, {state}", log))
    return report
