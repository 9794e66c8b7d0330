"""Collect demonstrations of training tasks, and replays of random actions.

The oracle demonstrator plans with the hand-written operators and samplers of a domain. The scripted
demonstrator executes the domain's scripted policy.

A demonstration executes a controller only in states in which the controller helps to reach the goal.
Replays show what the controller does in other states. A replay is the record of one random action, executed
in a state of a demonstration. It is a `Demonstration` with one action and an empty goal.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol

import numpy as np

from needful.abstraction import abstract
from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel
from needful.core.objects import InjectiveTuples, counted, short_repr
from needful.core.operators import GroundOperator
from needful.core.plans import Failure, Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.envs.contract import Environment, Split
from needful.errors import DemonstrationError, InvalidInputError, NotProvidedError, UnknownNameError
from needful.planning.bilevel import PlanningConfig, plan
from needful.seeding import rng_for, seed_for

# To collect n replays, at most n * MAX_DRAWS_PER_REPLAY random actions are tried: some cannot be executed.
MAX_DRAWS_PER_REPLAY = 20


class Demonstrator(Protocol):
    """Solves tasks to produce demonstrations."""

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Solve the task; return the actions and the visited states, or the reason for the failure."""
        ...


@dataclass(frozen=True, slots=True)
class CollectedDemonstrations:
    """The demonstrations of the solved training tasks, and the tasks that were not solved.

    `skipped` holds the index and the outcome of each task that was not solved.
    """

    demonstrations: tuple[Demonstration, ...]
    skipped: tuple[tuple[int, Outcome], ...]

    def __repr__(self) -> str:
        return short_repr(
            self, counted(self.demonstrations, "demonstration"), counted(self.skipped, "skipped task")
        )


