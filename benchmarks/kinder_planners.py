"""Solve KinDER's 2D environments with the published planner, for the table `kinder`.

Usage: python benchmarks/kinder_planners.py [DOMAIN ...] [--plans 10 1000] [--tasks 20]
                                            [--out results/kinder]

DOMAIN is, for example, kinder/StickButton2D-b5; by default, all domains of the table are solved. The
planner is SeSamE of the package `bilevel-planning` (pip install --no-deps bilevel-planning networkx), with
the defaults of KinDER's experiments: 10 abstract plans, 3 samples per step and 60 s, here CPU seconds. It
uses our skills, predicates and simulation, and the hand-written operators and samplers.

Results are written where `needful reproduce --table kinder` reads them. Jobs that have a result are not
repeated. KinDER must confirm every plan.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import GroundController
from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.plans import Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.catalogue import make_environment
from needful.envs.contract import Environment
from needful.paper.kinder import DOMAINS, PUBLISHED_PLANS, TIMEOUT, solve_kinder_tasks
from needful.sweeps.executors import ProcessExecutor
from needful.sweeps.jobs import Job, JobResult, SweepFolder
from needful.sweeps.sweep import OlderResults, sweep

SAMPLES_PER_STEP = 3


def run_published_job(job: Job) -> JobResult:
    """Solve the test tasks of a job with SeSamE."""
    try:
        environment = make_environment(job.domain)
        translation = _Translation(environment)
        solve = partial(_solve, translation, job)
        return solve_kinder_tasks(job, environment, solve, len(environment.oracle_model().operators))
    except Exception:
        return JobResult(job, {}, (), traceback.format_exc())


def _solve(translation: _Translation, job: Job, task: Task, seed: int) -> PlanningResult:
    from bilevel_planning.sesame import run_sesame
    from gymnasium.spaces import Space

    start = time.process_time()
    models = translation.models(task, Space())
    with mock.patch("time.perf_counter", time.process_time):
        found, _ = run_sesame(
            models,
            task.initial_state,
            seed=seed % 2**32,
            max_abstract_plans=job.abstract_plans,
            samples_per_step=job.samples_per_step,
            timeout=job.timeout,
        )
    if found is not None:
        return PlanningResult(Outcome.SOLVED, actions=tuple(found.actions))
    timed_out = time.process_time() - start >= job.timeout
    return PlanningResult(Outcome.TIMEOUT if timed_out else Outcome.SAMPLER_EXHAUSTED)


class _Translation:
    """Translates a model to the classes of `bilevel_planning`; one action is one whole skill."""

    def __init__(self, environment: Environment) -> None:
        import relational_structs as theirs

        self._theirs = theirs
        self._environment, self._model = environment, environment.oracle_model()
        self._types: dict[str, Any] = {}
        for kind in environment.vocabulary.types:
            parent = None if kind.parent is None else self._types[kind.parent.name]
            self._types[kind.name] = theirs.Type(kind.name, parent)
        self._predicates = {
            one.name: theirs.Predicate(one.name, [self._types[kind.name] for kind in one.types])
            for one in environment.vocabulary.predicates
        }

    def models(self, task: Task, space: Any) -> Any:
        """Return what SeSamE needs to plan for a task: abstraction, transition function and skills."""
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
            found = abstract(state, self._environment.vocabulary.predicates)
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the jobs that have no result yet, and print one line per job."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("domains", nargs="*", default=DOMAINS)
    parser.add_argument("--plans", nargs="+", type=int, choices=PUBLISHED_PLANS, default=PUBLISHED_PLANS)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path("results", "kinder"))
    options = parser.parse_args(arguments)
    jobs = [
        Job(
            domain,
            PUBLISHED_PLANS[plans],
            tasks=options.tasks,
            timeout=TIMEOUT,
            abstract_plans=plans,
            samples_per_step=SAMPLES_PER_STEP,
            cpu_time=True,
        )
        for domain in options.domains
        for plans in options.plans
    ]
    with SweepFolder.open(options.out) as folder:
        results = sweep(
            jobs, folder, ProcessExecutor(1), job_function=run_published_job, older=OlderResults.KEEP
        )
    for result in results.results:
        if result.job in jobs:
            solved = sum(record.solved for record in result.records)
            print(
                result.job.domain, result.job.learner, solved, "of", len(result.records), result.error or ""
            )


if __name__ == "__main__":
    main()
