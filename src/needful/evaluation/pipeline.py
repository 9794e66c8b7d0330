"""One run: environment → demonstrations → approach → solved tasks → summary."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields, replace
from typing import Any

from needful.approaches.base import (
    Learned,
    LearningConfig,
    Progress,
    SilentProgress,
    learning_summary,
)
from needful.approaches.catalogue import find_approach
from needful.core.cards import run_card
from needful.core.controllers import Execute
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.tasks import Task
from needful.demos.collect import (
    CollectedDemonstrations,
    collect_demonstrations,
    collect_replays,
    make_demonstrator,
)
from needful.envs.contract import Environment, Split
from needful.errors import (
    DemonstrationError,
    InvalidInputError,
    LearningTimeoutError,
    check_at_least,
    check_seconds,
)
from needful.evaluation.evaluate import (
    Evaluation,
    Solve,
    make_solve,
    not_learned,
    save_and_report,
    solve_tasks,
)
from needful.evaluation.execution import ExecutionConfig, TaskExecution, execution_summary
from needful.evaluation.records import (
    RunIdentity,
    evaluation_summary,
    run_identity,
    run_summary,
)
from needful.evaluation.run_folder import RecordedProgress, RunFolder, settings_as_json
from needful.evaluation.sources import unused_parts
from needful.invention.invent import InventionConfig
from needful.operator_learning.accidental_preconditions import ExperimentConfig
from needful.planning.bilevel import PlanningConfig
from needful.policies.graph_policy import PolicyConfig
from needful.sampler_learning.learn_samplers import SamplerConfig
from needful.storage.demonstrations import demonstrations_digest


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
        experiments: the limits of experiments and practice; None for neither. Experiments correct the
            learned operators in the simulator. Practice tries to solve training tasks that were not
            demonstrated.
        oracle_samplers: whether tasks are solved with the domain's hand-written samplers.
        learning_timeout: the maximum seconds of learning; collecting demonstrations does not count. If the
            time runs out, nothing is learned. Otherwise the limit does not affect the result.
        policy: how policies are trained; only used by approaches that learn a policy.
        validation_folds: the number of folds of cross-validation; 0 for no cross-validation. If it would
            take too long, it is skipped. Cross-validation does not affect what is learned.
        invention: the limits of predicate invention. With invention, the learner is given only the
            predicates of goals and those in `InventionConfig.keep`. With None, it is given all predicates
            of the domain.
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
        check_at_least(1, demos=self.demos)
        check_at_least(0, tasks=self.tasks)
        if self.learning_timeout is not None:
            check_seconds(learning_timeout=self.learning_timeout)

    def learning(
        self,
        replays: Demonstrations,
        execute: Execute,
        progress: Progress,
        practice_tasks: tuple[Task, ...] = (),
    ) -> LearningConfig:
        """Return the configuration of learning; it combines the settings of this run with the arguments."""
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
        """Return this configuration; if it has no horizon, the environment's horizon is filled in."""
        return replace(self, planning=self.planning.with_horizon(environment.horizon))

    def practice_tasks(self, environment: Environment) -> tuple[Task, ...]:
        """Return the training tasks without demonstrations that the learner tries to solve itself."""
        limits = self.experiments or self.invention
        count = 0 if limits is None else limits.practice_tasks
        indices = range(self.demos, self.demos + count)
        return tuple(environment.task(Split.TRAIN, index, self.seed) for index in indices)

    def identity(self, domain: str, *recorded: str) -> RunIdentity:
        """Return the fields that all records of a run with this configuration share.

        `recorded` is the digest of the recorded demonstrations; empty if the run collects its own.
        """
        configs = (self.demos, self.planning, self.samplers, self.experiments, self.oracle_samplers)
        optional = (*((self.execution,) if self.execution else ()), *recorded)
        if self.invention is not None:
            optional = (*optional, self.invention)
        settings = (*configs, self.learning_timeout, self.policy, *optional)
        unused = unused_parts(domain, invention=self.invention is not None, execution=bool(self.execution))
        return run_identity(domain, self.learner, self.seed, *settings, preset=self.preset, unused=unused)


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
    replay_count = find_approach(config.learner).replay_count
    replays = _replays(environment, collected.demonstrations, replay_count, config.seed, progress)
    collect_seconds = time.monotonic() - start
    if folder is not None:
        folder.save_demonstrations(environment.vocabulary, collected.demonstrations)
    learned, learning = _learn(environment, collected.demonstrations, replays, config, progress)
    solve: Solve | TaskExecution = not_learned
    vocabulary, horizon = environment.vocabulary, config.planning.horizon
    if learned is not None:
        solver = learned.solver(environment, config.planning, config.oracle_samplers)
        solve = make_solve(solver, environment, config.execution, horizon)
        vocabulary = solver.vocabulary
        if folder is not None:
            _save_learned(learned, collected.demonstrations, environment, folder)
    on_result = save_and_report(folder, vocabulary, progress, config.tasks)
    identity, clock = config.identity(environment.name, *digest), config.planning.clock
    evaluation = solve_tasks(solve, environment, config.tasks, horizon, identity, on_result, clock)
    preset = {"preset": config.preset} if config.preset else {}
    summary = run_summary(
        environment.name,
        {"learner": config.learner, **preset, "seed": config.seed, "demos": len(collected.demonstrations)}
        | learning,
        collect_seconds,
        evaluation_summary(evaluation.records) | execution_summary(config.execution, evaluation.records),
    )
    if folder is not None:
        folder.save_summary(summary)
    return RunResult(collected, learned, evaluation, summary)


def _learn(
    environment: Environment,
    demonstrations: Demonstrations,
    replays: Demonstrations,
    config: RunConfig,
    progress: Progress,
) -> tuple[Learned | None, dict[str, Any]]:
    """Return what is learned (None if time ran out) and the entries of summary.json about learning."""
    practice = config.practice_tasks(environment)
    learning = config.learning(replays, environment.execute, progress, practice)
    try:
        learned = find_approach(config.learner).learn(environment.vocabulary, demonstrations, learning)
    except LearningTimeoutError as error:
        transitions = sum(map(len, demonstrations))
        return None, learning_summary(transitions, operators=0, coverage=0.0, seconds=error.seconds)
    return learned, learned.summary()


def _save_learned(
    learned: Learned, demonstrations: Demonstrations, environment: Environment, folder: RunFolder
) -> None:
    if learned.practised:
        folder.save_demonstrations(environment.vocabulary, (*demonstrations, *learned.practised))
    learned.save(folder.model, domain=environment.name)


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

    `planning` has the settings of the oracle's planner. If it is None, the horizon and the clock come from
    `config`, and all other settings have their defaults. Raises `DemonstrationError` if no task is solved,
    or if no solved task needs an action.
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
    if not any(map(len, collected.demonstrations)):
        raise DemonstrationError(
            f"All {len(collected.demonstrations)} demonstrated tasks of {environment.name!r} have goals "
            "that hold before the first action, so there is nothing to learn. Check the tasks, and that "
            "the predicates of goals return True or False."
        )
    return collected
