"""The dashboard in a real browser, and what its port answers without one.

TensorFlow's server has no such port, so the tests are ours alone. Screenshots are kept below
target/dashboard.
"""

import json
import signal
import threading

import pytest
import requests
import tensorflow as tf

from conformance.rig import browser as browsers
from conformance.rig import fed_dashboard, ports, servers
from conformance.rig.fleet import Fleet as SecureFleet
from conformance.rig.fleet import Process

v1 = tf.compat.v1
pytestmark = pytest.mark.ours("TensorFlow's server shows nothing of itself")
in_browser = pytest.mark.needs(browsers.is_there(), "chromium with chromedriver")

VIEWS = ["cluster", "training", "steps", "waits", "variables", "memory", "events", "logs", "task/worker%2F0"]
SECONDS = 60


class Fleet:
    """A parameter server and two workers, the first of which shows the dashboard."""

    def __init__(self, directory, *flags):
        tasks = ["ps/0", "worker/0", "worker/1"]
        at = {task: f"127.0.0.1:{ports.reserve()}" for task in tasks}
        self.cluster = json.dumps({"ps": [at["ps/0"]], "worker": [at["worker/0"], at["worker/1"]]})
        self.tasks = {}
        for task in tasks:
            job, index = task.split("/")
            self.tasks[task] = Process(
                directory, "serve", f"--cluster={self.cluster}", f"--job_name={job}", f"--task_index={index}", "--http=0", *flags
            )
        self.address = http_address(self.tasks["worker/0"])
        self.target = self.tasks["worker/0"].target

    def close(self):
        for process in self.tasks.values():
            process.kill()


def http_address(process):
    """Where a server answers over HTTP: it says so before it prints its target."""
    while True:
        for line in list(process.lines):
            if "status at http://" in line:
                return line.split(" at ")[-1].strip() + "/"


def get(address, **arguments):
    with requests.Session() as http:
        http.trust_env = False
        return http.get(address, timeout=SECONDS, **arguments)


def post(address, **arguments):
    with requests.Session() as http:
        http.trust_env = False
        return http.post(address, timeout=SECONDS, **arguments)


@pytest.fixture
def fleet(tmp_path):
    started = Fleet(tmp_path)
    yield started
    started.close()


@pytest.fixture(scope="module")
def shared_browser():
    opened = browsers.Browser(servers.ROOT / "target" / "dashboard")
    yield opened
    opened.close()


@pytest.fixture
def browser(fleet, shared_browser):
    """The browser without a page. A page that outlived its server would complain in the next test."""
    shared_browser.resize(1280, 900)
    yield shared_browser
    shared_browser.open("about:blank")
    shared_browser.complaints()


class Training:
    """Steps on a variable of the ps, on a thread, until it is ended."""

    def __init__(self, target):
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._train, args=[target], daemon=True)
        self._thread.start()

    def _train(self, target):
        with tf.Graph().as_default():
            with tf.device("/job:ps/task:0"):
                weights = v1.get_variable("weights", [64, 64], initializer=v1.zeros_initializer(), use_resource=True)
            with tf.device("/job:worker/task:1"):
                change = tf.matmul(weights.read_value(), tf.ones([64, 64])) * 0.001 + 1.0
            update = weights.assign_sub(change, read_value=False)
            try:
                with v1.Session(target, config=v1.ConfigProto(operation_timeout_in_ms=20000)) as session:
                    session.run(weights.initializer)
                    while not self._end.is_set():
                        session.run(update)
            except tf.errors.OpError:
                pass  # Its cluster is broken on purpose.

    def end(self):
        self._end.set()
        self._thread.join(SECONDS)


def show(browser, view):
    browser.run("location.hash = arguments[0]", f"#/{view}")
    browser.until(lambda: browser.run("return document.querySelector('main .view h1') !== null"), f"the view {view}")


def check_view(browser, view, name):
    """A view without complaints of the browser, with names and contrast, that fits its window."""
    show(browser, view)
    browser.screenshot(f"{name}-{view.split('/')[0]}")
    assert browser.complaints() == [], view
    assert browser.run(browsers.ACCESSIBILITY) == [], view
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth"), view


