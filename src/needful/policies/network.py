"""The network: encode, process, decode (Battaglia et al. 2018), for numpy and for torch alike.

Every block is a hidden layer, ReLU, a second layer and a layer normalisation, all of width 16. Three
times, with the same weights, edges are updated from what they and their ends say, nodes from what
their incoming edges say, and the graph from what all its nodes and edges say. Every update reads the
encoded input beside what the update before it made of it. In the end one linear layer gives each
node a logit for each argument of a controller, and another one gives the graph a logit for each
controller and the parameters of controllers.

A layer that reads several things side by side is the sum of one matrix for each of them. So what a node
says to its edges is multiplied once a node instead of once an edge, and what the encoded input says,
once instead of three times.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from needful.policies.graph_encoding import Array, Graph

WIDTH = 16
ROUNDS = 3
VARIANCE_FLOOR = 1e-5
# What the first layer of each updating block reads; everything but sums comes encoded as well.
_READ = {"edge": ("edge", "sender", "receiver", "whole"), "node": ("node", "whole"), "whole": ("whole",)}
_SUMS = {"edge": (), "node": ("incoming",), "whole": ("nodes", "edges")}
# What every block has besides the matrices of its first layer.
_PARTS = ("hidden_bias", "weight", "bias", "gain", "shift")


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """How many numbers go in for a node, an edge and a graph, and come out for a node and a graph."""

    node: int
    edge: int
    whole: int
    node_outputs: int
    whole_outputs: int


class ArrayBackend(Protocol):
    """What the network does to arrays besides sums and products."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at an index, which may name some more than once."""
        ...

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return `count` rows, each the sum of the rows with its number in the ascending index."""
        ...

    def rectify(self, rows: Array) -> Array:
        """Return the rows with 0 in place of negative numbers."""
        ...

    def normalise(self, rows: Array, gain: Array, shift: Array) -> Array:
        """Return rows of mean 0 and variance 1, times a gain, plus a shift."""
        ...


class NumpyBackend:
    """Computes with numpy, which is faster than torch for a single graph."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at an index."""
        return rows[index]

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return sums of rows by an ascending index."""
        sums = np.zeros((count, rows.shape[1]), dtype=rows.dtype)
        if len(index):
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            sums[index[starts]] = np.add.reduceat(rows, starts)
        return sums

    def rectify(self, rows: Array) -> Array:
        """Return the rows without negative numbers."""
        return np.maximum(rows, 0.0)

    def normalise(self, rows: Array, gain: Array, shift: Array) -> Array:
        """Return normalised rows."""
        # Not `mean`, which takes three times as long for so few numbers.
        centred = rows - np.add.reduce(rows, axis=1, keepdims=True) / WIDTH
        variance = np.add.reduce(centred * centred, axis=1, keepdims=True) / WIDTH
        return centred / np.sqrt(variance + VARIANCE_FLOOR) * gain + shift


def weight_shapes(size: NetworkSize) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the network's weights by name, in a fixed order."""
    shapes: dict[str, tuple[int, ...]] = {}
    for kind in ("node", "edge", "whole"):
        shapes |= _block_shapes(f"encode.{kind}", {kind: getattr(size, kind)})
    for kind, read in _READ.items():
        sources = (*(f"encoded_{source}" for source in read), *read, *_SUMS[kind])
        shapes |= _block_shapes(f"process.{kind}", dict.fromkeys(sources, WIDTH))
    for kind in ("node", "whole"):
        outputs = getattr(size, f"{kind}_outputs")
        shapes |= {f"decode.{kind}.weight": (WIDTH, outputs), f"decode.{kind}.bias": (outputs,)}
    return shapes


def _block_shapes(block: str, sources: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    shapes: dict[str, tuple[int, ...]] = {
        f"{block}.from_{source}": (width, WIDTH) for source, width in sources.items()
    }
    square = (WIDTH, WIDTH)
    return shapes | {f"{block}.{part}": square if part == "weight" else (WIDTH,) for part in _PARTS}


def evaluate_network(
    weights: Mapping[str, Array], graph: Graph, backend: ArrayBackend
) -> tuple[Array, Array]:
    """Return the outputs of the nodes and those of the graphs, a row each."""
    return _Evaluation(weights, graph, backend).outputs()


@dataclass(frozen=True, slots=True, eq=False)
class _Evaluation:
    """One pass of some graphs through the network."""

    weights: Mapping[str, Array]
    graph: Graph
    backend: ArrayBackend

    def outputs(self) -> tuple[Array, Array]:
        graph, weights, segment_sum = self.graph, self.weights, self.backend.segment_sum
        nodes, graphs = len(graph.nodes), len(graph.globals)
        node = self._block("encode.node", graph.nodes @ weights["encode.node.from_node"])
        edge = self._block("encode.edge", graph.edges @ weights["encode.edge.from_edge"])
        whole = self._block("encode.whole", graph.globals @ weights["encode.whole.from_whole"])
        encoded = self._hidden("encoded_", edge, node, whole)
        for _ in range(ROUNDS):
            latent = self._hidden("", edge, node, whole)
            edge_hidden, node_hidden, whole_hidden = map(operator.add, encoded, latent)
            edge = self._block("process.edge", edge_hidden)
            from_incoming = (
                segment_sum(edge, graph.receivers, nodes) @ weights["process.node.from_incoming"]
            )
            node = self._block("process.node", node_hidden + from_incoming)
            from_nodes = segment_sum(node, graph.node_graph, graphs) @ weights["process.whole.from_nodes"]
            from_edges = segment_sum(edge, graph.edge_graph, graphs) @ weights["process.whole.from_edges"]
            whole = self._block("process.whole", whole_hidden + from_nodes + from_edges)
        return (
            node @ weights["decode.node.weight"] + weights["decode.node.bias"],
            whole @ weights["decode.whole.weight"] + weights["decode.whole.bias"],
        )

    def _hidden(self, prefix: str, edge: Array, node: Array, whole: Array) -> tuple[Array, Array, Array]:
        """Return what the hidden layers of edges, nodes and graphs hear of all but sums."""
        graph, take = self.graph, self.backend.take

        def heard(block: str, source: str, rows: Array) -> Array:
            return rows @ self.weights[f"process.{block}.from_{prefix}{source}"]

        return (
            heard("edge", "edge", edge)
            + take(heard("edge", "sender", node), graph.senders)
            + take(heard("edge", "receiver", node), graph.receivers)
            + take(heard("edge", "whole", whole), graph.edge_graph),
            heard("node", "node", node) + take(heard("node", "whole", whole), graph.node_graph),
            heard("whole", "whole", whole),
        )

    def _block(self, name: str, hidden: Array) -> Array:
        """Return what a block makes of the sum that its hidden layer hears."""
        own = {part: self.weights[f"{name}.{part}"] for part in _PARTS}
        rectified = self.backend.rectify(hidden + own["hidden_bias"])
        return self.backend.normalise(rectified @ own["weight"] + own["bias"], own["gain"], own["shift"])
