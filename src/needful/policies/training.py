"""Train a policy's network to do what was done in demonstrations.

The loss is the sum of three means: binary cross-entropy of the nodes' slots, cross-entropy of the
controller, squared error of the zero-padded parameters. This module imports torch, which takes
seconds: `train_policy` imports it when there is need.

From demonstrations to a policy.

What policies learn from: for each step of a demonstration, its graph and what was done.

Train with numbers of about one, act with those of the world.

Features and parameters come in metres, shares or whatever a domain likes, and gradient descent suffers
where some are a hundred times as large as others. So examples are rescaled for training; afterwards
the scales become part of the first and the last layer, and nobody who acts hears of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.state import State
from needful.errors import DemonstrationError
from needful.policies.graph_encoding import Array, Graph, GraphEncoding, batch_graphs
from needful.policies.graph_policy import GraphPolicy, PolicyConfig, network_size
from needful.policies.network import VARIANCE_FLOOR, WIDTH, evaluate_network, weight_shapes
from needful.seeding import seed_for
from needful.torch_threads import single_thread


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Graphs side by side and what was done in each.

    Attributes:
        graph: the graphs.
        slots: for each node and argument, 1 if the node was that argument, else 0.
        controllers: the number of each graph's controller.
        parameters: a row for each graph, zeros behind those of its controller.
    """

    graph: Graph
    slots: Array
    controllers: Array
    parameters: Array

    def __len__(self) -> int:
        return len(self.controllers)


def examples_of(vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> list[Examples]:
    """Return the steps of the demonstrations in order, one example each; raise without states."""
    encoding, size = GraphEncoding.of(vocabulary), network_size(vocabulary)
    number = {controller: index for index, controller in enumerate(vocabulary.controllers)}
    found = []
    for index, demonstration in enumerate(demonstrations):
        for transition in demonstration.transitions():
            if transition.state is None:
                raise DemonstrationError(
                    f"Demonstration {index} has no states, but a policy looks at them. "
                    "Record the states, or use an operator learner."
                )
            action = transition.action
            parameters = np.zeros((1, size.whole_outputs - len(number)), dtype=np.float32)
            parameters[0, : action.controller.dimension] = action.parameters
            found.append(
                Examples(
                    encoding.encode(transition.state, transition.before, demonstration.goal),
                    _chosen_nodes(transition.state, action, size.node_outputs),
                    np.array([number[action.controller]]),
                    parameters,
                )
            )
    if not found:
        raise DemonstrationError("The demonstrations have no step to learn from.")
    return found


def _chosen_nodes(state: State, action: GroundController, slots: int) -> np.ndarray:
    chosen = np.zeros((len(state.objects), slots), dtype=np.float32)
    node = {obj: number for number, obj in enumerate(state.objects)}
    for slot, obj in enumerate(action.objects):
        chosen[node[obj], slot] = 1.0
    return chosen


def batched(examples: Sequence[Examples], size: int) -> list[Examples]:
    """Return the examples in batches of so many, in order; the last one may be smaller."""
    batches = []
    for start in range(0, len(examples), size):
        some = examples[start : start + size]
        batches.append(
            Examples(
                batch_graphs([example.graph for example in some]),
                np.concatenate([example.slots for example in some]),
                np.concatenate([example.controllers for example in some]),
                np.concatenate([example.parameters for example in some]),
            )
        )
    return batches


# What varies by less is constant, and stays as it is.
CONSTANT_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Standardisation:
    """How rows of nodes are shifted and divided, and what parameters are divided by."""

    shift: np.ndarray
    scale: np.ndarray
    parameter_scale: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[Examples], first_feature: int) -> Standardisation:
        """Return the units in which features have mean 0 and variance 1, and parameters variance 1.

        The columns before the first feature are flags, which stay as they are.
        """
        nodes = np.concatenate([example.graph.nodes for example in examples]).astype(np.float64)
        parameters = np.concatenate([example.parameters for example in examples]).astype(np.float64)
        shift, scale = nodes.mean(axis=0), _deviations(nodes)
        shift[:first_feature], scale[:first_feature] = 0.0, 1.0
        return cls(shift, scale, _deviations(parameters))

    def applied(self, example: Examples) -> Examples:
        """Return an example in these units."""
        nodes = ((example.graph.nodes - self.shift) / self.scale).astype(np.float32)
        parameters = (example.parameters / self.parameter_scale).astype(np.float32)
        return replace(example, graph=replace(example.graph, nodes=nodes), parameters=parameters)

    def undone(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the weights of the network that does with the world's numbers what these do with ours."""
        changed = {name: weight.astype(np.float64) for name, weight in weights.items()}
        first = changed["encode.node.from_node"]
        changed["encode.node.hidden_bias"] -= (self.shift / self.scale) @ first
        changed["encode.node.from_node"] = first / self.scale[:, None]
        # The parameters are the last outputs of the graph, behind the logits of the controllers.
        start = len(changed["decode.whole.bias"]) - len(self.parameter_scale)
        changed["decode.whole.weight"][:, start:] *= self.parameter_scale
        changed["decode.whole.bias"][start:] *= self.parameter_scale
        return {name: weight.astype(np.float32) for name, weight in changed.items()}


def _deviations(rows: np.ndarray) -> np.ndarray:
    deviations = rows.std(axis=0)
    return np.where(deviations < CONSTANT_DEVIATION, 1.0, deviations)


LEARNING_RATE = 1e-3
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8


class TorchBackend:
    """Computes with torch, which knows gradients."""

    def take(self, rows: Tensor, index: Tensor) -> Tensor:
        """Return the rows at an index."""
        return rows.index_select(0, index)

    def segment_sum(self, rows: Tensor, index: Tensor, count: int) -> Tensor:
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
    slots, outputs = evaluate_network(weights, examples.graph, TorchBackend())
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
    units = Standardisation.of(examples, GraphEncoding.of(vocabulary).first_feature)
    shapes = weight_shapes(network_size(vocabulary))
    lessons = [units.applied(example) for example in examples]
    weights = train_network(shapes, lessons, config, seed_for(seed, "policy", "weights"), on_epoch)
    return GraphPolicy(vocabulary, units.undone(weights))
