"""Full-batch Adam on the batched networks, with early stopping for each group of networks on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from needful.core.deadline import NO_DEADLINE, Deadline
from needful.sampler_learning.config import TrainingSchedule
from needful.sampler_learning.networks import Head, Shape, forward, initial_layers, own_layers
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


def descend(
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
        [layer.numpy().copy() for layer in own_layers(best, operator, shape)]
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
