"""Train the networks of samplers with torch.

A sampler has two networks. The generator maps an input vector v (features of objects) to a Gaussian
distribution of the parameters θ; it is trained on the positive examples. The classifier maps v, θ and the
offsets of θ from their anchors to a logit; its targets are 1 for positive and 0 for negative examples.

The minimum of each input is subtracted, and the result is divided by max(range, 1). The generator predicts
offsets that are normalised to mean 0 and variance 1 over the positive examples. An untrained generator
returns mean 0 and variance 1, so training starts with the mean and the variance of the examples.

All networks of one kind are trained as one batch, by full-batch Adam with early stopping per group. A group
consists of the networks of one operator: one per fold of cross-validation, and one trained on all examples.

Importing this module imports torch, which takes seconds: `learn_samplers` imports it only if needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.sampler_learning.datasets import SamplerExamples
from needful.sampler_learning.learn_samplers import SamplerConfig, TrainingSchedule
from needful.sampler_learning.networks import (
    GAUSSIAN,
    LOGISTIC,
    Head,
    NetworkShape,
    forward,
    initial_layers,
    unpadded_layers,
)
from needful.sampler_learning.sampling import Network, NeuralSampler, classifier_inputs
from needful.seeding import rng_for, seed_for
from needful.torch_training import Adam, single_thread

LEARNING_RATE = 1e-3
# The validation losses are checked once in ten steps, because they change little in ten steps.
CHECK_EVERY = 10


def train_samplers(
    examples: Sequence[SamplerExamples], config: SamplerConfig, seed: int, deadline: Deadline = NO_DEADLINE
) -> dict[str, NeuralSampler]:
    """Train a neural sampler for each operator in `examples`; return the samplers by operator name."""
    generators = _train_generators(examples, config.generator, seed, deadline)
    with_negatives = [each for each in examples if len(each.negative_inputs)]
    classifiers = (
        _train_classifiers(with_negatives, config.classifier, seed, deadline) if with_negatives else {}
    )
    samplers = {}
    for each in examples:
        name = each.operator.name
        targets = _Normalisation.to_unit_variance(each.offsets, each.varying)
        # With scale 0, a constant offset equals its shift exactly, whatever the network predicts.
        scale = np.where(each.varying, targets.scale, 0.0)
        samplers[name] = NeuralSampler(
            each.operator, each.anchors, generators[name], targets.shift, scale, classifiers.get(name)
        )
    return samplers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TrainingProblem:
    """What to train one network on: examples, loss weights and a seed.

    Attributes:
        inputs: the normalised inputs, one example per row.
        targets: the outputs to learn, one example per row.
        training_weights: the weight of each target in the training loss; the weights sum to one.
        validation_weights: the weight of each target in the validation loss.
        seed: the seed of the initial weights.
        group: the number of the network's group. The networks of one operator are a group. They all keep
            the weights of the same step: the step at which their total validation loss was lowest.
    """

    inputs: np.ndarray
    targets: np.ndarray
    training_weights: np.ndarray
    validation_weights: np.ndarray
    seed: int
    group: int = 0

    def __repr__(self) -> str:
        shape = (
            f"{len(self.inputs)} examples, {self.inputs.shape[1]} inputs, {self.targets.shape[1]} targets"
        )
        return f"TrainingProblem({shape}, seed={self.seed}, group={self.group})"


def train_networks(
    problems: Sequence[TrainingProblem],
    head: Head,
    schedule: TrainingSchedule,
    deadline: Deadline = NO_DEADLINE,
) -> list[list[np.ndarray]]:
    """Train one network per problem; return the weights and biases of each network, layer by layer.

    The networks of one operator form a group. All networks of a group are returned as they were after the
    same training step: the one with the lowest sum of their validation losses. The training of a group
    stops when this sum has not improved for `schedule.patience` steps. Torch is limited to one thread, so
    that the weights do not depend on the number of cores.
    """
    shapes = [
        NetworkShape(problem.inputs.shape[1], problem.targets.shape[1] * head.outputs_per_target)
        for problem in problems
    ]
    layers = initial_layers(shapes, [problem.seed for problem in problems])
    with single_thread(), torch.enable_grad():
        best = _descend(layers, _Batch.of(problems), head, schedule, deadline)
    return [
        [layer.numpy().copy() for layer in unpadded_layers(best, network, shape)]
        for network, shape in enumerate(shapes)
    ]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _TrainingSet:
    """The training examples for the generator or for the classifier of one operator.

    Attributes:
        name: the name of the operator.
        inputs: the inputs of the network, one example per row.
        targets: the values to predict, one example per row.
        learned_targets: for each column of `targets`, whether it counts in the loss. Columns of constant
            offsets do not count.
    """

    name: str
    inputs: np.ndarray
    targets: np.ndarray
    learned_targets: np.ndarray


def _train_generators(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int, deadline: Deadline
) -> dict[str, Network]:
    training_sets = []
    for each in examples:
        targets = _Normalisation.to_unit_variance(each.offsets, each.varying)(each.offsets)
        training_sets.append(_TrainingSet(each.operator.name, each.inputs, targets, each.varying))
    return _train(training_sets, GAUSSIAN, schedule, ("generator", seed), deadline)


def _train_classifiers(
    examples: Sequence[SamplerExamples], schedule: TrainingSchedule, seed: int, deadline: Deadline
) -> dict[str, Network]:
    training_sets = []
    for each in examples:
        positive = classifier_inputs(each.inputs, each.parameters, each.anchors)
        negative = classifier_inputs(each.negative_inputs, each.negative_parameters, each.anchors)
        targets = np.repeat([1.0, 0.0], [len(positive), len(negative)])[:, None]
        rows = np.vstack([positive, negative])
        training_sets.append(_TrainingSet(each.operator.name, rows, targets, np.array([True])))
    return _train(training_sets, LOGISTIC, schedule, ("classifier", seed), deadline)


def _train(
    training_sets: Sequence[_TrainingSet],
    head: Head,
    schedule: TrainingSchedule,
    stream: tuple[str, int],
    deadline: Deadline,
) -> dict[str, Network]:
    """Train one kind of network for all operators; return the networks by operator name.

    `stream` is the kind of network ("generator" or "classifier") and the root seed of all random numbers.
    """
    kind, seed = stream
    problems = []
    normalisations = [_Normalisation.to_unit_range(each.inputs) for each in training_sets]
    for group, (each, normalise) in enumerate(zip(training_sets, normalisations, strict=True)):
        labels = ("samplers", each.name, kind)
        folds = _assign_folds(len(each.inputs), schedule.folds, rng_for(seed, *labels, "folds"))
        for training, validation in _splits(folds):
            problems.append(
                TrainingProblem(
                    normalise(each.inputs),
                    each.targets,
                    _loss_weights(training, each.learned_targets),
                    _loss_weights(validation, each.learned_targets),
                    seed_for(seed, *labels, "weights"),
                    group,
                )
            )
    trained = train_networks(problems, head, schedule, deadline)
    # Keep only the last network of each group (it overwrites the others): it was trained on all examples.
    kept = {problem.group: layers for problem, layers in zip(problems, trained, strict=True)}
    return {
        each.name: normalise.network(kept[group])
        for group, (each, normalise) in enumerate(zip(training_sets, normalisations, strict=True))
    }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Normalisation:
    """A normalisation of rows: subtract the vector `shift`, then divide by the vector `scale`."""

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
        """Return a network with the given layers that first normalises its inputs."""
        exact = [layer.astype(np.float64) for layer in layers]
        return Network(self.shift, self.scale, tuple(exact[0::2]), tuple(bias[0] for bias in exact[1::2]))


def _assign_folds(count: int, folds: int, rng: np.random.Generator) -> np.ndarray:
    """Assign `count` examples at random to folds of cross-validation; return each example's fold number.

    The sizes of the folds differ by at most one. If there are fewer examples than folds, each example is
    its own fold. Without cross-validation (`folds` is 0, or there is only one example), all numbers are -1.
    """
    folds = min(folds, count) if count > 1 else 0
    assigned: np.ndarray = rng.permutation(count) % folds if folds else np.full(count, -1)
    return assigned


def _splits(folds: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return two masks for each network of an operator: its training examples and its validation examples.

    `folds` holds the number of each example's fold. For each fold, one network is validated on this fold
    and trained on the others. The last network is trained on all examples. If there are no folds, it is
    also validated on all examples.
    """
    everything = np.ones(len(folds), dtype=bool)
    splits = [(folds != fold, folds == fold) for fold in range(folds.max() + 1)]
    return [*splits, (everything, ~everything if splits else everything)]


