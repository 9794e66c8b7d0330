"""Train the networks of samplers.

A sampler is a generator v -> N(μ, σ²) of θ, trained on the positive examples, and a classifier
v ⊕ θ ⊕ offsets -> {0, 1}, trained on positive and negative ones. Inputs are shifted by their minimum and
divided by max(range, 1); the offsets that generators learn have mean 0 and variance 1, so that an untrained
generator, which says N(0, 1), is the Gaussian of all examples.

This module imports torch, which takes seconds: `learn_samplers` imports it when there is need.

Full-batch Adam on the batched networks, with early stopping for each group of networks on its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.sampler_learning.config import SamplerConfig, TrainingSchedule
from needful.sampler_learning.datasets import SamplerExamples
from needful.sampler_learning.networks import (
    GAUSSIAN,
    LOGISTIC,
    Head,
    Shape,
    forward,
    initial_layers,
    unpadded_layers,
)
from needful.sampler_learning.sampling import Network, NeuralSampler, classifier_inputs
from needful.seeding import rng_for, seed_for
from needful.torch_threads import single_thread

LEARNING_RATE = 1e-3
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8
# Looking at the losses costs about as much as a step, and they change little in ten.
CHECK_EVERY = 10


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What one network has to learn.

    Attributes:
        inputs: one normalised example a row.
        targets: one row an example.
        training: how much each target weighs in the training loss; the weights sum to one.
        judging: how much it weighs in the loss by which the group decides when to stop.
        seed: of the initial weights.
        group: networks of one group stop at the same step, that of their lowest judging loss together.
    """

    inputs: np.ndarray
    targets: np.ndarray
    training: np.ndarray
    judging: np.ndarray
    seed: int
    group: int = 0


def train_networks(
    problems: Sequence[Problem],
    head: Head,
    schedule: TrainingSchedule,
    deadline: Deadline = NO_DEADLINE,
) -> list[list[np.ndarray]]:
    """Return each problem's weights and biases by turns, those of its group's lowest judging loss.

    A group is done when its judging loss has not improved for `schedule.patience` steps, whatever
    the others do. One thread, so that the number of cores changes no bit.
    """
    shapes = [Shape(p.inputs.shape[1], p.targets.shape[1] * head.outputs) for p in problems]
    layers = initial_layers(shapes, [problem.seed for problem in problems])
    with single_thread(), torch.enable_grad():
        best = _steps(layers, _Batch.of(problems), head, schedule, deadline)
    return [
        [layer.numpy().copy() for layer in unpadded_layers(best, operator, shape)]
        for operator, shape in enumerate(shapes)
    ]


class Adam:
    """Changes layers in place by Adam's rule.

    Written out because `torch.optim` imports torch's compiler, which takes longer than the training.
    """

    def __init__(self, layers: Sequence[Tensor]) -> None:
        self._layers = layers
        self._means = [torch.zeros_like(layer) for layer in layers]
        self._squares = [torch.zeros_like(layer) for layer in layers]
        self._steps = 0

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor]) -> None:
        """Take one step against the gradients."""
        self._steps += 1
        rate = LEARNING_RATE / (1.0 - MEAN_DECAY**self._steps)
        correction = (1.0 - SQUARE_DECAY**self._steps) ** 0.5
        state = zip(self._layers, gradients, self._means, self._squares, strict=True)
        for layer, gradient, mean, square in state:
            mean.lerp_(gradient, 1.0 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
            layer.addcdiv_(mean, (square.sqrt() / correction).add_(EPSILON), value=-rate)


@dataclass(frozen=True, slots=True, eq=False)
class _Batch:
    """The problems as tensors, padded with zeros: (operators, examples, inputs or targets)."""

    inputs: Tensor
    targets: Tensor
    training: Tensor
    judging: Tensor
    groups: Tensor

    @classmethod
    def of(cls, problems: Sequence[Problem]) -> _Batch:
        return cls(
            _padded([problem.inputs for problem in problems]),
            _padded([problem.targets for problem in problems]),
            _padded([problem.training for problem in problems]),
            _padded([problem.judging for problem in problems]),
            torch.tensor([problem.group for problem in problems]),
        )


def _padded(matrices: Sequence[np.ndarray]) -> Tensor:
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    padded = np.zeros((len(matrices), rows, columns), dtype=np.float32)
    for index, matrix in enumerate(matrices):
        padded[index, : matrix.shape[0], : matrix.shape[1]] = matrix
    return torch.from_numpy(padded)


def _steps(
    layers: Sequence[Tensor], batch: _Batch, head: Head, schedule: TrainingSchedule, deadline: Deadline
) -> list[Tensor]:
    best = [layer.clone() for layer in layers]
    groups = int(batch.groups.max()) + 1
    best_loss = torch.full((groups,), torch.inf, dtype=torch.float32)
    best_step = torch.zeros(groups, dtype=torch.int64)
    running = torch.ones(groups, dtype=torch.bool)
    for layer in layers:
        layer.requires_grad_()
    adam = Adam(layers)
    for step in range(schedule.iterations + 1):
        deadline.check()
        losses = head.losses(forward(layers, batch.inputs), batch.targets)
        if step % CHECK_EVERY == 0:
            each = (losses.detach() * batch.judging).sum(dim=(1, 2))
            judged = torch.zeros(groups).index_add_(0, batch.groups, each)
            improved = running & (judged < best_loss - schedule.tolerance)
            best_loss[improved] = judged[improved]
            best_step[improved] = step
            members = improved[batch.groups]
            for kept, layer in zip(best, layers, strict=True):
                kept[members] = layer.detach()[members]
            running &= step - best_step < schedule.patience
            if not running.any():
                break
        adam.step(torch.autograd.grad((losses * batch.training).sum(), layers))
    return best


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
class _TrainingSet:
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
        lessons.append(_TrainingSet(each.operator.name, each.inputs, targets, each.varying))
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
        lessons.append(_TrainingSet(each.operator.name, rows, targets, np.array([True])))
    return _train(lessons, LOGISTIC, schedule, ("classifier", seed), deadline)


def _train(
    lessons: Sequence[_TrainingSet],
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
        parts = _assign_folds(len(lesson.inputs), schedule.folds, rng_for(seed, *labels, "folds"))
        for training, judging in _splits(parts):
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
    trained = train_networks(problems, head, schedule, deadline)
    # The last trial of each lesson is the one on all examples.
    kept = {problem.group: layers for problem, layers in zip(problems, trained, strict=True)}
    return {
        lesson.name: normalise.network(kept[group])
        for group, (lesson, normalise) in enumerate(zip(lessons, normalisations, strict=True))
    }


def _assign_folds(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return for each example the part it belongs to, parts being as equal as can be.

    Fewer examples than folds make as many parts as there are examples; a single one makes none.
    """
    folds = min(folds, count) if count > 1 else 0
    parts: np.ndarray = rng.permutation(count) % folds if folds else np.full(count, -1)
    return parts


def _splits(parts: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return which examples train and which judge in each trial, the one on all examples last."""
    everything = np.ones(len(parts), dtype=bool)
    folds = [(parts != part, parts == part) for part in range(parts.max() + 1)]
    return [*folds, (everything, ~everything if folds else everything)]


def _loss_weights(chosen: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the weights of examples × targets in a loss: equal for the chosen ones, of sum one."""
    weights: np.ndarray = np.outer(chosen, targets).astype(np.float64)
    weights /= max(weights.sum(), 1.0)
    return weights
