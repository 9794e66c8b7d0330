"""Bilevel planning: search for abstract plans and refine them in turn until one succeeds."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from needful.abstraction import abstract
from needful.core.atoms import AbstractState
from needful.core.controllers import Execute
from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.plans import AbstractPlan, Outcome, PlanningResult, SearchStatistics, necessary_atoms
from needful.core.tasks import AbstractTask, Task
from needful.errors import InvalidInputError, UnknownNameError, check_at_least_one
from needful.planning.budget import Budget, Clock
from needful.planning.interfaces import Planner, PlanStream, Problem
from needful.planning.planners import default_planner
from needful.planning.refinement import Refinement, RefinementLimits, refine
from needful.seeding import rng_for, seed_for

# A function that takes an abstract plan, the initial abstract state and the goal. It returns the plan's
# subgoals: the atoms that must hold before the plan, and for each step the atoms that must hold after it.
Subgoals: TypeAlias = Callable[[AbstractPlan, AbstractState, AbstractState], tuple[AbstractState, ...]]


def necessary_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Return the subgoals of a plan: the atoms that the remaining steps and the goal need.

    The first set of atoms must hold before the plan; each further set must hold after one step.
    """
    return necessary_atoms(plan, goal)


def predicted_subgoals(
    plan: AbstractPlan, initial: AbstractState, goal: AbstractState
) -> tuple[AbstractState, ...]:
    """Return the subgoals of a plan: the initial atoms, then all atoms predicted after each step."""
    states = [initial]
    for step in plan:
        states.append(step.apply(states[-1]))
    return tuple(states)


@dataclass(frozen=True, slots=True)
class PlanningConfig:
    """The settings of `plan`.

    Attributes:
        timeout: seconds per task, for grounding, search and refinement together.
        max_abstract_plans: how many abstract plans to refine; with 1, a failed refinement ends planning.
        samples_per_step: how many times to try a step with continuous parameters.
        horizon: the maximum number of low-level actions in a plan. With None, solvers and demonstrators use
            the `horizon` of their environment, and `plan` has no limit.
        max_nodes: how many search nodes may be created per task, or None for no limit.
        max_ground_operators: how many ground operators a problem may have, or None for no limit.
        allow_noops: whether to plan with operators that have no effects, or only quantified deletes.
        subgoals: computes the atoms that must hold after each step: `necessary_subgoals` or
            `predicted_subgoals`.
        planner: finds the abstract plans; see `make_planner`.
    """

    timeout: float = 10.0
    max_abstract_plans: int = 8
    samples_per_step: int = 10
    horizon: int | None = None
    max_nodes: int | None = 20_000_000
    max_ground_operators: int | None = 2_500_000
    allow_noops: bool = True
    subgoals: Subgoals = necessary_subgoals
    planner: Planner = field(default_factory=default_planner)

    def __post_init__(self) -> None:
        if not self.timeout > 0:
            raise InvalidInputError(f"timeout must be more than 0 seconds, got {self.timeout}.")
        check_at_least_one(
            max_abstract_plans=self.max_abstract_plans,
            samples_per_step=self.samples_per_step,
            horizon=self.horizon,
            max_nodes=self.max_nodes,
            max_ground_operators=self.max_ground_operators,
        )

    @property
    def action_limit(self) -> int:
        """The horizon, or the largest integer if there is none."""
        return sys.maxsize if self.horizon is None else self.horizon

    def with_horizon(self, horizon: int) -> PlanningConfig:
        """Return these settings with the given horizon, unless they have one."""
        return replace(self, horizon=horizon) if self.horizon is None else self


