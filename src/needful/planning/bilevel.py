"""Bilevel planning: search for abstract plans and refine them in turn until one succeeds.

An atom that held before all demonstrated uses of an operator becomes a precondition, even if it held by
accident. With few demonstrations there are many such preconditions, and tasks in which they do not hold may
have no abstract plan. For these tasks, planning tries operators that lack a precondition. This is
safe, because refinement tests plans in simulation: if the precondition is really needed, the plan fails.

Details of failures are computed after planning, because only reports need them.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from typing import TypeAlias

from needful.abstraction import abstract
from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Execute, GroundController
from needful.core.limits import Budget, Clock
from needful.core.model import PlanningModel
from needful.core.operators import Operator
from needful.core.plans import (
    AbstractPlan,
    IgnoredPrecondition,
    Outcome,
    PlanningResult,
    SearchStatistics,
    necessary_atoms,
)
from needful.core.tasks import AbstractTask, Task
from needful.errors import InvalidInputError, UnknownNameError, check_at_least, check_seconds
from needful.planning.attempt import Attempt
from needful.planning.interfaces import Planner, Problem
from needful.planning.planners import default_planner

# If there is no abstract plan, planning is repeated up to MAX_RELAXATIONS times, each time without other
# preconditions; see `relaxations`. In each of these attempts, `max_abstract_plans` is RELAXED_PLANS, and
# `max_nodes` at most RELAXED_NODES.
MAX_RELAXATIONS, RELAXED_PLANS, RELAXED_NODES = 40, 2, 10_000
# To explain a failure, there is one search per goal atom, with this atom as the only goal. Its maximum
# number of nodes is small, so that a failed task takes only a little more time.
MAX_NODES = 2_000

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
        max_abstract_plans: the maximum number of abstract plans to refine; with 1, a failed refinement ends
            planning. If the maximum is above 1 and planning is adaptive, three kinds of plans do not count:
            plans that fail because of an object that the simulator reports for the first time at a step
            (see `EnvironmentFailure`; the next plans deal with this object first); plans of searches that
            do not rely on initial atoms that may be wrong (see `adaptive`); and up to 100 plans that fail
            before their first step with continuous parameters.
        samples_per_step: how many times to try a step with continuous parameters.
        horizon: the maximum number of low-level actions in a plan. With None, solvers and demonstrators use
            the `horizon` of their environment, and `plan` has no limit.
        max_nodes: how many search nodes may be created per task, or None for no limit.
        max_ground_operators: how many ground operators a problem may have, or None for no limit.
        allow_noops: whether to plan with operators that have no effects, and with operators whose only
            effects are quantified deletes.
        subgoals: computes the atoms that must hold after each step: `necessary_subgoals` or
            `predicted_subgoals`.
        planner: finds the abstract plans; see `make_planner`.
        adaptive: whether planning adapts to failed refinements. If so, plans are refined in rounds with
            more tries in each, ground operators that miss their subgoals cost more in later searches, and
            parameters that failed are changed (see `RefinementLimits.perturb`). If a step fails although
            preconditions of it hold initially, these initial atoms may be wrong. In every second search, an
            earlier step must then make one of them true again. If planning is not adaptive, each plan is
            refined to the end before the next one, as in the paper.
        clock: the clock of the timeout. `time.thread_time` measures CPU time, which does not depend on
            other programs on the machine; it requires a planner that runs in this process.
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
    adaptive: bool = True
    clock: Clock = time.monotonic

    def __post_init__(self) -> None:
        check_seconds(timeout=self.timeout)
        check_at_least(
            1,
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
    clock: Clock | None = None,
    *,
    strict: bool = False,
) -> PlanningResult:
    """Plan for a task: find controllers and parameters that reach the goal in simulation.

    The model's predicates must have classifiers and include all predicates of the goal. The model must
    have a sampler for each operator whose controller has continuous parameters. Unless the deadline
    interrupts planning, the result depends only on the arguments. `clock` replaces the clock of `config`.

    If there is no abstract plan, planning ignores preconditions that may be too strict; see
    `PlanningResult.ignored`. If the task is still not solved, the outcome is `NO_ABSTRACT_PLAN`, even if
    time ran out. With `strict`, or if planning is not adaptive, no preconditions are ignored.

    If no abstract plan can be refined, the result describes the attempt that failed at the latest step.
    If time or the limit on nodes is exhausted, the outcome is `TIMEOUT` or `OUT_OF_NODES`.
    """
    _check(task, model)
    config = config or PlanningConfig()
    clock = clock or config.clock
    nodes, ground = config.max_nodes, config.max_ground_operators
    budget = Budget.seconds(config.timeout, max_nodes=nodes, clock=clock, max_ground_operators=ground)
    statistics = SearchStatistics()
    initial = abstract(task.initial_state, model.vocabulary.predicates)
    if task.goal <= initial:
        return PlanningResult(
            Outcome.SOLVED, states=(task.initial_state,), subgoals=(task.goal,), statistics=statistics
        )
    started = clock()
    operators = [
        one for one in model.operators if config.allow_noops or one.add_effects or one.delete_effects
    ]
    abstracted = AbstractTask(task.objects, initial, task.goal)
    problem = config.planner(operators, abstracted, budget)
    statistics.seconds_grounding += clock() - started
    if problem is None:
        outcome = Outcome.TIMEOUT if budget.expired() else Outcome.OUT_OF_NODES
        return PlanningResult(outcome, statistics=statistics)
    attempt = Attempt(task, initial, model, execute, config, seed, budget, statistics, problem)
    result = PlanningResult(Outcome.NO_ABSTRACT_PLAN, statistics=statistics)
    if problem.goal_reachable:
        result = attempt.run()
    adaptive = config.adaptive and config.max_abstract_plans > 1
    if result.outcome is Outcome.NO_ABSTRACT_PLAN and adaptive and not strict:
        result = _add_failure_details(result, abstracted, operators, config.planner, budget)
        ways = relaxations(operators, abstracted, config.planner, budget)
        return _ignoring_preconditions(attempt, ways) or result
    return _add_failure_details(result, abstracted, operators, config.planner, budget)


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


def _ignoring_preconditions(attempt: Attempt, ways: Iterator[Relaxation]) -> PlanningResult | None:
    """Plan with each of the `ways` to drop preconditions, until one succeeds; return None if none does."""
    config = replace(attempt.config, max_abstract_plans=RELAXED_PLANS)
    total = attempt.statistics
    for way in islice(ways, MAX_RELAXATIONS):
        nodes = RELAXED_NODES
        if config.max_nodes is not None:
            nodes = min(nodes, config.max_nodes - total.nodes_created)
        if nodes < 1:
            break
        budget = replace(attempt.budget, max_nodes=nodes)
        names = {one.name for one in way.operators}
        samplers = {name: sampler for name, sampler in attempt.model.samplers.items() if name in names}
        model = replace(attempt.model, operators=way.operators, samplers=samplers)
        task, initial, execute, seed = attempt.task, attempt.initial, attempt.execute, attempt.seed
        counters = SearchStatistics()
        relaxed = Attempt(task, initial, model, execute, config, seed, budget, counters, way.problem)
        # Refine fewer plans per way: trust all initial atoms, and count plans that one simulation refutes.
        relaxed.distrusted, relaxed.max_refuted = None, 0
        result = relaxed.run()
        total.add(counters)
        if result.solved:
            return replace(result, ignored=way.ignored_in(result.abstract_plan), statistics=total)
    return None


@dataclass(frozen=True, slots=True)
class Relaxation:
    """Operators that lack some preconditions, so that the goal may be reachable.

    Attributes:
        operators: all operators, without the ignored preconditions.
        ignored: the preconditions that were removed, each with its operator.
        problem: the ground problem with these operators.
    """

    operators: tuple[Operator, ...]
    ignored: tuple[IgnoredPrecondition, ...]
    problem: Problem

    def ignored_in(self, plan: AbstractPlan) -> tuple[IgnoredPrecondition, ...]:
        """Return the ignored preconditions of the operators that a plan uses."""
        used = {step.operator.name for step in plan}
        return tuple(one for one in self.ignored if one.operator in used)


def relaxations(
    operators: Sequence[Operator], task: AbstractTask, planner: Planner, budget: Budget
) -> Iterator[Relaxation]:
    """Yield variants of the operators that lack preconditions, in the order in which to plan with them.

    In the first variants, one operator lacks one precondition. In the later ones, all operators lack the
    preconditions of one predicate. In both groups, predicates that no operator adds come first, because no
    plan can make such preconditions true. Nothing is yielded if a goal atom does not hold initially and no
    operator adds its predicate.
    """
    achievable = {atom.predicate for one in operators for atom in one.add_effects}
    if any(atom.predicate not in achievable for atom in task.goal - task.initial):
        return
    single = [
        IgnoredPrecondition(one.name, atom) for one in operators for atom in sorted(one.preconditions)
    ]
    single.sort(key=lambda one: one.atom.predicate in achievable)
    by_predicate = sorted(single, key=lambda one: one.atom.predicate)
    groups = [tuple(group) for _, group in groupby(by_predicate, lambda one: one.atom.predicate)]
    groups = [group for group in groups if len(group) > 1]
    groups.sort(key=lambda group: group[0].atom.predicate in achievable)
    for ignored in chain(((one,) for one in single), groups):
        if budget.expired():
            return
        fewer = tuple(_without(one, ignored) for one in operators)
        problem = planner(fewer, task, budget)
        if problem is not None and problem.goal_reachable:
            yield Relaxation(fewer, ignored, problem)


def _without(operator: Operator, ignored: Sequence[IgnoredPrecondition]) -> Operator:
    dropped = frozenset(one.atom for one in ignored if one.operator == operator.name)
    if not dropped:
        return operator
    # An atom that is a precondition and an add effect holds before and after the operator. Drop both:
    # otherwise the operator could be used to make the atom true.
    return replace(
        operator,
        preconditions=operator.preconditions - dropped,
        add_effects=operator.add_effects - dropped,
    )


def _add_failure_details(
    result: PlanningResult,
    task: AbstractTask,
    operators: Sequence[Operator],
    planner: Planner,
    budget: Budget,
) -> PlanningResult:
    """Return the result with the details that explain its failure.

    If a refinement failed, the details are the reasons why draws (sampled parameters) were rejected. If
    there is no abstract plan, they are the unreachable goal atoms. Other results are returned unchanged.
    """
    if result.failure is not None:
        return _explain_rejections(result)
    if result.outcome is not Outcome.NO_ABSTRACT_PLAN:
        return result
    return replace(result, unreachable=_unreachable_atoms(task, operators, planner, budget))


def _unreachable_atoms(
    task: AbstractTask, operators: Sequence[Operator], planner: Planner, budget: Budget
) -> tuple[GroundAtom, ...]:
    """Return the goal atoms that no plan reaches, even if the atom is the only goal.

    Each of them is tested with a search of at most `MAX_NODES` nodes. An atom is left out if the search
    does not prove that there is no plan, or if time runs out.
    """
    limited = replace(budget, max_nodes=MAX_NODES)
    problems = {
        atom: planner(operators, replace(task, goal=frozenset({atom})), limited)
        for atom in sorted(task.goal)
    }
    return tuple(
        atom
        for atom, problem in problems.items()
        if problem is not None and not (problem.goal_reachable and _may_have_plan(problem, limited))
    )


def _may_have_plan(problem: Problem, budget: Budget) -> bool:
    """Return False if the search proves that the problem has no plan, else True."""
    stream = problem.plans(0, budget, SearchStatistics())
    return next(stream, None) is not None or stream.end_reason is not Outcome.NO_ABSTRACT_PLAN


def _explain_rejections(result: PlanningResult) -> PlanningResult:
    """Return the result with the reasons why draws were rejected, if the initiation test gives any."""
    failure = result.failure
    if failure is None or failure.operator is None:
        return result
    controller, objects = failure.operator.operator.controller, failure.operator.controller_objects
    before = result.states[-1]  # the state in which the failed step started
    draws = []
    for draw in failure.draws:
        if draw.outcome is Outcome.NOT_INITIABLE:
            action = GroundController(controller, objects, draw.parameters)
            draw = replace(draw, reason=action.rejection_reason(before) or "")
        draws.append(draw)
    return replace(result, failure=replace(failure, draws=tuple(draws)))
