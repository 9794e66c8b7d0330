"""Train with numbers of about one, act with those of the world.

Features and parameters come in metres, shares or whatever a domain likes, and gradient descent suffers
where some are a hundred times as large as others. So examples are rescaled for training; afterwards
the scales become part of the first and the last layer, and nobody who acts hears of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from needful.policies.examples import Examples

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
