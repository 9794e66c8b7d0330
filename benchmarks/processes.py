"""Run commands and functions in fresh processes, and measure their time and memory.

In a fresh process, memory, caches and imported modules of one measurement cannot affect the next.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
DEFAULT_SECONDS = 40.0
# The memory limit of third-party planners, which keeps the machine responsive.
MEMORY_BYTES = 4 << 30

# Environment variables that limit numerical libraries to one core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a command.

    Attributes:
        output: standard output and standard error together.
        returncode: the exit code; None if the command was stopped at the time limit.
        cpu_seconds, wall_seconds: of the command and of all child processes that it waited for.
        peak_mb: the peak resident memory of the largest of these processes, in megabytes.
    """

    output: str
    returncode: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float

    @property
    def last_line(self) -> str:
        """The last line of the output, which names the error of a failed Python program."""
        return (self.output.strip().splitlines() or ["no output"])[-1]


def run(
    command: Sequence[str | Path],
    folder: Path,
    seconds: float = DEFAULT_SECONDS,
    memory_bytes: int | None = None,
    environment: Mapping[str, str] = ONE_THREAD,
) -> Finished:
    """Run a command in a new session, which is killed as a whole at the time limit.

    `environment` is added to that of this process. The exit code is 127 if the command cannot be started.
    """
    request = {
        "command": [str(word) for word in command],
        "folder": str(folder),
        "seconds": seconds,
        "memory_bytes": memory_bytes,
    }
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch, name) for name in ("request.json", "report.json", "output.txt")]
        paths[0].write_text(json.dumps(request))
        subprocess.run(
            [sys.executable, "-I", "-S", FOLDER / "launch.py", *paths],
            env={**os.environ, **environment},
            check=True,
        )
        return Finished(paths[2].read_text(errors="replace"), **json.loads(paths[1].read_text()))


def call(
    module: str, function: str, *arguments: Any, seconds: float = DEFAULT_SECONDS
) -> tuple[Any, Finished]:
    """Call a function of a module in a fresh interpreter; arguments and result are passed as JSON.

    The result is None if the function failed or exceeded the time limit.
    """
    program = (
        f"import json, sys; from {module} import {function}; "
        f"answer = {function}(*json.loads(sys.argv[2])); "
        "open(sys.argv[1], 'w').write(json.dumps(answer))"
    )
    path = os.pathsep.join(filter(None, [str(FOLDER), os.environ.get("PYTHONPATH")]))
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        finished = run(
            [sys.executable, "-c", program, answer, json.dumps(arguments)],
            Path(folder),
            seconds,
            environment={**ONE_THREAD, "PYTHONPATH": path},
        )
        return json.loads(answer.read_text()) if answer.exists() else None, finished
