"""What policies learn from: for each step of a demonstration, its graph and what was done.

Train with numbers of about one, act with those of the world.

Features and parameters come in metres, shares or whatever a domain likes, and gradient descent suffers
where some are a hundred times as large as others. So examples are rescaled for training; afterwards
the scales become part of the first and the last layer, and nobody who acts hears of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.core.controllers import GroundController
from needful.core.demonstrations import Demonstration
from needful.core.model import Vocabulary
from needful.core.state import State
from needful.errors import DemonstrationError
from needful.policies.graph_encoding import Array, Graph, GraphEncoding, side_by_side
from needful.policies.graph_policy import network_size


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
                side_by_side([example.graph for example in some]),
                np.concatenate([example.slots for example in some]),
                np.concatenate([example.controllers for example in some]),
                np.concatenate([example.parameters for example in some]),
            )
        )
    return batches


# What varies by less is constant, and stays as it is.
CONSTANT_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class StandardUnits:
    """How rows of nodes are shifted and divided, and what parameters are divided by."""

    shift: np.ndarray
    scale: np.ndarray
    parameter_scale: np.ndarray

    @classmethod
    def of(cls, examples: Sequence[Examples], first_feature: int) -> StandardUnits:
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
