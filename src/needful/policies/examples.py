"""What policies learn from: for each step of a demonstration, its graph and what was done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
