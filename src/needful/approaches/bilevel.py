"""Learn operators and samplers, then solve tasks by bilevel planning."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from types import MappingProxyType
from typing import Protocol

from needful.approaches.base import DEFAULTS, ClimbObserver, LearningConfig, check_demonstrations, timed
from needful.approaches.learned_model import LearnedModel
from needful.approaches.practice import Practice
from needful.core.controllers import Execute, Execution, GroundController
from needful.core.demonstrations import Demonstration, Demonstrations
from needful.core.limits import NO_DEADLINE, Deadline
from needful.core.model import PlanningModel, Vocabulary
from needful.core.state import State
from needful.core.tasks import Task
from needful.errors import InvalidInputError, LearningTimeoutError
from needful.invention.invent import InventionConfig, invent_predicates
from needful.operator_learning.accidental_preconditions import (
    ExaminedPreconditions,
    ExperimentConfig,
    examine_preconditions,
    find_situations,
)
from needful.operator_learning.cross_validation import cross_validate, fold_count
from needful.operator_learning.doubts import EXPERIMENT_ADVICE, INVENTION_ADVICE
from needful.operator_learning.explanation import gather_evidence
from needful.operator_learning.find_doubts import find_doubts, with_false_claims
from needful.operator_learning.learned_operators import LearnedOperators
from needful.operator_learning.side_effects import SideEffect, add_side_effects
from needful.sampler_learning.learn_samplers import SamplerConfig, learn_samplers


class LearnOperators(Protocol):
    """Learns operators from demonstrations and replays."""

    def __call__(
        self, demonstrations: Demonstrations, replays: Demonstrations = (), deadline: Deadline = NO_DEADLINE
    ) -> LearnedOperators:
        """Return the operators; raise `LearningTimeoutError` once the deadline has passed."""
        ...


@dataclass(frozen=True, slots=True)
class BilevelApproach:
    """Learns operators with the operator learner `learn_operators`, then learns samplers.

    Attributes:
        name: the name on the command line and in files.
        description: one line that describes the approach.
        learn_operators: the operator learner.
        operator_config: the settings of the operator learner, as stored in model.json.
        replay_count: the number of replays that the operator learner needs.
        watched: takes an observer and returns a variant of `learn_operators` that reports each step of its
            hill climbing to the observer. None if there is no such variant.
    """

    name: str
    description: str
    learn_operators: LearnOperators
    operator_config: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    replay_count: int = 0
    watched: Callable[[ClimbObserver], LearnOperators] | None = None

    @property
    def has_operators(self) -> bool:
        """True: the approach learns operators and samplers."""
        return True

    @property
    def acts_closed_loop(self) -> bool:
        """True: an `Agent` acts with the learned model."""
        return True

    def learn(
        self, vocabulary: Vocabulary, demonstrations: Demonstrations, config: LearningConfig = DEFAULTS
    ) -> LearnedModel:
        """Learn operators and samplers.

        With `config.invention`, predicates are invented first. With `config.experiments`, the model is
        corrected by experiments in the simulator, and the learner tries to solve `config.practice_tasks` to
        gain further demonstrations. With `config.validation_folds`, the operators are cross-validated.
        """
        deadline = Deadline.after(config.timeout)
        if config.invention is not None:
            return self._invent_and_learn(vocabulary, demonstrations, config, deadline)
        config.progress.stage("Learning operators and samplers")
        approach = self
        if self.watched is not None and isinstance(config.progress, ClimbObserver):
            approach = replace(self, learn_operators=self.watched(config.progress))

        def learn(demonstrations: Demonstrations) -> LearnedModel:
            return learn_model(
                vocabulary, demonstrations, approach, config.samplers, config.seed, config.replays, deadline
            )

        learned = learn(demonstrations)
        if config.experiments is not None:
            if config.execute is None:
                raise InvalidInputError(
                    "Experiments need a simulator. Pass `execute`, or learn without them."
                )
            config.progress.stage("Experimenting with preconditions")
            learned = with_experiments(
                learned,
                config.execute,
                config.experiments,
                config.seed,
                deadline,
                config.practice_tasks,
                lambda practised: learn((*demonstrations, *practised)),
            )
        if config.validation_folds:
            recorded = (*demonstrations, *learned.practised)
            learned = with_validation(learned, self, recorded, config, deadline)
        return learned

    def _invent_and_learn(
        self,
        vocabulary: Vocabulary,
        demonstrations: Demonstrations,
        config: LearningConfig,
        deadline: Deadline,
    ) -> LearnedModel:
        """Invent predicates, then learn with them in the remaining time."""
        if config.experiments is not None:
            raise InvalidInputError(
                "Invention has experiments of its own and cannot be combined with other experiments. "
                "Leave one of them out."
            )
        check_demonstrations(vocabulary, tuple(demonstrations))
        report = config.progress.stage("Inventing predicates")
        seconds: dict[str, float] = {}
        with timed("invention", seconds):
            invention = invent_predicates(
                vocabulary,
                demonstrations,
                config.execute,
                config.practice_tasks,
                replace(config.invention or InventionConfig(), seed=config.seed),
                deadline,
                report,
            )
        left = None if config.timeout is None else max(deadline.at - deadline.clock(), 1e-9)
        rest = replace(config, invention=None, practice_tasks=(), timeout=left)
        try:
            learned = self.learn(invention.vocabulary, invention.demonstrations, rest)
        except LearningTimeoutError as error:
            raise LearningTimeoutError(deadline.limit, {**seconds, **error.seconds}) from error
        return replace(
            learned,
            invention=invention,
            seconds={**seconds, **learned.seconds},
            doubts=learned.doubts.without_advice(INVENTION_ADVICE),
        )


def learn_model(
    vocabulary: Vocabulary,
    demonstrations: Iterable[Demonstration],
    approach: BilevelApproach | None = None,
    sampler_config: SamplerConfig | None = None,
    seed: int = 0,
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Learn operators, and samplers if the demonstrations have states.

    A model without samplers can be explained and exported, but it cannot solve tasks if its controllers
    have continuous parameters. The default approach is `necessary`. Raises `LearningTimeoutError`
    with the seconds of each stage once the deadline has passed.
    """
    demonstrations = tuple(demonstrations)
    check_demonstrations(vocabulary, demonstrations)
    approach = approach or _default_approach()
    if approach.replay_count and not replays:
        raise InvalidInputError(
            f"The learner {approach.name!r} needs replays, which only a simulator can provide. "
            f"Use `needful run DOMAIN --learner {approach.name}`, or a learner without replays."
        )
    sampler_config = sampler_config or SamplerConfig()
    seconds: dict[str, float] = {}
    with timed("operators", seconds):
        learned = approach.learn_operators(demonstrations, replays, deadline)
    repaired = demonstrations if learned.repairs is None else learned.repairs.demonstrations
    everything = (*repaired, *replays)
    with timed("samplers", seconds):
        samplers = learn_samplers(
            learned.sampler_data, everything, sampler_config, seed, learned.noop_names, deadline
        )
    with timed("validation", seconds):
        doubts = find_doubts(learned, demonstrations, deadline)
    return LearnedModel(
        model=PlanningModel(vocabulary, tuple(one.operator for one in learned.planning_data), samplers),
        demonstrations=everything,
        operators=learned,
        evidence=gather_evidence(learned, everything),
        seconds=seconds,
        approach=approach.name,
        provenance={
            "learner": approach.name,
            "learner_config": dict(approach.operator_config),
            "sampler_config": asdict(sampler_config),
            "experiments": None,
            "seed": seed,
        },
        doubts=doubts,
    )


