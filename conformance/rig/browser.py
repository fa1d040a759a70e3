"""A real browser, driven over the HTTP interface of its driver (W3C WebDriver)."""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import time

import requests

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")

SECONDS = 60


def is_there():
    return CHROMIUM is not None and DRIVER is not None


class Browser:
    """A browser without a window. It is closed with its driver."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._log = open(self.directory / "driver.log", "w+")
        self._driver = subprocess.Popen([DRIVER, "--port=0"], stdout=self._log, stderr=subprocess.STDOUT)
        self._http = requests.Session()
        self._http.trust_env = False
        port = _eventually(self._port)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-proxy-server", "--hide-scrollbars"]
        options = {"binary": CHROMIUM, "args": [*arguments, f"--user-data-dir={self.directory / 'profile'}"]}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self._base = f"http://127.0.0.1:{port}/session"
        made = self._call("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self._base += f"/{made['sessionId']}"

    def _port(self):
        self._log.flush()
        text = (self.directory / "driver.log").read_text()
        found = re.search(r"started successfully on port (\d+)", text)
        return found and int(found.group(1))

    def _call(self, method, path, body=None):
        body = {} if body is None and method == "POST" else body
        answer = self._http.request(method, self._base + path, json=body, timeout=SECONDS).json()["value"]
        if isinstance(answer, dict) and "error" in answer:
            raise AssertionError(f"{answer['error']}: {answer['message'].splitlines()[0]}")
        return answer

    def open(self, address):
        self._call("POST", "/url", {"url": address})

    def resize(self, width, height):
        # A window without a frame is never narrower than 500; the size of the page is another matter.
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)

    def devtools(self, command, parameters):
        return self._call("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def colours(self, scheme):
        """Has the system of the user be light or dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.devtools("Emulation.setEmulatedMedia", {"features": features})

    def run(self, script, *arguments):
        """The value of a function's body in JavaScript."""
        return self._call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def text(self):
        return self.run("return document.body.innerText")

    def press(self, keys):
        """Presses keys where the focus is; W3C gives special keys private characters."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def until(self, condition, what):
        """Waits until a function of the browser returns something true."""
        try:
            return _eventually(condition)
        except AssertionError:
            raise AssertionError(f"never: {what}\n{self.text()}") from None

    def until_text(self, text):
        return self.until(lambda: text in self.text(), repr(text))

    def complaints(self):
        """What the console has said since this was last asked: errors and refusals."""
        entries = self._call("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("SEVERE", "WARNING")]

    def screenshot(self, name):
        height = self.run("return Math.min(4000, document.documentElement.scrollHeight)")
        width = self.run("return innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        shot = self.devtools("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        path = self.directory / f"{name}.png"
        path.write_bytes(base64.b64decode(shot["data"]))
        return path

    def close(self):
        try:
            self._call("DELETE", "")
        finally:
            self._driver.terminate()
            self._driver.wait(SECONDS)
            self._log.close()


def _eventually(condition):
    """The first true value of a condition; what it waits for is outside of this process."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    raise AssertionError("the time is over")


# What is checked of every view, in the browser: each finding is a sentence.
ACCESSIBILITY = """
const found = [];
const name = (node) => (node.getAttribute("aria-label") || node.textContent || node.alt || node.title || "").trim();
const about = (node) => `${node.tagName.toLowerCase()}.${node.getAttribute("class") || ""} ${name(node).slice(0, 40)}`;
if (!document.documentElement.lang) found.push("the page has no language");
if (document.querySelectorAll("h1").length !== 1) found.push("there is not one h1");
if (document.querySelectorAll("main").length !== 1) found.push("there is not one main");
const ids = [...document.querySelectorAll("[id]")].map((node) => node.id);
for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) found.push(`two nodes have the id ${id}`);
for (const node of document.querySelectorAll("[aria-labelledby]"))
  if (!document.getElementById(node.getAttribute("aria-labelledby"))) found.push(`no label: ${about(node)}`);
for (const node of document.querySelectorAll("a, button, [role=img], [role=region]"))
  if (!name(node)) found.push(`no name: ${about(node)}`);
for (const node of document.querySelectorAll("input, select"))
  if (!node.labels.length && !node.getAttribute("aria-label")) found.push(`no label: ${about(node)}`);
for (const node of document.querySelectorAll("img")) if (node.getAttribute("alt") === null) found.push("an image has no alt");
for (const node of document.querySelectorAll("th")) if (!node.scope) found.push(`no scope: ${about(node)}`);
for (const node of document.querySelectorAll("ul, ol"))
  for (const child of node.children) if (child.tagName !== "LI") found.push(`no li in a list: ${about(child)}`);
let level = 0;
for (const node of document.querySelectorAll("h1, h2, h3")) {
  const next = Number(node.tagName[1]);
  if (next > level + 1) found.push(`a heading is left out before ${about(node)}`);
  level = next;
}
const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
const luminance = ([r, g, b]) => { const l = [r, g, b].map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]; };
const ground = (node) => {
  for (let at = node; at; at = at.parentElement) {
    if (at.tagName === "a" || at.tagName === "g") { const rect = at.querySelector(":scope > rect"); if (rect) return rgba(getComputedStyle(rect).fill); }
    const colour = rgba(getComputedStyle(at).backgroundColor);
    if (colour[3] === 255) return colour;
  }
  return [255, 255, 255, 255];
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const seen = new Set();
while (walker.nextNode()) {
  const node = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || seen.has(node) || node.closest(".unseen, .skip, noscript, title")) continue;
  seen.add(node);
  const style = getComputedStyle(node);
  if (style.visibility === "hidden" || !node.getClientRects().length) continue;
  const isSvg = node.namespaceURI.endsWith("svg");
  const [a, b] = [luminance(rgba(isSvg ? style.fill : style.color)), luminance(ground(node))];
  const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${about(node)}`);
}
return [...new Set(found)];
"""
