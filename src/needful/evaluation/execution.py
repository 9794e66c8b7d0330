"""Execute plans in simulated worlds, open loop or closed loop, and check the goal in the true final state.

Open loop: observe the initial state, plan once, and execute the whole plan without further observations.
Closed loop: observe the world after each controller, and replan if needed; see `needful.planning.agent`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from needful.approaches.base import Solver
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import collect_demonstrations, make_demonstrator
from needful.envs.contract import Environment, Split
from needful.envs.disturbances import Disturbances, FeatureRanges, SimulatedWorld, feature_ranges
from needful.errors import InvalidInputError, NotProvidedError

if TYPE_CHECKING:
    from needful.evaluation.records import RunRecord

# The two modes of execution, as named on the command line and in files.
OPEN_LOOP, CLOSED_LOOP = "open-loop", "closed-loop"

# Observation noise is a share of the range of each feature. The ranges are measured on demonstrations
# of this many training tasks. Their seed is fixed, so that the same share is the same noise in all runs.
RANGE_DEMONSTRATIONS = 10
RANGE_SEED = 0


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
        """Return whether a setting differs from the default: open loop in an exact world."""
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

        Without a horizon, the environment's horizon is used.
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
