"""Train the networks of samplers.

A sampler is a generator v -> N(μ, σ²) of θ, trained on the positive examples, and a classifier
v ⊕ θ ⊕ offsets -> {0, 1}, trained on positive and negative ones. Inputs are shifted by their minimum and
divided by max(range, 1); the offsets that generators learn have mean 0 and variance 1, so that an untrained
generator, which says N(0, 1), is the Gaussian of all examples.

This module imports torch, which takes seconds: `learn_samplers` imports it when there is need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.sampler_learning.config import SamplerConfig, TrainingSchedule
from needful.sampler_learning.datasets import SamplerExamples
from needful.sampler_learning.descent import Problem, descend
from needful.sampler_learning.networks import GAUSSIAN, LOGISTIC, Head
from needful.sampler_learning.sampling import Network, NeuralSampler, classifier_inputs
from needful.seeding import rng_for, seed_for


def train_samplers(
    examples: Sequence[SamplerExamples], config: SamplerConfig, seed: int, deadline: Deadline = NO_DEADLINE
) -> dict[str, NeuralSampler]:
    """Return a neural sampler for each operator, by name."""
    generators = _train_generators(examples, config.generator, seed, deadline)
    contrasted = [e for e in examples if len(e.negative_inputs)]
    classifiers = _train_classifiers(contrasted, config.classifier, seed, deadline) if contrasted else {}
    samplers = {}
    for each in examples:
        name = each.operator.name
        targets = _Normalisation.to_unit_variance(each.offsets, each.varying)
        # A scale of zero makes a constant offset come out exact, whatever the network says.
        scale = np.where(each.varying, targets.scale, 0.0)
        samplers[name] = NeuralSampler(
            each.operator, each.anchors, generators[name], targets.shift, scale, classifiers.get(name)
        )
    return samplers


@dataclass(frozen=True, slots=True, eq=False)
class _Normalisation:
    """Shifts rows by a vector, then divides them by another."""

    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def to_unit_range(cls, rows: np.ndarray) -> _Normalisation:
        return cls(rows.min(axis=0), np.maximum(np.ptp(rows, axis=0), 1.0))

    @classmethod
    def to_unit_variance(cls, rows: np.ndarray, varying: np.ndarray) -> _Normalisation:
        return cls(rows.mean(axis=0), np.where(varying, rows.std(axis=0), 1.0))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        result: np.ndarray = (rows - self.shift) / self.scale
        return result

    def network(self, layers: Sequence[np.ndarray]) -> Network:
        """Return the network that normalises its inputs so before it applies the layers."""
        exact = [layer.astype(np.float64) for layer in layers]
        return Network(self.shift, self.scale, tuple(exact[0::2]), tuple(bias[0] for bias in exact[1::2]))


@dataclass(frozen=True, slots=True, eq=False)
class _Lesson:
    """What one network of an operator has to learn: rows of inputs, rows of targets, and which count."""

    name: str
    inputs: np.ndarray
    targets: np.ndarray
    counting: np.ndarray


def _train_generators(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int, deadline: Deadline
) -> dict[str, Network]:
    lessons = []
    for each in examples:
        targets = _Normalisation.to_unit_variance(each.offsets, each.varying)(each.offsets)
        lessons.append(_Lesson(each.operator.name, each.inputs, targets, each.varying))
    return _train(lessons, GAUSSIAN, schedule, ("generator", seed), deadline)


def _train_classifiers(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int, deadline: Deadline
) -> dict[str, Network]:
    lessons = []
    for each in examples:
        positive = classifier_inputs(each.inputs, each.parameters, each.anchors)
        negative = classifier_inputs(each.negative_inputs, each.negative_parameters, each.anchors)
        targets = np.repeat([1.0, 0.0], [len(positive), len(negative)])[:, None]
        rows = np.vstack([positive, negative])
        lessons.append(_Lesson(each.operator.name, rows, targets, np.array([True])))
    return _train(lessons, LOGISTIC, schedule, ("classifier", seed), deadline)


def _train(
    lessons: Sequence[_Lesson],
    head: Head,
    schedule: TrainingSchedule,
    stream: tuple[str, int],
    deadline: Deadline,
) -> dict[str, Network]:
    """Return the trained networks by name; `stream` is the kind of network and the root seed."""
    kind, seed = stream
    problems = []
    normalisations = [_Normalisation.to_unit_range(lesson.inputs) for lesson in lessons]
    for group, (lesson, normalise) in enumerate(zip(lessons, normalisations, strict=True)):
        labels = ("samplers", lesson.name, kind)
        parts = _parts(len(lesson.inputs), schedule.folds, rng_for(seed, *labels, "folds"))
        for training, judging in _trials(parts):
            problems.append(
                Problem(
                    normalise(lesson.inputs),
                    lesson.targets,
                    _loss_weights(training, lesson.counting),
                    _loss_weights(judging, lesson.counting),
                    seed_for(seed, *labels, "weights"),
                    group,
                )
            )
    trained = descend(problems, head, schedule, deadline)
    # The last trial of each lesson is the one on all examples.
    kept = {problem.group: layers for problem, layers in zip(problems, trained, strict=True)}
    return {
        lesson.name: normalise.network(kept[group])
        for group, (lesson, normalise) in enumerate(zip(lessons, normalisations, strict=True))
    }


def _parts(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each example the part it belongs to, parts being as equal as can be.

    Fewer examples than folds make as many parts as there are examples; a single one makes none.
    """
    folds = min(folds, count) if count > 1 else 0
    parts: np.ndarray = rng.permutation(count) % folds if folds else np.full(count, -1)
    return parts


def _trials(parts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which examples train and which judge in each trial, the one on all examples last."""
    everything = np.ones(len(parts), dtype=bool)
    folds = [(parts != part, parts == part) for part in range(parts.max() + 1)]
    return [*folds, (everything, ~everything if folds else everything)]


def _loss_weights(chosen: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the weights of examples × targets in a loss: equal for the chosen ones, of sum one."""
    weights: np.ndarray = np.outer(chosen, targets).astype(np.float64)
    weights /= max(weights.sum(), 1.0)
    return weights
