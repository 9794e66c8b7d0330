"""Run folders from real runs, for tests of report pages."""

from __future__ import annotations

from pathlib import Path

import needful
from lamp_world import LampNames, Lamps
from needful.evaluation.run_folder import RunFolder


def run_screws(folder: Path, tasks: int, learner: str = "necessary") -> Path:
    """Run on Screws with a few demonstrations, and return the folder."""
    config = needful.RunConfig(learner, demos=6, tasks=tasks)
    needful.run(needful.make_environment("screws"), config, RunFolder.create(folder))
    return folder


def run_lamps(folder: Path, names: LampNames, tasks: int = 4) -> Path:
    """Run on the lamp world, in which every second task fails, and return the folder."""
    needful.run(Lamps(names), needful.RunConfig(demos=2, tasks=tasks), RunFolder.create(folder))
    return folder
