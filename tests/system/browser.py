# SPDX-License-Identifier: MIT
"""A headless Chromium, driven over two pipes by its DevTools protocol: no ports, nothing but Python.

Every wait has a deadline that a loaded machine does not reach.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

DEADLINE_S = 900
FLAGS = ["--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--no-first-run",
         "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
         "--disable-extensions", "--disable-sync", "--no-default-browser-check", "--hide-scrollbars",
         "--force-device-scale-factor=1", "--mute-audio", "--no-proxy-server", "about:blank"]


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="chromium-")
        to_read, self.to = os.pipe()
        self.source, to_write = os.pipe()
        environment = dict(os.environ, HOME=self.folder, XDG_CONFIG_HOME=self.folder,
                           XDG_CACHE_HOME=self.folder)
        # The browser takes commands from 3 and answers on 4.
        shell = f'exec 3<&{to_read} 4>&{to_write}; exec chromium "$@"'
        self.process = subprocess.Popen(
            ["bash", "-c", shell, "chromium", *FLAGS, f"--user-data-dir={self.folder}/profile"],
            pass_fds=(to_read, to_write), env=environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.has_scripts = True
        self.buffer, self.number, self.answers, self.events = b"", 0, {}, []
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        self.session = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.page(f"{domain}.enable")

    def close(self):
        self.process.kill()
        self.process.wait()
        # Its children end with it, and may write until then.
        shutil.rmtree(self.folder, ignore_errors=True)

    def read(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self.source], [], [], left)[0]:
            raise TimeoutError("chromium does not answer")
        data = os.read(self.source, 1 << 20)
        if not data:
            raise EOFError(f"chromium ended with {self.process.wait()}")
        *messages, self.buffer = (self.buffer + data).split(b"\0")
        for message in map(json.loads, messages):
            if "id" in message:
                self.answers[message["id"]] = message
            else:
                self.events.append(message)

    def call(self, method, params=None, session=None):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params or {}}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        deadline = time.monotonic() + DEADLINE_S
        while self.number not in self.answers:
            self.read(deadline)
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, method, params=None):
        return self.call(method, params, self.session)

    def open(self, path):
        """Loads a file, forgetting what was heard before."""
        self.events = []
        self.page("Page.navigate", {"url": f"file://{os.path.abspath(path)}"})
        deadline = time.monotonic() + DEADLINE_S
        while not any(e["method"] == "Page.loadEventFired" for e in self.events):
            self.read(deadline)

    def ask(self, expression):
        """The value of a JavaScript expression, awaited."""
        answer = self.page("Runtime.evaluate", {"expression": expression, "returnByValue": True,
                                                "awaitPromise": True})
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def key(self, name, text=None):
        code = {"Enter": 13, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        params = {"key": name, "code": name, "windowsVirtualKeyCode": code.get(name, ord(name[0]))}
        if name == "Enter":
            text = "\r"
        self.page("Input.dispatchKeyEvent", {"type": "keyDown", **params, **({"text": text} if text else {})})
        self.page("Input.dispatchKeyEvent", {"type": "keyUp", **params})

    def mouse(self, kind, x, y, button="none", clicks=0):
        self.page("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": button,
                                               "buttons": 1 if button == "left" else 0, "clickCount": clicks})

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left", 1)
        self.mouse("mouseReleased", x, y, "left", 1)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left", 1)
        for part in (0.5, 1):
            self.mouse("mouseMoved", x + (to_x - x) * part, y + (to_y - y) * part, "left")
        self.mouse("mouseReleased", to_x, to_y, "left", 1)

    def look(self, dark=False, width=1280, height=900):
        self.page("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.page("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        # What was asked to be drawn is drawn after two frames.
        if self.has_scripts:
            self.ask("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def scripts(self, run):
        """Whether pages' own scripts run."""
        self.has_scripts = run
        self.page("Emulation.setScriptExecutionDisabled", {"value": not run})

    def shoot(self, path):
        picture = self.page("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": True})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def complaints(self):
        """Errors of scripts, what the console was told, and what was asked of any network."""
        heard = []
        for event in self.events:
            params = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                heard.append(params["exceptionDetails"].get("exception", {}).get("description", "exception"))
            elif event["method"] == "Log.entryAdded":
                heard.append(params["entry"]["text"])
            elif event["method"] == "Runtime.consoleAPICalled":
                heard.append(f"console.{params['type']}")
            elif event["method"] == "Network.requestWillBeSent":
                url = params["request"]["url"]
                if not url.startswith(("file://", "data:")):
                    heard.append(f"asks for {url}")
        return heard
