"""Bilevel planning: search for abstract plans and refine one after the other until one works.

What must hold after each step of an abstract plan while it is being refined.

Both choices below are interchangeable objects for `PlanningConfig.subgoals`. Each returns n + 1 sets of
atoms for a plan of n steps: what holds before the plan and after each step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from needful.abstraction.abstract import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import Execute
from needful.core.model import PlanningModel
from needful.core.plans import AbstractPlan, Outcome, PlanningResult, SearchStatistics, necessary_atoms
from needful.core.tasks import Task
from needful.errors import InvalidInputError, UnknownNameError
from needful.planning.budget import Budget, Clock
from needful.planning.interfaces import Planner, PlanStream, Problem, Question
from needful.planning.planners import default_planner
from needful.planning.refinement import Refinement, RefinementLimits, refine
from needful.seeding import rng_for, seed_for

Subgoals: TypeAlias = Callable[[AbstractPlan, AbstractState, AbstractState], tuple[AbstractState, ...]]


def necessary_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Ask only for what the rest of the plan needs: α_0..α_n."""
    return necessary_atoms(plan, goal)


def predicted_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Ask for all that the operators predict: ŝ_0 = s_0 and ŝ_i = F(ŝ_{i-1}, ω_i)."""
    states = [initial]
    for step in plan:
        states.append(step.apply(states[-1]))
    return tuple(states)


@dataclass(frozen=True, slots=True)
class PlanningConfig:
    """How to plan.

    Attributes:
        timeout: seconds for one task: grounding, search and refinement together.
        max_abstract_plans: how many abstract plans are tried; with 1 a failure ends the attempt.
        samples_per_step: the tries of a step with continuous parameters.
        horizon: the low-level actions that a plan may take.
        max_nodes: how many search nodes may be created for one task, or None for no cap.
        max_ground_operators: how many a problem may have to be searched, or None for no cap.
        allow_noops: whether to plan with operators that have neither add nor atomic delete effects.
        subgoals: what must hold after each step: `necessary_subgoals` or `predicted_subgoals`.
        planner: finds the abstract plans; see `planners`.
    """

    timeout: float = 10.0
    max_abstract_plans: int = 8
    samples_per_step: int = 10
    horizon: int = 100
    max_nodes: int | None = 20_000_000
    max_ground_operators: int | None = 2_500_000
    allow_noops: bool = True
    subgoals: Subgoals = necessary_subgoals
    planner: Planner = field(default_factory=default_planner)

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise InvalidInputError(f"timeout must be more than 0 seconds, got {self.timeout}.")
        for name in (
            "max_abstract_plans",
            "samples_per_step",
            "horizon",
            "max_nodes",
            "max_ground_operators",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInputError(f"{name} must be at least 1, got {value}.")


def plan(
    task: Task,
    model: PlanningModel,
    execute: Execute,
    config: PlanningConfig | None = None,
    seed: int = 0,
    clock: Clock = time.monotonic,
) -> PlanningResult:
    """Plan for a task: find controllers and parameters that reach the goal in simulation.

    The model must be bound to the domain's own predicates and have its samplers. The result is the
    same for the same seed, as long as the deadline does not cut planning short. When no abstract plan
    can be refined, the outcome is that of the deepest failure.
    """
    _check(task, model)
    config = config or PlanningConfig()
    budget = Budget.seconds(
        config.timeout,
        max_nodes=config.max_nodes,
        clock=clock,
        max_ground_operators=config.max_ground_operators,
    )
    statistics = SearchStatistics()
    initial = abstract(task.initial_state, model.vocabulary.predicates)
    if task.goal <= initial:
        return PlanningResult(
            Outcome.SOLVED, states=(task.initial_state,), subgoals=(task.goal,), statistics=statistics
        )
    started = clock()
    question = Question(model.operators, task.objects, initial, task.goal, config.allow_noops)
    problem = config.planner(question, budget)
    statistics.seconds_grounding += clock() - started
    if problem is None:
        outcome = Outcome.TIMEOUT if budget.expired() else Outcome.OUT_OF_NODES
        return PlanningResult(outcome, statistics=statistics)
    if not problem.goal_reachable:
        return PlanningResult(Outcome.NO_ABSTRACT_PLAN, statistics=statistics)
    return _Attempt(task, initial, model, execute, config, seed, budget, statistics).run(problem)


def _check(task: Task, model: PlanningModel) -> None:
    missing = model.missing_samplers()
    if missing:
        raise InvalidInputError(
            f"The operators {list(missing)} have controllers with continuous parameters but no samplers. "
            "Learn samplers, or give some in PlanningModel.samplers."
        )
    known = {predicate.name for predicate in model.vocabulary.predicates}
    for atom in sorted(task.goal):
        if atom.predicate.name not in known:
            raise UnknownNameError("predicate in the goal", atom.predicate.name, known)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One call of `plan`: what stays the same while abstract plans come and go."""

    task: Task
    initial: AbstractState
    model: PlanningModel
    execute: Execute
    config: PlanningConfig
    seed: int
    budget: Budget
    statistics: SearchStatistics

    def run(self, problem: Problem) -> PlanningResult:
        """Try abstract plans; start the search anew whenever a failure was discovered."""
        deepest: PlanningResult | None = None
        stream = self._start_search(problem)
        while self.statistics.abstract_plans < self.config.max_abstract_plans:
            steps = self._next_plan(stream)
            if steps is None:
                return self._without_more_plans(stream.ended, deepest)
            result, refinement = self._refine(problem, steps)
            if refinement.failure is None:
                return result
            deepest = _deeper(deepest, result)
            if result.outcome is Outcome.TIMEOUT:
                return replace(deepest, outcome=Outcome.TIMEOUT)
            changed = problem.with_failure(steps[refinement.failure.step], refinement.offending)
            # The same complaint a second time teaches nothing: go on with the next plan.
            if changed is not problem:
                problem = changed
                stream = self._start_search(problem)
        assert deepest is not None
        return deepest

    def _start_search(self, problem: Problem) -> PlanStream:
        started = self.budget.clock()
        seed = seed_for(self.seed, "search", len(problem.failures))
        stream = problem.plans(seed, self.budget, self.statistics)
        self.statistics.seconds_search += self.budget.clock() - started
        return stream

    def _next_plan(self, stream: PlanStream) -> tuple[int, ...] | None:
        started = self.budget.clock()
        steps = next(stream, None)
        self.statistics.seconds_search += self.budget.clock() - started
        return steps

    def _refine(self, problem: Problem, steps: tuple[int, ...]) -> tuple[PlanningResult, Refinement]:
        abstract_plan = problem.plan(steps)
        subgoals = self.config.subgoals(abstract_plan, self.initial, self.task.goal)
        limits = RefinementLimits(self.config.samples_per_step, self.config.horizon, self.budget)
        rng = rng_for(self.seed, "refinement", self.statistics.abstract_plans)
        started = self.budget.clock()
        refinement = refine(
            abstract_plan,
            subgoals,
            self.task.initial_state,
            self.model.samplers,
            self.execute,
            limits,
            rng,
        )
        self.statistics.seconds_refinement += self.budget.clock() - started
        self.statistics.samples += refinement.samples
        self.statistics.abstract_plans += 1
        outcome = refinement.failure.outcome if refinement.failure else Outcome.SOLVED
        result = PlanningResult(
            outcome,
            abstract_plan,
            refinement.actions,
            refinement.states,
            subgoals,
            refinement.failure,
            self.statistics,
        )
        return result, refinement

    def _without_more_plans(self, ended: Outcome | None, deepest: PlanningResult | None) -> PlanningResult:
        if deepest is None:
            return PlanningResult(ended or Outcome.NO_ABSTRACT_PLAN, statistics=self.statistics)
        if ended in (Outcome.TIMEOUT, Outcome.OUT_OF_NODES):
            return replace(deepest, outcome=ended)
        return deepest


def _deeper(one: PlanningResult | None, other: PlanningResult) -> PlanningResult:
    """Return the result whose failure came at the later step; the later result of two alike.

    A failure that blames objects is planned around, so any other failure says more.
    """
    return other if one is None or _depth(other) >= _depth(one) else one


def _depth(result: PlanningResult) -> tuple[bool, int]:
    assert result.failure is not None
    return result.failure.outcome is not Outcome.ENVIRONMENT_FAILURE, result.failure.step
