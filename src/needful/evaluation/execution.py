"""Execute plans in simulated worlds, and check the goal in the true final state.

Open loop: observe the initial state, plan once, and execute the whole plan without further observations.
Closed loop: observe the world after each controller, and replan if needed; see `needful.planning.agent`.

`Disturbances` holds the probability of failures and the amounts of noise. A `SimulatedWorld` holds the true
state of one task; an agent acts in it. The disturbances are:

    failing skills      A controller fails with a given probability: one low-level action passes, and the
                        state does not change.
    observation noise   Each reading of a feature has Gaussian noise. Its standard deviation is a fraction
                        of the range of this feature over sampled states.
    parameter noise     Each parameter of an executed controller has Gaussian noise. Its standard deviation
                        is a fraction of the distance between its bounds. Noisy parameters are clipped
                        to the bounds.

Features with few different values in the sampled states, or with integer values only, count as discrete;
examples are flags, classes and identifiers. They are read without noise, because noise would turn class 2
into a value such as 2.03, which has no meaning.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from needful.approaches.base import Solver
from needful.core.controllers import Execution, GroundController
from needful.core.objects import Type, short_repr
from needful.core.plans import Outcome, PlanningResult
from needful.core.state import State
from needful.core.tasks import Task
from needful.demos.collect import collect_demonstrations, make_demonstrator
from needful.envs.contract import Environment, Split
from needful.errors import InvalidInputError, NotProvidedError
from needful.seeding import rng_for

if TYPE_CHECKING:
    from needful.evaluation.records import RunRecord

# The two modes of execution, as named on the command line and in files.
OPEN_LOOP, CLOSED_LOOP = "open-loop", "closed-loop"

# Observation noise is a fraction of the range of each feature. The ranges are measured on demonstrations
# of this many training tasks. The seed of these tasks is fixed, so that a fraction such as 0.01 means the
# same noise in all runs.
RANGE_DEMONSTRATIONS = 10
RANGE_SEED = 0
# The range of each feature. A key has the name of the feature's root type (the topmost supertype), and the
# name of the feature.
FeatureRanges: TypeAlias = Mapping[tuple[str, str], float]

# A feature with at most this number of different values in the sampled states is discrete.
MAX_LEVELS = 5


@dataclass(frozen=True, slots=True)
class Disturbances:
    """The failures and the noise in a simulated world; by default there are none.

    Attributes:
        skill_failures: the probability that a controller fails.
        observation_noise: the standard deviation of readings, as a fraction of each feature's range.
        parameter_noise: the standard deviation of executed parameters, as a fraction of the distance
            between their bounds.
    """

    skill_failures: float = 0.0
    observation_noise: float = 0.0
    parameter_noise: float = 0.0

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if not (isinstance(value, int | float) and 0.0 <= value <= 1.0):
                raise InvalidInputError(f"{one.name} must be a number between 0 and 1, got {value!r}.")

    def __bool__(self) -> bool:
        return self != Disturbances()


def feature_ranges(states: Iterable[State]) -> dict[tuple[str, str], float]:
    """Return the range (maximum minus minimum) of each feature over states; 0 for discrete features.

    If two types have the same root, their features with the same name share one range. A feature is
    discrete if it has at most `MAX_LEVELS` different values, or if all its values are integers.
    """
    values: dict[tuple[str, str], set[float]] = {}
    for state in states:
        for obj in state:
            root = _root(obj.type)
            for feature, value in zip(obj.type.features, state[obj], strict=True):
                values.setdefault((root, feature), set()).add(value)
    return {key: 0.0 if _is_discrete(found) else max(found) - min(found) for key, found in values.items()}


def _is_discrete(values: Collection[float]) -> bool:
    return len(values) <= MAX_LEVELS or all(map(float.is_integer, values))


def _root(kind: Type) -> str:
    *_, root = kind.ancestry()
    return root.name


@dataclass(slots=True, repr=False)
class SimulatedWorld:
    """The world of one task, simulated by an environment; it implements the protocol `World` for agents.

    Attributes:
        environment: simulates the controllers.
        state: the true state, which changes with each action.
        disturbances: failing skills and noise.
        ranges: the range of each feature; needed for observation noise. See `feature_ranges`.
        seed: determines which skills fail, and all noise.
        actions: the actions as commanded, without parameter noise.
        states: the true states, from the first one to the current one.
        steps: the number of low-level actions so far.
    """

    environment: Environment
    state: State
    disturbances: Disturbances = field(default_factory=Disturbances)
    ranges: FeatureRanges = field(default_factory=dict)
    seed: int = 0
    actions: list[GroundController] = field(default_factory=list, init=False)
    states: list[State] = field(init=False)
    steps: int = field(default=0, init=False)
    _deviations: np.ndarray = field(init=False)
    _failing: np.random.Generator = field(init=False)
    _reading: np.random.Generator = field(init=False)
    _moving: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        share = self.disturbances.observation_noise
        if share and not self.ranges:
            raise InvalidInputError("Observation noise needs the ranges of features. Use feature_ranges.")
        self.states = [self.state]
        widths = [
            self.ranges.get((_root(obj.type), feature), 0.0)
            for obj in self.state
            for feature in obj.type.features
        ]
        self._deviations = share * np.array(widths)
        # The generators are separate, so that the number of readings does not influence which skills fail.
        self._failing, self._reading, self._moving = (
            rng_for(self.seed, label)
            for label in ("skill failures", "observation noise", "parameter noise")
        )

    def __repr__(self) -> str:
        return short_repr(self, self.environment.name, f"{len(self.actions)} actions")

    def observe(self) -> State:
        """Return a reading of the current state."""
        if not self._deviations.any():
            return self.state
        noise = iter(self._reading.normal(0.0, self._deviations).tolist())
        return State({obj: [value + next(noise) for value in self.state[obj]] for obj in self.state})

    def act(self, action: GroundController) -> Execution:
        """Execute an action; a controller that cannot start in the true state changes nothing."""
        execution = self._execute(action)
        self.state = execution.state
        self.steps += execution.steps
        self.actions.append(action)
        self.states.append(self.state)
        return replace(execution, state=self.observe())

    def _execute(self, action: GroundController) -> Execution:
        if self._failing.random() < self.disturbances.skill_failures:
            return Execution(self.state, steps=1)
        share = self.disturbances.parameter_noise
        if share:
            controller = action.controller
            deviations = share * np.subtract(controller.high, controller.low)
            noisy = controller.clip(self._moving.normal(action.parameters, deviations).tolist())
            action = replace(action, parameters=noisy)
        if not action.initiable(self.state):
            return Execution(self.state, steps=0, failure=f"{action} cannot start in this state.")
        return self.environment.execute(self.state, action)


@dataclass(frozen=True, slots=True)
class ExecutionConfig:
    """How plans are executed.

    Attributes:
        closed_loop: whether the solver observes the world after each controller and may change its plan.
        disturbances: failing skills and noise in the world.
    """

    closed_loop: bool = False
    disturbances: Disturbances = field(default_factory=Disturbances)

    def __bool__(self) -> bool:
        """Return whether a setting differs from the default: open loop, without failures and noise."""
        return self != ExecutionConfig()

    def to_json(self) -> dict[str, Any]:
        """Return the settings as the entry `execution` of records and summary.json."""
        return {"mode": CLOSED_LOOP if self.closed_loop else OPEN_LOOP, **asdict(self.disturbances)}


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of solving one task, with or without execution in a simulated world.

    Attributes:
        result: the executed actions, the true states, and the statistics of planning.
        outcome: `SOLVED` if the goal holds in the true final state, else the reason for the failure.
        seconds: the time for planning and deciding, without the time for acting and observing.
        execution: the entry `execution` of the record: the settings, the number of executed controllers,
            and the number of replans. None if the plan was not executed in a simulated world.
    """

    result: PlanningResult
    outcome: Outcome
    seconds: float
    execution: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class TaskExecution:
    """Solves tasks of an environment in simulated worlds.

    Attributes:
        solver: plans (open loop) or acts in a world (closed loop).
        environment: simulates the worlds.
        config: open or closed loop, and the disturbances of the worlds.
        horizon: the maximum number of low-level actions per task.
        ranges: the ranges of features; needed for observation noise.
    """

    solver: Solver
    environment: Environment
    config: ExecutionConfig
    horizon: int
    ranges: FeatureRanges

    @classmethod
    def of(
        cls, solver: Solver, environment: Environment, config: ExecutionConfig, horizon: int | None = None
    ) -> TaskExecution:
        """Return a `TaskExecution`; measure the ranges of features if there is observation noise.

        If `horizon` is None, the environment's horizon is used.
        """
        ranges = measured_ranges(environment) if config.disturbances.observation_noise else {}
        if ranges and not any(ranges.values()):
            raise InvalidInputError(
                f"All features of {environment.name!r} are discrete, so observation noise has no effect. "
                "Leave it out."
            )
        limit = environment.horizon if horizon is None else horizon
        return cls(solver, environment, config, limit, ranges)

    def run(self, task: Task, seed: int) -> Trial:
        """Solve one task; the seed determines planning and the disturbances."""
        world = SimulatedWorld(
            self.environment, task.initial_state, self.config.disturbances, self.ranges, seed
        )
        if self.config.closed_loop:
            acted = self.solver.act(task, world, seed)
            result, seconds, replans = acted.to_planning_result(), acted.seconds, acted.replans
        else:
            result, seconds = self._open_loop(task, world, seed)
            replans = 0
        result = replace(result, actions=tuple(world.actions), states=tuple(world.states))
        numbers = {"controllers": len(world.actions), "replans": replans}
        outcome = self._judge(task, world, result.outcome)
        return Trial(result, outcome, seconds, {**self.config.to_json(), **numbers})

    def _open_loop(self, task: Task, world: SimulatedWorld, seed: int) -> tuple[PlanningResult, float]:
        observed = Task(world.observe(), task.goal)
        started = time.monotonic()
        result = self.solver.solve(observed, seed)
        seconds = time.monotonic() - started
        for action in result.actions if result.solved else ():
            world.act(action)
        return result, seconds

    def _judge(self, task: Task, world: SimulatedWorld, outcome: Outcome) -> Outcome:
        if world.steps > self.horizon:
            return Outcome.HORIZON_EXCEEDED
        if task.achieved_in(world.state):
            return Outcome.SOLVED
        return Outcome.GOAL_MISSED if outcome is Outcome.SOLVED else outcome


def measured_ranges(environment: Environment) -> FeatureRanges:
    """Return the range of each feature over the states of demonstrations of some training tasks.

    If the environment cannot demonstrate these tasks, their initial states are used.
    """
    count, seed = RANGE_DEMONSTRATIONS, RANGE_SEED
    try:
        collected = collect_demonstrations(environment, make_demonstrator(environment), count, seed)
        found = [state for one in collected.demonstrations for state in one.states or ()]
    except NotProvidedError:
        found = []
    initial = (task.initial_state for task in environment.tasks(Split.TRAIN, count, seed))
    return feature_ranges(found or initial)


def execution_summary(config: ExecutionConfig, records: Sequence[RunRecord]) -> dict[str, Any]:
    """Return the entry `execution` of summary.json; empty if all settings have their default values."""
    if not config:
        return {}
    counts = [record.execution for record in records if record.execution is not None]
    means = {
        f"{name}_mean": sum(one[name] for one in counts) / len(counts) if counts else 0.0
        for name in ("controllers", "replans")
    }
    return {"execution": {**config.to_json(), **means}}
