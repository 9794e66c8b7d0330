"""Measure plans in worlds with negative conditions: print a Markdown table.

Usage: python benchmarks/negative_conditions.py [--demos 60] [--tasks 20] [--first-seed 0]

The worlds are those of `tests/negative_worlds.py`. Operators are learned from tasks with 3 to 5 rooms (or
items), with and without negative preconditions. A cell shows the number of tasks with 5 and with 20 rooms
whose first abstract plan succeeds when its actions are executed in the true world.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from needful.core.operators import Operator
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from needful.operator_learning.negative_preconditions import positive_preconditions_only
from negative_worlds import WITHOUT_CONDITION, WORLDS, World, first_plan

CONFIGS = {
    "necessary": OperatorLearningConfig(),
    "positive preconditions only": OperatorLearningConfig(negatives=positive_preconditions_only),
}
SIZES = (5, 20)


def count_solved(
    world: World, operators: Sequence[Operator], size: int, first_seed: int, tasks: int
) -> int:
    """Return the number of test tasks whose first plan achieves the goal.

    The seeds of test tasks start 100,000 above the first seed of the demonstrations.
    """
    solved = 0
    for seed in range(first_seed + 100_000, first_seed + 100_000 + tasks):
        task = world.task(seed, size)
        plan = first_plan(operators, task)
        solved += plan is not None and world.achieves_goal(task, plan)
    return solved


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--demos", type=int, default=60)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    args = parser.parse_args()
    print(f"| World | {' | '.join(CONFIGS)} | negative preconditions |")
    print(f"|---|{'---|' * len(CONFIGS)}---|")
    for name, world in (WORLDS | WITHOUT_CONDITION).items():
        seeds = range(args.first_seed, args.first_seed + args.demos)
        demonstrations = [world.demonstrate(seed, 3 + seed % 3) for seed in seeds]
        cells, found = [], set[str]()
        for config in CONFIGS.values():
            operators = learn_operators(demonstrations, config).operators
            solved = (count_solved(world, operators, size, args.first_seed, args.tasks) for size in SIZES)
            cells.append(", ".join(map(str, solved)))
            found |= {f"{o.name}: {atom}" for o in operators for atom in o.negative_preconditions}
        print(f"| {name} | {' | '.join(cells)} | {', '.join(sorted(found)) or 'none'} |", flush=True)


if __name__ == "__main__":
    main()
