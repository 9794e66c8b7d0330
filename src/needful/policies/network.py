"""The network: encode, process, decode (Battaglia et al. 2018), for numpy and for torch.

Each block is a hidden layer, ReLU, a second layer and a layer normalisation, all of width 16. Three rounds
of message passing use the same weights: edges are updated from their own row, their two nodes and the
graph's row (called `whole`); nodes from their own row, the sum of their incoming edges and the graph's row;
the graph's row from itself and the sums of all nodes and edges. Each update also reads the encoded inputs.
Finally one linear layer maps each node to one logit per argument of a controller, and another maps the
graph's row to one logit per controller and the controllers' parameters.

A layer that reads several concatenated vectors is written as a sum with one matrix per vector. A node's
contribution to its edges is then computed once per node instead of once per edge, and the contribution of
the encoded inputs once instead of three times.
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
# The inputs of each message-passing block. A block reads each input in `_READ` twice: its current value
# and its value before the first round. It reads the sums over nodes or edges in `_SUMS` once.
_READ = {"edge": ("edge", "sender", "receiver", "whole"), "node": ("node", "whole"), "whole": ("whole",)}
_SUMS = {"edge": (), "node": ("incoming",), "whole": ("nodes", "edges")}
# The weights of a block without the matrices of its first layer, which are named `from_` and the input.
_PARTS = ("hidden_bias", "weight", "bias", "gain", "shift")


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The number of input columns per node, edge and graph, and of outputs per node and graph.

    As in the names of weights, `whole` stands for the graph.
    """

    node: int
    edge: int
    whole: int
    node_outputs: int
    whole_outputs: int


class ArrayBackend(Protocol):
    """The array operations of the network that numpy and torch call differently."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at the indices, which may repeat."""
        ...

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return `count` rows: row i is the sum of all rows r with `index[r] == i`; `index` ascends."""
        ...

    def rectify(self, rows: Array) -> Array:
        """Return the rows with negative numbers replaced by 0 (ReLU)."""
        ...

    def normalise(self, rows: Array, gain: Array, shift: Array) -> Array:
        """Return each row scaled to mean 0 and variance 1, times the gain, plus the shift."""
        ...


class NumpyBackend:
    """Numpy, which is faster than torch for a single graph."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at the indices."""
        return rows[index]

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return `count` rows: row i is the sum of all rows r with `index[r] == i`."""
        sums = np.zeros((count, rows.shape[1]), dtype=rows.dtype)
        if len(index):
            starts = np.flatnonzero(np.diff(index, prepend=-1))
            sums[index[starts]] = np.add.reduceat(rows, starts)
        return sums

    def rectify(self, rows: Array) -> Array:
        """Return the rows with negative numbers replaced by 0."""
        return np.maximum(rows, 0.0)

    def normalise(self, rows: Array, gain: Array, shift: Array) -> Array:
        """Return each row scaled to mean 0 and variance 1, times the gain, plus the shift."""
        # `np.mean` takes three times as long for 16 numbers.
        centred = rows - np.add.reduce(rows, axis=1, keepdims=True) / WIDTH
        variance = np.add.reduce(centred * centred, axis=1, keepdims=True) / WIDTH
        return centred / np.sqrt(variance + VARIANCE_FLOOR) * gain + shift


def weight_shapes(size: NetworkSize) -> dict[str, tuple[int, ...]]:
    """Return the shapes of the network's weights by name, in the order in which they are initialised."""
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
    """Return the outputs of the nodes and the outputs of the graphs, one row per node or graph."""
    return _Evaluation(weights, graph, backend).outputs()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Evaluation:
    """One evaluation of the network on a batch of graphs."""

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
        """Multiply rows by first-layer matrices; return the sum of the products per edge, node and graph.

        These sums are inputs of the hidden layers of the message-passing blocks. The inputs in `_SUMS` are
        not included. `prefix` selects the matrices: "encoded_" for rows before the first round, "" for
        current rows.
        """
        graph, take = self.graph, self.backend.take

        def contribution(block: str, source: str, rows: Array) -> Array:
            return rows @ self.weights[f"process.{block}.from_{prefix}{source}"]

        return (
            contribution("edge", "edge", edge)
            + take(contribution("edge", "sender", node), graph.senders)
            + take(contribution("edge", "receiver", node), graph.receivers)
            + take(contribution("edge", "whole", whole), graph.edge_graph),
            contribution("node", "node", node)
            + take(contribution("node", "whole", whole), graph.node_graph),
            contribution("whole", "whole", whole),
        )

    def _block(self, name: str, hidden: Array) -> Array:
        """Return a block's output.

        `hidden` is the first layer without its bias: the sum of all inputs, each times its matrix.
        """
        block = {part: self.weights[f"{name}.{part}"] for part in _PARTS}
        rectified = self.backend.rectify(hidden + block["hidden_bias"])
        return self.backend.normalise(
            rectified @ block["weight"] + block["bias"], block["gain"], block["shift"]
        )
