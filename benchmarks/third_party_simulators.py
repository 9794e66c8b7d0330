"""Measure planning in the third-party simulators of examples/simulators, with snapshots.

    python benchmarks/third_party_simulators.py [--demos 30] [--tasks 20] [--first-seed 40] [--seeds 3]
                                                [--simulators foraging stacking_blocks]

Each simulator is measured with the oracle model of the example, and with a model that is learned from
recordings only: a file of demonstrations by a scripted policy. The program prints a Markdown table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path

import needful
from needful.envs.adapters.snapshots import SnapshotEnvironment

EXAMPLES = Path(__file__).parents[1] / "examples" / "simulators"
CLASSES = {"foraging": "Foraging", "stacking_blocks": "StackingBlocks"}
CONFIG = needful.PlanningConfig(timeout=600.0)
HEADER = (
    "| Simulator | model | seed | solved | CPU s per task | median | actions per plan | tries per action "
    "| simulator calls per try | resets while planning |\n|---|---|---|---|---|---|---|---|---|---|"
)

Solve = Callable[[needful.Task, int], needful.PlanningResult]


def learn_from_recordings(environment: SnapshotEnvironment, demos: int, seed: int) -> Solve:
    scripted = needful.ScriptedDemonstrator(environment)
    collected = needful.collect_demonstrations(environment, scripted, demos, seed)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demos.jsonl.gz"
        needful.write_demonstrations(file, environment.vocabulary, collected.demonstrations)
        recorded = needful.read_demonstrations(file).bound_to(environment.vocabulary)
    learned = needful.learn_model(environment.vocabulary, recorded.demonstrations)
    return learned.solver(environment, CONFIG).solve


def measure(environment: SnapshotEnvironment, solve: Solve, count: int, seed: int) -> str:
    """Solve test tasks; return the cells of a row of the table."""
    tasks = environment.tasks("test", count, seed)
    before = environment.simulator_calls
    seconds, actions = [], []
    for index, task in enumerate(tasks):
        started = time.process_time()
        result = solve(task, index)
        seconds.append(time.process_time() - started)
        if result.solved:
            actions.append(len(result.actions))
    calls = environment.simulator_calls - before
    return " | ".join(
        [
            f"{len(actions)} of {count}",
            f"{sum(seconds) / count:.2f}",
            f"{sorted(seconds)[count // 2]:.2f}",
            f"{sum(actions) / max(1, len(actions)):.1f}",
            f"{calls.runs / max(1, sum(actions)):.2f}",
            f"{calls.per_run:.2f}",
            f"{calls.resets}",
        ]
    )


def rows(simulators: Sequence[str], demos: int, tasks: int, seeds: range) -> Iterator[str]:
    for simulator in simulators:
        example, name = import_module(simulator), CLASSES[simulator]
        for seed in seeds:
            with_oracle = getattr(example, f"{name}WithOracle")()
            oracle = needful.OracleDemonstrator(with_oracle, CONFIG)
            yield f"| {name} | oracle | {seed} | {measure(with_oracle, oracle.demonstrate, tasks, seed)} |"
            environment = getattr(example, name)()
            solve = learn_from_recordings(environment, demos, seed)
            yield f"| {name} | learned | {seed} | {measure(environment, solve, tasks, seed)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--demos", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=40)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--simulators", nargs="+", choices=list(CLASSES), default=list(CLASSES))
    arguments = parser.parse_args()
    sys.path.insert(0, str(EXAMPLES))
    print(HEADER)
    for row in rows(
        arguments.simulators,
        arguments.demos,
        arguments.tasks,
        range(arguments.first_seed, arguments.first_seed + arguments.seeds),
    ):
        print(row, flush=True)


if __name__ == "__main__":
    main()
