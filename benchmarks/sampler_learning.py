"""How long does it take to learn samplers?

Usage: python benchmarks/sampler_learning.py [--quick]

CPU seconds on one core, import of torch included, on demonstrations that were recorded with other software
(`tests/data/independent_demos`), and the peak of resident memory. The operators are learned first, which is
not counted. Each domain has a fresh process.
"""

from __future__ import annotations

import argparse
import time

from processes import FOLDER, call
from report import Row, table

DATA = FOLDER.parent / "tests" / "data" / "independent_demos"
# Seconds; None where there is no target. The operators of Screws have no continuous parameters.
TARGETS = {
    "cluttered-1d": 2.0,
    "painting": 6.0,
    "cluttered-painting": 9.0,
    "satellites": None,
    "cluttered-satellites": None,
}
SECONDS = 600.0


def measure(domain: str) -> float:
    """Learn in this process and return the CPU seconds that the samplers took."""
    from needful.operator_learning.learn_operators import learn_operators
    from needful.sampler_learning.config import SamplerConfig
    from needful.sampler_learning.learn_samplers import learn_samplers
    from needful.storage.demonstrations import read_demonstrations

    demonstrations = read_demonstrations(DATA / f"{domain}.jsonl.gz").demonstrations
    learned = learn_operators(demonstrations)
    start = time.process_time()
    learn_samplers(learned.data, demonstrations, SamplerConfig(), seed=0)
    return time.process_time() - start


def rows(quick: bool = False) -> list[Row]:
    """Return the seconds and the memory of each domain; in a quick run of the fastest one."""
    found = []
    for domain, target in list(TARGETS.items())[: 1 if quick else None]:
        seconds, finished = call("sampler_learning", "measure", domain, seconds=SECONDS)
        name, note = f"sampler-learning/{domain}", "" if seconds is not None else finished.last_line
        found.append(Row(f"{name}/cpu", seconds, "s", target, note=note))
        found.append(Row(f"{name}/memory", finished.peak_mb, "MB"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the fastest domain alone")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
