"""README keeps its word: its programs run and its commands exist."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from command_line import succeed

README = (Path(__file__).parents[1] / "README.md").read_text()


def test_the_programs_run(tmp_path: Path) -> None:
    programs = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert programs
    for program in programs:
        run = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, "")


def test_the_commands_exist() -> None:
    commands = re.findall(r"^\| `needful ([\w-]+)", README, re.MULTILINE)
    assert commands
    for command in commands:
        assert f"needful {command}" in succeed(command, "--help").out
