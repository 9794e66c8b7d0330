"""One run: environment → demonstrations → approach → solved tasks → summary.

`evaluate` solves test tasks and checks the plans by executing them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

from needful.approaches.base import (
    Learned,
    LearningConfig,
    Progress,
    SilentProgress,
    Solver,
    learning_summary,
)
from needful.approaches.catalogue import find_approach
from needful.core.cards import run_card
from needful.core.controllers import Execute, GroundController
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.model import Vocabulary
from needful.core.plans import Outcome, PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import (
    CollectedDemonstrations,
    collect_demonstrations,
    collect_replays,
    make_demonstrator,
)
from needful.envs.contract import Environment, Split
from needful.errors import DemonstrationError, InvalidInputError, LearningTimeoutError
from needful.evaluation.execution import ExecutionConfig, TaskExecution, execution_summary
from needful.evaluation.records import (
    RunIdentity,
    RunRecord,
    evaluation_summary,
    make_record,
    run_identity,
    run_summary,
    task_digest,
)
from needful.evaluation.run_description import settings_as_json
from needful.evaluation.run_folder import RecordedProgress, RunFolder
from needful.evaluation.sources import unused_parts
from needful.invention.invent import InventionConfig
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.planning.budget import Clock
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.learn_samplers import SamplerConfig
from needful.seeding import seed_for
from needful.storage.demonstrations import demonstrations_digest
from needful.storage.plans import record_plan


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The settings of a run.

    Attributes:
        learner: the name of the approach.
        demos: the number of training tasks.
        tasks: the number of test tasks.
        seed: determines the tasks, learning and planning.
        planning: the settings of planning.
        samplers: how samplers are trained.
        experiments: the limits of the experiments that correct the learned operators in the simulator, and
            of the attempts to solve training tasks that were not demonstrated. None for no experiments.
        oracle_samplers: whether tasks are solved with the domain's hand-written samplers.
        learning_timeout: the maximum seconds of learning; collecting demonstrations does not count. If the
            time runs out, nothing is learned. Otherwise the limit does not affect the result.
        policy: how policies are trained; only used by approaches that learn a policy.
        validation_folds: the number of folds of cross-validation; 0 for no cross-validation. If it would
            take too long, it is skipped. Cross-validation does not affect what is learned.
        invention: the limits of predicate invention. Then only the predicates of goals and those in its
            `keep` are given. None for the predicates of the domain.
        execution: how plans are executed: open loop or closed loop, with or without disturbances.
        preset: the name of the preset that these settings come from, and which of them were changed; empty
            without a preset. It is recorded with the results (see `paper_preset`).
    """

    learner: str = "necessary"
    demos: int = 50
    tasks: int = 50
    seed: int = 0
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    samplers: SamplerConfig = field(default_factory=SamplerConfig)
    experiments: ExperimentConfig | None = None
    oracle_samplers: bool = False
    learning_timeout: float | None = None
    policy: PolicyConfig = field(default_factory=PolicyConfig)
    validation_folds: int = 0
    execution: ExecutionConfig = field(default_factory=ExecutionConfig)
    invention: InventionConfig | None = None
    preset: str = ""

    def __post_init__(self) -> None:
        approach = find_approach(self.learner)
        if not approach.has_operators and (self.experiments is not None or self.oracle_samplers):
            raise InvalidInputError(
                f"{self.learner!r} is a policy: it has no preconditions to experiment with and no samplers "
                "to replace. Leave these options out, or use an operator learner."
            )
        if self.invention is not None and (self.experiments is not None or not approach.has_operators):
            raise InvalidInputError(
                "Predicates are invented for operator learners, without other experiments. Use an operator "
                "learner such as `necessary`, and leave the experiments out."
            )
        if self.execution.closed_loop and not approach.acts_closed_loop:
            raise InvalidInputError(
                f"{self.learner!r} only plans, so it cannot act closed loop. Use open-loop execution, "
                "or another learner."
            )
        if self.demos < 1:
            raise InvalidInputError(f"A run needs at least one demonstration, got {self.demos}.")
        if self.tasks < 0:
            raise InvalidInputError(f"The number of tasks cannot be negative, got {self.tasks}.")
        if self.learning_timeout is not None and not self.learning_timeout > 0:
            raise InvalidInputError(
                f"learning_timeout must be more than 0 seconds, got {self.learning_timeout}."
            )

    def learning(
        self,
        replays: Demonstrations,
        execute: Execute,
        progress: Progress,
        practice_tasks: tuple[Task, ...] = (),
    ) -> LearningConfig:
        """Return the configuration of learning: the settings of this run, and the given inputs."""
        return LearningConfig(
            self.seed,
            self.samplers,
            self.policy,
            self.experiments,
            self.learning_timeout,
            replays,
            execute,
            progress,
            self.validation_folds,
            practice_tasks=practice_tasks,
            invention=self.invention,
        )

    def for_environment(self, environment: Environment) -> RunConfig:
        """Return this configuration with the environment's horizon, unless it has one."""
        return replace(self, planning=self.planning.with_horizon(environment.horizon))

    def practice_tasks(self, environment: Environment) -> tuple[Task, ...]:
        """Return the training tasks without demonstrations that the learner tries to solve itself."""
        limits = self.experiments or self.invention
        count = 0 if limits is None else limits.practice_tasks
        indices = range(self.demos, self.demos + count)
        return tuple(environment.task(Split.TRAIN, index, self.seed) for index in indices)

    def identity(self, domain: str, *recorded: str) -> RunIdentity:
        """Return the fields that all records of a run with this configuration share.

        `recorded` is the digest of the demonstrations, if they were not collected by the run.
        """
        configs = (self.demos, self.planning, self.samplers, self.experiments, self.oracle_samplers)
        optional = (*((self.execution,) if self.execution else ()), *recorded)
        if self.invention is not None:
            optional = (*optional, self.invention)
        settings = (*configs, self.learning_timeout, self.policy, *optional)
        unused = unused_parts(domain, invention=self.invention is not None, execution=bool(self.execution))
        return run_identity(domain, self.learner, self.seed, *settings, preset=self.preset, unused=unused)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The records of test tasks, and the first solved task with its plan (None if none was solved)."""

    records: tuple[RunRecord, ...]
    example: tuple[Task, PlanningResult] | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """The result of a run; `summary` is the content of summary.json.

    `learned` is None if learning exceeded its time limit.
    """

    collected: CollectedDemonstrations
    learned: Learned | None
    evaluation: Evaluation
    summary: dict[str, Any]

    def _repr_html_(self) -> str:
        model = getattr(self.learned, "model", None)
        return run_card(self.summary, () if model is None else model.operators)


def run(
    environment: Environment,
    config: RunConfig | None = None,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    recorded: Demonstrations | None = None,
) -> RunResult:
    """Collect demonstrations, learn from them, and solve unseen tasks.

    If a folder is given, each result is written there as soon as it exists. If recorded demonstrations are
    given, none are collected; read them with `read_demonstrations(file).bound_to(environment.vocabulary)`.
    """
    config, progress = (config or RunConfig()).for_environment(environment), progress or SilentProgress()
    digest = () if recorded is None else (demonstrations_digest(recorded),)
    identity = config.identity(environment.name, *digest)
    if folder is not None:
        settings = {one.name: getattr(config, one.name) for one in fields(config)}
        demonstrations_from = {"demonstrations": digest[0]} if digest else {}
        folder.begin(settings_as_json(domain=environment.name, **settings, **demonstrations_from))
        progress = RecordedProgress(progress, folder)
    start = time.monotonic()
    if recorded is None:
        collected = collect(environment, config, progress)
    else:
        collected = CollectedDemonstrations(tuple(recorded), ())
    demonstrations, approach = collected.demonstrations, find_approach(config.learner)
    replays = _replays(environment, demonstrations, approach.replay_count, config.seed, progress)
    collect_seconds = time.monotonic() - start
    if folder is not None:
        folder.save_demonstrations(environment.vocabulary, demonstrations)
    learned, horizon, vocabulary = None, config.planning.horizon, environment.vocabulary
    solve: Solve | TaskExecution = not_learned
    try:
        learned = approach.learn(
            environment.vocabulary,
            demonstrations,
            config.learning(replays, environment.execute, progress, config.practice_tasks(environment)),
        )
        solver = learned.solver(environment, config.planning, config.oracle_samplers)
        solve = make_solve(solver, environment, config.execution, horizon)
        vocabulary = solver.vocabulary
        learning = learned.summary()
    except LearningTimeoutError as error:
        transitions = sum(map(len, demonstrations))
        learning = learning_summary(transitions, operators=0, coverage=0.0, seconds=error.seconds)
    if folder is not None and learned is not None:
        if learned.practised:
            folder.save_demonstrations(environment.vocabulary, (*demonstrations, *learned.practised))
        learned.save(folder.model, domain=environment.name)
    evaluation = solve_tasks(
        solve,
        environment,
        config.tasks,
        horizon,
        identity,
        folder,
        progress,
        vocabulary,
        config.planning.clock,
    )
    settings = {"learner": config.learner, "seed": config.seed, "demos": len(demonstrations)}
    if config.preset:
        settings = {"learner": config.learner, "preset": config.preset, **settings}
    summary = run_summary(
        environment.name,
        settings | learning,
        collect_seconds,
        evaluation_summary(evaluation.records) | execution_summary(config.execution, evaluation.records),
    )
    if folder is not None:
        folder.save_summary(summary)
    return RunResult(collected, learned, evaluation, summary)


def _replays(
    environment: Environment, demonstrations: Demonstrations, count: int, seed: int, progress: Progress
) -> tuple[Demonstration, ...]:
    if not count:
        return ()
    report = progress.stage("Replaying demonstrations", count)
    return collect_replays(environment, demonstrations, count, seed, report)


def collect(
    environment: Environment,
    config: RunConfig,
    progress: Progress,
    planning: PlanningConfig | None = None,
) -> CollectedDemonstrations:
    """Let the environment demonstrate training tasks with its oracle model or its scripted policy.

    `planning` holds the settings of the oracle's planner; by default, only the horizon of `config`. Raises
    `DemonstrationError` if no task is solved.
    """
    report = progress.stage("Collecting demonstrations", config.demos)
    planning = planning or PlanningConfig(horizon=config.planning.horizon, clock=config.planning.clock)
    demonstrator = make_demonstrator(environment, planning)
    collected = collect_demonstrations(environment, demonstrator, config.demos, config.seed, report)
    if not collected.demonstrations:
        reasons = sorted({outcome.value.replace("_", " ") for _, outcome in collected.skipped})
        raise DemonstrationError(
            f"The demonstrator solved none of {config.demos} training tasks of {environment.name!r}: "
            f"{', '.join(reasons)}. Run `needful check-env` to find the cause."
        )
    return collected


# A function that takes a task and a seed and solves the task, such as `approaches.base.Solver.solve`.
Solve: TypeAlias = Callable[[Task, int], PlanningResult]


def make_solve(
    solver: Solver, environment: Environment, execution: ExecutionConfig, horizon: int | None
) -> Solve | TaskExecution:
    """Return the solver's `solve`, or an execution in simulated worlds if a setting is not default."""
    return TaskExecution.of(solver, environment, execution, horizon) if execution else solver.solve


