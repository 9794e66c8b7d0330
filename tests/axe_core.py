"""The accessibility checker axe-core, fetched with npm."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from headless_browser import Browser

AXE = "axe-core@4.14.0"
TIMEOUT = 60  # seconds


def fetch_axe(folder: Path) -> str:
    """Return the script; skip the current test if it cannot be fetched."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    try:
        subprocess.run(
            [npm, "pack", "--silent", AXE], cwd=folder, check=True, capture_output=True, timeout=TIMEOUT
        )
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        pytest.skip(f"npm cannot fetch {AXE}: {error}")
    (package,) = folder.glob("*.tgz")
    with tarfile.open(package) as archive:
        script = archive.extractfile("package/axe.min.js")
        assert script is not None
        return script.read().decode()


def violations(browser: Browser, axe: str) -> list[Any]:
    """Return the rules that the open page violates, with the elements."""
    browser.send("Runtime.evaluate", expression=axe)
    found: list[Any] = browser.run(
        "axe.run(document).then(found => found.violations.map("
        "rule => [rule.id, rule.help, rule.nodes.map(node => node.html)]))"
    )
    return found
