"""Run folders for tests of pages, made by real runs."""

from __future__ import annotations

from pathlib import Path

import needful
from lamp_world import LampNames, Lamps
from needful.evaluation.run_folder import RunFolder


def run_screws(folder: Path, tasks: int, learner: str = "necessary") -> Path:
    """Solve tasks of Screws after a few demonstrations, and return the folder."""
    config = needful.RunConfig(learner, demos=6, tasks=tasks)
    needful.run(needful.make_environment("screws"), config, RunFolder.create(folder))
    return folder


def run_lamps(folder: Path, names: LampNames, tasks: int = 4) -> Path:
    """Solve tasks of the lamp world, every second of which fails, and return the folder."""
    needful.run(Lamps(names), needful.RunConfig(demos=2, tasks=tasks), RunFolder.create(folder))
    return folder
