"""Train a graph policy to imitate demonstrations, with torch.

Each step of a demonstration is one example: the graph of the state, and the action taken. The loss is the
sum of three means: the binary cross-entropy of the nodes' argument logits, the cross-entropy of the
controller, and the squared error of the parameters, padded with zeros.

Features and parameters have different units. If some are a hundred times larger than others, gradient
descent converges slowly. Training therefore uses standardised examples. Afterwards the weights of the first
and the last layer are rescaled, so that the trained policy accepts and returns numbers in original units.

Importing this module imports torch, which takes seconds. Import this module only to train a policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.objects import Abbreviated
from needful.core.state import State
from needful.errors import DemonstrationError
from needful.policies.graph_network import (
    VARIANCE_FLOOR,
    WIDTH,
    Array,
    Graph,
    GraphEncoding,
    batch_graphs,
    evaluate_network,
    weight_shapes,
)
from needful.policies.graph_policy import GraphPolicy, PolicyConfig, network_size
from needful.seeding import seed_for

LEARNING_RATE = 1e-3
MEAN_DECAY, SQUARE_DECAY, EPSILON = 0.9, 0.999, 1e-8
# Features and parameters with a smaller standard deviation than this are not rescaled: they are constant.
CONSTANT_DEVIATION = 1e-6


def train_policy(
    vocabulary: Vocabulary,
    demonstrations: Sequence[Demonstration],
    config: PolicyConfig,
    seed: int,
    on_epoch: Callable[[int], None] = lambda done: None,
) -> GraphPolicy:
    """Train a policy to imitate the demonstrations, which must contain states.

    `on_epoch` is called before each epoch with the number of completed epochs. It may raise an exception to
    stop training.
    """
    examples = make_examples(vocabulary, demonstrations)
    standardisation = Standardisation.of(examples, GraphEncoding.of(vocabulary).first_feature)
    shapes = weight_shapes(network_size(vocabulary))
    scaled_examples = [standardisation.apply(example) for example in examples]
    weights = train_network(shapes, scaled_examples, config, seed_for(seed, "policy", "weights"), on_epoch)
    return GraphPolicy(vocabulary, standardisation.fold_into_weights(weights))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Examples(Abbreviated):
    """A batch of examples: each is the graph of a state and the action taken in this state.

    Attributes:
        graph: the graphs.
        argument_labels: one row per node and one column per argument position. An entry is 1 if the node's
            object is at this position in the action taken, else 0.
        controllers: for each graph, the index of the controller of the action taken.
        parameters: for each graph, a row with the parameters of the action taken, padded with zeros.
    """

    graph: Graph
    argument_labels: Array
    controllers: Array
    parameters: Array

    def __len__(self) -> int:
        return len(self.controllers)


def make_examples(vocabulary: Vocabulary, demonstrations: Sequence[Demonstration]) -> list[Examples]:
    """Return one example per step of the demonstrations, in order.

    Raises `DemonstrationError` if the states of a demonstration are not recorded, or if there are no steps.
    """
    encoding, size = GraphEncoding.of(vocabulary), network_size(vocabulary)
    controller_index = {controller: index for index, controller in enumerate(vocabulary.controllers)}
    found = []
    for index, demonstration in enumerate(demonstrations):
        for transition in demonstration.transitions():
            if transition.state is None:
                raise DemonstrationError(
                    f"Demonstration {index} has no states, but a graph policy is trained on states. "
                    "Record the states, or use an operator learner."
                )
            action = transition.action
            parameters = np.zeros((1, size.whole_outputs - len(controller_index)), dtype=np.float32)
            parameters[0, : action.controller.dimension] = action.parameters
            found.append(
                Examples(
                    encoding.encode(transition.state, transition.before, demonstration.goal),
                    _argument_labels(transition.state, action, size.node_outputs),
                    np.array([controller_index[action.controller]]),
                    parameters,
                )
            )
    if not found:
        raise DemonstrationError(
            f"None of the {len(demonstrations)} demonstrations has a step to learn from. "
            "Collect demonstrations of tasks whose goal does not hold at the start."
        )
    return found


def _argument_labels(state: State, action: GroundController, arguments: int) -> np.ndarray:
    labels = np.zeros((len(state.objects), arguments), dtype=np.float32)
    node = {obj: index for index, obj in enumerate(state.objects)}
    for argument, obj in enumerate(action.objects):
        labels[node[obj], argument] = 1.0
    return labels


def batched(examples: Sequence[Examples], size: int) -> list[Examples]:
    """Return the examples in batches of `size`, in order; the last batch may be smaller."""
    batches = []
    for start in range(0, len(examples), size):
        members = examples[start : start + size]
        batches.append(
            Examples(
                batch_graphs([example.graph for example in members]),
                np.concatenate([example.argument_labels for example in members]),
                np.concatenate([example.controllers for example in members]),
                np.concatenate([example.parameters for example in members]),
            )
        )
    return batches


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Standardisation(Abbreviated):
    """Standardises examples: the columns of the nodes' rows, and the parameters of actions.

    For each column of the nodes' rows, `shift` and `scale` have one number: the column becomes
    (column - shift) / scale. For each parameter, `parameter_scale` has the number to divide it by.
    """

    shift: np.ndarray
    scale: np.ndarray
    parameter_scale: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[Examples], first_feature: int) -> Standardisation:
        """Compute the standardisation for a list of examples.

        Over the examples, standardised features have mean 0 and variance 1, and standardised parameters
        have variance 1. The columns before `first_feature` are flags, which are not changed.
        """
        nodes = np.concatenate([example.graph.nodes for example in examples]).astype(np.float64)
        parameters = np.concatenate([example.parameters for example in examples]).astype(np.float64)
        shift, scale = nodes.mean(axis=0), _deviations(nodes)
        shift[:first_feature], scale[:first_feature] = 0.0, 1.0
        return cls(shift, scale, _deviations(parameters))

    def apply(self, example: Examples) -> Examples:
        """Return the given example in standardised form."""
        nodes = ((example.graph.nodes - self.shift) / self.scale).astype(np.float32)
        parameters = (example.parameters / self.parameter_scale).astype(np.float32)
        return replace(example, graph=replace(example.graph, nodes=nodes), parameters=parameters)

    def fold_into_weights(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return weights for features and parameters in original units.

        The argument `weights` was trained on standardised examples. The returned weights make the same
        predictions from features in original units, and predict parameters in original units.
        """
        changed = {name: weight.astype(np.float64) for name, weight in weights.items()}
        first = changed["encode.node.from_node"]
        changed["encode.node.hidden_bias"] -= (self.shift / self.scale) @ first
        changed["encode.node.from_node"] = first / self.scale[:, None]
        # In the outputs per graph, the parameters come last, after the logits of the controllers.
        start = len(changed["decode.whole.bias"]) - len(self.parameter_scale)
        changed["decode.whole.weight"][:, start:] *= self.parameter_scale
        changed["decode.whole.bias"][start:] *= self.parameter_scale
        return {name: weight.astype(np.float32) for name, weight in changed.items()}


