"""Train a policy's network to do what was done in demonstrations.

The loss is the sum of three means: binary cross-entropy of the nodes' slots, cross-entropy of the
controller, squared error of the zero-padded parameters. This module imports torch, which takes
seconds: `train_policy` imports it when there is need.

From demonstrations to a policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.policies.examples import Examples, StandardUnits, batched, examples_of
from needful.policies.graph_encoding import Graph, GraphEncoding
from needful.policies.graph_policy import GraphPolicy, PolicyConfig, network_size
from needful.policies.network import VARIANCE_FLOOR, WIDTH, evaluate_network, weight_shapes
from needful.seeding import seed_for
from needful.torch_threads import single_thread

LEARNING_RATE = 1e-3
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8


class TorchArithmetic:
    """Computes with torch, which knows gradients."""

    def take(self, rows: Tensor, index: Tensor) -> Tensor:
        """Return the rows at an index."""
        return rows.index_select(0, index)

    def sum_by(self, rows: Tensor, index: Tensor, count: int) -> Tensor:
        """Return sums of rows by an index."""
        return rows.new_zeros((count, rows.shape[1])).index_add_(0, index, rows)

    def rectify(self, rows: Tensor) -> Tensor:
        """Return the rows without negative numbers."""
        return rows.relu()

    def normalise(self, rows: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        """Return normalised rows."""
        return functional.layer_norm(rows, (WIDTH,), gain, shift, VARIANCE_FLOOR)


def imitation_loss(weights: Mapping[str, Tensor], examples: Examples) -> Tensor:
    """Return how far the network is from what was done."""
    slots, outputs = evaluate_network(weights, examples.graph, TorchArithmetic())
    parameters = examples.parameters.shape[1]
    logits, predicted = outputs.split([outputs.shape[1] - parameters, parameters], dim=1)
    loss = functional.cross_entropy(logits, examples.controllers)
    if examples.slots.shape[1]:
        loss = loss + functional.binary_cross_entropy_with_logits(slots, examples.slots)
    if parameters:
        loss = loss + functional.mse_loss(predicted, examples.parameters)
    return loss


def train_network(
    shapes: Mapping[str, tuple[int, ...]],
    examples: Sequence[Examples],
    config: PolicyConfig,
    seed: int,
    on_epoch: Callable[[int], None] = lambda done: None,
) -> dict[str, np.ndarray]:
    """Return the trained weights by name, those that the configuration says.

    `on_epoch` hears before each epoch how many are done, and may end it all with an error.
    One thread, so that the number of cores changes no bit.
    """
    held_out = math.ceil(config.held_out * len(examples))
    training = [_as_tensors(batch) for batch in batched(examples[held_out:] or examples, config.batch)]
    judging = [_as_tensors(batch) for batch in batched(examples[:held_out], config.batch)]
    with single_thread(), torch.enable_grad():
        vector = _descend(_initial_weights(shapes, seed), shapes, training, judging, config, on_epoch)
    return {name: weight.numpy().copy() for name, weight in _named(vector, shapes).items()}


def _descend(
    vector: Tensor,
    shapes: Mapping[str, tuple[int, ...]],
    training: Sequence[Examples],
    judging: Sequence[Examples],
    config: PolicyConfig,
    on_epoch: Callable[[int], None],
) -> Tensor:
    """Return the weights to keep. All weights are one vector, so that a step is few operations."""
    adam = _Adam(vector.requires_grad_())
    best, best_loss, best_epoch = vector, math.inf, 0
    for epoch in range(1, config.epochs + 1):
        on_epoch(epoch - 1)
        rate = LEARNING_RATE * 0.5 * (1.0 + math.cos(math.pi * (epoch - 1) / config.epochs))
        for batch in training:
            loss = imitation_loss(_named(vector, shapes), batch)
            adam.step(torch.autograd.grad(loss, vector)[0], rate)
        if judging and (epoch % config.check_every == 0 or epoch == config.epochs):
            judged = _judge(vector, shapes, judging)
            if judged < best_loss:
                best, best_loss, best_epoch = vector.clone(), judged, epoch
            elif epoch - best_epoch >= config.patience:
                break
    return best.detach()


@torch.no_grad()
def _judge(vector: Tensor, shapes: Mapping[str, tuple[int, ...]], batches: Sequence[Examples]) -> float:
    """Return the mean loss of batches, each with the weight of its size."""
    weights, total = _named(vector, shapes), sum(len(batch) for batch in batches)
    return sum(float(imitation_loss(weights, batch)) * len(batch) for batch in batches) / total


class _Adam:
    """Changes a vector in place by Adam's rule."""

    def __init__(self, vector: Tensor) -> None:
        self._vector = vector
        self._mean, self._square = torch.zeros_like(vector), torch.zeros_like(vector)
        self._steps = 0

    @torch.no_grad()
    def step(self, gradient: Tensor, rate: float) -> None:
        """Take one step against the gradient."""
        self._steps += 1
        rate /= 1.0 - MEAN_DECAY**self._steps
        correction = (1.0 - SQUARE_DECAY**self._steps) ** 0.5
        self._mean.lerp_(gradient, 1.0 - MEAN_DECAY)
        self._square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
        self._vector.addcdiv_(self._mean, (self._square.sqrt() / correction).add_(EPSILON), value=-rate)


def _initial_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> Tensor:
    """Return all weights as one vector: gains one, shifts zero, others uniform in ±1/√inputs.

    The inputs of a hidden layer are those of all its matrices together.
    """
    generator = torch.Generator().manual_seed(seed)
    inputs: dict[str, int] = {}
    for name, shape in shapes.items():
        layer = _layer(name)
        inputs[layer] = inputs.get(layer, 0) + (shape[0] if len(shape) == 2 else 0)
    parts = []
    for name, shape in shapes.items():
        if name.endswith(".gain"):
            parts.append(torch.ones(shape))
        elif name.endswith(".shift"):
            parts.append(torch.zeros(shape))
        else:
            drawn = 2.0 * torch.rand(shape, generator=generator, dtype=torch.float32) - 1.0
            parts.append(drawn / max(inputs[_layer(name)], 1) ** 0.5)
    return torch.cat([part.flatten() for part in parts])


def _layer(name: str) -> str:
    """Return the layer that a weight is part of: matrices and biases of one layer belong together."""
    block, _, part = name.rpartition(".")
    return f"{block}.hidden" if part.startswith(("from_", "hidden_")) else block


def _named(vector: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    parts = torch.split(vector, [math.prod(shape) for shape in shapes.values()])
    return {name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}


def _as_tensors(examples: Examples) -> Examples:
    graph = {one.name: torch.from_numpy(getattr(examples.graph, one.name)) for one in fields(Graph)}
    targets = (examples.slots, examples.controllers, examples.parameters)
    return Examples(Graph(**graph), *map(torch.from_numpy, targets))


def train_policy(
    vocabulary: Vocabulary,
    demonstrations: Sequence[Demonstration],
    config: PolicyConfig,
    seed: int,
    on_epoch: Callable[[int], None] = lambda done: None,
) -> GraphPolicy:
    """Return a policy that imitates the demonstrations, which must have states.

    `on_epoch` hears before each epoch how many are done, and may end it all with an error.
    """

    examples = examples_of(vocabulary, demonstrations)
    units = StandardUnits.of(examples, GraphEncoding.of(vocabulary).first_feature)
    shapes = weight_shapes(network_size(vocabulary))
    lessons = [units.applied(example) for example in examples]
    weights = train_network(shapes, lessons, config, seed_for(seed, "policy", "weights"), on_epoch)
    return GraphPolicy(vocabulary, units.undone(weights))
