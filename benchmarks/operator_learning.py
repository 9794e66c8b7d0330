"""Measure operator learning, and how its time grows with the number of demonstrations.

Usage: python benchmarks/operator_learning.py [--quick] [--data FOLDER] [--repeat 3] [--json FILE]

The values are: the CPU seconds of learning (best run) from demonstrations recorded with other software; the
time for 100 demonstrations divided by the time for 10; and the time for 1,000 demonstrations. The last two
need demonstrations that are collected first, which takes two minutes, and kept in `benchmarks/out`. Each
measurement has a fresh process, whose peak resident memory includes the demonstrations.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from processes import FOLDER, call
from report import Report, Row, table

DATA = FOLDER.parent / "tests" / "data" / "independent_demos"
COLLECTED = FOLDER / "out" / "demonstrations"
# CPU seconds.
TARGETS = {
    "screws": 0.03,
    "cluttered-1d": 0.03,
    "cluttered-satellites": 0.06,
    "satellites": 0.13,
    "painting": 0.13,
    "cluttered-painting": 0.25,
}
FEW, MANY, GROWTH_TARGET = 10, 100, 12.0
LARGE_DOMAIN, LARGE, LARGE_TARGET, LARGE_MEMORY_TARGET = "cluttered-painting", 1000, 6.0, 1000.0
SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Measured:
    """Time, memory and result of learning from one file."""

    cpu: float
    wall: float
    memory: float
    operators: int
    coverage: float

    @property
    def note(self) -> str:
        return f"{self.operators} operators, coverage {self.coverage:.3g}, {self.wall:.3g} s wall"


def learn(path: str, count: int | None) -> dict[str, float]:
    """Learn in this process from the first `count` demonstrations of a file."""
    from needful.operator_learning.learn_operators import learn_operators
    from needful.storage.demonstrations import read_demonstrations

    demonstrations = read_demonstrations(path).demonstrations[:count]
    cpu, wall = time.process_time(), time.perf_counter()
    learned = learn_operators(demonstrations)
    return {
        "cpu": time.process_time() - cpu,
        "wall": time.perf_counter() - wall,
        "operators": len(learned.operators),
        "coverage": learned.coverage,
    }


def collect(domain: str, count: int, path: str) -> None:
    """Collect demonstrations of a domain and write them to a file."""
    import needful
    from needful.storage.demonstrations import write_demonstrations

    env = needful.make_environment(domain)
    found = needful.collect_demonstrations(env, needful.OracleDemonstrator(env), count, seed=0)
    write_demonstrations(path, env.vocabulary, found.demonstrations)


def measure(path: Path, repeat: int, count: int | None = None) -> Measured | str:
    """Return the run with the least CPU time, or the error if all runs failed."""
    runs = [call("operator_learning", "learn", str(path), count, seconds=SECONDS) for _ in range(repeat)]
    done = [Measured(memory=finished.peak_mb, **answer) for answer, finished in runs if answer is not None]
    return min(done, key=lambda run: run.cpu) if done else runs[-1][1].last_line


def collected(domain: str, count: int) -> Path:
    """Return the file of demonstrations; collect them if it does not exist."""
    path = COLLECTED / f"{domain}-{count}.jsonl.gz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        call("operator_learning", "collect", domain, count, str(path), seconds=SECONDS)
    return path


def cost_rows(
    name: str, measured: Measured | str, target: float | None, memory_target: float | None = None
) -> list[Row]:
    """Return the rows of CPU time and memory."""
    if isinstance(measured, str):
        return [Row(f"{name}/cpu", None, "s", target, note=measured)]
    return [
        Row(f"{name}/cpu", measured.cpu, "s", target, note=measured.note),
        Row(f"{name}/memory", measured.memory, "MB", memory_target),
    ]


def growth_row(domain: str, repeat: int) -> Row:
    """Return the factor by which ten times as many demonstrations increase the learning time."""
    path = collected(domain, MANY)
    few, many = (measure(path, repeat, count) for count in (FEW, MANY))
    name = f"operator-learning/{domain}/growth"
    if isinstance(few, str) or isinstance(many, str):
        return Row(name, None, "x", GROWTH_TARGET, note=few if isinstance(few, str) else str(many))
    note = f"{FEW} demonstrations {few.cpu:.3g} s, {MANY} {many.cpu:.3g} s"
    return Row(name, many.cpu / few.cpu, "x", GROWTH_TARGET, note=note)


def rows(quick: bool = False, data: Path = DATA, repeat: int = 3) -> list[Row]:
    """Return the rows of each domain, of growth, and of a large case; a quick run has one domain."""
    found = []
    for domain, target in list(TARGETS.items())[: 1 if quick else None]:
        measured = measure(data / f"{domain}.jsonl.gz", repeat)
        found += cost_rows(f"operator-learning/{domain}", measured, target)
    if quick:
        return found
    found += [growth_row(domain, repeat) for domain in TARGETS]
    measured = measure(collected(LARGE_DOMAIN, LARGE), repeat)
    name = f"operator-learning/{LARGE_DOMAIN}-{LARGE}"
    return found + cost_rows(name, measured, LARGE_TARGET, LARGE_MEMORY_TARGET)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the fastest domain")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of recorded demonstrations")
    parser.add_argument("--repeat", type=int, default=3, help="number of runs; the best one counts")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows to this file")
    args = parser.parse_args(arguments)
    found = rows(args.quick, args.data.resolve(), args.repeat)
    print(table(found, {}))
    if args.json:
        Report.of(found, args.quick).write(args.json)


if __name__ == "__main__":
    main()
