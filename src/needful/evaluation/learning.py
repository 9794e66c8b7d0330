"""From demonstrations to a planning model: operators first, then samplers for them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from needful.core.controllers import Execute
from needful.core.demonstrations import Demonstration
from needful.core.model import PlanningModel, Vocabulary
from needful.errors import DemonstrationError
from needful.operator_learning.catalogue import Learner, find_learner
from needful.operator_learning.evidence import TransitionEvidence, gather_evidence
from needful.operator_learning.experiments import (
    AccidentalPrecondition,
    ExperimentConfig,
    drop_accidental_preconditions,
)
from needful.operator_learning.learn import LearnedOperators
from needful.sampler_learning.config import SamplerConfig
from needful.sampler_learning.learn import learn_samplers
from needful.storage.json_fields import JsonValue


@dataclass(frozen=True, slots=True)
class LearnedModel:
    """A planning model with what is known about how it came to be.

    `seconds` are those of learning `operators` and `samplers`, and of `experiments` if there were any.
    `dropped` are the preconditions that experiments did without.
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
) -> LearnedModel:
    """Learn operators (with `necessary` unless told otherwise), and samplers where there are states.

    Where no states were recorded there are no samplers: a model that misses some can be explained and
    exported, but it solves no tasks.
    """
    demonstrations = tuple(demonstrations)
    _check_vocabulary(vocabulary, demonstrations)
    if not demonstrations:
        raise DemonstrationError("There are no demonstrations to learn from. Collect at least one.")
    learner = learner or find_learner("necessary")
    start = time.monotonic()
    learned = learner.learn(demonstrations)
    operators_done = time.monotonic()
    samplers = learn_samplers(learned.data, demonstrations, sampler_config or SamplerConfig(), seed)
    samplers_done = time.monotonic()
    return LearnedModel(
        model=PlanningModel(vocabulary, learned.operators, samplers),
        demonstrations=demonstrations,
        operators=learned,
        evidence=gather_evidence(learned, demonstrations),
        seconds={"operators": operators_done - start, "samplers": samplers_done - operators_done},
    )


def _check_vocabulary(vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> None:
    """Raise unless the demonstrations speak of the vocabulary's predicates and controllers alone."""
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
    learned: LearnedModel, execute: Execute, config: ExperimentConfig, seed: int = 0
) -> LearnedModel:
    """Drop preconditions that the simulator shows to be accidental; the operators' data stay."""
    start = time.monotonic()
    model, dropped = drop_accidental_preconditions(
        learned.model, learned.demonstrations, execute, seed, config
    )
    seconds = {**learned.seconds, "experiments": time.monotonic() - start}
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
