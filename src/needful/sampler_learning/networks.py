"""The networks of all samplers in one batch of tensors: the first index of a tensor selects the network.

Networks differ in their numbers of inputs and outputs, so smaller ones are padded with zeros to the size of
the largest. The gradient of the padding weights is zero, because their inputs or loss weights are zero. So
these weights stay zero, and each network is trained as it would be alone, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from needful.sampler_learning.sampling import VARIANCE_FLOOR

HIDDEN_WIDTH = 32


@dataclass(frozen=True, slots=True)
class NetworkShape:
    """The number of inputs and outputs of one network."""

    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class Head:
    """How the outputs of a network are compared with the targets, the values to learn.

    Attributes:
        outputs_per_target: the number of outputs that predict one target; these outputs are adjacent.
        losses: maps outputs of shape (networks, examples, outputs) and targets of shape
            (networks, examples, targets) to losses of the same shape as the targets.
    """

    outputs_per_target: int
    losses: Callable[[Tensor, Tensor], Tensor]


def gaussian_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the Gaussian negative log-likelihood of each target, up to a constant.

    The outputs for a target are the mean μ and a number r; the variance is σ² = ELU(r) + 1.
    """
    mean, raw = outputs[..., 0::2], outputs[..., 1::2]
    variance = (functional.elu(raw) + 1.0).clamp(min=VARIANCE_FLOOR)
    return 0.5 * (variance.log() + (targets - mean).square() / variance)


def logistic_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Return the binary cross-entropy of each target, which is 0 or 1; the outputs are logits."""
    return functional.binary_cross_entropy_with_logits(outputs, targets, reduction="none")


GAUSSIAN = Head(outputs_per_target=2, losses=gaussian_losses)
LOGISTIC = Head(outputs_per_target=1, losses=logistic_losses)


def initial_layers(shapes: Sequence[NetworkShape], seeds: Sequence[int]) -> list[Tensor]:
    """Return initial tensors: weights of layer 1, biases of layer 1, weights of layer 2, and so on.

    Each tensor contains all networks; `seeds` holds the random seed of each network. Weights and biases of
    the two hidden layers are drawn uniformly from [-1/√n, 1/√n], where n is the number of inputs of the
    layer. Those of the third layer are zero, so that an untrained network returns zero for all inputs.
    """
    largest = NetworkShape(max(shape.inputs for shape in shapes), max(shape.outputs for shape in shapes))
    layers = [torch.zeros((len(shapes), *size), dtype=torch.float32) for size in _layer_sizes(largest)]
    for network, (shape, seed) in enumerate(zip(shapes, seeds, strict=True)):
        generator = torch.Generator().manual_seed(seed)
        fan_in = 1
        for index, (rows, columns) in enumerate(_layer_sizes(shape)[:-2]):
            if index % 2 == 0:
                fan_in = rows
            drawn = torch.rand((rows, columns), generator=generator, dtype=torch.float32)
            layers[index][network, :rows, :columns] = (2.0 * drawn - 1.0) / fan_in**0.5
    return layers


def unpadded_layers(layers: Sequence[Tensor], network: int, shape: NetworkShape) -> list[Tensor]:
    """Return the weights and biases of the network with index `network`, without padding."""
    return [
        layer[network, :rows, :columns]
        for layer, (rows, columns) in zip(layers, _layer_sizes(shape), strict=True)
    ]


def forward(layers: Sequence[Tensor], inputs: Tensor) -> Tensor:
    """Return the outputs of all networks for inputs of shape (networks, examples, inputs)."""
    weight1, bias1, weight2, bias2, weight3, bias3 = layers
    hidden = torch.baddbmm(bias1, inputs, weight1).relu()
    hidden = torch.baddbmm(bias2, hidden, weight2).relu()
    return torch.baddbmm(bias3, hidden, weight3)


def _layer_sizes(shape: NetworkShape) -> list[tuple[int, int]]:
    return [
        (shape.inputs, HIDDEN_WIDTH),
        (1, HIDDEN_WIDTH),
        (HIDDEN_WIDTH, HIDDEN_WIDTH),
        (1, HIDDEN_WIDTH),
        (HIDDEN_WIDTH, shape.outputs),
        (1, shape.outputs),
    ]
