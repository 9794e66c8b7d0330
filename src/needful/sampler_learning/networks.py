"""The networks of all operators as one: everything has a first dimension over operators.

Operators differ in their numbers of inputs and outputs. All are padded with zeros to the largest,
and where inputs or loss weights are zero no gradient arises: padding stays zero, and each operator's
network becomes what it would have become alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from needful.sampler_learning.sampling import VARIANCE_FLOOR

HIDDEN = 32


@dataclass(frozen=True, slots=True)
class Shape:
    """The number of inputs and outputs of one operator's network."""

    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class Head:
    """What the outputs mean.

    Attributes:
        outputs: how many there are for each target, side by side.
        losses: (operators, examples, outputs) and (operators, examples, targets) -> losses of the
            targets.
    """

    outputs: int
    losses: Callable[[Tensor, Tensor], Tensor]


def gaussian_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return -log N(target; μ, σ²) up to a constant, where outputs are μ and r, and σ² = ELU(r) + 1."""
    mean, raw = outputs[..., 0::2], outputs[..., 1::2]
    variance = (functional.elu(raw) + 1.0).clamp(min=VARIANCE_FLOOR)
    return 0.5 * (variance.log() + (targets - mean).square() / variance)


def logistic_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy, where outputs are logits."""
    return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


GAUSSIAN = Head(outputs=2, losses=gaussian_losses)
LOGISTIC = Head(outputs=1, losses=logistic_losses)


def initial_layers(shapes: Sequence[Shape], seeds: Sequence[int]) -> list[Tensor]:
    """Return weight and bias of three layers by turns, one seed a network.

    The hidden layers are uniform in ±1/√inputs. The last one is zero: a network starts out saying the
    same of every input, and what it learns to say beyond that must prove itself.
    """
    widest = Shape(max(shape.inputs for shape in shapes), max(shape.outputs for shape in shapes))
    layers = [torch.zeros((len(shapes), *size), dtype=torch.float32) for size in _sizes(widest)]
    for operator, (shape, seed) in enumerate(zip(shapes, seeds, strict=True)):
        generator = torch.Generator().manual_seed(seed)
        fan_in = 1
        for index, (rows, columns) in enumerate(_sizes(shape)[:-2]):
            if index % 2 == 0:
                fan_in = rows
            drawn = torch.rand((rows, columns), generator=generator, dtype=torch.float32)
            layers[index][operator, :rows, :columns] = (2.0 * drawn - 1.0) / fan_in**0.5
    return layers


def unpadded_layers(layers: Sequence[Tensor], operator: int, shape: Shape) -> list[Tensor]:
    """Return the layers of one operator without padding."""
    return [
        layer[operator, :rows, :columns]
        for layer, (rows, columns) in zip(layers, _sizes(shape), strict=True)
    ]


def forward(layers: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Return the outputs for inputs of shape (operators, examples, inputs)."""
    weight1, bias1, weight2, bias2, weight3, bias3 = layers
    hidden = torch.baddbmm(bias1, inputs, weight1).relu()
    hidden = torch.baddbmm(bias2, hidden, weight2).relu()
    return torch.baddbmm(bias3, hidden, weight3)


def _sizes(shape: Shape) -> list[tuple[int, int]]:
    return [
        (shape.inputs, HIDDEN),
        (1, HIDDEN),
        (HIDDEN, HIDDEN),
        (1, HIDDEN),
        (HIDDEN, shape.outputs),
        (1, shape.outputs),
    ]
