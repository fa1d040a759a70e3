"""The dashboard of a server, fed with pictures of clusters that this machine could not run."""

import http.server
import json
import threading

import requests

_OURS = ("content-length", "connection", "date", "server", "transfer-encoding")


class FedDashboard:
    """A site whose pages and headers are those of a real server, and whose cluster is made up."""

    def __init__(self, upstream, picture):
        self.upstream, self.picture = upstream, picture
        self._ended = threading.Event()
        fed = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                fed._answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _answer(self, handler):
        path = handler.path.split("?")[0]
        source = "/" if path.startswith("/api/") else handler.path
        real = requests.get(self.upstream + source.lstrip("/"), timeout=30, proxies={"http": None})
        headers = {name: value for name, value in real.headers.items() if name.lower() not in _OURS}
        if path == "/api/live":
            return self._stream(handler, headers)
        body, status = real.content, real.status_code
        if path == "/api/logs":
            lines = ["2026-01-01T00:00:00Z  WARN tensorfleet: <img src=x onerror=alert(1)>"]
            body, headers["Content-Type"] = json.dumps({"first": 0, "next": 1, "lines": lines}).encode(), "application/json"
        handler.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _stream(self, handler, headers):
        handler.send_response(200)
        for name, value in {**headers, "Content-Type": "text/event-stream"}.items():
            handler.send_header(name, value)
        handler.end_headers()
        number = 0
        try:
            while not self._ended.is_set():
                handler.wfile.write(f"data: {json.dumps(self.picture(number))}\n\n".encode())
                handler.wfile.flush()
                number += 1
                self._ended.wait(0.4)
        except OSError:
            pass

    def close(self):
        self._ended.set()
        self._server.shutdown()
        self._server.server_close()


def large_cluster(number, workers=180, ps=20):
    """The picture, at a number of seconds, of a cluster where much goes wrong and names are hostile."""
    at = 1_800_000_000.0 + number
    jobs = [("worker", index) for index in range(workers)] + [("ps", index) for index in range(ps)]
    tasks = [_task(job, index, number, at, ps) for job, index in jobs]
    return {"seen_from": "/job:worker/replica:0/task:0", "at_seconds": at, "tasks": tasks}


HOSTILE = "<img src=x onerror=\"document.title='owned'\">&lt;/script>"


def _task(job, index, number, at, ps):
    name = f"/job:{job}/replica:0/task:{index}"
    told = {"task": name, "address": f"10.0.{index // 250}.{index % 250}:2222", "round_trip_seconds": 0.002, "silent_seconds": 0.0}
    state = {("ps", 3): "unreachable", ("worker", 7): "silent", ("worker", 9): "draining", ("worker", 11): "foreign"}.get((job, index), "serving")
    told["state"] = state
    if state == "unreachable":
        return {**told, "error": f"UNAVAILABLE: 10.0.0.3:2222: cannot be reached {HOSTILE}", "status": None}
    if state == "foreign":
        return {**told, "error": "UNIMPLEMENTED: unknown service", "status": None}
    if state == "silent":
        told["silent_seconds"] = 3.0 + number
    speed = 100 + index % 17
    wait = {"node": f"gradients/{HOSTILE}", "op": "_Recv", "for": "tensor", "from": "/job:ps/replica:0/task:3/device:CPU:0", "what": "w:0", "seconds": 12.0 + number}
    token = {"node": "sync_rep/dequeue", "op": "QueueDequeueV2", "for": "resource", "what": "sync_token_q", "seconds": 30.0 + number}
    steps = [{"id": str(5000 + index), "session": "session 1", "seconds": 40.0 + number, "is_computing": False, "waits": [wait if index % 3 else token]}] if job == "worker" and index < 12 else []
    resources = [
        {"device": f"{name}/device:CPU:0", "container": "localhost", "name": HOSTILE if variable == 2 else f"layer_{index}_{variable}/kernel", "kind": "variable",
         "dtype": "float", "shape": f"[{1024 >> variable},512]", "bytes": (1024 >> variable) * 2048, "reads": 10 * number, "updates": number * (variable + 1) * 7, "waiting": 0}
        for variable in range(6)
    ] if job == "ps" else []
    status = {
        "task": name, "state": "serving", "version": "0.1.0", "process": 1000 + index, "started_seconds": at - 500 - number, "uptime_seconds": 500.0 + number,
        "memory_bytes": 200_000_000 + index * 3_000_000, "devices": [{"name": f"{name}/device:CPU:0", "incarnation": "1"}], "errors": {"UNAVAILABLE": 2},
        "work": {"step": {"running": len(steps), "done": speed * number, "failed": index % 2, "seconds": 0.005 * speed * number}, "part": {"running": 0, "done": 0, "failed": 0, "seconds": 0.0}},
        "sessions": [{"handle": HOSTILE, "age_seconds": 60.0, "idle_seconds": 0.0, "steps": 4, "nodes": 900, "plans": 1, "tasks": 2}] if job == "worker" else [],
        "contexts": [], "worker_sessions": 1, "graphs": 2, "open_steps": len(steps), "steps": steps, "top_resources": resources, "memory": {"resident": 200_000_000 + index * 3_000_000, "variable": 150_000_000, "rendezvous": 1000},
        "peers": [{"task": f"/job:ps/replica:0/task:{(index + other) % ps}", "state": "up", "link": "up", "waiting": 0, "link_sent_bytes": 1_000_000 * number, "link_received_bytes": 500_000 * number} for other in range(3)] if job == "worker" else [],
        "events": [{"time_seconds": at - 20 - index, "kind": "peer_lost", "text": f"peer lost {HOSTILE}"}] if index < 5 else [],
    }
    if (job, index) == ("worker", 0):
        status["scalars"] = {"loss": {"points": [[step, 2.0 / (1 + step / 20)] for step in range(0, 40 + number * 5, 2)]}}
    # Its own start does not move.
    status["started_seconds"] = 1_800_000_000.0 - 500
    return {**told, "status": status}
