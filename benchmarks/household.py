"""Measure the household domains: simulation, abstraction, controllers, planning and operator learning.

Usage: python benchmarks/household.py [--quick]

All times are CPU times on one core, with a fresh process per domain.

1. Build and settle a house of about 65 objects, and abstract its state (medians).
2. Solve ten test tasks for each of five seeds per domain with the hand-written model. Then execute the
   plans again, to time the controllers (medians over all domains) and to check that the goal is reached.
3. Learn operators from ten demonstrations in cluttered houses of about 110 objects.

States are copied before each measurement, so that no cached result is used.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, product
from statistics import mean, median
from typing import TYPE_CHECKING, Any

from processes import call
from report import Row, table

if TYPE_CHECKING:
    from needful.core.demonstrations import Demonstration
    from needful.core.state import State
    from needful.envs.household.scene.scene import Scene

DOMAINS = ("opening-presents", "locking-windows", "collecting-cans", "sorting-books")
SEEDS, TASKS = 5, 10
# Together these domains use all controllers.
QUICK_DOMAINS, QUICK_SEEDS, QUICK_TASKS = ("collecting-cans", "sorting-books"), 1, 1

OBJECTS, HOUSES, ABSTRACTIONS = 65, 10, 50
QUICK_HOUSES = 5
BUILD_TARGET, ABSTRACT_TARGET = 250.0, 1.0  # milliseconds
CONTROLLER_TARGETS = {"NavigateTo": 30.0, "Grasp": 5.0, "PlaceOnTop": 20.0, "PlaceInside": 80.0}
SOLVE_TARGET = 2.0  # seconds
SUCCESS_TARGET = 98.0  # per cent

DEMONSTRATIONS, CLUTTER = 10, 87
LEARNING_TARGET = 1.0  # seconds
QUICK_DEMONSTRATIONS = 2

SOLVE_SECONDS, SECONDS = 60.0, 900.0


def measure_house(houses: int) -> dict[str, float]:
    """Build the test houses whose size is closest to `OBJECTS`; return median milliseconds."""
    import needful
    from needful.abstraction import abstract
    from needful.envs.household.scene.scene import HOUSE_OBJECT
    from needful.envs.household.simulation.world import make_house

    env = needful.make_environment("sorting-books")
    tasks = env.tasks("test", 2 * houses, 0)
    chosen = sorted(tasks, key=lambda task: abs(len(task.objects) - OBJECTS))[:houses]
    builds, abstractions = [], []
    for task in chosen:
        activity, split, seed = task.initial_state[HOUSE_OBJECT]
        _, scene = make_house((activity, split, seed))
        builds.append(_milliseconds(functools.partial(_settle, scene)))
        for _ in range(ABSTRACTIONS):
            state = _uncached_copy(task.initial_state)
            work = functools.partial(abstract, state, env.vocabulary.predicates)
            abstractions.append(_milliseconds(work))
    objects = mean(len(task.objects) for task in chosen)
    return {"build": median(builds), "abstract": median(abstractions), "objects": objects}


def measure_oracle(domain: str, seeds: int, tasks: int) -> dict[str, Any]:
    """Solve test tasks with the hand-written model; return seconds per task and ms per controller."""
    import needful
    from needful.evaluation.evaluate import planning_seed

    env = needful.make_environment(domain)
    model, config = env.oracle_model(), needful.PlanningConfig(timeout=SOLVE_SECONDS)
    solve, steps, solved = [], [], 0
    controllers: dict[str, list[float]] = defaultdict(list)
    for seed, index in product(range(seeds), range(tasks)):
        task = env.task("test", index, seed)
        start = time.process_time()
        result = needful.plan(task, model, env.execute, config, planning_seed(seed, domain, index))
        solve.append(time.process_time() - start)
        steps.append(len(result.actions))
        state = task.initial_state
        for action in result.actions:
            state = _uncached_copy(state)
            start = time.process_time()
            state = env.execute(state, action).state
            controllers[action.controller.name].append(1000 * (time.process_time() - start))
        solved += result.solved and task.achieved_in(state)
    return {"solve": solve, "steps": mean(steps), "solved": solved, "controllers": controllers}


def measure_learning(domain: str, demonstrations: int) -> dict[str, float]:
    """Learn operators from demonstrations in cluttered houses; return CPU seconds and the result."""
    from needful.operator_learning.learn_operators import learn_operators

    found = tuple(islice(_cluttered_demonstrations(domain), demonstrations))
    start = time.process_time()
    learned = learn_operators(found)
    return {
        "cpu": time.process_time() - start,
        "operators": len(learned.operators),
        "coverage": learned.coverage,
        "objects": mean(len(one.objects) for one in found),
    }


def _cluttered_demonstrations(domain: str) -> Iterator[Demonstration]:
    """Yield demonstrations in houses with more clutter than in the domain's tasks."""
    import needful
    from needful.demos.collect import as_demonstration
    from needful.envs.household.environment import Household
    from needful.envs.household.scene.activities import ACTIVITIES
    from needful.envs.household.scene.furnishing import NoPlaceError
    from needful.envs.household.scene.layout import sample_scene
    from needful.seeding import rng_for

    (activity,) = (one for one in ACTIVITIES if one.name == domain)
    for number in count():
        # A new environment per house, because an environment caches its houses.
        env = needful.make_environment(domain)
        assert isinstance(env, Household)
        rng = rng_for(number, "benchmark", domain)
        definition, _ = activity.sample(needful.Split.TRAIN, rng)
        try:
            task = env.task_in(definition, sample_scene(definition, CLUTTER, rng))
        except NoPlaceError:
            continue
        result = needful.OracleDemonstrator(env).demonstrate(task, number)
        if result.solved:
            yield as_demonstration(env, task, result)


