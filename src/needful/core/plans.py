"""Abstract plans, their necessary atoms, and the results of planning and of acting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from importlib import import_module
from typing import TypeAlias

from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom
from needful.core.controllers import GroundController, Parameters
from needful.core.objects import counted, short_repr
from needful.core.operators import GroundOperator
from needful.core.state import State

AbstractPlan: TypeAlias = tuple[GroundOperator, ...]


def necessary_atoms(plan: Sequence[GroundOperator], goal: AbstractState) -> tuple[AbstractState, ...]:
    """Return the atoms that must hold before a plan and after each step, so that the plan reaches the goal.

    The result has one set of atoms per point in time; the paper calls them α_0, ..., α_n. The last set α_n
    is the goal. Before step i, two kinds of atoms must hold: the preconditions P_i of the step, and the
    atoms of α_i that are not among its add effects E+_i. So α_{i-1} = P_i ∪ (α_i \\ E+_i). Negative
    preconditions are atoms that must not hold, so they are not in these sets.
    """
    backwards = [goal]
    for step in reversed(plan):
        backwards.append(step.preconditions | (backwards[-1] - step.add_effects))
    return tuple(reversed(backwards))


class Outcome(Enum):
    """How an attempt to solve a task ended."""

    SOLVED = "solved"
    NO_ABSTRACT_PLAN = "no_abstract_plan"
    SAMPLER_EXHAUSTED = "sampler_exhausted"
    NOT_INITIABLE = "not_initiable"
    SUBGOAL_MISSED = "subgoal_missed"
    CONTROLLER_FAILED = "controller_failed"
    ENVIRONMENT_FAILURE = "environment_failure"
    HORIZON_EXCEEDED = "horizon_exceeded"
    TIMEOUT = "timeout"
    OUT_OF_NODES = "out_of_nodes"
    GOAL_MISSED = "goal_missed"
    NOT_LEARNED = "not_learned"


@dataclass(frozen=True, slots=True, repr=False)
class Draw:
    """Parameters that were tried for a step, and why they failed.

    The subgoal of a step is the set of atoms that must hold after it, see `necessary_atoms`.

    Attributes:
        parameters: the parameters of the controller; empty if it has none.
        outcome: the kind of failure; `SUBGOAL_MISSED` if the controller ran, but missed the subgoal.
        missing: the atoms of the subgoal that did not hold afterwards.
        reason: the reason in words; empty if it is unknown.
        state: the state in which the controller ended; None if it did not run.
    """

    parameters: Parameters
    outcome: Outcome
    missing: tuple[GroundAtom, ...] = ()
    reason: str = ""
    state: State | None = None

    def __repr__(self) -> str:
        return short_repr(self, str(self.parameters), self.outcome.value)


def best_draw(draws: Sequence[Draw]) -> Draw | None:
    """Return the first of the draws that missed the fewest atoms; None if the controller never ran."""
    ran = [draw for draw in draws if draw.state is not None]
    return min(ran, key=lambda draw: len(draw.missing), default=None)


@dataclass(frozen=True, slots=True)
class Failure:
    """Where and why the deepest attempt to solve a task (the one with the most progress) failed.

    Attributes:
        step: the index of the failed step of the plan.
        operator: the ground operator of that step; None if a policy acted.
        outcome: the kind of failure.
        missing: the atoms that had to hold after the step (see `necessary_atoms`), but did not. Empty if
            an atom held that the next step forbids (a negative precondition); `detail` then names it.
        detail: an explanation for the user.
        draws: the parameters that were tried for the step in the state before it. Of the parameters with
            which the controller could not start, only the first few are kept.
        unlisted: the number of tried parameters that are left out of `draws`. The controller could not
            start with any of them.
    """

    step: int
    operator: GroundOperator | None
    outcome: Outcome
    missing: tuple[GroundAtom, ...] = ()
    detail: str = ""
    draws: tuple[Draw, ...] = ()
    unlisted: int = 0

    def __repr__(self) -> str:
        missing = counted(self.missing, "missing atom")
        return short_repr(self, f"step {self.step}", self.outcome.value, missing, repr(self.detail))

    @property
    def best_draw(self) -> Draw | None:
        """The draw that missed the fewest atoms; None if the controller never ran."""
        return best_draw(self.draws)


@dataclass(frozen=True, slots=True, repr=False)
class Suspect:
    """A ground operator whose effects may be wrong: its controller ran, but its step failed in every try.

    Attributes:
        operator: the ground operator.
        missing: the atoms that had to hold after the step, but did not hold after any try. Empty if each
            of them held after at least one try, or if the simulator reported a failure.
        tries: the number of tries.
    """

    operator: GroundOperator
    missing: tuple[GroundAtom, ...]
    tries: int

    def __str__(self) -> str:
        tries = "1 try" if self.tries == 1 else f"{self.tries} tries"
        missed = ", ".join(map(str, self.missing)) or "its subgoal"
        return f"{self.operator} missed {missed} in {tries}"

    def __repr__(self) -> str:
        return short_repr(self, str(self))


@dataclass(slots=True)
class SearchStatistics:
    """Counters and times of planning for one task, summed over all restarts of the search."""

    nodes_created: int = 0
    nodes_expanded: int = 0
    nodes_evaluated: int = 0
    abstract_plans: int = 0
    samples: int = 0
    seconds_grounding: float = 0.0
    seconds_search: float = 0.0
    seconds_refinement: float = 0.0

    def add(self, other: SearchStatistics) -> None:
        """Add the counters and times of `other` to those of this object."""
        for counter in fields(self):
            setattr(self, counter.name, getattr(self, counter.name) + getattr(other, counter.name))


@dataclass(frozen=True, slots=True)
class IgnoredPrecondition:
    """A precondition of the operator named `operator` that a plan ignores, see `PlanningResult.ignored`."""

    operator: str
    atom: LiftedAtom

    def __str__(self) -> str:
        return f"{self.atom} of {self.operator}"


@dataclass(frozen=True, slots=True, repr=False)
class PlanningResult:
    """The outcome of planning for one task.

    Attributes:
        outcome: `Outcome.SOLVED` or the reason for the failure.
        abstract_plan: the plan of the successful attempt. If all attempts failed, the plan of the attempt
            with the most progress. Empty for policies.
        actions: the ground controllers found, in order.
        states: the simulated states x_0..x_k before and after the actions.
        subgoals: the atoms that had to hold before the plan and after each step; empty for policies.
        failure: where and why the attempt with the most progress failed; None if the task was solved or
            no abstract plan was found.
        statistics: counters and times of the search.
        suspects: the ground operators that failed in every try although their controllers ran, in the order
            of discovery. The search avoided them in later plans if it could.
        unreachable: if there is no abstract plan, the goal atoms that no sequence of operators makes true.
            Empty if each atom can be reached by itself, or if this could not be decided quickly.
        ignored: the preconditions that the plan ignores, because there is no abstract plan otherwise. The
            simulation shows that they are not needed in this task.
    """

    outcome: Outcome
    abstract_plan: AbstractPlan = ()
    actions: tuple[GroundController, ...] = ()
    states: tuple[State, ...] = ()
    subgoals: tuple[AbstractState, ...] = ()
    failure: Failure | None = None
    statistics: SearchStatistics = field(default_factory=SearchStatistics)
    suspects: tuple[Suspect, ...] = ()
    unreachable: tuple[GroundAtom, ...] = ()
    ignored: tuple[IgnoredPrecondition, ...] = ()

    def __repr__(self) -> str:
        steps, actions = counted(self.abstract_plan, "abstract step"), counted(self.actions, "action")
        return short_repr(self, self.outcome.value, steps, actions)

    def _repr_html_(self) -> str:
        from needful.core.cards import result_card

        return result_card(self)

    def show(self, environment: object, task: object) -> object:
        """Return an HTML player of this result, which a notebook shows below the cell; see `show_plan`."""
        # `core` is a lower layer than `reports` and must not depend on it, so import the module on demand.
        notebook = import_module("needful.reports.notebook")
        return notebook.show_plan(self, environment, task)

    @property
    def solved(self) -> bool:
        """Whether the task was solved."""
        return self.outcome is Outcome.SOLVED

    @property
    def missing_atoms(self) -> tuple[GroundAtom, ...]:
        """The atoms that did not hold after the failed step, or the goal atoms that cannot be reached."""
        return self.unreachable if self.failure is None else self.failure.missing

    @property
    def steps(self) -> tuple[GroundOperator | GroundController, ...]:
        """The steps of the abstract plan, or the actions if a policy acted."""
        return self.abstract_plan or self.actions

    def step_verdict(self, index: int) -> str:
        """Return how step `index` (from 0) ended: empty if it succeeded, else "failed" or "not reached"."""
        if self.failure is not None and index == self.failure.step:
            return "failed"
        return "" if index < len(self.actions) else "not reached"

    def with_missed_step(self) -> PlanningResult:
        """Return this result with the best try of the failed step added to its actions and states.

        Pictures can then show where this try ended. The result does not change if the task was solved, or
        if the controller of the failed step never ran.
        """
        failure = self.failure
        best = None if failure is None else failure.best_draw
        if failure is None or failure.operator is None or best is None or best.state is None:
            return self
        controller, objects = failure.operator.operator.controller, failure.operator.controller_objects
        action = GroundController(controller, objects, best.parameters)
        return replace(self, actions=(*self.actions, action), states=(*self.states, best.state))

    def expected_atoms(self, goal: AbstractState) -> tuple[AbstractState, ...]:
        """Return the subgoals: the atoms that had to hold before the plan and after each step.

        If there are no subgoals, as for a policy, return the goal once for each simulated state.
        """
        return self.subgoals or (goal,) * len(self.states)


class Decision(Enum):
    """What the agent decides after an observation."""

    PLAN = "plan"
    CONTINUE = "continue"
    JUMP_AHEAD = "jump_ahead"
    RETRY = "retry"
    RESAMPLE = "resample"
    REPAIR = "repair"
    REPLAN = "replan"
    FINISH = "finish"
    GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class AgentEvent:
    """A decision of the agent.

    Attributes:
        step: how many controllers were executed before the decision.
        executed: the controller that was executed last; None before the first one.
        decision: what the agent decided.
        reason: the reason in words.
        missing: the atoms that the plan expected at this point and that did not hold.
    """

    step: int
    executed: GroundController | None
    decision: Decision
    reason: str
    missing: tuple[GroundAtom, ...] = ()

    def __str__(self) -> str:
        return f"{self.step}. {self.decision.value.replace('_', ' ')}: {self.reason}"


@dataclass(frozen=True, slots=True, repr=False)
class AgentResult:
    """The result of an agent that acted in a world to solve a task.

    Attributes:
        outcome: `SOLVED` if the goal holds in the last observation, else why the agent gave up.
        actions: the executed controllers.
        states: the first observation, and the observation after each controller.
        steps: the ground operator that each executed controller belongs to; empty for policies.
        events: all decisions in order; empty for policies.
        replans: how many times the agent planned from scratch after the first plan.
        seconds: the time for planning and deciding; the time for acting and observing does not count.
        failure: why the agent gave up; None if the outcome is `SOLVED`.
        statistics: counters and times of all planning for the task.
        suspects: the suspects of all calls of the planner; if a ground operator was a suspect several
            times, only the latest `Suspect` is kept.
        ignored: the preconditions that at least one of the plans ignores; see `PlanningResult`.
    """

    outcome: Outcome
    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    steps: AbstractPlan = ()
    events: tuple[AgentEvent, ...] = ()
    replans: int = 0
    seconds: float = 0.0
    failure: Failure | None = None
    statistics: SearchStatistics = field(default_factory=SearchStatistics)
    suspects: tuple[Suspect, ...] = ()
    ignored: tuple[IgnoredPrecondition, ...] = ()

    def __repr__(self) -> str:
        replans = f"{self.replans} replan{'' if self.replans == 1 else 's'}"
        return short_repr(self, self.outcome.value, counted(self.actions, "action"), replans)

    @property
    def solved(self) -> bool:
        """Whether the goal holds in the last observation."""
        return self.outcome is Outcome.SOLVED

    def to_planning_result(self) -> PlanningResult:
        """Return the executed actions as a planning result, without an abstract plan."""
        return PlanningResult(
            self.outcome,
            actions=self.actions,
            states=self.states,
            failure=self.failure,
            statistics=self.statistics,
            suspects=self.suspects,
            ignored=self.ignored,
        )