@in_browser
def test_every_view_shows_a_live_cluster(fleet, browser):
    training = Training(fleet.target)
    told = {"step": 7, "values": {"loss <b>": 0.25}}
    assert post(fleet.address + "api/scalars", json=told).status_code == 200
    browser.colours("light")
    browser.open(fleet.address)
    browser.until_text("3 of 3")
    for task in fleet.tasks:
        browser.until_text(task)
    for scheme in ("light", "dark"):
        browser.colours(scheme)
        for view in VIEWS:
            check_view(browser, view, f"live-{scheme}")
    show(browser, "cluster")
    steps = "return [...document.querySelectorAll('.tile .rate')].map((node) => parseFloat(node.textContent))"
    browser.until(lambda: max(browser.run(steps)) > 0, "a task makes steps")
    show(browser, "training")
    browser.until_text("loss <b>")
    show(browser, "logs/worker%2F0")
    browser.until_text("opened session")
    show(browser, "logs/ps%2F0")
    browser.until_text("Started server with target")
    training.end()


@in_browser
def test_a_killed_and_a_frozen_task_are_told_apart(fleet, browser):
    browser.open(fleet.address)
    browser.until_text("3 of 3")
    fleet.tasks["ps/0"].kill()
    fleet.tasks["worker/1"].process.send_signal(signal.SIGSTOP)
    browser.until_text("ps/0 is unreachable")
    browser.until_text("worker/1 is silent")
    browser.until_text("1 of 3")
    for view in VIEWS:
        check_view(browser, view, "broken")
    show(browser, "waits")
    assert "its process is stopped or its machine is overloaded" in browser.text()
    said = lambda: browser.run("return document.getElementById('announcer').textContent")
    fleet.tasks["worker/1"].process.send_signal(signal.SIGCONT)
    browser.until(lambda: "worker/1 answers again" in said(), "people who do not see it are told")
    show(browser, "events")
    browser.until_text("worker/1 answers again")


@in_browser
def test_two_hundred_tasks_with_hostile_names_on_any_screen(fleet, browser):
    fed = fed_dashboard.FedDashboard(fleet.address, fed_dashboard.large_cluster)
    try:
        for scheme, width in (("light", 1280), ("dark", 390)):
            browser.resize(width, 900)
            browser.colours(scheme)
            browser.open(fed.address)
            browser.until_text("198 of 200")
            for view in VIEWS:
                check_view(browser, view, f"large-{scheme}-{width}")
            # What a stranger calls a variable stays text.
            assert browser.run("return document.images.length") == 1
            assert "owned" not in browser.run("return document.title")
            show(browser, "waits")
            browser.until_text("ps/3 is unreachable")
            browser.until_text("waits for an element of the queue sync_token_q")
            show(browser, "variables")
            browser.until_text(fed_dashboard.HOSTILE)
    finally:
        browser.open("about:blank")
        fed.close()


@in_browser
def test_a_keyboard_is_enough(fleet, browser):
    browser.open(fleet.address)
    browser.until_text("3 of 3")
    focused = "const node = document.activeElement; return node.getAttribute('aria-label') || node.textContent"
    tab, enter = "\ue004", "\ue007"
    browser.press(tab)
    assert browser.run(focused) == "Skip to the content"
    browser.press("2")
    browser.until(lambda: browser.run("return document.querySelector('h1').textContent") == "Training", "a number chooses a view")
    browser.press("1")
    browser.until_text("Picture")
    for _ in range(30):
        browser.press(tab)
        if browser.run(focused).startswith("ps/0:"):
            break
    # An update every second takes the focus from nobody.
    before = browser.run("return document.querySelector('.connection').textContent")
    browser.until(lambda: browser.run("return document.querySelector('.connection').textContent") != before, "an update")
    assert browser.run(focused).startswith("ps/0:")
    browser.press(enter)
    browser.until(lambda: browser.run("return location.hash") == "#/task/ps%2F0", "the page of a task")
    browser.press("p")
    browser.until_text("paused")


