"""Measure the effect of merging operators over the type hierarchy in household domains: print three tables.

Usage: python benchmarks/type_hierarchy.py [--seeds 5] [--shuffles 20] [--demos 10] [--tasks 10]

1. The number of operators without and with merged types, the largest number of different sets of operators
   learned from different orders of the same demonstrations, and the mean and largest CPU seconds.
2. The cost of planning without and with merged types, per task on average.
3. Generalisation: a model learned from sorting books puts other things onto a shelf, namely cans, which are
   in no demonstration, and objects that are only clutter in the demonstrations.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence

import needful
from needful.approaches.catalogue import necessary_approach
from needful.core.demonstrations import Demonstration
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.envs.contract import Split
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.merge_types import keep_types
from needful.planning.bilevel import plan
from needful.seeding import rng_for

DOMAINS = ("opening-presents", "locking-windows", "collecting-cans", "sorting-books")
CARRIED = (("collecting-cans", "pop_can"), *(("sorting-books", k) for k in ("board_game", "jar", "shoe")))
HOUSES_SEED = 7
PLANNING = needful.PlanningConfig(timeout=60)
CHOICES = {"types as seen": OperatorLearningConfig(types=keep_types), "merged": OperatorLearningConfig()}


def collected(domain: str, demos: int, seed: int) -> tuple[Demonstration, ...]:
    env = needful.make_environment(domain)
    return needful.collect_demonstrations(env, needful.OracleDemonstrator(env), demos, seed).demonstrations


def row(domain: str, data: Sequence[Sequence[Demonstration]], shuffles: int) -> str:
    narrow, merged, different = set(), set(), 0
    seconds = []
    for seed, demonstrations in enumerate(data):
        narrow.add(len(learn_operators(demonstrations, CHOICES["types as seen"]).operators))
        found = set()
        for shuffle in range(shuffles):
            order = rng_for(seed, "shuffle", shuffle).permutation(len(demonstrations))
            start = time.process_time()
            learned = learn_operators([demonstrations[index] for index in order])
            seconds.append(time.process_time() - start)
            assert not learned.uncovered
            found.add(learned.operators)
            merged.add(len(learned.operators))
        different = max(different, len(found))
    counts = (", ".join(map(str, sorted(numbers))) for numbers in (narrow, merged))
    return (
        f"| {domain} | {' | '.join(counts)} | {different} | "
        f"{statistics.mean(seconds):.2f} ({max(seconds):.2f}) |"
    )


def planning_row(domain: str, choice: str, data: Sequence[Sequence[Demonstration]], tasks: int) -> str:
    learner = necessary_approach(choice, "", CHOICES[choice])
    env = needful.make_environment(domain)
    results: list[PlanningResult] = []
    cpu = 0.0
    for seed, demonstrations in enumerate(data):
        model = needful.learn_model(env.vocabulary, demonstrations, learner, seed=seed).model
        asked = env.tasks(Split.TEST, tasks, seed)
        start = time.process_time()
        results += [plan(task, model, env.execute, PLANNING) for task in asked]
        cpu += time.process_time() - start
    solved = sum(result.outcome == Outcome.SOLVED for result in results)
    nodes, samples = (
        statistics.mean(getattr(result.statistics, counter) for result in results)
        for counter in ("nodes_created", "samples")
    )
    seconds = cpu / len(results)
    cells = (
        domain,
        choice,
        f"{solved} of {len(results)}",
        f"{nodes:.0f}",
        f"{samples:.0f}",
        f"{seconds:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def onto_shelves(demonstrations: Sequence[Demonstration], houses: int) -> None:
    """Learn from books, then put one other thing onto a shelf of each house, and print the results."""
    books = needful.make_environment("sorting-books")
    model = needful.learn_model(books.vocabulary, demonstrations).model
    on_top = next(one for one in books.vocabulary.predicates if one.name == "OnTop")
    for domain, kind in CARRIED:
        solved = 0
        for task in needful.make_environment(domain).tasks(Split.TEST, houses, HOUSES_SEED):
            state = task.initial_state
            thing, shelf = (min(obj for obj in state if obj.type.name == k) for k in (kind, "shelf"))
            asked = Task(state, frozenset({on_top(thing, shelf)}))
            solved += plan(asked, model, books.execute, PLANNING).outcome == Outcome.SOLVED
        print(f"| {kind} | {solved} of {houses} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--shuffles", type=int, default=20)
    parser.add_argument("--demos", type=int, default=10)
    parser.add_argument("--tasks", type=int, default=10)
    args = parser.parse_args()
    print(
        "| Domain | Operators, types as seen | Operators, merged | Different sets | CPU s, mean (largest) |"
    )
    print("|---|---|---|---|---|")
    data = {domain: [collected(domain, args.demos, s) for s in range(args.seeds)] for domain in DOMAINS}
    for domain in DOMAINS:
        print(row(domain, data[domain], args.shuffles), flush=True)
    print("\n| Domain | Types | Solved | Nodes created | Samples | CPU s |")
    print("|---|---|---|---|---|---|")
    for domain in ("collecting-cans", "sorting-books"):
        for choice in CHOICES:
            print(planning_row(domain, choice, data[domain], args.tasks), flush=True)
    print("\n| Put onto a shelf | Solved |\n|---|---|")
    onto_shelves(data["sorting-books"][0], args.tasks)


if __name__ == "__main__":
    main()
