"""Measure sampler learning.

Usage: python benchmarks/sampler_learning.py [--quick]

The values are CPU seconds on one core and peak resident memory. The demonstrations were recorded with other
software (`tests/data/independent_demos`). Operators are learned first, which is not counted. Each domain
has a fresh process.

If torch is installed, the same networks are also trained with torch (`torch_samplers.py`). The ratio is the
time of numpy divided by the time of torch, which does not include the import of torch.
"""

from __future__ import annotations

import argparse
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from processes import FOLDER, call
from report import Row, table

if TYPE_CHECKING:
    from needful.core.demonstrations import Demonstration
    from needful.operator_learning.learned_operators import LearnedOperators

DATA = FOLDER.parent / "tests" / "data" / "independent_demos"
# Seconds; None without a target. Screws is missing because its operators have no continuous parameters.
TARGETS = {
    "cluttered-1d": 1.0,
    "painting": 2.0,
    "cluttered-painting": 2.5,
    "satellites": None,
    "cluttered-satellites": None,
}
RATIO_TARGET = 1.0
SECONDS = 600.0


def measure(domain: str) -> float:
    """Learn in this process and return the CPU seconds of sampler learning."""
    from needful.sampler_learning.learn_samplers import SamplerConfig, learn_samplers

    learned, demonstrations = _learned_operators(domain)
    start = time.process_time()
    learn_samplers(learned.data, demonstrations, SamplerConfig(), seed=0)
    return time.process_time() - start


def measure_ratio(domain: str) -> float | None:
    """Train the networks with numpy and with torch; return the ratio of their CPU seconds, if any."""
    from needful.sampler_learning.datasets import sampler_examples
    from needful.sampler_learning.learn_samplers import SamplerConfig, classifier_data, generator_data
    from needful.sampler_learning.training import train_network
    from torch_samplers import train_together

    learned, demonstrations = _learned_operators(domain)
    examples = [
        each for each in sampler_examples(learned.data, demonstrations, seed=0) if each.varying.any()
    ]
    config = SamplerConfig()
    numpy_seconds = torch_seconds = 0.0
    for schedule, networks in (
        (config.generator, [generator_data(each) for each in examples]),
        (config.classifier, [classifier_data(each) for each in examples if len(each.negative_inputs)]),
    ):
        if networks:
            head = networks[0].head
            problems = [network.problem(schedule.folds, seed=0) for network in networks]
            start = time.process_time()
            for problem in problems:
                train_network(problem, head, schedule)
            middle = time.process_time()
            train_together(problems, head, schedule)
            numpy_seconds += middle - start
            torch_seconds += time.process_time() - middle
    return numpy_seconds / torch_seconds if torch_seconds else None


def _learned_operators(domain: str) -> tuple[LearnedOperators, tuple[Demonstration, ...]]:
    from needful.operator_learning.learn_operators import learn_operators
    from needful.storage.demonstrations import read_demonstrations

    demonstrations = read_demonstrations(DATA / f"{domain}.jsonl.gz").demonstrations
    return learn_operators(demonstrations), demonstrations


def rows(quick: bool = False) -> list[Row]:
    """Return the seconds and the memory of each domain; a quick run has only the fastest domain."""
    found = []
    for domain, target in list(TARGETS.items())[: 1 if quick else None]:
        seconds, finished = call("sampler_learning", "measure", domain, seconds=SECONDS)
        name, note = f"sampler-learning/{domain}", "" if seconds is not None else finished.last_line
        found.append(Row(f"{name}/cpu", seconds, "s", target, note=note))
        found.append(Row(f"{name}/memory", finished.peak_mb, "MB"))
        if find_spec("torch"):
            ratio, finished = call("sampler_learning", "measure_ratio", domain, seconds=SECONDS)
            note = "time of numpy / time of torch" if ratio is not None else finished.last_line
            if ratio is not None or finished.returncode:
                found.append(Row(f"{name}/ratio", ratio, "x", RATIO_TARGET, note=note))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only the fastest domain")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
