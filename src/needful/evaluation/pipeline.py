"""The main job, end to end: environment → demonstrations → model → solved tasks → summary.

How long work tells how far it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from needful.approaches.oracle_samplers import with_oracle_samplers
from needful.core.deadline import Deadline
from needful.core.demonstrations import Demonstration
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import CollectedDemonstrations, OracleDemonstrator, collect_demonstrations
from needful.demos.replays import collect_replays
from needful.envs.contract import Environment, Split
from needful.errors import DemonstrationError, InvalidInputError, LearningTimeoutError
from needful.evaluation.evaluate import evaluate
from needful.evaluation.learning import LearnedModel, learn_model, provenance, with_experiments
from needful.evaluation.policy_learning import LearnedPolicy, find_method, learn_policy, policy_provenance
from needful.evaluation.records import (
    RunIdentity,
    RunRecord,
    evaluation_summary,
    learning_summary,
    not_learned_summary,
    run_identity,
    run_summary,
)
from needful.evaluation.run_folder import RunFolder
from needful.evaluation.solvers import Solver, bilevel_solver, not_learned, policy_solver
from needful.operator_learning.catalogue import Learner
from needful.operator_learning.experiments import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.policies.catalogue import PolicyKind
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.config import SamplerConfig
from needful.storage.json_fields import JsonValue
from needful.storage.plans import record_plan


class Progress(Protocol):
    """Hears of the stages of a job."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage of so many parts; the function returned is told how many are done."""
        ...


class SilentProgress:
    """Shows nothing."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage that nobody watches."""
        return lambda done: None


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run depends on besides its domain.

    With `experiments` the simulator is used to drop accidental preconditions after learning. With
    `oracle_samplers` tasks are solved with the domain's hand-written samplers instead of learned ones.
    `learning_timeout` is the most seconds that learning may take; collecting demonstrations is not
    counted. It decides whether a model is learned, never which one. `policy` is how policies are trained.
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

    def __post_init__(self) -> None:
        if isinstance(find_method(self.learner), PolicyKind) and (self.experiments or self.oracle_samplers):
            raise InvalidInputError(
                f"{self.learner!r} is a policy: it has no preconditions to experiment with and no samplers "
                "to replace. Leave these options out, or use an operator learner."
            )
        if self.demos < 1:
            raise InvalidInputError(f"A run needs at least one demonstration, got {self.demos}.")
        if self.tasks < 0:
            raise InvalidInputError(f"The number of tasks cannot be negative, got {self.tasks}.")
        if self.learning_timeout is not None and not self.learning_timeout > 0:
            raise InvalidInputError(
                f"learning_timeout must be more than 0 seconds, got {self.learning_timeout}."
            )

    def identity(self, domain: str) -> RunIdentity:
        """Return what all records of a run with this configuration have in common."""
        configs = (self.demos, self.planning, self.samplers, self.experiments, self.oracle_samplers)
        return run_identity(domain, self.learner, self.seed, *configs, self.learning_timeout, self.policy)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The records of some test tasks, and the first task that was solved with its plan."""

    records: tuple[RunRecord, ...]
    example: tuple[Task, PlanningResult] | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run brought; `summary` is the content of summary.json.

    `learned` is None if learning did not end in time.
    """

    collected: CollectedDemonstrations
    learned: LearnedModel | LearnedPolicy | None
    evaluation: Evaluation
    summary: dict[str, Any]


