"""Learn the same task with other predicates: which choices of predicates let planning succeed?

    python benchmarks/predicate_variants.py [--demos 30] [--tasks 10] [--seed 30] [--timeout 30]

The environment is examples/simulators/stacking_blocks.py. Each variant changes its predicates only; the
simulator, the controllers, the scripted policy and the tasks stay the same. The program prints a Markdown
table.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import needful

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "simulators"))

import stacking_blocks as blocks


def _exactly_on(state: needful.State, objects: Sequence[needful.Object]) -> bool:
    upper, lower = (state[block] for block in objects)
    gap = upper[2] - lower[2] - blocks.SIZE
    return abs(gap) < 0.00002 and abs(upper[0] - lower[0]) < 0.03 and abs(upper[1] - lower[1]) < 0.03


def _left_of(state: needful.State, objects: Sequence[needful.Object]) -> bool:
    return state.get(objects[0], "y") < state.get(objects[1], "y")


def _near(state: needful.State, objects: Sequence[needful.Object]) -> bool:
    one, other = (state[block] for block in objects)
    return objects[0] != objects[1] and abs(one[0] - other[0]) + abs(one[1] - other[1]) < 0.25


LEFT_OF = needful.Predicate("LeftOf", (blocks.BLOCK, blocks.BLOCK), _left_of)
NEAR = needful.Predicate("Near", (blocks.BLOCK, blocks.BLOCK), _near)
EXACTLY_ON = needful.Predicate("On", (blocks.BLOCK, blocks.BLOCK), _exactly_on)


def variants() -> Iterator[tuple[str, tuple[needful.Predicate, ...]]]:
    """Yield a description and the predicates of each variant."""
    usual = blocks.StackingBlocks.vocabulary.predicates
    yield "as in the example", usual
    yield "with LeftOf and Near, which no controller needs", (*usual, LEFT_OF, NEAR)
    for missing in (blocks.CLEAR, blocks.HAND_EMPTY, blocks.ON_TABLE):
        yield f"without {missing.name}", tuple(one for one in usual if one != missing)
    yield (
        "On with a tolerance of 0.02 mm, which is less than the blocks move",
        tuple(EXACTLY_ON if one == blocks.ON else one for one in usual),
    )


def measure(
    predicates: tuple[needful.Predicate, ...], demos: int, tasks: int, seed: int, timeout: float
) -> str:
    """Learn and plan with the given predicates; return the cells of a row of the table."""
    environment = blocks.StackingBlocks()
    usual = environment.vocabulary
    environment.vocabulary = needful.Vocabulary(usual.types, predicates, usual.controllers)
    scripted = needful.ScriptedDemonstrator(environment)
    collected = needful.collect_demonstrations(environment, scripted, demos, seed)
    learned = needful.learn_model(environment.vocabulary, collected.demonstrations)
    solver = learned.solver(environment, needful.PlanningConfig(timeout=timeout))
    before = environment.simulator_calls
    outcomes = Counter(
        solver.solve(task, index).outcome.value
        for index, task in enumerate(environment.tasks("test", tasks, seed))
    )
    runs = (environment.simulator_calls - before).runs
    failures = ", ".join(f"{count} {name}" for name, count in sorted(outcomes.items()) if name != "solved")
    operators = len(learned.model.operators)
    return f"{operators} | {outcomes['solved']} of {tasks} | {runs / tasks:.0f} | {failures or '-'}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--demos", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--seed", type=int, default=30)
    parser.add_argument("--timeout", type=float, default=30.0)
    limits = parser.parse_args()
    print("| Predicates | operators | solved | runs per task | failures |\n|---|---|---|---|---|")
    for description, predicates in variants():
        cells = measure(predicates, limits.demos, limits.tasks, limits.seed, limits.timeout)
        print(f"| {description} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
