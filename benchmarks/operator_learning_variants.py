"""Compare variants of operator learning, over seeds and orders of demonstrations: print a Markdown table.

Usage: python benchmarks/operator_learning_variants.py [--seeds 5] [--shuffles 2] [--demos 50]

For each domain, demonstrations are collected with each seed, and operators are learned from them in several
orders. A cell shows the number of learned operators (each with its frequency, if it varies), the largest
number of uncovered transitions, and the mean CPU seconds.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Sequence

import numpy as np

import needful
from needful.core.demonstrations import Demonstration
from needful.operator_learning.hill_climbing import keep_all_operators, steepest_descent
from needful.operator_learning.induction import whole_predicate
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.seeding import rng_for

VARIANTS = {
    "default": OperatorLearningConfig(),
    "whole-predicate deletes": OperatorLearningConfig(generalise=whole_predicate),
    "steepest descent": OperatorLearningConfig(schedule=steepest_descent),
    "no complexity": OperatorLearningConfig(reduce=keep_all_operators),
}


def data_sets(domain: str, seeds: int, shuffles: int, demos: int) -> list[tuple[Demonstration, ...]]:
    env = needful.make_environment(domain)
    found = []
    for seed in range(seeds):
        oracle = needful.OracleDemonstrator(env)
        demonstrations = needful.collect_demonstrations(env, oracle, demos, seed).demonstrations
        found.append(demonstrations)
        for shuffle in range(shuffles):
            order = rng_for(seed, "shuffle", shuffle).permutation(len(demonstrations))
            found.append(tuple(demonstrations[index] for index in order))
    return found


def cell(data: Sequence[Sequence[Demonstration]], config: OperatorLearningConfig) -> str:
    counts: Counter[int] = Counter()
    uncovered, seconds = 0, []
    for demonstrations in data:
        start = time.process_time()
        learned = learn_operators(demonstrations, config)
        seconds.append(time.process_time() - start)
        counts[len(learned.operators)] += 1
        uncovered = max(uncovered, learned.uncovered)
    shown = [f"{n}" if len(counts) == 1 else f"{n} ({times}×)" for n, times in sorted(counts.items())]
    return f"{', '.join(shown)}; {uncovered}; {np.mean(seconds):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--domains", nargs="+", default=list(needful.environment_names()))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shuffles", type=int, default=2)
    parser.add_argument("--demos", type=int, default=50)
    args = parser.parse_args()
    print(f"| Domain | {' | '.join(VARIANTS)} |")
    print(f"|---|{'---|' * len(VARIANTS)}")
    for domain in args.domains:
        data = data_sets(domain, args.seeds, args.shuffles, args.demos)
        cells = (cell(data, config) for config in VARIANTS.values())
        print(f"| {domain} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
