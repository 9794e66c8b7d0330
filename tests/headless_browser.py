"""Headless Chromium for tests of pages, controlled over a pipe."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# Screenshots without a GPU log this warning, which the page does not cause.
SCREENSHOT_WARNING = "GPU stall due to ReadPixels"
TIMEOUT = 60.0  # seconds
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
# The browser reads commands from file descriptor 3 and writes its answers to 4.
LAUNCHER = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(commands, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab, with its console messages and its network requests."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands, self._answers = commands, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.messages: list[str] = []
        self.requests: list[str] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; record the events that arrive before it."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._record(answer)

    def open(self, file: Path, width: int, height: int, scheme: str = "light", query: str = "") -> None:
        """Open a file in a window of the given size, with the light or dark colour scheme."""
        self.show(f"{file.as_uri()}?{query}" if query else file.as_uri(), width, height, scheme)

    def show(self, address: str, width: int, height: int, scheme: str = "light") -> None:
        """Open an address in a window of the given size, with the light or dark colour scheme."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.send(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.messages.clear()
        self.requests.clear()
        self.send("Page.navigate", url=address)
        self.run("new Promise(done => document.readyState === 'complete' ? done() : onload = () => done())")

    def run(self, script: str) -> Any:
        """Evaluate an expression in the page; return its value after the next redraw."""
        drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        waiting = f"(async () => {{ const value = await ({script}); await {drawn}; return value; }})()"
        answer = self.send("Runtime.evaluate", expression=waiting, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, text: str = "", shift: bool = False) -> None:
        """Press and release a key, with or without Shift."""
        modifiers = 8 if shift else 0
        self.send(
            "Input.dispatchKeyEvent", type="keyDown", key=key, text=text, code=key, modifiers=modifiers
        )
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, modifiers=modifiers)

    def mouse(self, kind: str, x: float, y: float, **details: Any) -> None:
        """Move the mouse, or press or release a button."""
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **details)

    def picture(self) -> np.ndarray:
        """Return a screenshot, as an array of height × width × 3 bytes."""
        data = base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def _record(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.messages.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.messages.append(str(params["args"]))
            case "Log.entryAdded" if SCREENSHOT_WARNING not in params["entry"]["text"]:
                self.messages.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + TIMEOUT
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("The browser did not answer in time, or it has exited.")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextlib.contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile, and close it after the block."""
    assert CHROMIUM is not None
    browser_input, commands = os.pipe()
    answers, browser_output = os.pipe()
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", LAUNCHER, str(browser_input), str(browser_output), CHROMIUM),
            *FLAGS,
            f"--user-data-dir={profile}",
        ],
        pass_fds=(browser_input, browser_output),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(browser_input)
    os.close(browser_output)
    try:
        yield Browser(commands, answers)
    finally:
        os.close(commands)  # the browser exits when its input is closed
        os.close(answers)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