def with_experiments(
    learned: LearnedModel,
    execute: Execute,
    config: ExperimentConfig,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
    practice_tasks: Sequence[Task] = (),
    learn_again: Callable[[Demonstrations], LearnedModel] | None = None,
) -> LearnedModel:
    """Return the learned model, corrected by experiments in the simulator.

    An experiment executes an operator's controller in the simulator. If an atom becomes false although the
    operator predicts that it stays true, the operator gets a delete effect or delete pattern for it
    (`add_side_effects`). Preconditions without which the controller still achieves the operator's effects
    are dropped (`drop_accidental_preconditions` lists the exceptions).

    The learner then tries to solve `practice_tasks`. If it solves a task only with an assumption, such as
    that a precondition is not needed, the solution becomes a demonstration (`Practice`). `learn_again`
    learns a model from the original demonstrations and the given additional ones.
    """

    execute = _until(deadline, execute)
    seconds = dict(learned.seconds)
    with timed("experiments", seconds):
        tested = _examine(learned, execute, config, seed)
        if learn_again is not None and practice_tasks:
            practice = Practice(practice_tasks, execute, config.practice_executions, seed)
            tested = _practise(tested, practice, learn_again, config, seed)
        learned, model = tested.learned, tested.examined.model
        doubts = with_false_claims(
            learned.doubts, model.operators, learned.operators, learned.demonstrations, deadline
        )
    return replace(
        learned,
        model=model,
        seconds=seconds,
        provenance={**learned.provenance, "experiments": asdict(config)},
        dropped=tested.examined.dropped,
        side_effects=tested.side_effects,
        practised=tested.practised,
        doubts=doubts.without_advice(EXPERIMENT_ADVICE),
    )


