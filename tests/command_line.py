"""Run the command line, in this process or in a separate one."""

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
from needful.planning.engines.native_planner import ENGINE_BUILT

# Background processes may inherit an ignored SIGINT.
PROGRAM = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from needful.cli import main; main()"
)

# Options of Python and pytest. Without the C++ engine, the warning about the fallback is ignored.
WARNINGS_ARE_ERRORS = ("-W", "error")
if not ENGINE_BUILT:
    WARNINGS_ARE_ERRORS += ("-W", "ignore:needful was installed without:UserWarning")

# Variables such as FORCE_COLOR and GITHUB_ACTIONS add colours to help and usage errors.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
# Lines that are printed every 10 seconds, and so only on a slow machine.
PROGRESS_LINE = re.compile(
    r"^(?:[A-Z][^:\n]*:(?: \d+ of \d+,)? \d+ s|\d+ of \d+ jobs? done[^.\n]*)\n", re.MULTILINE
)


@dataclass(frozen=True)
class CommandResult:
    """The exit code and the output of a command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Stdout, parsed as JSON."""
        return json.loads(self.out)

    @property
    def error_text(self) -> str:
        """Stderr as one line, without the boxes that usage errors are printed in."""
        return " ".join(self.err.translate(str.maketrans("╭╮╰╯│─", "      ")).split())


def needful(*arguments: object) -> CommandResult:
    """Run a command in this process; an unexpected exception is raised."""
    run = CliRunner().invoke(build_app(), [str(one) for one in arguments])
    if run.exception is not None and not isinstance(run.exception, SystemExit):
        raise run.exception
    err = PROGRESS_LINE.sub("", COLOUR.sub("", run.stderr))
    return CommandResult(run.exit_code, COLOUR.sub("", run.stdout), err)


def succeed(*arguments: object) -> CommandResult:
    """Run a command that must succeed and print nothing on stderr."""
    result = needful(*arguments)
    assert (result.code, result.err) == (0, ""), result
    return result


def start(*arguments: object, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a command in a separate process."""
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> CommandResult:
    """Wait for a command to end."""
    out, err = process.communicate(timeout=120)
    return CommandResult(process.returncode, out, PROGRESS_LINE.sub("", err or ""))


def read_lines(file: Path) -> list[Any]:
    """Return the values in a JSON Lines file, whose last line must be complete."""
    text = file.read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def files_below(folder: Path) -> dict[str, bytes]:
    """Return the content of all files below a folder, including hidden ones."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