def collect_demonstrations(
    environment: Environment,
    demonstrator: Demonstrator,
    count: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> CollectedDemonstrations:
    """Collect one demonstration of each of the first `count` training tasks.

    Tasks that the demonstrator cannot solve are listed in the result's `skipped`; no other tasks replace
    them. After each task, `on_progress` is called with the number of tasks that were tried.
    """
    found, skipped = [], []
    for index, task in enumerate(environment.tasks(Split.TRAIN, count, seed)):
        result = demonstrator.demonstrate(task, seed_for(seed, "demonstrate", index))
        if result.solved:
            found.append(as_demonstration(environment, task, result))
        else:
            skipped.append((index, result.outcome))
        on_progress(index + 1)
    return CollectedDemonstrations(tuple(found), tuple(skipped))


def as_demonstration(environment: Environment, task: Task, result: PlanningResult) -> Demonstration:
    """Convert the planning result of a solved task to a demonstration."""
    predicates = environment.vocabulary.predicates
    return Demonstration(
        objects=task.objects,
        goal=task.goal,
        abstract_states=tuple(abstract(state, predicates) for state in result.states),
        actions=result.actions,
        states=result.states,
    )


@dataclass(frozen=True, slots=True)
class OracleDemonstrator:
    """Solves tasks of an environment by bilevel planning with the environment's oracle model."""

    environment: Environment
    config: PlanningConfig = field(default_factory=PlanningConfig)
    model: PlanningModel = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", self.environment.oracle_model())
        object.__setattr__(self, "config", self.config.with_horizon(self.environment.horizon))

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Return the result of planning for the task with the oracle model."""
        return plan(task, self.model, self.environment.execute, self.config, seed, strict=True)


@dataclass(frozen=True, slots=True)
class ScriptedDemonstrator:
    """Solves tasks of an environment by executing the environment's scripted policy.

    Attributes:
        environment: the environment; it must provide `demonstrate`.
        horizon: the maximum number of low-level actions; a failed action counts as one. None for the
            `horizon` of the environment.
    """

    environment: Environment
    horizon: int | None = None

    def demonstrate(self, task: Task, seed: int) -> PlanningResult:
        """Execute the scripted policy until the goal holds, the policy ends or the horizon is exceeded.

        Raises `NotProvidedError` if there is no scripted policy, and `InvalidInputError` if the policy
        returns an action that the environment does not have or whose parameters are out of bounds.
        """
        state, steps = task.initial_state, 0
        horizon = self.environment.horizon if self.horizon is None else self.horizon
        actions: list[GroundController] = []
        states = [state]
        failed = ""
        proposals = self.environment.demonstrate(task, rng_for(seed, "script"))
        if not isinstance(proposals, Iterable):
            raise InvalidInputError(
                f"`demonstrate` of {self.environment.name!r} returned {proposals!r}. Return a list of "
                "actions, or yield each action."
            )
        script, observed = iter(proposals), None
        while not task.achieved_in(state):
            proposed = _next_action(script, observed)
            if proposed is None:
                detail = f"The scripted policy ended before the goal held.{failed}"
                return _missed(Outcome.GOAL_MISSED, actions, states, detail)
            action = self._checked(proposed)
            can_start = action.initiable(state)
            execution = self.environment.execute(state, action) if can_start else None
            if execution is not None and execution.steps:
                state = execution.state
                actions.append(action)
                states.append(state)
            else:
                reason = "it cannot start" if execution is None else execution.failure or "it did nothing"
                failed = f" {action} failed: {reason.rstrip('.')}."
            steps += max(1, 0 if execution is None else execution.steps)
            if steps > horizon:
                detail = f"The scripted policy takes more than {horizon} low-level actions.{failed}"
                return _missed(Outcome.HORIZON_EXCEEDED, actions, states, detail)
            observed = state
        return PlanningResult(Outcome.SOLVED, actions=tuple(actions), states=tuple(states))

    def _checked(self, action: GroundController) -> GroundController:
        if not isinstance(action, GroundController):
            raise InvalidInputError(
                f"`demonstrate` of {self.environment.name!r} returned {action!r}, which is no action. "
                "Yield ground controllers, such as PICK(robot, cup)."
            )
        if action.controller not in self.environment.vocabulary.controllers:
            known = (one.name for one in self.environment.vocabulary.controllers)
            raise UnknownNameError("controller in `demonstrate`", action.controller.name, known)
        index = action.controller.first_out_of_bounds(action.parameters)
        if index is not None:
            raise InvalidInputError(
                f"`demonstrate` of {self.environment.name!r} returned {action}, whose parameter {index} is "
                f"outside of [{action.controller.low[index]}, {action.controller.high[index]}]. "
                "Clip it, or widen the controller's bounds."
            )
        return action


def _next_action(script: Iterator[GroundController], state: State | None) -> GroundController | None:
    """Return the next action of a script, or None at its end.

    If the script is a generator, the `yield` at which it waits returns `state`; in the first call, `state`
    must be None. Other iterators do not receive states.
    """
    try:
        return script.send(state) if isinstance(script, Generator) else next(script)
    except StopIteration:
        return None
    except AttributeError as error:
        if error.name != "send":
            raise
        raise InvalidInputError(
            "`demonstrate` uses `yield from` with an iterable that cannot receive states. Write "
            "`for action in actions: yield action`, or return the actions as a list."
        ) from error


def _missed(
    outcome: Outcome, actions: Sequence[GroundController], states: Sequence[State], detail: str
) -> PlanningResult:
    failure = Failure(len(actions), None, outcome, detail=detail)
    return PlanningResult(outcome, actions=tuple(actions), states=tuple(states), failure=failure)


def make_demonstrator(environment: Environment, config: PlanningConfig | None = None) -> Demonstrator:
    """Return a demonstrator that uses the oracle model or, if there is none, the scripted policy.

    `config` holds the settings of planning with the oracle model. Of these settings, the scripted policy
    uses only the horizon. If the environment has neither an oracle model nor a scripted policy, the first
    call of `demonstrate` raises `NotProvidedError`.
    """
    config = config or PlanningConfig()
    try:
        return OracleDemonstrator(environment, config)
    except NotProvidedError:
        return ScriptedDemonstrator(environment, config.horizon)


def collect_replays(
    environment: Environment,
    demonstrations: Sequence[Demonstration],
    count: int,
    seed: int,
    on_progress: Callable[[int], None] = lambda done: None,
) -> tuple[Demonstration, ...]:
    """Execute random ground operators of the oracle model in random states of demonstrations.

    For each replay, a demonstration is drawn first, with probability proportional to its number of states.
    Then one of its states (not the last) and a ground operator are drawn. The operator's preconditions need
    not hold in the state. If the operator's controller cannot start or fails, everything is drawn again.
    After each replay, `on_progress` is called with the number of replays so far.

    Returns `count` replays, or fewer if too many controllers fail; raises if no replay was possible.
    """
    if any(demonstration.states is None for demonstration in demonstrations):
        raise DemonstrationError(
            "Replays need states, but a demonstration has none. Record demonstrations with states."
        )
    usable = [demonstration for demonstration in demonstrations if len(demonstration)]
    try:
        oracle = environment.oracle_model()
    except NotProvidedError as error:
        raise NotProvidedError(
            f"Replays execute operators of an oracle model, and {environment.name!r} has none. "
            "Use a learner that needs no replays, such as necessary."
        ) from error
    rng = rng_for(seed, "replays", environment.name)
    found: list[Demonstration] = []
    for _ in range(MAX_DRAWS_PER_REPLAY * count if usable else 0):
        if len(found) == count:
            break
        replay = _replay(environment, oracle, _choose(usable, rng), rng)
        if replay is not None:
            found.append(replay)
            on_progress(len(found))
    if not found:
        raise DemonstrationError(
            f"No action could be replayed in {len(usable)} demonstrations of {environment.name!r}. "
            "Use a learner that needs no replays."
        )
    return tuple(found)


def _choose(demonstrations: Sequence[Demonstration], rng: np.random.Generator) -> Demonstration:
    ends = list(accumulate(len(demonstration.abstract_states) for demonstration in demonstrations))
    return demonstrations[bisect_right(ends, rng.integers(ends[-1]))]


def _replay(
    environment: Environment, oracle: PlanningModel, demonstration: Demonstration, rng: np.random.Generator
) -> Demonstration | None:
    """Execute a random action in a random state of the demonstration, and return the replay.

    Returns None if the action cannot be executed.
    """
    step = int(rng.integers(len(demonstration)))
    assert demonstration.states is not None
    state = demonstration.states[step]
    ground = random_ground_operator(oracle, state, rng)
    if ground is None:
        return None
    action = _action(oracle, ground, state, rng)
    if not action.initiable(state):
        return None
    execution = environment.execute(state, action)
    if not execution.steps:
        return None
    return Demonstration(
        objects=demonstration.objects,
        goal=frozenset(),
        abstract_states=(
            demonstration.abstract_states[step],
            abstract(execution.state, environment.vocabulary.predicates),
        ),
        actions=(action,),
        states=(state, execution.state),
    )


def random_ground_operator(
    model: PlanningModel, state: State, rng: np.random.Generator
) -> GroundOperator | None:
    """Draw a ground operator uniformly from all groundings of all operators of the model.

    The groundings are over the objects of the state. Returns None if there is no grounding.
    """
    choices = [
        InjectiveTuples(tuple(state.of_type(variable.type) for variable in operator.parameters))
        for operator in model.operators
    ]
    ends = list(accumulate(tuples.count for tuples in choices))
    if not ends or not ends[-1]:
        return None
    index = int(rng.integers(ends[-1]))
    chosen = bisect_right(ends, index)
    return model.operators[chosen].ground(choices[chosen].at(ends[chosen] - index - 1))


def _action(
    model: PlanningModel, ground: GroundOperator, state: State, rng: np.random.Generator
) -> GroundController:
    operator = ground.operator
    parameters: Sequence[float] = ()
    if operator.controller.dimension:
        drawn = model.samplers[operator.name].sample(state, ground.objects, rng)
        parameters = operator.controller.clip(drawn)
    return operator.controller(*ground.controller_objects, parameters=parameters)