def _until(deadline: Deadline, execute: Execute) -> Execute:
    """Return a function that calls `execute`, but raises an error once the deadline has passed."""

    def execute_until_deadline(state: State, action: GroundController) -> Execution:
        deadline.check()
        return execute(state, action)

    return execute_until_deadline


@dataclass(frozen=True, slots=True)
class _TestedModel:
    """A learned model, the results of its experiments, and the demonstrations that practice added."""

    learned: LearnedModel
    examined: ExaminedPreconditions
    side_effects: tuple[SideEffect, ...]
    practised: tuple[Demonstration, ...]


def _examine(learned: LearnedModel, execute: Execute, config: ExperimentConfig, seed: int) -> _TestedModel:
    """Correct a model by experiments in the simulator, without practice; see `with_experiments`."""
    situations = find_situations(learned.model, learned.demonstrations, execute)
    model, side_effects = add_side_effects(
        learned.model, situations, execute, seed, config, learned.operators.unnecessary_effects
    )
    examined = examine_preconditions(model, situations, execute, seed, config)
    return _TestedModel(learned, examined, side_effects, ())


def _practise(
    tested: _TestedModel,
    practice: Practice,
    learn_again: Callable[[Demonstrations], LearnedModel],
    config: ExperimentConfig,
    seed: int,
) -> _TestedModel:
    """Solve practice tasks and learn again from the solutions, while each new model solves more tasks."""
    everything = frozenset(range(len(practice.tasks)))
    tested, solved = _attempt(tested, practice)
    demonstrations: dict[int, Demonstration] = {}
    for _ in range(config.practice_rounds):
        found = practice.demonstrate(tested.examined, everything - solved - demonstrations.keys())
        demonstrations |= found
        if not found:
            break
        practised = tuple(demonstrations[index] for index in sorted(demonstrations))
        candidate, now = _attempt(
            _examine(learn_again(practised), practice.execute, config, seed), practice
        )
        if len(now) <= len(solved):
            break
        tested, solved = replace(candidate, practised=practised), now
    return tested


def _attempt(tested: _TestedModel, practice: Practice) -> tuple[_TestedModel, frozenset[int]]:
    """Try to solve the practice tasks; return the model and the indices of the tasks that it solves.

    If the model solves more tasks without an operator, the returned model lacks this operator.
    """
    model = tested.examined.model
    model, attempt = practice.without_misleading(model, practice.attempt(model))
    return replace(tested, examined=replace(tested.examined, model=model)), attempt.solved


def with_validation(
    learned: LearnedModel,
    approach: BilevelApproach,
    recorded: Sequence[Demonstration],
    config: LearningConfig,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Return the learned model with the result of cross-validation, or the reason why it was skipped.

    The model itself is unchanged. `recorded` are the demonstrations without replays, including those that
    practice added. With `config.experiments`, the operators of each fold are also corrected by experiments,
    but no practice tasks are solved. Cross-validation is skipped if there is only one demonstration, if it
    would take `config.validation_limit` seconds or more, or if the deadline passes. The time of
    cross-validation is added to the stage `validation`.
    """
    folds = fold_count(len(recorded), config.validation_folds)
    expected = folds * learned.seconds["operators"]
    if not folds:
        return replace(learned, validation_skipped="it needs at least two demonstrations")
    if expected >= config.validation_limit:
        reason = f"it would take about {expected:.0f} s, and its limit is {config.validation_limit:g} s"
        return replace(learned, validation_skipped=reason)

    if config.experiments is not None:
        # The expected time does not include experiments, so the limit must also be checked while they run.
        deadline = deadline.at_most(config.validation_limit)

    report, finished = config.progress.stage("Cross-validating", folds), count()

    def learn(demonstrations: Sequence[Demonstration]) -> LearnedOperators:
        report(next(finished))
        if config.experiments is None or config.execute is None:
            return approach.learn_operators(tuple(demonstrations), config.replays, deadline)
        found = learn_model(
            learned.model.vocabulary,
            demonstrations,
            approach,
            config.samplers,
            config.seed,
            config.replays,
            deadline,
        )
        tested = _examine(found, _until(deadline, config.execute), config.experiments, config.seed)
        return found.operators.with_operators(tested.examined.model.operators)

    seconds, earlier = dict(learned.seconds), learned.seconds["validation"]
    try:
        with timed("validation", seconds):
            validation = cross_validate(learn, recorded, learned.operators, folds, deadline)
    except LearningTimeoutError as error:
        reason = f"the time limit of {error.limit:g} s was reached"
        learned = replace(learned, validation_skipped=reason)
    else:
        learned = replace(learned, validation=validation)
    seconds["validation"] += earlier
    return replace(learned, seconds=seconds)


def _default_approach() -> BilevelApproach:
    from needful.approaches.catalogue import NECESSARY  # imported here to avoid an import cycle

    return NECESSARY
