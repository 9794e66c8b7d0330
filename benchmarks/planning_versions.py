"""Compare the planning times of two versions of needful with hand-written models.

Usage: python benchmarks/planning_versions.py OLD NEW [--domains D ...] [--seeds 5 6 7] [--tasks 15]
                                              [--repeat 4]

OLD and NEW are folders with the package, such as `src` of two checkouts; the C++ engine must be built in
both. Each version has a process. For each task, the two processes plan in turn, --repeat times each. The
smallest CPU time of each task counts, so that other programs on the machine hardly change the result. The
table has mean milliseconds per task, and the mean number of samples.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from report import markdown_table

DOMAINS = ("painting", "satellites", "cluttered-1d", "screws", "cluttered-satellites", "cluttered-painting")
SECONDS, HORIZON = 60.0, 1_000


def plan_on_request(domain: str, seeds: Sequence[int], count: int) -> None:
    """Plan for the task whose number is on each line of the input; print the CPU seconds and counters."""
    import needful

    environment = needful.make_environment(domain)
    model = environment.oracle_model()
    config = needful.PlanningConfig(timeout=SECONDS, horizon=HORIZON)
    tasks = [task for seed in seeds for task in environment.tasks(needful.Split.TEST, count, seed)]
    for line in sys.stdin:
        number, started = int(line), time.process_time()
        result = needful.plan(
            tasks[number], model, environment.execute, config, seed=number, clock=time.process_time
        )
        seconds = time.process_time() - started
        print(json.dumps([seconds, result.statistics.samples, result.solved]), flush=True)


@dataclass(slots=True)
class Version:
    """A process that plans with one version of the package, and its best result for each task."""

    process: subprocess.Popen[str]
    best: dict[int, tuple[float, int, bool]]

    @classmethod
    def start(cls, source: str, domain: str, seeds: Sequence[int], count: int) -> Version:
        command = [sys.executable, __file__, "--worker", domain, "--tasks", str(count)]
        command += ["--seeds", *map(str, seeds)]
        environment = {**os.environ, "PYTHONPATH": os.path.abspath(source), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        return cls(process, {})

    def plan(self, number: int) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(number, file=self.process.stdin, flush=True)
        seconds, samples, solved = json.loads(self.process.stdout.readline())
        self.best[number] = min(
            self.best.get(number, (seconds, samples, solved)), (seconds, samples, solved)
        )

    def close(self) -> tuple[float, float, int]:
        """End the process; return mean milliseconds, mean samples and the number of solved tasks."""
        self.process.communicate()
        seconds, samples, solved = zip(*self.best.values(), strict=True)
        return 1000 * sum(seconds) / len(seconds), sum(samples) / len(samples), sum(solved)


def compare(
    sources: Sequence[str], domain: str, seeds: Sequence[int], count: int, repeat: int
) -> tuple[str, ...]:
    """Return the row of a domain: milliseconds of both versions, their ratio, samples and solved tasks."""
    versions = [Version.start(source, domain, seeds, count) for source in sources]
    total = len(seeds) * count
    for number in range(total):
        for _ in range(repeat):
            for version in versions:
                version.plan(number)
    (old, old_samples, old_solved), (new, new_samples, new_solved) = (one.close() for one in versions)
    return (
        domain,
        f"{old:.2f}",
        f"{new:.2f}",
        f"{new / old:.2f}",
        f"{old_samples:.1f} → {new_samples:.1f}",
        f"{old_solved} → {new_solved} of {total}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("sources", nargs="*", metavar="FOLDER", help="the folders OLD and NEW")
    parser.add_argument("--domains", nargs="+", default=DOMAINS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[5, 6, 7])
    parser.add_argument("--tasks", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--worker", metavar="DOMAIN", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        plan_on_request(given.worker, given.seeds, given.tasks)
        return
    if len(given.sources) != 2:
        parser.error("Two folders are needed: OLD and NEW.")
    rows = [compare(given.sources, one, given.seeds, given.tasks, given.repeat) for one in given.domains]
    print(markdown_table([("Domain", "old, ms", "new, ms", "ratio", "samples", "solved"), *rows]))


if __name__ == "__main__":
    main()