def run(
    environment: Environment,
    config: RunConfig | None = None,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Collect demonstrations, learn a model from them, and solve unseen tasks with it.

    If a folder is given, each result is put there as soon as it exists.
    """
    config, progress = config or RunConfig(), progress or SilentProgress()
    identity = config.identity(environment.name)
    start = time.monotonic()
    collected = collect(environment, config, progress)
    demonstrations, learner = collected.demonstrations, find_method(config.learner)
    replays: tuple[Demonstration, ...] = ()
    if isinstance(learner, Learner) and learner.replays:
        watch = progress.stage("Replaying demonstrations", learner.replays)
        replays = collect_replays(environment, demonstrations, learner.replays, config.seed, watch)
    collect_seconds = time.monotonic() - start
    if folder is not None:
        folder.save_demonstrations(environment.vocabulary, demonstrations)
    learned: LearnedModel | LearnedPolicy | None = None
    try:
        learned = learn(environment, demonstrations, replays, config, progress)
        learning = learning_summary(learned, config.learner, config.seed, len(demonstrations))
    except LearningTimeoutError as error:
        learning = not_learned_summary(demonstrations, config.learner, config.seed, error.seconds)
    if folder is not None and learned is not None:
        folder.save_model(learned, {"domain": environment.name, **run_provenance(learner, config)})
    solve = not_learned if learned is None else solver_for(learned, environment, config)
    horizon = config.planning.horizon
    evaluation = solve_tasks(solve, environment, config.tasks, horizon, identity, folder, progress)
    summary = run_summary(
        environment.name, learning, collect_seconds, evaluation_summary(evaluation.records)
    )
    if folder is not None:
        folder.save_summary(summary)
    return RunResult(collected, learned, evaluation, summary)


def collect(environment: Environment, config: RunConfig, progress: Progress) -> CollectedDemonstrations:
    """Let the oracle demonstrate training tasks; raise if it can solve none."""
    watch = progress.stage("Collecting demonstrations", config.demos)
    demonstrator = OracleDemonstrator(environment)
    collected = collect_demonstrations(environment, demonstrator, config.demos, config.seed, watch)
    if not collected.demonstrations:
        reasons = sorted({outcome.value.replace("_", " ") for _, outcome in collected.skipped})
        raise DemonstrationError(
            f"The oracle solved none of {config.demos} training tasks of {environment.name!r}: "
            f"{', '.join(reasons)}. `needful check-env` tells what is wrong with a domain."
        )
    return collected


def learn(
    environment: Environment,
    demonstrations: tuple[Demonstration, ...],
    replays: tuple[Demonstration, ...],
    config: RunConfig,
    progress: Progress,
) -> LearnedModel | LearnedPolicy:
    """Learn as configured; raise `LearningTimeoutError` if the time for it is not enough."""
    learner, deadline = find_method(config.learner), Deadline.after(config.learning_timeout)
    if isinstance(learner, PolicyKind):
        watch = progress.stage("Training a policy", config.policy.epochs)
        return learn_policy(
            environment.vocabulary, demonstrations, learner, config.policy, config.seed, deadline, watch
        )
    progress.stage("Learning operators and samplers")
    learned = learn_model(
        environment.vocabulary, demonstrations, learner, config.samplers, config.seed, replays, deadline
    )
    if config.experiments is not None:
        progress.stage("Experimenting with preconditions")
        learned = with_experiments(learned, environment.execute, config.experiments, config.seed, deadline)
    return learned


def run_provenance(learner: Learner | PolicyKind, config: RunConfig) -> dict[str, JsonValue]:
    """Return how what a run learns comes to be, for its file."""
    if isinstance(learner, PolicyKind):
        return policy_provenance(learner, config.policy, config.seed)
    return provenance(learner, config.samplers, config.seed, config.experiments)


def solver_for(
    learned: LearnedModel | LearnedPolicy, environment: Environment, config: RunConfig
) -> Solver:
    """Return what solves an environment's tasks with what was learned."""
    if isinstance(learned, LearnedPolicy):
        return policy_solver(learned.kind, learned.policy, environment.execute, config.planning)
    model = learned.model
    if config.oracle_samplers:
        model = with_oracle_samplers(model, environment.oracle_model())
    return bilevel_solver(model, environment.execute, config.planning)


def solve_tasks(
    solve: Solver,
    environment: Environment,
    count: int,
    horizon: int,
    identity: RunIdentity,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Solve the first test tasks of the identity's seed."""
    watch = (progress or SilentProgress()).stage("Solving unseen tasks", count)
    tasks = environment.tasks(Split.TEST, count, identity.seed)
    records: list[RunRecord] = []
    example = None
    for one, result in evaluate(solve, environment, tasks, horizon, identity):
        records.append(one)
        task = tasks[one.task]
        if folder is not None:
            folder.add_plan(environment.vocabulary, record_plan(one.task, task, result, one.outcome))
            folder.add_record(one)
        if example is None and one.solved:
            example = (task, result)
        watch(len(records))
    return Evaluation(tuple(records), example)
