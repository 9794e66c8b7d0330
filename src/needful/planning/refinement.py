"""Refine an abstract plan: find parameters for its controllers, with chronological backtracking.

A subgoal is reached if all its atoms hold; other atoms may hold as well. If all tries of a step fail,
refinement backtracks to the previous step. Both rules differ from the paper (see E22 and E23 in
docs/paper_to_code.md).

After each step, the atoms that the next step's negative preconditions forbid must not hold. In the abstract
plan they are false, but in simulation they may hold. Then the step is tried with other parameters.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Execute, Execution, GroundController, Parameters
from needful.core.limits import Budget
from needful.core.model import Sampler
from needful.core.objects import Object
from needful.core.operators import GroundOperator
from needful.core.plans import AbstractPlan, Draw, Failure, Outcome, Suspect
from needful.core.state import State
from needful.errors import InvalidInputError
from needful.planning.costs import StepMisses
from needful.planning.failed_tries import FailedDraws, FailureReports, progress, with_draws

# In each try of a step, parameters are drawn until the controller can start with them, at most
# MAX_DRAWS_PER_TRY times. The first SAMPLER_DRAWS_PER_TRY draws come from the sampler. The others come from
# a normal distribution with their mean and SPREAD_FACTOR times their standard deviation. A parameter that
# is equal in all of them gets NOISE_FRACTION of its range as standard deviation.
MAX_DRAWS_PER_TRY, SAMPLER_DRAWS_PER_TRY, SPREAD_FACTOR = 100, 50, 3.0
# If the sampler repeats parameters that were already tried in a state, Gaussian noise is added to them. Its
# standard deviation is this fraction of each parameter's range (upper bound minus lower bound).
NOISE_FRACTION = 0.1
# A failure message gives the reasons for at most this many rejected draws.
MAX_EXPLAINED_DRAWS = 10


@dataclass(frozen=True, slots=True)
class RefinementLimits:
    """The limits of one refinement.

    Attributes:
        samples_per_step: how many times to try a step with continuous parameters; other steps get one try.
        horizon: the maximum number of low-level actions in a plan.
        budget: the deadline.
        perturb: whether to change the parameters that a sampler returns, if they were already tried in this
            state, or if the controller cannot start with any of them. If not, refinement uses only the
            parameters that samplers return, as in the paper.
        same_reports: a step is not tried again if the simulator reported objects in this many tries of it,
            always the same objects: other parameters are not expected to avoid them.
    """

    samples_per_step: int
    horizon: int
    budget: Budget
    perturb: bool = True
    same_reports: int = 3


@dataclass(frozen=True, slots=True)
class Refinement:
    """The result of refining one abstract plan.

    Attributes:
        actions: the ground controllers of the plan, with their parameters. If refinement failed, these are
            only the actions before the failed step.
        states: the simulated states: the first state and the state after each action.
        failure: where and why refinement failed; None if the plan was refined.
        offending: the objects that the simulator reports as the cause of the failure.
        samples: how many times parameters were drawn.
        suspect: the ground operator of the first step that reached its subgoal in none of its tries, with
            the atoms it missed. None if its controller has not run since the last interruption.
        unstarted: whether refinement failed because the controller of this step could not start.
        complete: whether refinement ended; False if it was interrupted and can be resumed.
    """

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    failure: Failure | None
    offending: tuple[Object, ...] = ()
    samples: int = 0
    suspect: Suspect | None = None
    unstarted: bool = False
    complete: bool = True


class ResumableRefinement:
    """The search for parameters with which each step of a plan reaches its subgoal in simulation.

    `subgoals[i]` must hold after step i (counted from 1); other atoms may hold as well, except the negative
    preconditions of the next step. If a step fails, it is tried again with other parameters. If all its
    tries fail, the search backtracks: the previous step uses its next try, and the later step gets all its
    tries again.

    If the simulator reports objects as the cause of a failure, such as a closed lid, the step is tried
    again, because other parameters may avoid these objects. If all tries of the step fail, or if several
    report the same objects (see `RefinementLimits.same_reports`), one report is chosen. If earlier steps of
    the plan acted on all its objects, the search backtracks to the last such step. Otherwise it ends: a new
    plan must deal with the objects first. With `RefinementLimits.perturb` off, the search ends at the first
    report, as in the paper.

    If a controller cannot start with any draw, the search backtracks at once, as long as earlier steps have
    tries left.
    """

    def __init__(
        self,
        plan: AbstractPlan,
        subgoals: Sequence[AbstractState],
        start: State,
        samplers: Mapping[str, Sampler],
        execute: Execute,
        limits: RefinementLimits,
        rng: np.random.Generator,
    ) -> None:
        parts = zip(plan, subgoals[1:], (*plan, None)[1:], strict=True)
        self._steps = [
            _Step(index, operator, subgoal, follower, samplers.get(operator.operator.name), limits)
            for index, (operator, subgoal, follower) in enumerate(parts)
        ]
        self._execute = execute
        self._limits = limits
        self._rng = rng
        self._trace = _Trace([start], [], [0])
        self._tries = [0] * len(self._steps)
        self._tried_parameters: list[set[Parameters]] = [set() for _ in self._steps]
        self._reports: FailureReports[Refinement] = FailureReports(plan, limits.same_reports)
        self._deepest: Refinement | None = None
        self._draws = FailedDraws()
        self._samples = 0
        self._misses = StepMisses()

    def resume(self, max_tries: float = math.inf, max_unstarted: float = math.inf) -> Refinement:
        """Continue the search; return the refined plan, or the failed attempt that got furthest.

        The search is interrupted if the plan is not complete after `max_tries` tries in this call, or if
        one step, the first that has not reached its subgoal yet, could not start in `max_unstarted` tries.
        The next call resumes the search. Interruptions do not change the actions that are found.
        """
        steps, limits, trace = self._steps, self._limits, self._trace
        if len(steps) > limits.horizon:  # every step takes at least one low-level action
            return Refinement((), tuple(trace.states), steps[limits.horizon].beyond_horizon())
        tries = 0
        while len(trace.actions) < len(steps):
            index = len(trace.actions)
            step = steps[index]
            if limits.budget.expired():
                return self._result(*self._out_of_time(step))
            self._tries[index] += 1
            action, draws, rejected = step.draw(trace.states[-1], self._tried_parameters[index], self._rng)
            self._samples += draws
            tries += 1
            self._draws.add_rejected(index, rejected)
            if action is None:
                failure = step.not_initiable(trace.states[-1], rejected)
                self._skip_tries(step)
            else:
                execution = self._execute(trace.states[-1], action)
                reason = step.check_execution(execution, trace.action_counts[-1])
                # With `perturb`, `draw` changes these parameters if the sampler repeats them.
                self._tried_parameters[index].add(action.parameters)
                if reason is None:
                    trace.push(action, execution)
                    self._misses.reach(index)
                    self._reports.clear()
                    continue
                self._draws.add_failed(action, reason, execution)
                if execution.offending:
                    blamed = replace(trace.to_refinement(reason), offending=execution.offending)
                    if not limits.perturb:
                        return self._result(blamed, self._draws.at(index))
                    self._reports.add(blamed)
                failure = reason
            if limits.budget.expired():  # ignore this failure: lack of time may have caused it
                continue
            report = self._reports.conclusion(index, self._tries[index] == step.max_tries)
            cause = None if report is None else self._reports.last_action_on(report.offending, index)
            if report is not None and cause is None:
                return self._result(report, self._draws.at(index))
            self._misses.add(failure)
            attempt = report or trace.to_refinement(failure)
            if _deeper(self._deepest, attempt) is attempt:
                self._deepest, self._draws.deepest = attempt, self._draws.at(index)
            assert self._deepest is not None
            if not self._backtrack(index, cause):
                return self._result(self._deepest, self._draws.deepest)
            if tries >= max_tries or self._misses.unstarted >= max_unstarted:
                return self._result(replace(self._deepest, complete=False), self._draws.deepest)
        return self._result(trace.to_refinement(None))

    def _skip_tries(self, step: _Step) -> None:
        """Skip the remaining tries of a step that cannot start, if an earlier step has tries left.

        More draws in the same state are not likely to help, but another try of an earlier step may.
        """
        earlier = self._steps[: step.index]
        if self._limits.perturb and any(self._tries[one.index] < one.max_tries for one in earlier):
            self._tries[step.index] = step.max_tries

    def _backtrack(self, index: int, cause: int | None) -> bool:
        """Undo steps until one of them has tries left; return False if there is none.

        `cause` is the last step that acted on an object that the simulator reported, or None. All steps
        after it are undone, because other parameters of these steps would not move the object.
        """
        while self._tries[index] == self._steps[index].max_tries or (cause is not None and index > cause):
            self._tries[index] = 0
            self._tried_parameters[index].clear()
            self._draws.restart(index)
            self._reports.clear()
            if index == 0:
                return False
            index -= 1
            self._trace.pop()
        return True

    def _out_of_time(self, step: _Step) -> tuple[Refinement, Sequence[Draw]]:
        """Return the attempt that got furthest, with the outcome `TIMEOUT`, and its failed draws."""
        deepest = self._deepest
        if deepest is None or deepest.failure is None or deepest.failure.step < step.index:
            detail = f"Time ran out before {step.operator} was tried."
            failure = Failure(step.index, step.operator, Outcome.TIMEOUT, detail=detail)
            return self._trace.to_refinement(failure), self._draws.at(step.index)
        detail = f"Time ran out. Deepest failure so far: {deepest.failure.detail}"
        failure = replace(deepest.failure, outcome=Outcome.TIMEOUT, detail=detail)
        return replace(deepest, failure=failure), self._draws.deepest

    def _result(self, refinement: Refinement, draws: Sequence[Draw] = ()) -> Refinement:
        found, failure = replace(refinement, samples=self._samples), refinement.failure
        if failure is None:
            return found
        unstarted = failure.outcome is Outcome.NOT_INITIABLE and self._misses.unstarted > 0
        suspect = self._misses.take_suspect()
        return replace(found, failure=with_draws(failure, draws), suspect=suspect, unstarted=unstarted)


@dataclass(slots=True)
class _Trace:
    """The current attempt to refine a plan: the states so far, and the actions between them.

    `action_counts` has, for each state, the total number of low-level actions before this state.
    """

    states: list[State]
    actions: list[GroundController]
    action_counts: list[int]

    def push(self, action: GroundController, execution: Execution) -> None:
        self.states.append(execution.state)
        self.actions.append(action)
        self.action_counts.append(self.action_counts[-1] + execution.steps)

    def pop(self) -> None:
        for stack in (self.states, self.actions, self.action_counts):
            stack.pop()

    def to_refinement(self, failure: Failure | None) -> Refinement:
        return Refinement(tuple(self.actions), tuple(self.states), failure)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the plan: draws its parameters and checks whether an execution reached its subgoal.

    `follower` is the operator of the next step, or None if this is the last one.
    """

    index: int
    operator: GroundOperator
    subgoal: AbstractState
    follower: GroundOperator | None
    sampler: Sampler | None
    limits: RefinementLimits

    @property
    def max_tries(self) -> int:
        return self.limits.samples_per_step if self._continuous else 1

    @property
    def _continuous(self) -> bool:
        return self.operator.operator.controller.dimension > 0

    def draw(
        self, state: State, tried_parameters: Set[Parameters], rng: np.random.Generator
    ) -> tuple[GroundController | None, int, list[GroundController]]:
        """Draw parameters until the controller can start with them.

        Returns three values: the controller with these parameters (None if all draws were rejected or
        time ran out), the number of draws, and the rejected draws. A draw is rejected if the controller
        cannot start with it.

        If every draw of the sampler is rejected, more parameters are drawn near these draws.
        """
        controller, objects = self.operator.operator.controller, self.operator.controller_objects
        if not self._continuous:
            action = controller(*objects)
            return (action, 0, []) if action.initiable(state) else (None, 0, [action])
        rejected: list[GroundController] = []
        for draw in range(MAX_DRAWS_PER_TRY):
            if self.limits.budget.expired():
                return None, draw, rejected
            if draw < SAMPLER_DRAWS_PER_TRY or not self.limits.perturb:
                parameters = self._parameters(state, rng)
                if self.limits.perturb and parameters in tried_parameters:
                    noise = NOISE_FRACTION * np.subtract(controller.high, controller.low)
                    parameters = controller.clip(rng.normal(parameters, noise).tolist())
            else:
                drawn = [action.parameters for action in rejected[:SAMPLER_DRAWS_PER_TRY]]
                centre, spread = np.mean(drawn, axis=0), SPREAD_FACTOR * np.std(drawn, axis=0)
                noise = NOISE_FRACTION * np.subtract(controller.high, controller.low)
                deviation = np.where(spread > 0.0, spread, noise)
                parameters = controller.clip(rng.normal(centre, deviation).tolist())
            action = GroundController(controller, objects, parameters)
            if action.initiable(state):
                return action, draw + 1, rejected
            rejected.append(action)
        return None, MAX_DRAWS_PER_TRY, rejected

    def _parameters(self, state: State, rng: np.random.Generator) -> Parameters:
        name, controller = self.operator.operator.name, self.operator.operator.controller
        if self.sampler is None:
            raise InvalidInputError(
                f"Operator {name!r} needs a sampler and has none. Set PlanningModel.samplers."
            )
        parameters = self.sampler.sample(state, self.operator.objects, rng)
        if len(parameters) != controller.dimension:
            raise InvalidInputError(
                f"The sampler of operator {name!r} returned {len(parameters)} parameters, but "
                f"controller {controller.name!r} takes {controller.dimension}."
            )
        return controller.clip(parameters)

    def check_execution(self, execution: Execution, actions_taken: int) -> Failure | None:
        """Return why an execution failed, or None if the next step can follow."""
        if execution.offending:
            blamed = ", ".join(obj.name for obj in execution.offending)
            reason = (execution.failure or "no reason given").rstrip(".")
            detail = f"{self.operator} failed because of {blamed}: {reason}."
            return Failure(self.index, self.operator, Outcome.ENVIRONMENT_FAILURE, detail=detail)
        if execution.steps == 0:
            detail = execution.failure or f"The controller of {self.operator} took no step."
            return Failure(self.index, self.operator, Outcome.CONTROLLER_FAILED, detail=detail)
        if actions_taken + execution.steps > self.limits.horizon:
            return self.beyond_horizon()
        missing = [atom for atom in self.subgoal if not atom.holds(execution.state)]
        if missing:
            return self._missed(tuple(sorted(missing)))
        forbidden = self.follower.negative_preconditions if self.follower else frozenset()
        held = [atom for atom in forbidden if atom.holds(execution.state)]
        return self._forbidden(sorted(held)) if held else None

    def _missed(self, missing: tuple[GroundAtom, ...]) -> Failure:
        listed = ", ".join(map(str, missing))
        if self._continuous:
            outcome = Outcome.SAMPLER_EXHAUSTED
            detail = f"No sample for {self.operator} reached the subgoal; the best one missed {listed}."
        else:
            outcome = Outcome.SUBGOAL_MISSED
            detail = f"After {self.operator} these subgoal atoms did not hold: {listed}."
        return Failure(self.index, self.operator, outcome, missing, detail)

    def _forbidden(self, held: Sequence[GroundAtom]) -> Failure:
        outcome = Outcome.SAMPLER_EXHAUSTED if self._continuous else Outcome.SUBGOAL_MISSED
        what = f"No sample for {self.operator} avoided" if self._continuous else f"{self.operator} led to"
        listed = ", ".join(map(str, held))
        detail = f"{what} atoms that must not hold before {self.follower}: {listed}."
        return Failure(self.index, self.operator, outcome, detail=detail)

    def not_initiable(self, state: State, rejected: Sequence[GroundController]) -> Failure:
        """Return the failure of a try in which the controller could not start, with the reasons."""
        circumstance = "in the state that was reached"
        if self._continuous:
            circumstance = f"with any of {MAX_DRAWS_PER_TRY} sampled parameters"
        explained = (action.rejection_reason(state) for action in rejected[:MAX_EXPLAINED_DRAWS])
        reasons = Counter(filter(None, explained))
        listed = ", ".join(reason for reason, _ in reasons.most_common())
        because = f": {listed}" if listed else ""
        detail = f"The controller of {self.operator} cannot start {circumstance}{because}."
        return Failure(self.index, self.operator, Outcome.NOT_INITIABLE, detail=detail)

    def beyond_horizon(self) -> Failure:
        """Return the failure of a try that exceeds the plan's limit of low-level actions."""
        detail = f"With {self.operator} the plan takes more than {self.limits.horizon} low-level actions."
        return Failure(self.index, self.operator, Outcome.HORIZON_EXCEEDED, detail=detail)


def _deeper(one: Refinement | None, other: Refinement) -> Refinement:
    """Return the failed attempt that got further; if both got equally far, return `one`.

    Attempts are compared by the failed step, then by the reason (see `failed_tries.progress`), then by the
    number of missing subgoal atoms (the fewer, the further).
    """
    return other if one is None or progress(other.failure) > progress(one.failure) else one