def plan(
    task: Task,
    model: PlanningModel,
    execute: Execute,
    config: PlanningConfig | None = None,
    seed: int = 0,
    clock: Clock = time.monotonic,
) -> PlanningResult:
    """Plan for a task: find controllers and parameters that reach the goal in simulation.

    The model's predicates must have classifiers and include all predicates of the goal. The model must
    have a sampler for each operator whose controller has continuous parameters. Unless the deadline
    interrupts planning, the result depends only on the arguments.

    If no abstract plan can be refined, the result describes the attempt that failed at the latest step.
    If time or the limit on nodes is exhausted, the outcome is `TIMEOUT` or `OUT_OF_NODES`.
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
    operators = [one for one in model.operators if config.allow_noops or not _is_noop(one)]
    problem = config.planner(operators, AbstractTask(task.objects, initial, task.goal), budget)
    statistics.seconds_grounding += clock() - started
    if problem is None:
        outcome = Outcome.TIMEOUT if budget.expired() else Outcome.OUT_OF_NODES
        return PlanningResult(outcome, statistics=statistics)
    if not problem.goal_reachable:
        return PlanningResult(Outcome.NO_ABSTRACT_PLAN, statistics=statistics)
    return _Attempt(task, initial, model, execute, config, seed, budget, statistics).run(problem)


def _is_noop(operator: Operator) -> bool:
    return not (operator.add_effects or operator.delete_effects)


def _check(task: Task, model: PlanningModel) -> None:
    missing = model.missing_samplers()
    if missing:
        raise InvalidInputError(
            f"The operators {list(missing)} have controllers with continuous parameters but no samplers. "
            "Learn samplers, or set PlanningModel.samplers."
        )
    known = {predicate.name for predicate in model.vocabulary.predicates}
    for atom in sorted(task.goal):
        if atom.predicate.name not in known:
            raise UnknownNameError("predicate in the goal", atom.predicate.name, known)


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One call of `plan`: the task, settings and counters that all its abstract plans share."""

    task: Task
    initial: AbstractState
    model: PlanningModel
    execute: Execute
    config: PlanningConfig
    seed: int
    budget: Budget
    statistics: SearchStatistics

    def run(self, problem: Problem) -> PlanningResult:
        """Refine abstract plans in turn until one succeeds, and return its result.

        If none succeeds, return the result that failed at the latest step. If the simulator reports that
        some objects made a step fail, the search restarts. New plans must then act on these objects before
        they use this step.
        """
        deepest: PlanningResult | None = None
        stream = self._start_search(problem)
        while self.statistics.abstract_plans < self.config.max_abstract_plans:
            steps = self._next_plan(stream)
            if steps is None:
                return self._without_more_plans(stream.end_reason, deepest)
            result, refinement = self._refine(problem, steps)
            if refinement.failure is None:
                return result
            deepest = _deeper(deepest, result)
            if result.outcome is Outcome.TIMEOUT:
                return replace(deepest, outcome=Outcome.TIMEOUT)
            changed = problem.with_failure(steps[refinement.failure.step], refinement.offending)
            # If the simulator reported no new objects, the problem is the same and the search continues.
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
        limits = RefinementLimits(self.config.samples_per_step, self.config.action_limit, self.budget)
        rng = rng_for(self.seed, "refinement", self.statistics.abstract_plans)
        started = self.budget.clock()
        refinement = refine(
            abstract_plan, subgoals, self.task.initial_state, self.model.samplers, self.execute, limits, rng
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

    def _without_more_plans(
        self, end_reason: Outcome | None, deepest: PlanningResult | None
    ) -> PlanningResult:
        if deepest is None:
            return PlanningResult(end_reason or Outcome.NO_ABSTRACT_PLAN, statistics=self.statistics)
        if end_reason in (Outcome.TIMEOUT, Outcome.OUT_OF_NODES):
            return replace(deepest, outcome=end_reason)
        return deepest


def _deeper(one: PlanningResult | None, other: PlanningResult) -> PlanningResult:
    """Compare two failed results and return the one with the later failed step; on a tie, `other`.

    An `ENVIRONMENT_FAILURE` counts as earlier than all other failures: the simulator reported which objects
    caused it, so the next search can avoid it.
    """
    return other if one is None or _depth(other) >= _depth(one) else one


def _depth(result: PlanningResult) -> tuple[bool, int]:
    assert result.failure is not None
    return result.failure.outcome is not Outcome.ENVIRONMENT_FAILURE, result.failure.step
