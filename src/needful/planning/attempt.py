"""One attempt to plan for a task: refine abstract plans, and learn from the plans that fail."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Execute
from needful.core.limits import Budget
from needful.core.model import PlanningModel
from needful.core.operators import GroundOperator
from needful.core.plans import AbstractPlan, Failure, Outcome, PlanningResult, SearchStatistics, Suspect
from needful.core.tasks import Task
from needful.planning.costs import Suspicions
from needful.planning.interfaces import PlanStream, Problem
from needful.planning.refinement import Refinement, RefinementLimits, ResumableRefinement
from needful.seeding import rng_for, seed_for

if TYPE_CHECKING:
    from needful.planning.bilevel import PlanningConfig

# Plans are refined in rounds; see `Attempt._run_rounds`. The first round allows FIRST_ROUND *
# `samples_per_step` tries per step of a plan, and each further round twice as many. After MAX_ROUNDS
# rounds, the task counts as failed.
FIRST_ROUND, MAX_ROUNDS = 2, 4
# Plans that fail before their first step with continuous parameters do not count for `max_abstract_plans`,
# because one simulation refutes them. Only the first MAX_REFUTED such plans are exempt.
MAX_REFUTED = 100
# If a step failed although its preconditions held initially, these initial atoms may be wrong. In every
# second search, an earlier step must therefore make one of them true again. Such a search may create this
# many nodes.
DISTRUSTING_NODES = 10_000


@dataclass(slots=True)
class _RefinedPlan:
    """One abstract plan, and how far its refinement got.

    Attributes:
        steps: the indices of the plan's ground operators.
        plan: the abstract plan.
        subgoals: its subgoals; see `Subgoals`.
        refinement: the search for parameters.
        distrusting: whether the plan comes from a search that does not rely on initial atoms that may be
            wrong; see `Attempt.distrusting`.
        samples: the number of samples drawn so far.
    """

    steps: tuple[int, ...]
    plan: AbstractPlan
    subgoals: tuple[AbstractState, ...]
    refinement: ResumableRefinement
    distrusting: bool
    samples: int = 0


@dataclass(slots=True)
class Attempt:
    """An attempt to plan for a task with a model: the settings, and what was found out so far.

    Attributes:
        task, initial, model, execute, config, seed, budget, statistics: the task, settings and counters.
        problem: the ground problem with the discovered failures and costs.
        stream: the running search; None if it must be started with the current problem.
        suspicions: the ground operators that missed their subgoals, or that could not start.
        distrusted: the ground operators that failed although preconditions of them held initially: these
            initial atoms may be wrong. A dict whose keys are the indices of the operators; its values are
            not used. It is None once a search with `distrusting` found no plan.
        distrusting: whether the running search returns only plans in which an earlier step makes a
            precondition of each distrusted operator true again; see `Problem.with_distrusted_start`.
        distrusting_plans: how many plans of such searches were refined; they do not count for
            `max_abstract_plans`.
        tried: the plans that were refined, as indices of ground operators.
        revealing_plans: how many plans failed because of an object that the simulator reported for the
            first time at this step, such as a closed lid. They do not count for `max_abstract_plans`.
        refuted_plans: how many plans failed at a step such that neither this step nor an earlier one has
            continuous parameters. They do not count for `max_abstract_plans`, because one simulation is
            enough to refute them.
        max_refuted: the maximum of `refuted_plans`; further plans of this kind do count.
        deepest: the result of the refinement that failed at the latest step.
        sampled_failures: how many of the `revealing_plans` since the last restart failed at a step with
            continuous parameters. Without such a failure, there is no restart.
        restarts: how often planning forgot the reported objects and started again; see `run`.
        ground_operators: the ground operators that occur in the plans so far, by index.
    """

    task: Task
    initial: AbstractState
    model: PlanningModel
    execute: Execute
    config: PlanningConfig
    seed: int
    budget: Budget
    statistics: SearchStatistics
    problem: Problem
    stream: PlanStream | None = None
    suspicions: Suspicions = field(default_factory=Suspicions)
    distrusted: dict[int, None] | None = field(default_factory=dict)
    distrusting: bool = False
    distrusting_plans: int = 0
    tried: list[tuple[int, ...]] = field(default_factory=list)
    revealing_plans: int = 0
    refuted_plans: int = 0
    max_refuted: int = MAX_REFUTED
    deepest: PlanningResult | None = None
    sampled_failures: int = 0
    restarts: int = 0
    ground_operators: dict[int, GroundOperator] = field(default_factory=dict)

    def run(self) -> PlanningResult:
        """Refine abstract plans until one succeeds, or return the result that failed at the latest step.

        The simulator can report objects that made a step fail, such as a closed lid. New plans then deal
        with these objects first: they open the lid. But if the step has continuous parameters, other
        samples may fail because of other objects, or succeed. So if no new plan succeeds, planning forgets
        the reported objects and restarts with other samples, until `max_abstract_plans` is reached.
        """
        unchanged = self.problem
        result = self._run_rounds()
        while self._can_restart(result):
            self.restarts += 1
            self.problem, self.stream, self.tried, self.distrusted = unchanged, None, [], {}
            self.suspicions, self.sampled_failures = Suspicions(), 0
            result = self._run_rounds()
        return replace(result, suspects=tuple(self.suspicions.suspects.values()))

    def _can_restart(self, result: PlanningResult) -> bool:
        """Return whether a restart with other samples may help and the limits of planning allow it.

        A restart may help only if a reported object made a step with continuous parameters fail.
        """
        if result.solved or result.outcome in (Outcome.TIMEOUT, Outcome.OUT_OF_NODES):
            return False
        return self.sampled_failures > 0 and self._plans_left > 0 and not self.budget.expired()

    @property
    def _plans_left(self) -> int:
        """How many abstract plans may still be refined; each restart counts as one plan."""
        uncounted = self.revealing_plans + self.distrusting_plans + self.refuted_plans
        return self.config.max_abstract_plans - self.statistics.abstract_plans + uncounted - self.restarts

    def _run_rounds(self) -> PlanningResult:
        """Refine plans in rounds, so that one that is hard to refine does not take the time of the others.

        The first round allows t = `FIRST_ROUND` * `samples_per_step` tries per step. The refinement of a
        plan with n steps is interrupted after n * t tries, or if one step could not start in t tries. Then
        the next plan is refined. Each further round doubles t and resumes the interrupted plans. If
        planning is not adaptive, tries are unlimited, so there is only one round.
        """
        interrupted: list[_RefinedPlan] = []
        for number in range(MAX_ROUNDS):
            waiting, interrupted = interrupted, []
            for candidate in itertools.chain(waiting, self._new_plans()):
                tries_per_step = math.inf
                if self.config.adaptive:
                    tries_per_step = (FIRST_ROUND << number) * self.config.samples_per_step
                result, refinement = self._refine(candidate, tries_per_step)
                if refinement.failure is None:
                    return result
                self.deepest = _deeper(self.deepest, result)
                if result.outcome is Outcome.TIMEOUT:
                    return replace(self.deepest, outcome=Outcome.TIMEOUT)
                self._learn_from(candidate, refinement, refinement.failure)
                if not refinement.complete:
                    interrupted.append(candidate)
            if not interrupted or self._end_reason is Outcome.TIMEOUT:
                break
        return self._without_success()

    def _new_plans(self) -> Iterator[_RefinedPlan]:
        """Yield abstract plans that were not tried yet; if the problem changed, start a new search."""
        while self._plans_left > 0:
            started = self.budget.clock()
            if self.stream is None:
                self.stream = self._start_search()
            steps = next(self.stream, None)
            self.statistics.seconds_search += self.budget.clock() - started
            if steps is not None:
                self.tried.append(steps)
                self.distrusting_plans += self.distrusting
                yield self._start_refinement(steps)
            elif self.distrusting and self._end_reason is not Outcome.TIMEOUT:
                # No plan was found that avoids the distrusted initial atoms, so trust them from now on.
                self.distrusted, self.stream = None, None
            else:
                return

    def _start_search(self) -> PlanStream:
        """Start a search for plans.

        If there are distrusted initial atoms, the plans of every second search do not rely on them; see
        `distrusting`. Such a search has a limit on its nodes, because there may be no such plan.
        """
        problem, budget = self.problem, self.budget
        self.distrusting = bool(self.distrusted) and not self.distrusting
        if self.distrusting:
            for step in self.distrusted or ():
                problem = problem.with_distrusted_start(step)
            nodes = self.statistics.nodes_created + DISTRUSTING_NODES
            budget = replace(budget, max_nodes=min(nodes, budget.max_nodes or nodes))
        seed = seed_for(self.seed, "search", len(self.problem.failures))
        return problem.plans(seed, budget, self.statistics)

    def _start_refinement(self, steps: tuple[int, ...]) -> _RefinedPlan:
        abstract_plan = self._abstract_plan(steps)
        config = self.config
        subgoals = config.subgoals(abstract_plan, self.initial, self.task.goal)
        samples, actions = config.samples_per_step, config.action_limit
        limits = RefinementLimits(samples, actions, self.budget, config.adaptive)
        if self.restarts:
            # Refinement normally ends early if several tries report the same objects; not after a restart.
            limits = replace(limits, same_reports=samples)
        rng = rng_for(self.seed, "refinement", self.statistics.abstract_plans)
        self.statistics.abstract_plans += 1
        refinement = ResumableRefinement(
            abstract_plan, subgoals, self.task.initial_state, self.model.samplers, self.execute, limits, rng
        )
        return _RefinedPlan(steps, abstract_plan, subgoals, refinement, self.distrusting)

    def _abstract_plan(self, steps: tuple[int, ...]) -> AbstractPlan:
        new = [step for step in dict.fromkeys(steps) if step not in self.ground_operators]
        self.ground_operators.update(zip(new, self.problem.plan(new), strict=True))
        return tuple(self.ground_operators[step] for step in steps)

    def _refine(self, candidate: _RefinedPlan, tries_per_step: float) -> tuple[PlanningResult, Refinement]:
        started = self.budget.clock()
        max_tries = tries_per_step * len(candidate.steps)
        refinement = candidate.refinement.resume(max_tries, max_unstarted=tries_per_step)
        self.statistics.seconds_refinement += self.budget.clock() - started
        self.statistics.samples += refinement.samples - candidate.samples
        candidate.samples = refinement.samples
        outcome = refinement.failure.outcome if refinement.failure else Outcome.SOLVED
        result = PlanningResult(
            outcome,
            candidate.plan,
            refinement.actions,
            refinement.states,
            candidate.subgoals,
            refinement.failure,
            self.statistics,
        )
        return result, refinement

    def _learn_from(self, candidate: _RefinedPlan, refinement: Refinement, failure: Failure) -> None:
        """Change the problem after a failed refinement, so that the next search finds more suitable plans.

        - If the simulator reported objects that made a step fail, new plans must deal with these objects
          before they use this step.
        - If the step could not start, if it never reached its subgoal although its controller ran, or if
          dealing with the objects did not help, the cost of its ground operator rises.
        - If wrong initial atoms may have caused the failure (see `_misled`), they are distrusted.

        If planning is not adaptive, only reported objects change the problem.
        """
        step, suspect = candidate.steps[failure.step], refinement.suspect
        changed = self.problem.with_failure(step, refinement.offending)
        if self.config.adaptive and self.config.max_abstract_plans > 1:
            sampled = any(one.operator.controller.dimension for one in candidate.plan[: failure.step + 1])
            if changed is not self.problem:
                self.revealing_plans += not candidate.distrusting  # distrusting plans do not count anyway
                self.sampled_failures += candidate.plan[failure.step].operator.controller.dimension > 0
            elif not sampled and not candidate.distrusting and self.refuted_plans < self.max_refuted:
                self.refuted_plans += 1
        if changed is self.problem and refinement.offending:
            suspect = Suspect(candidate.plan[failure.step], (), 1)
        self.suspicions = self.suspicions.with_success(candidate.plan[: failure.step])
        if suspect is not None:
            self.suspicions = self.suspicions.with_suspect(step, suspect)
        if refinement.unstarted:
            self.suspicions = self.suspicions.with_unstarted(step, candidate.plan[failure.step])
        adaptive = self.config.adaptive
        if adaptive and self.distrusted is not None and self._misled(candidate, failure, suspect):
            self.distrusted[step] = None
        if not adaptive:
            if changed is not self.problem:
                self.problem, self.stream = changed, None
        elif changed is not self.problem or suspect is not None or refinement.unstarted or self.distrusted:
            self.problem = changed.with_costs(self.suspicions.costs(), self.tried)
            self.stream = None

    def _misled(self, candidate: _RefinedPlan, failure: Failure, suspect: Suspect | None) -> bool:
        """Return whether a step failed probably because it relied on a wrong initial atom.

        This is assumed if its controller could not start or all its tries missed the same add effect, and
        if at least one of its preconditions held initially and was not added by an earlier step.
        """
        step = candidate.plan[failure.step]
        missed = suspect.missing if suspect is not None and suspect.operator == step else ()
        if failure.outcome is not Outcome.NOT_INITIABLE and step.add_effects.isdisjoint(missed):
            return False
        added = frozenset[GroundAtom]().union(*(one.add_effects for one in candidate.plan[: failure.step]))
        return not (step.preconditions & self.initial).issubset(added)

    @property
    def _end_reason(self) -> Outcome | None:
        return None if self.stream is None else self.stream.end_reason

    def _without_success(self) -> PlanningResult:
        end_reason = self._end_reason
        if self.deepest is None:
            return PlanningResult(end_reason or Outcome.NO_ABSTRACT_PLAN, statistics=self.statistics)
        if end_reason in (Outcome.TIMEOUT, Outcome.OUT_OF_NODES):
            return replace(self.deepest, outcome=end_reason)
        failure = self.deepest.failure
        if failure and failure.outcome is Outcome.ENVIRONMENT_FAILURE and self._plans_left <= 0:
            limit = f"No further plans are tried: max_abstract_plans is {self.config.max_abstract_plans}."
            return replace(self.deepest, failure=replace(failure, detail=f"{failure.detail} {limit}"))
        return self.deepest


def _deeper(one: PlanningResult | None, other: PlanningResult) -> PlanningResult:
    """Return the one of two failed results that failed at the later step; on a tie, `other`.

    A result with the outcome `ENVIRONMENT_FAILURE` is returned only if both have this outcome. It explains
    less, because the next plan can avoid this failure: it deals with the reported objects first.
    """
    return other if one is None or _depth(other) >= _depth(one) else one


def _depth(result: PlanningResult) -> tuple[bool, int]:
    assert result.failure is not None
    return result.failure.outcome is not Outcome.ENVIRONMENT_FAILURE, result.failure.step
