"""Reproduce one row of the paper's main table in small: 2 learners, 2 seeds, 5 tasks each, 1 s per task.

The command for the full row is `needful reproduce --table main --domains screws` (docs/reproduce.md).

    python examples/06_reproduce_a_table_row.py [FOLDER]

A second call with the same folder reuses the stored results.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from needful import Job, ProcessExecutor, SweepFolder, sweep, write_report

LEARNERS = ("necessary", "ci")


def main(folder: str) -> None:
    """Run the jobs, two at a time, and print the row with the published numbers."""
    jobs = [
        Job("screws", learner, seed, demos=10, tasks=5, timeout=1)
        for learner in LEARNERS
        for seed in (0, 1)
    ]
    with SweepFolder.open(folder) as sweep_folder:
        results = sweep(jobs, sweep_folder, ProcessExecutor(2))
    for result in results.results:
        print(result.job.learner, result.job.seed, f"{result.summary['success_rate']:.0%}")
    write_report(results, folder, tables=["main"], figures=[])
    print(Path(folder, "tables", "main.md").read_text())


if __name__ == "__main__":  # worker processes import this file
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