@in_browser
def test_where_there_are_roles_the_page_asks_for_a_token(tmp_path, browser):
    fleet = SecureFleet(tmp_path)
    try:
        for server in fleet.servers.values():
            server.kill()
        flags = lambda job: [f"--cluster={fleet.cluster}", f"--job_name={job}", *fleet.tls(f"{job}-0"), "--tokens=tokens"]
        fleet.start("serve", *flags("ps"))
        worker = fleet.start("serve", *flags("worker"), "--http=0")
        address = http_address(worker)
        assert get(address + "api/cluster").status_code == 401
        trainer = {"Authorization": f"Bearer {fleet.tokens['trainer']}"}
        assert get(address + "api/logs?task=x", headers=trainer).status_code == 403
        browser.open(address)
        browser.until_text("Who are you?")
        assert browser.run(browsers.ACCESSIBILITY) == []
        browser.run(
            "document.getElementById('token').value = arguments[0]; document.querySelector('form').requestSubmit()",
            fleet.tokens["reader"],
        )
        browser.until_text("2 of 2")
        assert fleet.tokens["reader"] not in browser.run("return location.href")
        browser.complaints()  # The first refusal is one.
    finally:
        for process in fleet.started:
            process.kill()


def test_the_port_says_no_more_than_it_should(fleet):
    page = get(fleet.address)
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "require-trusted-types-for 'script'" in policy
    assert "unsafe" not in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["X-Frame-Options"] == "DENY"
    for path in ("dashboard/main.js", "metrics", "statusz", "api/cluster"):
        assert get(fleet.address + path).headers["X-Content-Type-Options"] == "nosniff"
    assert get(fleet.address + "dashboard/../../etc/passwd").status_code == 404
    # A name that somebody else has pointed to this machine.
    assert get(fleet.address, headers={"Host": "evil.example"}).status_code == 421
    assert get(fleet.address + "api/cluster", headers={"Host": "evil.example:80"}).status_code == 421
    assert get(fleet.address + "healthz", headers={"Host": "evil.example"}).status_code == 200


def test_one_task_tells_of_all(fleet):
    def states():
        picture = get(fleet.address + "api/cluster").json()
        return {task["task"]: task["state"] for task in picture["tasks"]}

    name = lambda task: "/job:{}/replica:0/task:{}".format(*task.split("/"))
    while set(states().values()) != {"serving"}:
        pass
    assert set(states()) == {name(task) for task in fleet.tasks}
    fleet.tasks["ps/0"].kill()
    while states()[name("ps/0")] != "unreachable":
        pass
    with requests.Session() as http:
        http.trust_env = False
        with http.get(fleet.address + "api/live", stream=True, timeout=SECONDS) as live:
            assert live.headers["Content-Type"] == "text/event-stream"
            lines = live.iter_lines(chunk_size=1)
            pictures = [json.loads(line[6:]) for line in (next(lines) for _ in range(4)) if line.startswith(b"data: ")]
    assert len(pictures) == 2 and pictures[0]["at_seconds"] < pictures[1]["at_seconds"]
    logs = get(fleet.address + "api/logs", params={"task": name("worker/1"), "since": 0}).json()
    assert any("Started server with target" in line for line in logs["lines"])
    assert get(fleet.address + "api/logs", params={"task": "/job:none/task:0"}).status_code == 404


def test_programs_tell_of_their_training(fleet):
    scalars = fleet.address + "api/scalars"
    assert post(scalars, json={"step": 1, "values": {"loss": 0.5}}).status_code == 200
    assert post(scalars, json={"step": 2, "values": {"loss": 0.25}}).status_code == 200
    assert get(fleet.address + "statusz").json()["scalars"] == {"loss": {"points": [[1, 0.5], [2, 0.25]]}}
    assert post(scalars, json={"values": 3}).status_code == 400
    # A page of another site could send this without being asked.
    assert post(scalars, data='{"step": 1, "values": {}}', headers={"Content-Type": "text/plain"}).status_code == 415
    assert post(fleet.address + "statusz", json={}).status_code == 405
