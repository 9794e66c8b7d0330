"""Train the networks of samplers with torch, for comparison with the training in numpy.

The networks of all operators are trained as one batch, padded with zeros to the largest numbers of
examples, inputs and outputs. Gradients are computed by autograd.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from needful.sampler_learning.training import (
    CHECK_EVERY,
    EPSILON,
    LOGISTIC,
    MAX_OVERFITTING,
    MEAN_DECAY,
    SQUARE_DECAY,
    Head,
    NetworkShape,
    TrainingProblem,
    TrainingSchedule,
    initial_weights,
)


def train_together(problems: Sequence[TrainingProblem], head: Head, schedule: TrainingSchedule) -> Tensor:
    """Train the networks of all problems; return the lowest validation loss of each problem."""
    torch.set_num_threads(1)
    counts = [len(problem.training_weights) for problem in problems]
    group = torch.from_numpy(np.repeat(np.arange(len(problems)), counts))
    inputs = _padded([problem.inputs for problem in problems for _ in problem.training_weights])
    targets = _padded([problem.targets for problem in problems for _ in problem.training_weights])
    training = _padded([one for problem in problems for one in problem.training_weights])
    validation = _padded([one for problem in problems for one in problem.validation_weights])
    layers = _initial_layers(problems, head.outputs_per_target)
    losses_of = _logistic if head is LOGISTIC else _gaussian
    best = [layer.detach().clone() for layer in layers]
    best_loss = torch.full((len(problems),), torch.inf)
    best_step = torch.zeros(len(problems), dtype=torch.int64)
    running = torch.ones(len(problems), dtype=torch.bool)
    folds = [np.count_nonzero(problem.validation_weights.any(axis=(1, 2))) for problem in problems]
    max_increase = torch.tensor(
        [
            torch.inf if problem.validation_weights[-1].any() else MAX_OVERFITTING * count
            for problem, count in zip(problems, folds, strict=True)
        ]
    )
    adam = _adam(layers, schedule.learning_rate)
    for step in range(schedule.iterations + 1):
        losses = losses_of(_outputs(layers, inputs), targets)
        if step % CHECK_EVERY == 0:
            per_network = (losses.detach() * validation).sum(dim=(1, 2))
            loss = torch.zeros(len(problems)).index_add_(0, group, per_network)
            improved = running & (loss < best_loss - schedule.tolerance)
            best_loss[improved], best_step[improved] = loss[improved], step
            for kept, layer in zip(best, layers, strict=True):
                kept[improved[group]] = layer.detach()[improved[group]]
            running &= step - best_step < schedule.patience
            running &= loss <= best_loss + max_increase
            if not running.any():
                break
        adam(torch.autograd.grad((losses * training).sum(), layers))
    return best_loss


def _padded(matrices: Sequence[np.ndarray]) -> Tensor:
    rows, columns = (max(matrix.shape[axis] for matrix in matrices) for axis in (0, 1))
    padded = np.zeros((len(matrices), rows, columns), dtype=np.float32)
    for index, matrix in enumerate(matrices):
        padded[index, : matrix.shape[0], : matrix.shape[1]] = matrix
    return torch.from_numpy(padded)


def _initial_layers(problems: Sequence[TrainingProblem], outputs_per_target: int) -> list[Tensor]:
    """Return the weights and biases of each layer, of shape (networks, rows, columns)."""
    by_network = []
    for problem in problems:
        shape = NetworkShape(problem.inputs.shape[1], problem.targets.shape[1] * outputs_per_target)
        matrices = shape.matrices(initial_weights(shape, problem.seed)[None])
        split = [part for matrix in matrices for part in (matrix[0, :-1], matrix[0, -1:])]
        by_network += [split] * len(problem.training_weights)
    return [_padded(layer).requires_grad_() for layer in zip(*by_network, strict=True)]


def _outputs(layers: Sequence[Tensor], inputs: Tensor) -> Tensor:
    weight1, bias1, weight2, bias2, weight3, bias3 = layers
    hidden = torch.baddbmm(bias1, inputs, weight1).relu()
    hidden = torch.baddbmm(bias2, hidden, weight2).relu()
    return torch.baddbmm(bias3, hidden, weight3)


def _gaussian(outputs: Tensor, targets: Tensor) -> Tensor:
    mean, raw = outputs[..., 0::2], outputs[..., 1::2]
    variance = (functional.elu(raw) + 1.0).clamp(min=1e-6)
    return 0.5 * (variance.log() + (targets - mean).square() / variance)


def _logistic(outputs: Tensor, targets: Tensor) -> Tensor:
    return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


def _adam(layers: Sequence[Tensor], learning_rate: float) -> Callable[[Sequence[Tensor]], None]:
    """Return a function that updates the layers by one step of Adam, given their gradients."""
    means = [torch.zeros_like(layer) for layer in layers]
    squares = [torch.zeros_like(layer) for layer in layers]
    steps = 0

    @torch.no_grad()
    def step(gradients: Sequence[Tensor]) -> None:
        nonlocal steps
        steps += 1
        rate = learning_rate / (1.0 - MEAN_DECAY**steps)
        correction = (1.0 - SQUARE_DECAY**steps) ** 0.5
        for layer, gradient, mean, square in zip(layers, gradients, means, squares, strict=True):
            mean.lerp_(gradient, 1.0 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
            layer.addcdiv_(mean, (square.sqrt() / correction).add_(EPSILON), value=-rate)

    return step
