"""Compare operator learners: print a Markdown table with one row per domain and seed.

Usage: python benchmarks/baseline_learners.py [--domains painting ...] [--seeds 2] [--demos 50]

A cell shows the number of operators, the CPU seconds of learning (without collecting replays), and the
coverage.
"""

from __future__ import annotations

import argparse
import time

import needful
from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.demos.collect import collect_replays

LEARNERS = ("necessary", "ci", "ci-qe", "loft", "loft-replay")
DOMAINS = ("painting", "satellites", "cluttered-1d", "screws", "cluttered-satellites", "cluttered-painting")


def cells(domain: str, seed: int, demos: int) -> list[str]:
    """Return one cell per learner, all learned from the same demonstrations."""
    env = needful.make_environment(domain)
    oracle = needful.OracleDemonstrator(env)
    demonstrations = needful.collect_demonstrations(env, oracle, demos, seed).demonstrations
    found = []
    for learner in map(BILEVEL_APPROACHES.__getitem__, LEARNERS):
        replays = (
            collect_replays(env, demonstrations, learner.replay_count, seed) if learner.replay_count else ()
        )
        start = time.process_time()
        learned = learner.learn_operators(demonstrations, replays)
        seconds = time.process_time() - start
        found.append(f"{len(learned.operators)}; {seconds:.2f}; {learned.coverage:.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--domains", nargs="+", default=list(DOMAINS))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--demos", type=int, default=50)
    args = parser.parse_args()
    print(f"| Domain, seed | {' | '.join(LEARNERS)} |")
    print(f"|---|{'---|' * len(LEARNERS)}")
    for domain in args.domains:
        for seed in range(args.seeds):
            print(f"| {domain}, {seed} | {' | '.join(cells(domain, seed, args.demos))} |", flush=True)


if __name__ == "__main__":
    main()
