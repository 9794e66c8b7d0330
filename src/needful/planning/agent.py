"""Closed-loop execution: plan, execute one controller, observe, and decide how to continue.

After each controller, the agent compares the observed state with the necessary atoms of its plan: for each
step, the atoms that must hold before it, so that this step and the later ones reach the goal. If those of
the next step hold, the agent executes it. If those of a later or an earlier step hold instead, the agent
continues from that step. If no step can be executed, it plans from scratch.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from needful.core.atoms import AbstractState, GroundAtom
from needful.core.controllers import Execute, GroundController, World
from needful.core.limits import Budget, Clock
from needful.core.model import PlanningModel
from needful.core.operators import GroundOperator
from needful.core.plans import (
    AbstractPlan,
    AgentEvent,
    AgentResult,
    Decision,
    Failure,
    IgnoredPrecondition,
    Outcome,
    SearchStatistics,
    Suspect,
    necessary_atoms,
)
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import CheckedSettings, EnvironmentFailure, at_least
from needful.planning.bilevel import PlanningConfig, plan
from needful.planning.observation import Observer
from needful.planning.refinement import Refinement, RefinementLimits, ResumableRefinement
from needful.seeding import rng_for, seed_for

# A repair samples the parameters of the current plan again, to save the time of planning from scratch. The
# maximum number of tries is REPAIR_ROUNDS * `samples_per_step` * the number of steps.
REPAIR_ROUNDS = 2
# The maximum share of the remaining planning time that one repair may take.
REPAIR_SHARE = 0.25
# If readings of the world are noisy, planning from scratch may take at most this share of the remaining
# planning time. The rest is left for planning again if further readings give another state.
NOISY_SHARE = 0.5
# If no plan is found, the agent reads the state again, at most MAX_ADDED * `careful_readings` times.
MAX_ADDED = 10
# If further readings give the same state, the agent gives up after planning failed this often in a row.
MAX_FAILED_PLANS = 3


@dataclass(frozen=True, slots=True)
class AgentConfig(CheckedSettings):
    """The settings and limits of an agent.

    Attributes:
        planning: the settings of planning. `timeout` limits the total planning time for one task in
            seconds; the time for acting and observing does not count. `horizon` limits the low-level
            actions in the world.
        max_controllers: the maximum number of controllers that the agent executes.
        max_replans: the maximum number of times that the agent plans from scratch after the first plan.
        max_misses: the maximum number of times in a row that the agent falls back to an earlier step of its
            plan. After that it plans from scratch.
        readings: how often the state of the world is read per observation. The observed state has the
            median of each feature. If the first two readings are equal, readings are exact, and no more
            are taken.
        careful_readings: the total number of readings if the first `readings` ones suggest that a step
            missed its subgoal or that the goal holds. If no plan is found, the agent adds as many readings
            as it has, but at least `careful_readings` and at most `MAX_ADDED` * `careful_readings`.
    """

    planning: PlanningConfig = field(default_factory=PlanningConfig)
    max_controllers: int = at_least(1, 100)
    max_replans: int = at_least(0, 20)
    max_misses: int = at_least(0, 5)
    readings: int = at_least(1, 30)
    careful_readings: int = at_least(1, 100)


@dataclass(frozen=True, slots=True)
class Agent:
    """Solves tasks in a world by closed-loop execution.

    Attributes:
        model: the operators and samplers to plan with; see `needful.plan`.
        execute: simulates a controller; used for planning only.
        config: settings and limits.
    """

    model: PlanningModel
    execute: Execute
    config: AgentConfig = field(default_factory=AgentConfig)

    def run(self, task: Task, world: World, seed: int = 0, clock: Clock = time.monotonic) -> AgentResult:
        """Act in the world until the goal of the task holds or a limit is reached.

        The first plan is the plan of `needful.plan` with the same seed. If readings are exact and each
        controller does what the simulator predicts, exactly this plan is executed. The agent starts
        from the state that it observes; the initial state of the task is not used. Unless time runs out,
        the decisions depend only on the arguments and on the world.
        """
        return _Episode(self, task, world, seed, clock).run()


@dataclass(frozen=True, slots=True)
class _CurrentPlan:
    """A refined plan: step i executes `actions[i]` and is predicted to lead to `states[i + 1]`."""

    steps: AbstractPlan
    actions: tuple[GroundController, ...]
    states: tuple[State, ...]
    necessary: tuple[AbstractState, ...]

    def violated(self, point: int, state: State) -> tuple[GroundAtom, ...]:
        """Return the atoms that prevent the plan from continuing with step `point` in a state, sorted.

        These are the atoms that must hold before this step but do not (see the module docstring). If there
        are none, they are the atoms that hold although a negative precondition of the step forbids them.
        """
        missing = [atom for atom in self.necessary[point] if not atom.holds(state)]
        if not missing and point < len(self.steps):
            missing = [atom for atom in self.steps[point].negative_preconditions if atom.holds(state)]
        return tuple(sorted(missing))


class _Episode:
    """One call of `Agent.run`: the plan that the agent follows, and the log."""

    def __init__(self, agent: Agent, task: Task, world: World, seed: int, clock: Clock) -> None:
        self.agent, self.config, self.task, self.world, self.seed = agent, agent.config, task, world, seed
        self.clock, self.started, self.seconds_acting = clock, clock(), 0.0
        self.current: _CurrentPlan | None = None
        # The reason why `current` is None, as a sentence and as an outcome.
        self.reason, self.outcome = "There is no plan yet.", Outcome.NO_ABSTRACT_PLAN
        self.position = 0  # the index of the expected step: the next step of the plan
        self.misses = 0  # how many times in a row the agent fell back
        self.plan_count, self.refinements, self.low_level_actions = 0, 0, 0
        self.failed_plans = 0  # how many times in a row no plan was found
        self.actions: list[GroundController] = []
        self.steps: list[GroundOperator] = []
        self.events: list[AgentEvent] = []
        self.statistics = SearchStatistics()
        self.suspects: dict[GroundOperator, Suspect] = {}
        self.ignored: dict[IgnoredPrecondition, None] = {}
        self.observer = Observer(world, clock)
        self.states = [self._observe()]

    def run(self) -> AgentResult:
        while True:
            if self.task.achieved_in(self.states[-1]):
                self._log(Decision.FINISH, "The goal holds.")
                return self._result(None)
            failure = self._limit_reached() or self._decide()
            if failure is not None:
                self._log(Decision.GIVE_UP, failure.detail, failure.missing)
                return self._result(failure)
            if self.current is not None:  # None: no plan was found; decide again
                self._act(self.current.actions[self.position], self.current.steps[self.position])

    def _act(self, action: GroundController, step: GroundOperator) -> None:
        started = self.clock()
        with suppress(EnvironmentFailure):  # the next observation shows what happened
            self.low_level_actions += self.world.act(action).steps
        self.seconds_acting += self.clock() - started
        assert self.current is not None
        self.observer.action_executed(*self.current.states[self.position : self.position + 2])
        self.position += 1
        self.actions.append(action)
        self.steps.append(step)
        self.states.append(self._observe())

    def _observe(self) -> State:
        """Return the observed state.

        Take more readings if the first ones suggest that a step failed or that the goal holds.
        """
        state = self.observer.estimate(self.config.readings)
        surprised = self.current is not None and self.current.violated(self.position, state)
        if surprised or self.task.achieved_in(state):
            return self.observer.estimate(self.config.careful_readings)
        return state

    def _decide(self) -> Failure | None:
        """Choose the plan and the step to execute next; return a failure if the agent gives up."""
        state = self.states[-1]
        if self.current is None:
            return self._plan(Decision.REPLAN if self.plan_count else Decision.PLAN, self.reason)
        if state == self.current.states[self.position]:
            self._log(Decision.CONTINUE, f"{self.steps[-1]} had the predicted result.")
            self.misses = 0
            return None
        missing = self.current.violated(self.position, state)
        if self._jump_ahead(state, missing) or (not missing and self._continue(state)):
            self.misses = 0
            return None
        self.misses += 1
        if self.misses > self.config.max_misses:
            reason = f"{self.steps[-1]} missed its subgoal {self.misses} times in a row."
            return self._plan(Decision.REPLAN, reason, missing)
        if self._fall_back(state, missing):
            return None
        reason = f"The plan cannot continue in the state after {self.steps[-1]}."
        return self._plan(Decision.REPLAN, reason, missing)

    def _jump_ahead(self, state: State, missing: tuple[GroundAtom, ...]) -> bool:
        """Jump to the latest step from which the rest of the plan works; return False if there is none.

        Only steps after the next step of the plan are considered. The rest is checked in simulation.
        """
        assert self.current is not None
        for point in reversed(range(self.position + 1, len(self.current.steps))):
            if not self.current.violated(point, state) and self._follow_rest(point, [state]):
                step = self.current.steps[0]
                self._log(Decision.JUMP_AHEAD, f"The rest of the plan works from {step} on.", missing)
                return True
        return False

    def _continue(self, state: State) -> bool:
        """Continue with the next step of the plan, whose necessary atoms hold in the observed state.

        The parameters of the plan were chosen for the predicted states. They are kept if they also reach
        all subgoals from the observed state. Otherwise parameters are sampled again. Returns False if this
        fails too.
        """
        assert self.current is not None
        if self._follow_rest(self.position, [state]):
            step = self.current.steps[0]
            self._log(Decision.CONTINUE, f"The atoms that {step} and later steps need hold.")
            return True
        reason = f"The parameters of {self.current.steps[self.position]} do not fit the observed state."
        return self._try_again(self.position, state, reason)

    def _fall_back(self, state: State, missing: tuple[GroundAtom, ...]) -> bool:
        """Return to the latest earlier step of the plan whose necessary atoms hold.

        If only the last controller missed its subgoal, and the state is the one predicted before the
        earlier step, the same action is executed again. Otherwise parameters are sampled again. Returns
        False if this fails, or if there is no such step.
        """
        assert self.current is not None
        earlier = reversed(range(self.position))
        point = next((one for one in earlier if not self.current.violated(one, state)), None)
        if point is None:
            return False
        step = self.current.steps[point]
        if self.misses == 1 and state == self.current.states[point]:
            self._log(Decision.RETRY, f"{step} had no effect and is tried again.", missing)
            self.position = point
            return True
        return self._try_again(
            point, state, f"{step} missed its subgoal. It is tried with other parameters.", missing
        )

    def _try_again(
        self, point: int, state: State, reason: str, missing: tuple[GroundAtom, ...] = ()
    ) -> bool:
        """Sample the parameters of step `point` again; if this is not enough, those of all later steps too.

        Returns whether the plan then works in simulation from this step on.
        """
        assert self.current is not None
        steps, subgoals = self.current.steps[point:], self.current.necessary[point:]
        found = self._refine(steps[:1], subgoals[:2], state)
        if found.failure is None and self._follow_rest(point + 1, list(found.states), found.actions):
            self._log(Decision.RESAMPLE, reason, missing)
            return True
        found = self._refine(steps, subgoals, state)
        if found.failure is not None:
            return False
        self._log(Decision.REPAIR, f"The plan is refined again from {steps[0]} on.", missing)
        self._follow(steps, found.actions, found.states)
        return True

    def _follow_rest(
        self, point: int, states: list[State], before: tuple[GroundController, ...] = ()
    ) -> bool:
        """Adopt the rest of the plan, from step `point` on, if it reaches all subgoals in simulation.

        Returns whether it does. If parameters of the steps directly before `point` were sampled again,
        `before` has their new actions; these steps are adopted too. `states` has the state before the first
        adopted step, and the simulated state after each action in `before`.
        """
        assert self.current is not None
        followed = self.current
        if followed.violated(point, states[-1]):
            return False
        for index in range(point, len(followed.steps)):
            action = followed.actions[index]
            if not action.initiable(states[-1]):
                return False
            execution = self.agent.execute(states[-1], action)
            states.append(execution.state)
            if execution.steps == 0 or followed.violated(index + 1, execution.state):
                return False
        start = point - len(before)
        self._follow(followed.steps[start:], (*before, *followed.actions[point:]), tuple(states))
        return True

    def _refine(self, steps: AbstractPlan, subgoals: Sequence[AbstractState], state: State) -> Refinement:
        started, planning = self.clock(), self.config.planning
        budget = Budget.seconds(REPAIR_SHARE * self._seconds_left(), clock=self.clock)
        limits = RefinementLimits(
            planning.samples_per_step, self._low_level_actions_left(), budget, planning.adaptive
        )
        rng = rng_for(self.seed, "agent refinement", self.refinements)
        self.refinements += 1
        samplers, execute = self.agent.model.samplers, self.agent.execute
        refinement = ResumableRefinement(steps, subgoals, state, samplers, execute, limits, rng)
        found = refinement.resume(max_tries=REPAIR_ROUNDS * planning.samples_per_step * len(steps))
        self.statistics.samples += found.samples
        self.statistics.seconds_refinement += self.clock() - started
        return found

    def _plan(
        self, decision: Decision, reason: str, missing: tuple[GroundAtom, ...] = ()
    ) -> Failure | None:
        """Plan from scratch; if no plan is found, observe again and leave `current` empty."""
        if self.plan_count > self.config.max_replans:
            detail = f"The limit of {self.config.max_replans} replans is reached. {reason}"
            outcome = Outcome.SUBGOAL_MISSED if self.current is not None else self.outcome
            return self._failure(outcome, detail, missing)
        if self._seconds_left() <= 0:
            return self._failure(Outcome.TIMEOUT, f"Planning time ran out. {reason}", missing)
        self._log(decision, reason, missing)
        seed = seed_for(self.seed, "replan", self.plan_count) if self.plan_count else self.seed
        self.plan_count, self.misses, self.current = self.plan_count + 1, 0, None
        seconds = self._seconds_left() * (1.0 if self.observer.exact else NOISY_SHARE)
        limits = replace(self.config.planning, timeout=seconds, horizon=self._low_level_actions_left())
        state = self.states[-1]
        task = Task(state, self.task.goal)
        result = plan(task, self.agent.model, self.agent.execute, limits, seed, self.clock)
        self.statistics.add(result.statistics)
        self.suspects.update((suspect.operator, suspect) for suspect in result.suspects)
        self.ignored.update(dict.fromkeys(result.ignored))
        if result.solved:
            self._follow(result.abstract_plan, result.actions, result.states)
            self.failed_plans = 0
            return None
        self.failed_plans += 1
        failure = result.failure or self._failure(result.outcome, result.outcome.value.replace("_", " "))
        self.reason, self.outcome = f"No plan was found: {failure.detail}", result.outcome
        count, careful = self.observer.count, self.config.careful_readings
        self.states[-1] = self.observer.estimate(count + min(max(count, careful), MAX_ADDED * careful))
        if self.states[-1] == state:  # from the same state, planning would most likely fail again
            if result.outcome is Outcome.NO_ABSTRACT_PLAN:
                return failure
            if self.failed_plans >= MAX_FAILED_PLANS:
                detail = f"No plan was found {self.failed_plans} times in the same state. {failure.detail}"
                return replace(failure, detail=detail)
        return None

    def _follow(
        self, steps: AbstractPlan, actions: tuple[GroundController, ...], states: tuple[State, ...]
    ) -> None:
        self.current = _CurrentPlan(steps, actions, states, necessary_atoms(steps, self.task.goal))
        self.position = 0

    def _limit_reached(self) -> Failure | None:
        if len(self.actions) >= self.config.max_controllers:
            detail = f"The limit of {self.config.max_controllers} controllers is reached."
            return self._failure(Outcome.HORIZON_EXCEEDED, detail)
        if self._low_level_actions_left() < 1:
            detail = f"The horizon of {self.config.planning.action_limit} low-level actions is reached."
            return self._failure(Outcome.HORIZON_EXCEEDED, detail)
        return None

    def _failure(self, outcome: Outcome, detail: str, missing: tuple[GroundAtom, ...] = ()) -> Failure:
        return Failure(len(self.actions), None, outcome, missing, detail)

    def _low_level_actions_left(self) -> int:
        return self.config.planning.action_limit - self.low_level_actions

    def _seconds(self) -> float:
        return self.clock() - self.started - self.seconds_acting - self.observer.seconds

    def _seconds_left(self) -> float:
        return self.config.planning.timeout - self._seconds()

    def _log(self, decision: Decision, reason: str, missing: tuple[GroundAtom, ...] = ()) -> None:
        executed = self.actions[-1] if self.actions else None
        self.events.append(AgentEvent(len(self.actions), executed, decision, reason, missing))

    def _result(self, failure: Failure | None) -> AgentResult:
        return AgentResult(
            Outcome.SOLVED if failure is None else failure.outcome,
            tuple(self.actions),
            tuple(self.states),
            tuple(self.steps),
            tuple(self.events),
            max(0, self.plan_count - 1),
            self._seconds(),
            failure,
            self.statistics,
            tuple(self.suspects.values()),
            tuple(self.ignored),
        )
