"""The command line from outside: in this process, where that is enough, or in one of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from needful.cli.app import build_app

# A run that was started in the background may have been told to ignore Ctrl-C.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from needful.cli import main; main()"
)

# Help and wrong usage come in colours where a variable such as FORCE_COLOR or GITHUB_ACTIONS asks for them.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Said:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """What stands on stderr, as one line: boxes around messages break them anywhere."""
        return " ".join(self.err.translate(str.maketrans("╭╮╰╯│─", "      ")).split())


def needful(*arguments: object) -> Said:
    """Run a command in this process; a traceback is never how it may end."""
    result = CliRunner().invoke(build_app(), [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, COLOUR.sub("", result.stdout), COLOUR.sub("", result.stderr))


def succeed(*arguments: object) -> Said:
    """Run a command that must end well and have nothing to complain about."""
    said = needful(*arguments)
    assert (said.code, said.err) == (0, ""), said
    return said


def start(*arguments: object, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Said:
    """Wait for a command to end."""
    out, err = process.communicate(timeout=120)
    return Said(process.returncode, out, err)


def read_lines(file: Path) -> list[Any]:
    """Return the content of a file of JSON lines; each must be complete."""
    text = file.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, hidden ones too."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