def solve_tasks(
    solve: Solve | TaskExecution,
    environment: Environment,
    count: int,
    horizon: int | None,
    identity: RunIdentity,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
    vocabulary: Vocabulary | None = None,
    clock: Clock = time.monotonic,
) -> Evaluation:
    """Solve the first `count` test tasks that are sampled with `identity.seed`; return their evaluation.

    If a folder is given, the record and the plan of each task are written there. `vocabulary` is that of
    the plans, by default the environment's. `clock` measures the seconds of a task.
    """
    report = (progress or SilentProgress()).stage("Solving unseen tasks", count)
    tasks = environment.tasks(Split.TEST, count, identity.seed)
    records: list[RunRecord] = []
    example = None
    for one, result in evaluate(solve, environment, tasks, horizon, identity, clock):
        records.append(one)
        task = tasks[one.task]
        if folder is not None:
            plan = record_plan(one.task, task, result, one.outcome)
            folder.add_plan(vocabulary or environment.vocabulary, plan)
            folder.add_record(one)
        if example is None and one.solved:
            example = (task, result)
        report(len(records))
    return Evaluation(tuple(records), example)


def evaluate(
    solve: Solve | TaskExecution,
    environment: Environment,
    tasks: Sequence[Task],
    horizon: int | None,
    identity: RunIdentity,
    clock: Clock = time.monotonic,
) -> Iterator[tuple[RunRecord, PlanningResult]]:
    """Solve each task and execute its plan; yield the record of the task and the planning result.

    A plan that needs more than `horizon` low-level actions counts as failed. None stands for the
    environment's horizon. A `TaskExecution` solves the tasks in simulated worlds and has its own horizon.
    """
    for index, task in enumerate(tasks):
        start = clock()
        seed = planning_seed(identity.seed, identity.domain, index)
        if isinstance(solve, TaskExecution):
            trial = solve.run(task, seed)
            numbers = (trial.outcome, trial.seconds, len(task.objects), trial.execution)
            yield make_record(identity, index, trial.result, *numbers, task_digest(task)), trial.result
            continue
        result = solve(task, seed)
        seconds = clock() - start
        outcome = result.outcome
        if result.solved and not achieves_goal(environment, task, result.actions, horizon):
            outcome = Outcome.GOAL_MISSED
        size, digest = len(task.objects), task_digest(task)
        yield make_record(identity, index, result, outcome, seconds, size, digest=digest), result


def planning_seed(seed: int, domain: str, task: int) -> int:
    """Return the seed for planning a test task, so that all commands plan this task with the same seed."""
    return seed_for(seed, "plan", domain, task)


def achieves_goal(
    environment: Environment, task: Task, actions: Sequence[GroundController], horizon: int | None = None
) -> bool:
    """Return whether executing the actions from the task's initial state achieves the goal.

    The goal must hold after at most `horizon` low-level actions. None stands for the environment's horizon.
    The environment must confirm the plan (see `Environment.confirms`).
    """
    limit = environment.horizon if horizon is None else horizon
    state, steps = task.initial_state, 0
    for action in actions:
        if task.achieved_in(state):
            break
        execution = environment.execute(state, action)
        steps += execution.steps
        if execution.steps == 0 or steps > limit:
            return False
        state = execution.state
    return task.achieved_in(state) and environment.confirms(task, actions)


def not_learned(task: Task, seed: int) -> PlanningResult:
    """Return a failure for every task; used instead of a solver if learning ran out of time."""
    return PlanningResult(Outcome.NOT_LEARNED)
