"""Measure sampler learning.

Usage: python benchmarks/sampler_learning.py [--quick]

The values are CPU seconds on one core, including the import of torch, and peak resident memory. The
demonstrations were recorded with other software (`tests/data/independent_demos`). Operators are learned
first, which is not counted. Each domain has a fresh process.
"""

from __future__ import annotations

import argparse
import time

from processes import FOLDER, call
from report import Row, table

DATA = FOLDER.parent / "tests" / "data" / "independent_demos"
# Seconds; None without a target. Screws is missing because its operators have no continuous parameters.
TARGETS = {
    "cluttered-1d": 2.0,
    "painting": 6.0,
    "cluttered-painting": 9.0,
    "satellites": None,
    "cluttered-satellites": None,
}
SECONDS = 600.0


def measure(domain: str) -> float:
    """Learn in this process and return the CPU seconds of sampler learning."""
    from needful.operator_learning.learn_operators import learn_operators
    from needful.sampler_learning.learn_samplers import SamplerConfig, learn_samplers
    from needful.storage.demonstrations import read_demonstrations

    demonstrations = read_demonstrations(DATA / f"{domain}.jsonl.gz").demonstrations
    learned = learn_operators(demonstrations)
    start = time.process_time()
    learn_samplers(learned.data, demonstrations, SamplerConfig(), seed=0)
    return time.process_time() - start


def rows(quick: bool = False) -> list[Row]:
    """Return the seconds and the memory of each domain; a quick run has only the fastest domain."""
    found = []
    for domain, target in list(TARGETS.items())[: 1 if quick else None]:
        seconds, finished = call("sampler_learning", "measure", domain, seconds=SECONDS)
        name, note = f"sampler-learning/{domain}", "" if seconds is not None else finished.last_line
        found.append(Row(f"{name}/cpu", seconds, "s", target, note=note))
        found.append(Row(f"{name}/memory", finished.peak_mb, "MB"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the fastest domain")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
