"""The page about interoperability does what it says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import succeed

PAGE = (Path(__file__).parents[1] / "docs" / "interoperability.md").read_text()


def blocks(language: str) -> list[str]:
    """The blocks that are meant to be run."""
    found = re.findall(rf"^([^\n]*)\n```{language}\n(.*?)^```", PAGE, flags=re.DOTALL | re.MULTILINE)
    return [code for before, code in found if "not run" not in before]


def test_the_programs_run(tmp_path: Path) -> None:
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks("python")))
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    printed = re.search(r"^    switch.*?^$", PAGE, flags=re.DOTALL | re.MULTILINE)
    assert printed is not None
    assert re.sub("^    ", "", printed[0], flags=re.MULTILINE).strip() in done.stdout


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks("console")).splitlines():
        prompt, program, *arguments = line.split()
        assert (prompt, program) == ("$", "needful")
        succeed(*arguments)
    assert (tmp_path / "ground" / "problem.pddl").exists()
