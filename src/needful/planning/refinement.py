"""Refine an abstract plan: find parameters for its controllers, with chronological backtracking.

Deviation E22, E23, docs/paper_to_code.md: a subgoal must be a subset of what holds, and a step whose
samples are used up sends the search back to the step before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Execute, Execution, GroundController, Parameters
from needful.core.model import Sampler
from needful.core.objects import Object
from needful.core.operators import GroundOperator
from needful.core.plans import AbstractPlan, Failure, Outcome
from needful.core.state import State
from needful.errors import InvalidInputError
from needful.planning.budget import Budget

# How often parameters are drawn anew for one try because the controller cannot start with them.
MAX_DRAWS_PER_TRY = 100
# From then on, draws come from around the sampler's own: so much wider in each dimension.
SAMPLER_DRAWS_PER_TRY = 50
SPREAD_FACTOR = 3.0
# What was in vain is not tried again in the same state: something near it is, by so much of the box.
NOISE_FRACTION = 0.1
# Of how many of the draws that cannot start the reasons are asked.
MAX_EXPLAINED_DRAWS = 10

# From the least to the most progress within one step.
_PROGRESS = (
    Outcome.NOT_INITIABLE,
    Outcome.CONTROLLER_FAILED,
    Outcome.HORIZON_EXCEEDED,
    Outcome.SUBGOAL_MISSED,
    Outcome.SAMPLER_EXHAUSTED,
)


@dataclass(frozen=True, slots=True)
class RefinementLimits:
    """When to give up.

    Attributes:
        samples_per_step: the tries of a step with continuous parameters; others have one.
        horizon: the low-level actions that a plan may take.
        budget: the deadline.
    """

    samples_per_step: int
    horizon: int
    budget: Budget


@dataclass(frozen=True, slots=True)
class Refinement:
    """What came of refining one abstract plan.

    Attributes:
        actions: the ground controllers of the whole plan or, if it failed, of the steps before the
            one at which the deepest attempt ended.
        states: the simulated states before and after the actions.
        failure: where and why the deepest attempt ended; None if the plan was refined.
        offending: the objects that the simulator blames for ending the refinement.
        samples: how many parameters were drawn.
    """

    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    failure: Failure | None
    offending: tuple[Object, ...] = ()
    samples: int = 0


def refine(
    plan: AbstractPlan,
    subgoals: Sequence[AbstractState],
    start: State,
    samplers: Mapping[str, Sampler],
    execute: Execute,
    limits: RefinementLimits,
    rng: np.random.Generator,
) -> Refinement:
    """Simulate the steps of a plan, resampling and backtracking until each reaches its subgoal.

    `subgoals[i]` must hold after step i (counted from 1); other atoms may hold as well. A step that
    used up its tries is tried anew after the step before it was; that one's tries keep counting, so
    the tree of attempts is finite. An offending object ends the refinement at once.
    """
    steps = [
        _Step(index, operator, subgoal, samplers.get(operator.operator.name), limits)
        for index, (operator, subgoal) in enumerate(zip(plan, subgoals[1:], strict=True))
    ]
    if len(steps) > limits.horizon:  # every step takes at least one action
        return Refinement((), (start,), steps[limits.horizon].beyond_horizon())
    trace = _Trace([start], [], [0])
    tries = [0] * len(steps)
    in_vain: list[set[Parameters]] = [set() for _ in steps]
    deepest: Refinement | None = None
    samples, index = 0, 0
    while index < len(steps):
        step = steps[index]
        if limits.budget.expired():
            return replace(_out_of_time(step, trace, deepest), samples=samples)
        tries[index] += 1
        action, draws, rejected = step.draw(trace.states[-1], in_vain[index], rng)
        samples += draws
        if action is None:
            failure = step.not_initiable(trace.states[-1], rejected)
        else:
            execution = execute(trace.states[-1], action)
            reason = step.judge(execution, trace.taken[-1])
            if reason is None:
                in_vain[index].add(action.parameters)  # whoever comes back here wants something else
                trace.push(action, execution)
                index += 1
                continue
            if execution.offending:
                return replace(trace.ended(reason), offending=execution.offending, samples=samples)
            failure = reason
            in_vain[index].add(action.parameters)
        if limits.budget.expired():  # the draws may have been cut short, so the failure says nothing
            continue
        deepest = _deeper(deepest, trace.ended(failure))
        while tries[index] == steps[index].limit:
            tries[index] = 0
            in_vain[index].clear()
            if index == 0:
                return replace(deepest, samples=samples)
            index -= 1
            trace.pop()
    return replace(trace.ended(None), samples=samples)


@dataclass(slots=True)
class _Trace:
    """The attempt so far: x_0..x_k, the actions between them, low-level actions taken up to each."""

    states: list[State]
    actions: list[GroundController]
    taken: list[int]

    def push(self, action: GroundController, execution: Execution) -> None:
        self.states.append(execution.state)
        self.actions.append(action)
        self.taken.append(self.taken[-1] + execution.steps)

    def pop(self) -> None:
        for stack in (self.states, self.actions, self.taken):
            stack.pop()

    def ended(self, failure: Failure | None) -> Refinement:
        return Refinement(tuple(self.actions), tuple(self.states), failure)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the plan and how a try of it is judged."""

    index: int
    operator: GroundOperator
    subgoal: AbstractState
    sampler: Sampler | None
    limits: RefinementLimits

    @property
    def limit(self) -> int:
        return self.limits.samples_per_step if self._continuous else 1

    @property
    def _continuous(self) -> bool:
        return self.operator.operator.controller.dimension > 0

    def draw(
        self, state: State, in_vain: Set[Parameters], rng: np.random.Generator
    ) -> tuple[GroundController | None, int, list[GroundController]]:
        """Return an action that can start, or None, how many parameters were drawn, and those in vain.

        What a sampler learned in other places may not do in this one, and asking whether a controller
        can start is cheap. So a sampler without luck is searched around.
        """
        controller, objects = self.operator.operator.controller, self.operator.controller_objects
        if not self._continuous:
            action = controller(*objects)
            return (action, 0, []) if action.initiable(state) else (None, 0, [action])
        rejected: list[GroundController] = []
        for draw in range(MAX_DRAWS_PER_TRY):
            if self.limits.budget.expired():
                return None, draw, rejected
            if draw < SAMPLER_DRAWS_PER_TRY:
                parameters = self._parameters(state, rng)
                if parameters in in_vain:
                    box = np.subtract(controller.high, controller.low)
                    parameters = controller.clip(rng.normal(parameters, NOISE_FRACTION * box).tolist())
            else:
                drawn = [action.parameters for action in rejected[:SAMPLER_DRAWS_PER_TRY]]
                centre, spread = np.mean(drawn, axis=0), np.std(drawn, axis=0)
                parameters = controller.clip(rng.normal(centre, SPREAD_FACTOR * spread))
            action = GroundController(controller, objects, parameters)
            if action.initiable(state):
                return action, draw + 1, rejected
            rejected.append(action)
        return None, MAX_DRAWS_PER_TRY, rejected

    def _parameters(self, state: State, rng: np.random.Generator) -> Parameters:
        name, controller = self.operator.operator.name, self.operator.operator.controller
        if self.sampler is None:
            raise InvalidInputError(f"Operator {name!r} needs a sampler and has none.")
        parameters = self.sampler.sample(state, self.operator.objects, rng)
        if len(parameters) != controller.dimension:
            raise InvalidInputError(
                f"The sampler of operator {name!r} returned {len(parameters)} parameters, but "
                f"controller {controller.name!r} takes {controller.dimension}."
            )
        return controller.clip(parameters)

    def judge(self, execution: Execution, taken: int) -> Failure | None:
        """Return why an execution is of no use, or None if it reached the subgoal."""
        if execution.offending:
            blamed = ", ".join(obj.name for obj in execution.offending)
            reason = (execution.failure or "no reason given").rstrip(".")
            detail = f"{self.operator} failed because of {blamed}: {reason}."
            return Failure(self.index, self.operator, Outcome.ENVIRONMENT_FAILURE, detail=detail)
        if execution.steps == 0:
            detail = execution.failure or f"The controller of {self.operator} took no step."
            return Failure(self.index, self.operator, Outcome.CONTROLLER_FAILED, detail=detail)
        if taken + execution.steps > self.limits.horizon:
            return self.beyond_horizon()
        missing = [atom for atom in self.subgoal if not atom.holds(execution.state)]
        return self._missed(tuple(sorted(missing))) if missing else None

    def _missed(self, missing: tuple[GroundAtom, ...]) -> Failure:
        listed = ", ".join(map(str, missing))
        if self._continuous:
            outcome = Outcome.SAMPLER_EXHAUSTED
            detail = f"No sample for {self.operator} reached the subgoal; the best one missed {listed}."
        else:
            outcome = Outcome.SUBGOAL_MISSED
            detail = f"After {self.operator} these subgoal atoms did not hold: {listed}."
        return Failure(self.index, self.operator, outcome, missing, detail)

    def not_initiable(self, state: State, rejected: Sequence[GroundController]) -> Failure:
        """Return the failure of a try in which the controller could not even start."""
        circumstance = "in the state that was reached"
        if self._continuous:
            circumstance = f"with any of {MAX_DRAWS_PER_TRY} sampled parameters"
        asked = (action.rejection_reason(state) for action in rejected[:MAX_EXPLAINED_DRAWS])
        reasons = Counter(filter(None, asked))
        listed = ", ".join(reason for reason, _ in reasons.most_common())
        because = f": {listed}" if listed else ""
        detail = f"The controller of {self.operator} cannot start {circumstance}{because}."
        return Failure(self.index, self.operator, Outcome.NOT_INITIABLE, detail=detail)

    def beyond_horizon(self) -> Failure:
        """Return the failure of a step that needs more low-level actions than are allowed."""
        detail = f"With {self.operator} the plan takes more than {self.limits.horizon} low-level actions."
        return Failure(self.index, self.operator, Outcome.HORIZON_EXCEEDED, detail=detail)


def _deeper(one: Refinement | None, other: Refinement) -> Refinement:
    """Return the attempt that came further; the first of two that came equally far."""
    return other if one is None or _progress(other.failure) > _progress(one.failure) else one


def _progress(failure: Failure | None) -> tuple[int, int, int]:
    assert failure is not None
    return failure.step, _PROGRESS.index(failure.outcome), -len(failure.missing)


def _out_of_time(step: _Step, trace: _Trace, deepest: Refinement | None) -> Refinement:
    """Return the deepest attempt so far, but with the deadline as the reason."""
    if deepest is None or deepest.failure is None or deepest.failure.step < step.index:
        detail = f"Time ran out before {step.operator} was tried."
        return trace.ended(Failure(step.index, step.operator, Outcome.TIMEOUT, detail=detail))
    detail = f"Time ran out. Deepest so far: {deepest.failure.detail}"
    return replace(deepest, failure=replace(deepest.failure, outcome=Outcome.TIMEOUT, detail=detail))
