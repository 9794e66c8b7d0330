"""The main job, end to end: environment → demonstrations → model → solved tasks → summary."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

from needful.core.model import PlanningModel
from needful.core.plans import PlanningResult
from needful.core.tasks import Task
from needful.demos.collect import CollectedDemonstrations, collect_demonstrations
from needful.demos.oracle import OracleDemonstrator
from needful.envs.contract import Environment, Split
from needful.errors import DemonstrationError, InvalidInputError
from needful.evaluation.evaluate import evaluate
from needful.evaluation.learning import LearnedModel, learn_model, provenance, with_experiments
from needful.evaluation.oracle_samplers import with_oracle_samplers
from needful.evaluation.progress import Progress, Silent
from needful.evaluation.records import RunIdentity, RunRecord, identify
from needful.evaluation.run_folder import RunFolder
from needful.evaluation.summary import evaluation_summary, learning_summary, run_summary
from needful.operator_learning.catalogue import find_learner
from needful.operator_learning.experiments import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.sampler_learning.config import SamplerConfig


@dataclass(frozen=True, slots=True)
class RunConfig:
    """What a run depends on besides its domain.

    With `experiments` the simulator is used to drop accidental preconditions after learning. With
    `oracle_samplers` tasks are solved with the domain's hand-written samplers instead of learned ones.
    """

    learner: str = "necessary"
    demos: int = 50
    tasks: int = 50
    seed: int = 0
    planning: PlanningConfig = field(default_factory=PlanningConfig)
    samplers: SamplerConfig = field(default_factory=SamplerConfig)
    experiments: ExperimentConfig | None = None
    oracle_samplers: bool = False

    def __post_init__(self) -> None:
        find_learner(self.learner)
        if self.demos < 1:
            raise InvalidInputError(f"A run needs at least one demonstration, got {self.demos}.")
        if self.tasks < 0:
            raise InvalidInputError(f"The number of tasks cannot be negative, got {self.tasks}.")

    def identity(self, domain: str) -> RunIdentity:
        """Return what all records of a run with this configuration have in common."""
        configs = (self.demos, self.planning, self.samplers, self.experiments, self.oracle_samplers)
        return identify(domain, self.learner, self.seed, *configs)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The records of some test tasks, and the first task that was solved with its plan."""

    records: tuple[RunRecord, ...]
    example: tuple[Task, PlanningResult] | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run brought; `summary` is the content of summary.json."""

    collected: CollectedDemonstrations
    learned: LearnedModel
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
    config, progress = config or RunConfig(), progress or Silent()
    identity = config.identity(environment.name)
    start = time.monotonic()
    collected = collect(environment, config, progress)
    collect_seconds = time.monotonic() - start
    demonstrations, learner = collected.demonstrations, find_learner(config.learner)
    progress.stage("Learning operators and samplers")
    learned = learn_model(environment.vocabulary, demonstrations, learner, config.samplers, config.seed)
    if config.experiments is not None:
        progress.stage("Experimenting with preconditions")
        learned = with_experiments(learned, environment.execute, config.experiments, config.seed)
    if folder is not None:
        folder.save_demonstrations(environment.vocabulary, demonstrations)
        origin = provenance(learner, config.samplers, config.seed, config.experiments)
        folder.save_model(learned, {"domain": environment.name, **origin})
    model = learned.model
    if config.oracle_samplers:
        model = with_oracle_samplers(model, environment.oracle_model())
    evaluation = solve_tasks(model, environment, config.tasks, config.planning, identity, folder, progress)
    summary = run_summary(
        environment.name,
        learning_summary(learned, config.learner, config.seed, len(demonstrations)),
        collect_seconds,
        evaluation_summary(evaluation.records),
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
            f"{', '.join(reasons)}. `check_environment` tells what is wrong with a domain."
        )
    return collected


def solve_tasks(
    model: PlanningModel,
    environment: Environment,
    count: int,
    planning: PlanningConfig,
    identity: RunIdentity,
    folder: RunFolder | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Solve the first test tasks of the identity's seed with a model bound to the environment."""
    watch = (progress or Silent()).stage("Solving unseen tasks", count)
    tasks = environment.tasks(Split.TEST, count, identity.seed)
    records: list[RunRecord] = []
    example = None
    for record, result in evaluate(model, environment, tasks, planning, identity):
        records.append(record)
        if folder is not None:
            folder.add_record(record)
        if example is None and record.solved:
            example = (tasks[record.task], result)
        watch(len(records))
    return Evaluation(tuple(records), example)
