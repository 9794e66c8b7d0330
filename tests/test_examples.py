"""The examples and the code in the documentation do what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from command_line import succeed

ROOT = Path(__file__).parents[1]


def run_python(file: Path, folder: Path) -> str:
    done = subprocess.run([sys.executable, file], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def code_blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def test_an_environment_of_ones_own_is_learned_and_solved(tmp_path: Path) -> None:
    printed = run_python(ROOT / "examples" / "own_environment.py", tmp_path)
    first, *_, last = printed.splitlines()
    assert first == "Go(?x0:lift, ?x1:floor)"  # and no findings before it
    assert "forgets:    IsOn(*:passenger, ?x1)" in printed
    assert last == "Solved 10 of 10 unseen tasks."


def test_the_page_about_extending_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs" / "extending.md"
    monkeypatch.chdir(tmp_path)
    commands = [line for block in code_blocks(page, "console") for line in block.splitlines()]
    assert len(commands) == 2
    for command in commands:
        prompt, program, *arguments = command.split()
        assert (prompt, program) == ("$", "needful")
        succeed(*arguments)
    script = tmp_path / "cup_stacking" / "page.py"
    blocks = code_blocks(page, "python")
    assert len(blocks) == 4
    script.write_text("\n".join(blocks))
    run_python(script, script.parent)
