"""Third-party planners as processes: from PDDL files to a plan, including the start of the process.

    fast-downward   A* with LM-cut, on operators with `forall` deletes
    lama-first      Fast Downward's first iteration of LAMA, on the same files
    k-star          K* with LM-cut and symmetries, for one best plan, on the same files
    pyperplan       A* with LM-cut; does not support `forall`, so it gets one action per ground operator

Fast Downward comes with the extra `planners` of this package. The others are installed on first use into an
environment that only benchmarks use. All are under the GPL: they are started as programs, never imported.
"""

from __future__ import annotations

import importlib.util
import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from answers import Answer, best, stopped, valid
from families import Case
from needful.errors import NeedfulError
from needful.planning.pddl.writer import Pddl, PddlStyle, write_pddl
from processes import FOLDER, MEMORY_BYTES, Finished, run

ENVIRONMENT = FOLDER.parent / ".bench-venv"
REQUIREMENTS = FOLDER / "peers.txt"
# Short runs are repeated for at least this long, because their noise is large.
REPEAT_FOR_SECONDS = 1.0
INSTALL_SECONDS = 600.0

Command: TypeAlias = list[str | Path]

_FILES = ("domain.pddl", "problem.pddl")
_PLAN = "plan"
_SYMMETRIES = (
    "sym=structural_symmetries(time_bound=0,search_symmetries=oss,"
    "stabilize_initial_state=false,keep_operator_symmetries=true)"
)
_K_STAR_SEARCH = (
    "kstar(lmcut(transform=undo_to_origin()), k=1, find_unordered_plans=false, "
    f"dump_plan_files=false, json_file_to_dump={_PLAN}, symmetries=sym)"
)


def _unchanged(plan: str) -> str:
    return plan


def _first_of_json(plan: str) -> str:
    return "\n".join(json.loads(plan)["plans"][0]["actions"])


@dataclass(frozen=True, slots=True)
class Peer:
    """A third-party planner.

    Attributes:
        name: the name in tables.
        command: the command line, run in a folder with the PDDL files.
        missing: why it cannot be started; None if it can.
        style: the style of PDDL that it supports.
        plan_file: the file to which it writes its plan.
        read: converts the content of the plan file to one line per step.
        idle: a command that only starts and exits, to measure the start.
    """

    name: str
    command: Command
    missing: str | None = None
    style: PddlStyle = PddlStyle.FORALL
    plan_file: str = _PLAN
    read: Callable[[str], str] = _unchanged
    idle: Command | None = None

    def solve(self, case: Case, seconds: float, repeat: int) -> Answer:
        """Return the best of at least `repeat` runs; a failed run is not repeated."""
        if self.missing is not None:
            return Answer(self.missing)
        pddl = write_pddl(case.vocabulary(), case.domain.operators, case.task(), self.style)
        answers: list[Answer] = []
        spent = 0.0
        while len(answers) < repeat or spent < REPEAT_FOR_SECONDS:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                for file, text in zip(_FILES, (pddl.domain, pddl.problem or ""), strict=True):
                    (folder / file).write_text(text)
                finished = run(self.command, folder, seconds, MEMORY_BYTES)
                answers.append(self._answer(case, pddl, finished, folder / self.plan_file, seconds))
                spent += finished.wall_seconds
            if answers[-1].problem is not None:
                break
        return best(answers)

    def start_ms(self, repeat: int = 10) -> float:
        """Return the CPU milliseconds of the planner's start; 0 without an idle command."""
        if self.missing is not None or self.idle is None:
            return 0.0
        return 1000 * min(run(self.idle, FOLDER).cpu_seconds for _ in range(repeat))

    def _answer(self, case: Case, pddl: Pddl, finished: Finished, file: Path, seconds: float) -> Answer:
        if finished.returncode is None:
            return stopped(seconds)  # the memory of its child processes is unknown
        if not file.exists():
            return Answer(
                f"exit code {finished.returncode}: {finished.last_line}", peak_mb=finished.peak_mb
            )
        try:
            plan = pddl.read_plan(self.read(file.read_text()))
        except (NeedfulError, ValueError, LookupError) as error:
            return Answer(f"unreadable plan: {error}")
        evaluated = re.findall(r"Evaluated (\d+) state", finished.output)
        return Answer(
            problem=None if valid(case.task(), plan) else "invalid plan",
            cost=len(plan),
            evaluated=int(evaluated[-1]) if evaluated else None,
            cpu_ms=1000 * finished.cpu_seconds,
            wall_ms=1000 * finished.wall_seconds,
            peak_mb=finished.peak_mb,
        )


def find_peers() -> dict[str, Peer]:
    """Return all third-party planners by name, including those that are not installed."""
    package = importlib.util.find_spec("up_fast_downward")
    locations = (package.submodule_search_locations if package else None) or [""]
    driver = Path(locations[0]) / "downward" / "fast-downward.py"
    no_downward = None if driver.exists() else "not installed: pip install 'needful[planners]'"
    downward: Command = [sys.executable, driver, "--plan-file", _PLAN]
    not_installed = _install()
    binaries = ENVIRONMENT / "bin"
    built = next(ENVIRONMENT.glob("lib/*/site-packages/kstar_planner/builds/release/bin"), Path())
    k_star: Command = [binaries / "python", "-B", "-m", "kstar_planner.driver.main", "--build", built]
    pyperplan = binaries / "pyperplan"
    peers = (
        Peer("fast-downward", [*downward, *_FILES, "--search", "astar(lmcut())"], no_downward),
        Peer("lama-first", [*downward, "--alias", "lama-first", *_FILES], no_downward),
        Peer(
            "k-star",
            [*k_star, *_FILES, "--symmetries", _SYMMETRIES, "--search", _K_STAR_SEARCH],
            not_installed,
            read=_first_of_json,
        ),
        Peer(
            "pyperplan",
            [pyperplan, "-H", "lmcut", "-s", "astar", *_FILES],
            not_installed,
            PddlStyle.STRIPS,
            plan_file=f"{_FILES[1]}.soln",
            idle=[pyperplan, "--help"],
        ),
    )
    return {peer.name: peer for peer in peers}


def _install() -> str | None:
    """Install the packages of `peers.txt`; return the error if that fails."""
    stamp, wanted = ENVIRONMENT / REQUIREMENTS.name, REQUIREMENTS.read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return None
    pip: Command = [
        ENVIRONMENT / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]
    create: Command = [sys.executable, "-m", "venv", ENVIRONMENT]
    for command in (create, [*pip, "-r", REQUIREMENTS]):
        finished = run(command, FOLDER, INSTALL_SECONDS)
        if finished.returncode != 0:
            return f"not installed: {finished.last_line}"
    stamp.write_text(wanted)
    return None