def _settle(scene: Scene) -> object:
    from needful.envs.household.simulation.world import World

    return World(scene).settled()


def _milliseconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return 1000 * (time.process_time() - start)


def _uncached_copy(state: State) -> State:
    """Return a copy for which no results are cached."""
    from needful.core.state import State

    return State({obj: state[obj] for obj in state})


def house_rows(houses: int) -> list[Row]:
    """Return the times of building a house and of abstracting its state."""
    found, finished = call("household", "measure_house", houses, seconds=SECONDS)
    note = finished.last_line if found is None else f"{found['objects']:.0f} objects"
    found = found or {}
    return [
        Row("household/house/build", found.get("build"), "ms", BUILD_TARGET, note=note),
        Row("household/house/abstract", found.get("abstract"), "ms", ABSTRACT_TARGET, note=note),
    ]


def oracle_rows(domains: Sequence[str], seeds: int, tasks: int) -> list[Row]:
    """Return success rates and planning times of each domain, then the times of the controllers."""
    rows: list[Row] = []
    pooled: dict[str, list[float]] = defaultdict(list)
    for domain in domains:
        found, finished = call("household", "measure_oracle", domain, seeds, tasks, seconds=SECONDS)
        rows += _solving_rows(f"household/{domain}", found, seeds * tasks, finished.last_line)
        for name, times in found["controllers"].items() if found else ():
            pooled[name] += times
    for name, target in CONTROLLER_TARGETS.items():
        value = median(pooled[name]) if pooled[name] else None
        note = f"{len(pooled[name])} executions"
        rows.append(Row(f"household/{name}/median", value, "ms", target, note=note))
    return rows


def _solving_rows(name: str, found: Mapping[str, Any] | None, tasks: int, problem: str) -> list[Row]:
    success, solve = f"{name}/success", f"{name}/solve"
    if found is None:
        return [Row(success, None, "%", SUCCESS_TARGET, "higher", problem)]
    times = found["solve"]
    note = f"{found['solved']} of {tasks} tasks, plans of {found['steps']:.1f} steps"
    return [
        Row(success, 100 * found["solved"] / tasks, "%", SUCCESS_TARGET, "higher", note),
        Row(f"{solve}-median", median(times), "s", SOLVE_TARGET, note=f"mean {mean(times):.3g} s"),
        Row(f"{solve}-worst", max(times), "s", SOLVE_TARGET),
    ]


def learning_row(domain: str, demonstrations: int) -> Row:
    """Return the time of operator learning in cluttered houses."""
    found, finished = call("household", "measure_learning", domain, demonstrations, seconds=SECONDS)
    name = f"household/{domain}/operator-learning"
    if found is None:
        return Row(name, None, "s", LEARNING_TARGET, note=finished.last_line)
    note = (
        f"{found['operators']} operators, coverage {found['coverage']:.3g}, {found['objects']:.0f} objects"
    )
    return Row(name, found["cpu"], "s", LEARNING_TARGET, note=note)


def rows(quick: bool = False) -> list[Row]:
    """Return all rows; a quick run has one house, two tasks and one learned model."""
    if quick:
        return [
            *house_rows(QUICK_HOUSES),
            *oracle_rows(QUICK_DOMAINS, QUICK_SEEDS, QUICK_TASKS),
            learning_row(DOMAINS[0], QUICK_DEMONSTRATIONS),
        ]
    return [
        *house_rows(HOUSES),
        *oracle_rows(DOMAINS, SEEDS, TASKS),
        *(learning_row(domain, DEMONSTRATIONS) for domain in DOMAINS),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one house, one task in each of two domains")
    print(table(rows(parser.parse_args().quick), {}))


if __name__ == "__main__":
    main()
