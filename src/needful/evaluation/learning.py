"""From demonstrations to a planning model: operators first, then samplers for them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

from needful.core.controllers import Execute, Execution, GroundController
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Vocabulary
from needful.core.state import State
from needful.errors import DemonstrationError, InvalidInputError, LearningTimeoutError
from needful.operator_learning.catalogue import Learner, find_learner
from needful.operator_learning.experiments import (
    AccidentalPrecondition,
    ExperimentConfig,
    drop_accidental_preconditions,
)
from needful.operator_learning.explanation import TransitionEvidence, gather_evidence
from needful.operator_learning.learned_operators import LearnedOperators
from needful.sampler_learning.config import SamplerConfig
from needful.sampler_learning.learn_samplers import learn_samplers
from needful.storage.json_fields import JsonValue


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """A planning model with what is known about how it came to be.

    `demonstrations` are those learned from, replays after them. `seconds` are those of learning
    `operators` and `samplers`, and of `experiments` if there were any. `dropped` are the preconditions
    that experiments did without.
    """

    model: PlanningModel
    demonstrations: tuple[Demonstration, ...]
    operators: LearnedOperators
    evidence: Mapping[str, tuple[TransitionEvidence, ...]]
    seconds: Mapping[str, float]
    dropped: tuple[AccidentalPrecondition, ...] = ()


def learn_model(
    vocabulary: Vocabulary,
    demonstrations: Iterable[Demonstration],
    learner: Learner | None = None,
    sampler_config: SamplerConfig | None = None,
    seed: int = 0,
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Learn operators (with `necessary` unless told otherwise), and samplers where there are states.

    Where no states were recorded there are no samplers: a model that misses some can be explained and
    exported, but it solves no tasks. A learner that asks for replays must be given some. Raises
    `LearningTimeoutError` with the seconds of each stage if the deadline passes.
    """
    demonstrations = tuple(demonstrations)
    check_demonstrations(vocabulary, demonstrations)
    learner = learner or find_learner("necessary")
    if learner.replays and not replays:
        raise InvalidInputError(
            f"The learner {learner.name!r} needs replays, which take a simulator. "
            f"Use `needful run DOMAIN --learner {learner.name}`, or a learner without replays."
        )
    everything = (*demonstrations, *replays)
    seconds: dict[str, float] = {}
    with timed("operators", seconds):
        learned = learner.learn(demonstrations, replays, deadline)
    with timed("samplers", seconds):
        samplers = learn_samplers(
            learned.data, everything, sampler_config or SamplerConfig(), seed, learned.noop_names, deadline
        )
    return LearnedModel(
        model=PlanningModel(vocabulary, tuple(one.operator for one in learned.planning_data), samplers),
        demonstrations=everything,
        operators=learned,
        evidence=gather_evidence(learned, everything),
        seconds=seconds,
    )


@contextmanager
def timed(stage: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add a stage to the seconds; an error that says that time ran out is told all of them."""
    start = time.monotonic()
    try:
        yield
    except LearningTimeoutError as error:
        seconds[stage] = time.monotonic() - start
        raise LearningTimeoutError(error.limit, seconds) from error
    seconds[stage] = time.monotonic() - start


def check_demonstrations(vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> None:
    """Raise unless there are some, which speak of the vocabulary's predicates and controllers alone."""
    if not demonstrations:
        raise DemonstrationError("There are no demonstrations to learn from. Collect at least one.")
    predicates, controllers = set(vocabulary.predicates), set(vocabulary.controllers)
    for index, demonstration in enumerate(demonstrations):
        used = {atom.predicate for state in demonstration.abstract_states for atom in state}
        called = {action.controller for action in demonstration.actions}
        stray = sorted(p.name for p in used - predicates) + sorted(c.name for c in called - controllers)
        if stray:
            raise DemonstrationError(
                f"Demonstration {index} uses {stray[0]!r}, which is not in the vocabulary. "
                "Learn with the vocabulary of the demonstrations' own domain."
            )


def with_experiments(
    learned: LearnedModel,
    execute: Execute,
    config: ExperimentConfig,
    seed: int = 0,
    deadline: Deadline = NO_DEADLINE,
) -> LearnedModel:
    """Drop preconditions that the simulator shows to be accidental; the operators' data stay."""

    def execute_in_time(state: State, action: GroundController) -> Execution:
        deadline.check()
        return execute(state, action)

    seconds = dict(learned.seconds)
    with timed("experiments", seconds):
        model, dropped = drop_accidental_preconditions(
            learned.model, learned.demonstrations, execute_in_time, seed, config
        )
    return replace(learned, model=model, seconds=seconds, dropped=dropped)


def provenance(
    learner: Learner, sampler_config: SamplerConfig, seed: int, experiments: ExperimentConfig | None = None
) -> dict[str, JsonValue]:
    """Return how a model comes to be, for its file: everything that can change its bytes."""
    return {
        "learner": learner.name,
        "learner_config": dict(learner.config),
        "sampler_config": asdict(sampler_config),
        "experiments": None if experiments is None else asdict(experiments),
        "seed": seed,
    }
