"""Solve KinDER's 2D environments with learned operators, hand-written ones, and the published planner.

Usage: python benchmarks/kinder_planners.py DOMAIN ... [--methods learned oracle published] [--demos 20]
                                            [--tasks 50] [--seed 1000] [--training-seed 0] [--plans 10]

DOMAIN is such as kinder/StickButton2D-b5. Task number k is KinDER's `reset(seed=seed + k)`. All methods use
the same skills, predicates and simulation; `oracle` and `published` use the same hand-written operators
and samplers. Every plan is replayed in KinDER, and counts only if the environment terminates. Times are CPU
seconds of planning; the replay is not included.

`published` is SeSamE of the package `bilevel-planning` (pip install --no-deps bilevel-planning networkx)
with the defaults of KinDER's experiments: 10 abstract plans, 3 samples per step and 60 s.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any
from unittest import mock

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import GroundController
from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.kinder.environment import KinderEnvironment
from needful.evaluation.evaluate import planning_seed
from needful.evaluation.pipeline import RunConfig, run
from needful.planning.bilevel import PlanningConfig, plan

TIMEOUT = 60.0
SAMPLES_PER_STEP = 3

Actions = tuple[GroundController, ...]
Solve = Callable[[Task, int], Actions | None]


def learned(environment: KinderEnvironment, demos: int, seed: int) -> Solve:
    """Return a solver that plans with operators and samplers learned from demonstrations."""
    result = run(environment, RunConfig(demos=demos, tasks=0, seed=seed))
    assert result.learned is not None
    solver = result.learned.solver(environment, PlanningConfig(timeout=TIMEOUT), False)

    def solve(task: Task, seed: int) -> Actions | None:
        found = solver.solve(task, seed)
        return found.actions if found.solved else None

    return solve


def oracle(environment: KinderEnvironment) -> Solve:
    """Return a solver that plans with the hand-written operators and samplers."""
    model = environment.oracle_model()
    config = PlanningConfig(timeout=TIMEOUT).with_horizon(environment.horizon)

    def solve(task: Task, seed: int) -> Actions | None:
        found = plan(task, model, environment.execute, config, seed)
        return found.actions if found.solved else None

    return solve


def published(environment: KinderEnvironment, max_plans: int) -> Solve:
    """Return a solver that runs SeSamE with the hand-written operators and samplers."""
    from bilevel_planning.sesame import run_sesame
    from gymnasium.spaces import Space

    translation = _Translation(environment)

    def solve(task: Task, seed: int) -> Actions | None:
        space: Space[Any] = Space()
        models = translation.models(task, space)
        # The limit is in CPU seconds, as the measured times are.
        with mock.patch("time.perf_counter", time.process_time):
            found, _ = run_sesame(
                models,
                task.initial_state,
                seed=seed % 2**32,
                max_abstract_plans=max_plans,
                samples_per_step=SAMPLES_PER_STEP,
                timeout=TIMEOUT,
            )
        return None if found is None else tuple(found.actions)

    return solve


class _Translation:
    """Translates a model to the classes of `bilevel_planning`; one action is one whole skill."""

    def __init__(self, environment: KinderEnvironment) -> None:
        import relational_structs as theirs

        self._theirs = theirs
        self._environment, self._model = environment, environment.oracle_model()
        self._types: dict[str, Any] = {}
        for kind in environment.types:
            parent = None if kind.parent is None else self._types[kind.parent.name]
            self._types[kind.name] = theirs.Type(kind.name, parent)
        self._predicates = {
            one.name: theirs.Predicate(one.name, [self._types[kind.name] for kind in one.types])
            for one in environment.predicates
        }

    def models(self, task: Task, space: Any) -> Any:
        """Return the models of a task."""
        from bilevel_planning.structs import RelationalAbstractGoal, RelationalAbstractState, SesameModels

        objects = {
            obj.name: self._theirs.Object(obj.name, self._types[obj.type.name]) for obj in task.objects
        }
        own = {obj.name: obj for obj in task.objects}

        def atoms(found: AbstractState) -> set[Any]:
            return {
                self._theirs.GroundAtom(
                    self._predicates[atom.predicate.name], [objects[obj.name] for obj in atom.objects]
                )
                for atom in found
            }

        def abstractor(state: State) -> Any:
            found = abstract(state, self._environment.predicates)
            return RelationalAbstractState(atoms(found), set(objects.values()))

        return SesameModels(
            observation_space=space,
            state_space=space,
            action_space=space,
            transition_fn=self._transition,
            types=set(self._types.values()),
            predicates=set(self._predicates.values()),
            observation_to_state=lambda state: state,
            state_abstractor=abstractor,
            goal_deriver=lambda state: RelationalAbstractGoal(atoms(task.goal), abstractor),
            skills={self._skill(operator, self._model, own) for operator in self._model.operators},
        )

    def _transition(self, state: State, action: GroundController) -> State:
        from bilevel_planning.structs import TransitionFailure

        execution = self._environment.execute(state, action) if action.initiable(state) else None
        if execution is None or not execution.steps:
            raise TransitionFailure
        return execution.state

    def _skill(self, operator: Operator, model: PlanningModel, objects: dict[str, Any]) -> Any:
        from bilevel_planning.structs import (
            GroundParameterizedController,
            LiftedParameterizedController,
            LiftedSkill,
        )

        variables = {
            one.name: self._theirs.Variable(one.name, self._types[one.type.name])
            for one in operator.parameters
        }

        def lifted(atoms: Any) -> set[Any]:
            return {
                self._theirs.LiftedAtom(
                    self._predicates[atom.predicate.name], [variables[one.name] for one in atom.variables]
                )
                for atom in atoms
            }

        theirs = self._theirs.LiftedOperator(
            operator.name,
            list(variables.values()),
            lifted(operator.preconditions),
            lifted(operator.add_effects),
            lifted(operator.delete_effects),
        )
        order = [operator.parameters.index(one) for one in operator.controller_arguments]
        sampler = model.samplers.get(operator.name)

        class Controller(GroundParameterizedController[State, GroundController]):  # type: ignore[misc]
            """Runs one whole skill as one action."""

            def sample_parameters(self, x: State, rng: np.random.Generator) -> Any:
                bound = [objects[obj.name] for obj in self.objects]
                drawn = () if sampler is None else sampler.sample(x, bound, rng)
                return operator.controller.clip(drawn)

            def reset(self, x: State, params: Any) -> None:
                self._parameters, self._done = params, False

            def terminated(self) -> bool:
                return self._done

            def step(self) -> GroundController:
                self._done = True
                bound = [objects[self.objects[index].name] for index in order]
                return operator.controller(*bound, parameters=self._parameters)

            def observe(self, x: State) -> None:
                pass

        return LiftedSkill(theirs, LiftedParameterizedController(list(variables.values()), Controller))


def measure(environment: KinderEnvironment, solve: Solve, tasks: int, seed: int) -> dict[str, Any]:
    """Return the share of solved tasks, and the mean CPU seconds and low-level actions per task."""
    seconds, counts = [], []
    for index, task in enumerate(environment.tasks("test", tasks, seed)):
        start = time.process_time()
        actions = solve(task, planning_seed(seed, environment.name, index))
        seconds.append(time.process_time() - start)
        if actions is not None and environment.confirms(task, actions):
            counts.append(_low_level_count(environment, task, actions))
    return {
        "tasks": tasks,
        "solved": len(counts),
        "cpu_seconds": round(mean(seconds), 3),
        "max_cpu_seconds": round(max(seconds), 3),
        "low_level_actions": round(mean(counts), 1) if counts else None,
    }


def _low_level_count(environment: KinderEnvironment, task: Task, actions: Actions) -> int:
    state, count = task.initial_state, 0
    for action in actions:
        execution = environment.execute(state, action)
        state, count = execution.state, count + execution.steps
    return count


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line of JSON per domain and method."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("domains", nargs="+")
    parser.add_argument("--methods", nargs="+", default=["learned", "oracle", "published"])
    parser.add_argument("--demos", type=int, default=20)
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--training-seed", type=int, default=0)
    parser.add_argument("--plans", type=int, default=10)
    options = parser.parse_args(arguments)
    for domain in options.domains:
        environment = make_environment(domain)
        assert isinstance(environment, KinderEnvironment)
        for method in options.methods:
            if method == "learned":
                solve = learned(environment, options.demos, options.training_seed)
            else:
                solve = oracle(environment) if method == "oracle" else published(environment, options.plans)
            name = f"{method}-{options.plans}" if method == "published" else method
            result = measure(environment, solve, options.tasks, options.seed)
            print(json.dumps({"domain": domain, "method": name, **result}), flush=True)


if __name__ == "__main__":
    main()
