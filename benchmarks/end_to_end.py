"""Measure `needful run`, from collecting demonstrations to solving test tasks.

Usage: python benchmarks/end_to_end.py [--quick]

The values are wall seconds of the command, including the start of Python, and peak resident memory.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from processes import run
from report import Row, table

DOMAIN, TARGET = "cluttered-painting", 40.0
QUICK = ("screws", "--demos", "10", "--tasks", "5")
SECONDS = 600.0


def rows(quick: bool = False) -> list[Row]:
    """Return the time and the memory of a run; a quick run is small and in a small domain."""
    domain, *options = QUICK if quick else (DOMAIN,)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        command = [sys.executable, "-c", "from needful.cli import main; main()"]
        command += ["run", domain, *options, "--out", "run"]
        finished = run(command, folder, SECONDS, environment={})
        summary = folder / "run" / "summary.json"
        done = finished.returncode == 0 and summary.exists()
        solved = json.loads(summary.read_text())["success_rate"] if done else 0.0
    row = f"end-to-end/{domain}"
    return [
        Row(
            f"{row}/wall",
            finished.wall_seconds if done else None,
            "s",
            None if quick else TARGET,
            note=f"{solved:.0%} solved, {finished.cpu_seconds:.1f} s CPU" if done else finished.last_line,
        ),
        Row(f"{row}/memory", finished.peak_mb if done else None, "MB"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a small run in a small domain")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
