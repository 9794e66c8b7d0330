"""Run commands, and functions, in processes of their own, and say what they cost.

What one measurement leaves behind (memory, caches, imported modules) cannot help or harm the next.
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
# A peer that wants more than this fails by itself instead of taking the machine down.
MEMORY_BYTES = 4 << 30

# The environment of processes that must do with one core.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


@dataclass(frozen=True, slots=True)
class Finished:
    """What became of a command.

    Attributes:
        output: what it wrote, standard output and errors together.
        returncode: its exit code; None if it was stopped at the time limit.
        cpu_seconds, wall_seconds: of the command and of all that it started and waited for.
        peak_mb: the resident memory of the largest of these processes, in megabytes.
    """

    output: str
    returncode: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_mb: float

    @property
    def last_line(self) -> str:
        """The last thing that it said, which names the error if there was one."""
        return (self.output.strip().splitlines() or ["no output"])[-1]


def run(
    command: Sequence[str | Path],
    folder: Path,
    seconds: float = DEFAULT_SECONDS,
    memory_bytes: int | None = None,
    environment: Mapping[str, str] = ONE_THREAD,
) -> Finished:
    """Run a command in a session of its own, all of which is killed when time is up.

    `environment` is added to that of this process. A command that cannot be started returns 127.
    """
    order = {
        "command": [str(word) for word in command],
        "folder": str(folder),
        "seconds": seconds,
        "memory_bytes": memory_bytes,
    }
    with tempfile.TemporaryDirectory() as scratch:
        paths = [Path(scratch, name) for name in ("order.json", "report.json", "output.txt")]
        paths[0].write_text(json.dumps(order))
        subprocess.run(
            [sys.executable, "-I", "-S", FOLDER / "launch.py", *paths],
            env={**os.environ, **environment},
            check=True,
        )
        return Finished(paths[2].read_text(errors="replace"), **json.loads(paths[1].read_text()))


def call(
    module: str, function: str, *arguments: Any, seconds: float = DEFAULT_SECONDS
) -> tuple[Any, Finished]:
    """Call a function of a benchmark in a fresh interpreter; arguments and result go through JSON.

    The result is None if the function did not return in time, or failed.
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