def _loss_weights(chosen: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the loss weights, a matrix with one row per example and one column per target.

    `chosen` is a mask of the examples, and `targets` a mask of the targets. The weights of chosen examples
    and targets are equal and sum to 1; all other weights are 0.
    """
    weights: np.ndarray = np.outer(chosen, targets).astype(np.float64)
    weights /= max(weights.sum(), 1.0)
    return weights


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Batch:
    """All training problems as tensors (networks, examples, inputs or targets), padded with zeros."""

    inputs: Tensor
    targets: Tensor
    training_weights: Tensor
    validation_weights: Tensor
    groups: Tensor

    @classmethod
    def of(cls, problems: Sequence[TrainingProblem]) -> _Batch:
        return cls(
            _padded([problem.inputs for problem in problems]),
            _padded([problem.targets for problem in problems]),
            _padded([problem.training_weights for problem in problems]),
            _padded([problem.validation_weights for problem in problems]),
            torch.tensor([problem.group for problem in problems]),
        )


def _padded(matrices: Sequence[np.ndarray]) -> Tensor:
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    padded = np.zeros((len(matrices), rows, columns), dtype=np.float32)
    for index, matrix in enumerate(matrices):
        padded[index, : matrix.shape[0], : matrix.shape[1]] = matrix
    return torch.from_numpy(padded)


def _descend(
    layers: Sequence[Tensor], batch: _Batch, head: Head, schedule: TrainingSchedule, deadline: Deadline
) -> list[Tensor]:
    """Train all networks by gradient descent; return the best weights and biases.

    For each network, these are the weights and biases of the step at which the total validation loss of its
    group was lowest. The tensors in `layers` are changed in place.
    """
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
            network_losses = (losses.detach() * batch.validation_weights).sum(dim=(1, 2))
            group_losses = torch.zeros(groups).index_add_(0, batch.groups, network_losses)
            improved = running & (group_losses < best_loss - schedule.tolerance)
            best_loss[improved] = group_losses[improved]
            best_step[improved] = step
            members = improved[batch.groups]
            for kept, layer in zip(best, layers, strict=True):
                kept[members] = layer.detach()[members]
            running &= step - best_step < schedule.patience
            if not running.any():
                break
        adam.step(torch.autograd.grad((losses * batch.training_weights).sum(), layers), LEARNING_RATE)
    return best
