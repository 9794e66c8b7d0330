"""Shell scripts that stand for external planners, and checks on the processes of a group."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from needful.errors import PlannerError
from needful.planning.engines.external_programs import OPTIMAL, FastDownward, KStar
from needful.planning.interfaces import Search

# Writes its process group to a file and leaves grandchildren behind that ignore signals.
STUBBORN = """
trap '' TERM INT HUP
cut -d ' ' -f 5 /proc/$$/stat > {note}.part
(trap '' TERM INT HUP; sleep 1000; sleep 1000) &
(trap '' TERM INT HUP; while :; do sleep 1000; done) &
mv {note}.part {note}
"""
NEVER_ENDING = STUBBORN + "while :; do sleep 1000; done\n"


def script(folder: Path, text: str, name: str = "planner") -> str:
    """Return the path of a program that runs some lines of shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def alive(group: int) -> list[int]:
    """The processes of a group that have not ended; zombies are ignored."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of_group = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:  # It ended in the meantime.
            continue
        if int(of_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return found


def all_gone(group: int) -> bool:
    """Whether all processes of a group end within seconds; killed ones may take a moment."""
    return _soon(lambda: not alive(group))


def noted_group(note: Path) -> int:
    """The process group that `STUBBORN` wrote, once it has."""
    assert _soon(note.exists)
    return int(note.read_text())


def _soon(condition: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def installed() -> dict[str, Search]:
    """The external planners; skip the test if they are not installed."""
    try:
        return {"lama": FastDownward(), "optimal": FastDownward(OPTIMAL), "k-star": KStar()}
    except PlannerError as error:
        pytest.skip(str(error))
