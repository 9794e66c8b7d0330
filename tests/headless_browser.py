"""A real browser for tests of pages: Chromium without a window, driven over a pipe."""

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
# Without a graphics card, taking a picture of the page is slow, of which the browser complains in its name.
MADE_BY_SCREENSHOTS = "GPU stall due to ReadPixels"
PATIENCE = 60.0  # seconds
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
# The browser reads what it is told from descriptor 3 and answers on 4.
LAUNCHER = """
import fcntl, os, sys
told, answers = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(told, 3)
os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab, and everything that it complained about or asked the network for."""

    def __init__(self, told: int, answers: int) -> None:
        self._told, self._answers = told, answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        target = self.tell("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.tell("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.tell(f"{domain}.enable")

    def tell(self, method: str, **params: Any) -> Any:
        """Send a command and return its result; what happens meanwhile is remembered."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._told, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._remember(answer)

    def open(self, file: Path, width: int, height: int, scheme: str = "light") -> None:
        """Open a file in a window of a size, in light or dark."""
        self.tell(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self.tell(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        self.complaints.clear()
        self.requests.clear()
        self.tell("Page.navigate", url=file.as_uri())
        self.run("new Promise(done => document.readyState === 'complete' ? done() : onload = () => done())")

    def run(self, script: str) -> Any:
        """Return the value of an expression in the page, after it has drawn itself."""
        drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        waiting = f"(async () => {{ const value = await ({script}); await {drawn}; return value; }})()"
        answer = self.tell("Runtime.evaluate", expression=waiting, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """Press a key and let it go."""
        self.tell("Input.dispatchKeyEvent", type="keyDown", key=key, text=text, code=key)
        self.tell("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def mouse(self, kind: str, x: float, y: float, **details: Any) -> None:
        """Move the mouse, or press or release a button."""
        self.tell("Input.dispatchMouseEvent", type=kind, x=x, y=y, **details)

    def picture(self) -> np.ndarray:
        """Return what is seen, as an array of height × width × 3 bytes."""
        data = base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"])
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    def _remember(self, event: dict[str, Any]) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded" if MADE_BY_SCREENSHOTS not in params["entry"]["text"]:
                self.complaints.append(params["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], max(0.0, end - time.monotonic()))
            data = os.read(self._answers, 1 << 16) if ready else b""
            if not data:
                raise RuntimeError("The browser does not answer.")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        answer: dict[str, Any] = json.loads(message)
        return answer


@contextlib.contextmanager
def open_browser(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile, and end it."""
    assert CHROMIUM is not None
    its_input, told = os.pipe()
    answers, its_output = os.pipe()
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", LAUNCHER, str(its_input), str(its_output), CHROMIUM),
            *FLAGS,
            f"--user-data-dir={profile}",
        ],
        pass_fds=(its_input, its_output),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    os.close(its_input)
    os.close(its_output)
    try:
        yield Browser(told, answers)
    finally:
        os.close(told)  # without anyone to tell it what to do, it ends
        os.close(answers)
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
