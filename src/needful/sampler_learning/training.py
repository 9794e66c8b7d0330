"""Train the networks of samplers.

A sampler is a generator v -> N(μ, σ²) of θ, trained on the positive examples, and a classifier
v ⊕ θ -> {0, 1}, trained on positive and negative ones. Inputs, and the θ that generators learn, are
shifted by their minimum and divided by max(range, 1).

This module imports torch, which takes seconds: `learn_samplers` imports it when there is need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from needful.sampler_learning.config import SamplerConfig, TrainingSchedule
from needful.sampler_learning.datasets import SamplerExamples, varying
from needful.sampler_learning.descent import Problem, descend
from needful.sampler_learning.networks import GAUSSIAN, LOGISTIC
from needful.sampler_learning.sampling import Network, NeuralSampler
from needful.seeding import rng_for, seed_for

LEAST_HELD_OUT = 10


def train_samplers(
    examples: Sequence[SamplerExamples], config: SamplerConfig, seed: int
) -> dict[str, NeuralSampler]:
    """Return a neural sampler for each operator, by name."""
    generators = _train_generators(examples, config.generator, seed)
    contrasted = [e for e in examples if len(e.negative_inputs)]
    classifiers = _train_classifiers(contrasted, config.classifier, seed) if contrasted else {}
    samplers = {}
    for each in examples:
        name = each.operator.name
        targets = _Normalisation.of(each.parameters)
        # A scale of zero makes a constant parameter come out exact, whatever the network says.
        scale = np.where(varying(each), targets.scale, 0.0)
        samplers[name] = NeuralSampler(
            each.operator, generators[name], targets.shift, scale, classifiers.get(name)
        )
    return samplers


@dataclass(frozen=True, slots=True, eq=False)
class _Normalisation:
    shift: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> _Normalisation:
        return cls(rows.min(axis=0), np.maximum(np.ptp(rows, axis=0), 1.0))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        result: np.ndarray = (rows - self.shift) / self.scale
        return result

    def network(self, layers: Sequence[np.ndarray]) -> Network:
        """Return the network that normalises its inputs so before it applies the layers."""
        exact = [layer.astype(np.float64) for layer in layers]
        return Network(self.shift, self.scale, tuple(exact[0::2]), tuple(bias[0] for bias in exact[1::2]))


def _train_generators(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int
) -> dict[str, Network]:
    problems, inputs = [], [_Normalisation.of(each.inputs) for each in examples]
    for each, normalise in zip(examples, inputs, strict=True):
        labels = ("samplers", each.operator.name, "generator")
        held_out = _held_out([len(each.inputs)], schedule.held_out, rng_for(seed, *labels, "held out"))
        problems.append(
            Problem(
                normalise(each.inputs),
                _Normalisation.of(each.parameters)(each.parameters),
                *_loss_weights(held_out, varying(each)),
                seed_for(seed, *labels, "weights"),
            )
        )
    trained = descend(problems, GAUSSIAN, schedule)
    return {
        each.operator.name: normalise.network(layers)
        for each, normalise, layers in zip(examples, inputs, trained, strict=True)
    }


def _train_classifiers(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int
) -> dict[str, Network]:
    problems, inputs = [], []
    for each in examples:
        labels = ("samplers", each.operator.name, "classifier")
        counts = [len(each.inputs), len(each.negative_inputs)]
        held_out = _held_out(counts, schedule.held_out, rng_for(seed, *labels, "held out"))
        rows = np.vstack(
            [
                np.hstack([each.inputs, each.parameters]),
                np.hstack([each.negative_inputs, each.negative_parameters]),
            ]
        )
        inputs.append(_Normalisation.of(rows))
        problems.append(
            Problem(
                inputs[-1](rows),
                np.repeat([1.0, 0.0], counts)[:, None],
                *_loss_weights(held_out, np.array([True])),
                seed_for(seed, *labels, "weights"),
            )
        )
    trained = descend(problems, LOGISTIC, schedule)
    return {
        each.operator.name: normalise.network(layers)
        for each, normalise, layers in zip(examples, inputs, trained, strict=True)
    }


def _held_out(counts: Sequence[int], share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which examples are held out: the same share of each class, or none if that is too few."""
    parts = [rng.permutation(count) < int(count * share) for count in counts]
    held_out: np.ndarray = np.concatenate(parts)
    return held_out if held_out.sum() >= LEAST_HELD_OUT else np.zeros_like(held_out)


def _loss_weights(held_out: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of examples × targets in the training loss and in the judging loss."""
    training = np.outer(~held_out, targets).astype(np.float64)
    judging = np.outer(held_out, targets).astype(np.float64) if held_out.any() else training
    return training / training.sum(), judging / judging.sum()