def _deviations(rows: np.ndarray) -> np.ndarray:
    deviations = rows.std(axis=0)
    return np.where(deviations < CONSTANT_DEVIATION, 1.0, deviations)


class TorchBackend:
    """The array operations of the network with torch, which also computes gradients."""

    def take(self, rows: Tensor, index: Tensor) -> Tensor:
        """Return the rows at the indices in `index`."""
        return rows.index_select(0, index)

    def segment_sum(self, rows: Tensor, index: Tensor, count: int) -> Tensor:
        """Return `count` rows: row i is the sum of all `rows[r]` with `index[r] == i`."""
        return rows.new_zeros((count, rows.shape[1])).index_add_(0, index, rows)

    def rectify(self, rows: Tensor) -> Tensor:
        """Return the rows with negative numbers replaced by 0."""
        return rows.relu()

    def normalise(self, rows: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
        """Return each row scaled to mean 0 and variance 1, times the gain, plus the shift."""
        return functional.layer_norm(rows, (WIDTH,), gain, shift, VARIANCE_FLOOR)


def imitation_loss(weights: Mapping[str, Tensor], examples: Examples) -> Tensor:
    """Return the training loss: how much the predictions of the network differ from the examples."""
    argument_logits, outputs = evaluate_network(weights, examples.graph, TorchBackend())
    parameters = examples.parameters.shape[1]
    controller_logits, predicted = outputs.split([outputs.shape[1] - parameters, parameters], dim=1)
    loss = functional.cross_entropy(controller_logits, examples.controllers)
    if examples.argument_labels.shape[1]:
        loss = loss + functional.binary_cross_entropy_with_logits(argument_logits, examples.argument_labels)
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
    """Train the network on examples, and return its weights by name; `shapes` holds their shapes.

    `on_epoch` is called before each epoch with the number of completed epochs. It may raise an exception to
    stop training. Torch is limited to one thread, so that the weights do not depend on the number of cores.
    """
    held_out = math.ceil(config.held_out * len(examples))
    training = [_as_tensors(batch) for batch in batched(examples[held_out:] or examples, config.batch)]
    validation = [_as_tensors(batch) for batch in batched(examples[:held_out], config.batch)]
    with single_thread(), torch.enable_grad():
        vector = _descend(_initial_weights(shapes, seed), shapes, training, validation, config, on_epoch)
    return {name: weight.numpy().copy() for name, weight in _weights_by_name(vector, shapes).items()}


def _descend(
    vector: Tensor,
    shapes: Mapping[str, tuple[int, ...]],
    training: Sequence[Examples],
    validation: Sequence[Examples],
    config: PolicyConfig,
    on_epoch: Callable[[int], None],
) -> Tensor:
    """Train with Adam, starting from the weights in `vector`; return the best weights.

    The best weights are those with the lowest validation loss, or the last ones if `validation` is empty.
    All weights are in one vector, so that a gradient step needs few tensor operations.
    """
    adam = Adam(vector.requires_grad_())
    best, best_loss, best_epoch = vector, math.inf, 0
    for epoch in range(1, config.epochs + 1):
        on_epoch(epoch - 1)
        rate = LEARNING_RATE * 0.5 * (1.0 + math.cos(math.pi * (epoch - 1) / config.epochs))
        for batch in training:
            loss = imitation_loss(_weights_by_name(vector, shapes), batch)
            (gradient,) = torch.autograd.grad(loss, vector)
            adam.step(gradient, rate)
        if validation and (epoch % config.check_every == 0 or epoch == config.epochs):
            validation_loss = _mean_loss(vector, shapes, validation)
            if validation_loss < best_loss:
                best, best_loss, best_epoch = vector.clone(), validation_loss, epoch
            elif epoch - best_epoch >= config.patience:
                break
    return best.detach()


@torch.no_grad()
def _mean_loss(vector: Tensor, shapes: Mapping[str, tuple[int, ...]], batches: Sequence[Examples]) -> float:
    """Return the mean of the batches' losses, weighted by the number of examples in each batch."""
    weights, total = _weights_by_name(vector, shapes), sum(len(batch) for batch in batches)
    return sum(float(imitation_loss(weights, batch)) * len(batch) for batch in batches) / total


def _initial_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> Tensor:
    """Return random initial weights as one vector.

    The gains of the layer normalisations are 1, and their shifts are 0. All other weights are drawn
    uniformly from [-1/√n, 1/√n], where n is the number of inputs of the weight's layer. If the layer has
    several matrices, n is the sum of their numbers of inputs.
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
    """Return the name of the layer that the weight `name` belongs to.

    All first-layer matrices of a block and their bias belong to one layer.
    """
    block, _, part = name.rpartition(".")
    return f"{block}.hidden" if part.startswith(("from_", "hidden_")) else block


def _weights_by_name(vector: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Tensor]:
    parts = torch.split(vector, [math.prod(shape) for shape in shapes.values()])
    return {name: part.view(shape) for part, (name, shape) in zip(parts, shapes.items(), strict=True)}


def _as_tensors(examples: Examples) -> Examples:
    graph = {each.name: torch.from_numpy(getattr(examples.graph, each.name)) for each in fields(Graph)}
    targets = (examples.argument_labels, examples.controllers, examples.parameters)
    return Examples(Graph(**graph), *map(torch.from_numpy, targets))


@contextmanager
def single_thread() -> Iterator[None]:
    """Limit torch to one thread, so that trained weights do not depend on the number of cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Adam:
    """Update a tensor in place by Adam's rule (Kingma and Ba, 2015).

    `torch.optim` is not used: importing it imports torch's compiler, which takes longer than training.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self._mean = torch.zeros_like(tensor)
        self._square = torch.zeros_like(tensor)
        self._steps = 0

    @torch.no_grad()
    def step(self, gradient: Tensor, learning_rate: float) -> None:
        """Update the tensor by one step of Adam; `gradient` is the gradient of the loss."""
        self._steps += 1
        rate = learning_rate / (1.0 - MEAN_DECAY**self._steps)
        correction = (1.0 - SQUARE_DECAY**self._steps) ** 0.5
        self._mean.lerp_(gradient, 1.0 - MEAN_DECAY)
        self._square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1.0 - SQUARE_DECAY)
        self._tensor.addcdiv_(self._mean, (self._square.sqrt() / correction).add_(EPSILON), value=-rate)
