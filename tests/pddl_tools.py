"""Third-party PDDL tools as references: Fast Downward, K*, pyperplan and Unified Planning."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

FILES = ("domain.pddl", "problem.pddl")
# Translators may produce conditional effects in any style, which LM-cut does not support.
_HEURISTICS = ("lmcut()", "hmax()")
_UNSUPPORTED = 34


def fast_downward_plan(domain: str, problem: str, folder: Path) -> str | None:
    """Return the optimal plan that Fast Downward finds, or None if it proves that there is none."""
    driver = _package("up_fast_downward") / "downward" / "fast-downward.py"
    _write(domain, problem, folder)
    for heuristic in _HEURISTICS:
        search = f"astar({heuristic})"
        done = _python([str(driver), "--plan-file", "plan", *FILES, "--search", search], folder)
        if done.returncode != _UNSUPPORTED:
            break
    assert done.returncode in (0, 10, 11, 12), done.stdout + done.stderr
    return (folder / "plan").read_text() if done.returncode == 0 else None


def k_star_plan(domain: str, problem: str, folder: Path) -> str:
    """Return the cheapest plan that K* finds, with its own translator."""
    build = _package("kstar_planner") / "builds" / "release" / "bin"
    _write(domain, problem, folder)
    for heuristic in _HEURISTICS:
        search = f"kstar({heuristic}, k=1, dump_plan_files=false, json_file_to_dump=plans.json)"
        command = ["-m", "kstar_planner.driver.main", "--build", str(build), *FILES, "--search", search]
        done = _python(command, folder)
        if done.returncode != _UNSUPPORTED:
            break
    assert done.returncode == 0, done.stdout + done.stderr
    (plan,) = json.loads((folder / "plans.json").read_text())["plans"]
    return "\n".join(plan["actions"])


def pyperplan_plan(domain: str, problem: str, folder: Path) -> str:
    """Return the plan of pyperplan with A* and LM-cut; it supports neither quantifiers nor equality."""
    _package("pyperplan")
    _write(domain, problem, folder)
    done = _python(["-m", "pyperplan", "-H", "lmcut", "-s", "astar", *FILES], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return (folder / f"{FILES[1]}.soln").read_text()


class UnifiedPlanning:
    """Reads PDDL files, validates plans and plans. Its own warnings are silenced."""

    def __init__(self) -> None:
        with _quietly():
            try:
                from unified_planning.engines.plan_validator import SequentialPlanValidator
                from unified_planning.io import PDDLReader
                from unified_planning.shortcuts import OneshotPlanner, get_environment
            except ImportError:
                pytest.skip("unified-planning is not installed")
            get_environment().credits_stream = None
        self._reader, self._validator, self._planner = PDDLReader, SequentialPlanValidator, OneshotPlanner

    def read(self, domain: str, problem: str) -> Any:
        """Return the parsed problem."""
        with _quietly():
            return self._reader().parse_problem_string(domain, problem)

    def accepts(self, problem: Any, plan: str) -> bool:
        """Return whether a plan in PDDL solves a problem."""
        with _quietly():
            parsed = self._reader().parse_plan_string(problem, plan)
            return bool(self._validator().validate(problem, parsed))

    def optimal_length(self, problem: Any) -> int:
        """Return the length of the optimal plan by its Fast Downward."""
        with _quietly(), self._planner(name="fast-downward-opt") as planner:
            return len(planner.solve(problem).plan.actions)


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _package(name: str) -> Path:
    """Return the folder of an installed package, or skip the test that needs it."""
    found = importlib.util.find_spec(name)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"{name} is not installed")
    return Path(found.submodule_search_locations[0])


def _write(domain: str, problem: str, folder: Path) -> None:
    for name, text in zip(FILES, (domain, problem), strict=True):
        (folder / name).write_text(text)


def _python(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, text=True)
