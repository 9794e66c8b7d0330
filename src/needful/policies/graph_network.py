"""An encode-process-decode graph network (Battaglia et al. 2018), and its input graphs.

A graph encodes a state, its atoms and a goal. Each object is a node. If an atom of the abstract state or of
the goal has two objects i and j, the graph has the edges i → j and j → i. Atoms without objects belong to
the whole graph.

The network is evaluated with numpy or with torch. It consists of blocks. A block is a hidden layer, ReLU, a
second layer and a layer normalisation, all of width 16. Each node, each edge and the graph itself (called
`whole`) have a row of numbers.

Encode: one block each for nodes, edges and the graph maps the input rows to rows of width 16.

Process: three rounds of message passing use the same weights. A round computes new rows in this order:

    edge    from its own row, the rows of its two nodes and the graph's row
    node    from its own row, the sum of its incoming edges and the graph's row
    graph   from its own row, the sum of all nodes and the sum of all edges

Except for the sums, a block reads two values of each row: the current value and the value before the first
round.

Decode: a linear layer maps each node's row to one logit per argument position of the controllers. Another
linear layer maps the graph's row to one logit per controller and to the controllers' parameters.

The first layer of a block could multiply the concatenated rows by one matrix. To save time, it multiplies
each row by its own matrix and adds the products, which gives the same result. So the product of a node's
row is computed once for all its edges. The product of a value before the first round is computed once for
all rounds.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, TypeAlias

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.model import Vocabulary
from needful.core.objects import Abbreviated, Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

# A numpy array or a torch tensor: this module works with both.
Array: TypeAlias = Any

WIDTH = 16
ROUNDS = 3
VARIANCE_FLOOR = 1e-5
# The inputs of each message-passing block. For example, the block of a node reads the rows of the node and
# the graph (`_READ`), and the sum of the node's incoming edges (`_SUMS`). Of the rows in `_READ`, it reads
# both the current value and the value before the first round; of the sums, only the current value.
_READ = {"edge": ("edge", "sender", "receiver", "whole"), "node": ("node", "whole"), "whole": ("whole",)}
_SUMS = {"edge": (), "node": ("incoming",), "whole": ("nodes", "edges")}
# The names of a block's weights, except for its first-layer matrices, which are named after their inputs:
# for example `from_edge`.
_PARTS = ("hidden_bias", "weight", "bias", "gain", "shift")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Graph(Abbreviated):
    """The input of a graph neural network: one graph, or a batch of graphs.

    Attributes:
        nodes: one row of numbers per node.
        edges: one row of numbers per edge.
        globals: one row of numbers per graph.
        senders, receivers: for each edge i → j, the index of the node i (sender) and of the node j
            (receiver). The edges are sorted by receiver.
        node_graph, edge_graph: for each node and for each edge, the index of its graph.
    """

    nodes: Array
    edges: Array
    globals: Array
    senders: Array
    receivers: Array
    node_graph: Array
    edge_graph: Array


def batch_graphs(graphs: Sequence[Graph]) -> Graph:
    """Join graphs into one batch, in which nodes and graphs are numbered consecutively from 0."""
    first_node = np.cumsum([0, *(len(graph.nodes) for graph in graphs)])
    first_graph = np.cumsum([0, *(len(graph.globals) for graph in graphs)])
    offsets = {"senders": first_node, "receivers": first_node}
    offsets |= {"node_graph": first_graph, "edge_graph": first_graph}
    joined = {}
    for field in fields(Graph):
        arrays = [getattr(graph, field.name) for graph in graphs]
        if field.name in offsets:
            arrays = [array + start for array, start in zip(arrays, offsets[field.name], strict=False)]
        joined[field.name] = np.concatenate(arrays)
    return Graph(**joined)


@dataclass(frozen=True, slots=True, repr=False)
class GraphEncoding(Abbreviated):
    """Encodes states and goals as graphs; create an encoding with `GraphEncoding.of(vocabulary)`.

    Let s be the abstract state and g the goal. In a `Graph`, each node, each edge and the graph itself have
    a row with these columns (a flag is 1 or 0):

        node         flags for the object's type and supertypes, for its unary atoms in s, and for those in
                     g; then the object's features; features of the same name share a column
        edge i → j   for each binary predicate p, flags for p(i, j) in s, p(j, i) in s, p(i, j) in g and
                     p(j, i) in g
        graph        a constant 1; flags for the nullary atoms in s, and for those in g

    Types and features that are not in the vocabulary are ignored.
    """

    types: tuple[Type, ...]
    features: tuple[str, ...]
    nullary: tuple[Predicate, ...]
    unary: tuple[Predicate, ...]
    binary: tuple[Predicate, ...]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> GraphEncoding:
        """Create the encoding for a vocabulary; raise if a predicate has more than two arguments."""
        by_arity: list[list[Predicate]] = [[], [], []]
        for predicate in vocabulary.predicates:
            if len(predicate.types) > 2:
                raise InvalidInputError(
                    f"A graph policy cannot encode {predicate}, which has more than two arguments. "
                    "Use an operator learner, or predicates with at most two arguments."
                )
            by_arity[len(predicate.types)].append(predicate)
        features = {name: None for kind in vocabulary.types for name in kind.features}
        return cls(vocabulary.types, tuple(features), *map(tuple, by_arity))

    @property
    def node_width(self) -> int:
        """The number of columns of a node's row."""
        return self.first_feature + len(self.features)

    @property
    def first_feature(self) -> int:
        """The first column of a node's row that holds a feature; all columns before it are flags."""
        return len(self.types) + 2 * len(self.unary)

    @property
    def edge_width(self) -> int:
        """The number of columns of an edge's row."""
        return 4 * len(self.binary)

    @property
    def global_width(self) -> int:
        """The number of columns of the graph's row."""
        return 1 + 2 * len(self.nullary)

    def encode(self, state: State, atoms: AbstractState, goal: AbstractState) -> Graph:
        """Return the graph of a state, its atoms and a goal.

        Each object is a node; the nodes are in the order of `state.objects`.
        """
        node = {obj: index for index, obj in enumerate(state.objects)}
        nodes = self._object_rows(state)
        global_row = np.zeros((1, self.global_width), dtype=np.float32)
        global_row[0, 0] = 1.0
        # This dictionary maps each edge to the columns of its flags that are 1. An edge is the pair
        # (receiver, sender), so that sorting the pairs sorts the edges by receiver.
        edge_columns: dict[tuple[int, int], list[int]] = {}
        unary, binary, nullary = map(_columns, (self.unary, self.binary, self.nullary))
        known = {**unary, **binary, **nullary}
        for part, atoms_of_part in enumerate((atoms, goal)):
            for atom in atoms_of_part:
                name, arguments = atom.predicate.name, [node[obj] for obj in atom.objects]
                if name not in known:
                    raise UnknownNameError("predicate", name, known)
                if len(arguments) == 2:
                    column = 2 * part * len(binary) + binary[name]
                    edge_columns.setdefault((arguments[1], arguments[0]), []).append(column)
                    edge_columns.setdefault((arguments[0], arguments[1]), []).append(column + len(binary))
                elif len(arguments) == 1:
                    nodes[arguments[0], len(self.types) + part * len(unary) + unary[name]] = 1.0
                else:
                    global_row[0, 1 + part * len(nullary) + nullary[name]] = 1.0
        pairs = sorted(edge_columns)
        edges = np.zeros((len(pairs), self.edge_width), dtype=np.float32)
        for row, pair in enumerate(pairs):
            edges[row, edge_columns[pair]] = 1.0
        receivers, senders = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        node_graph, edge_graph = (np.zeros(count, dtype=np.int64) for count in (len(nodes), len(edges)))
        return Graph(nodes, edges, global_row, senders, receivers, node_graph, edge_graph)

    def _object_rows(self, state: State) -> np.ndarray:
        """Return the row of each object's node, with the flags of its type and with its features.

        The flags of the atoms are all 0.
        """
        rows = np.zeros((len(state.objects), self.node_width), dtype=np.float32)
        types = {kind: column for column, kind in enumerate(self.types)}
        features = {name: self.first_feature + index for index, name in enumerate(self.features)}
        for row, obj in zip(rows, state.objects, strict=True):
            row[[types[kind] for kind in obj.type.ancestry() if kind in types]] = 1.0
            for name, value in zip(obj.type.features, state[obj], strict=True):
                if name in features:
                    row[features[name]] = value
        return rows


def _columns(predicates: Sequence[Predicate]) -> dict[str, int]:
    return {predicate.name: column for column, predicate in enumerate(predicates)}


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """The sizes of the network's inputs and outputs; `whole` stands for the graph itself.

    `node`, `edge` and `whole` are the numbers of input columns per node, per edge and per graph.
    `node_outputs` and `whole_outputs` are the numbers of outputs per node and per graph.
    """

    node: int
    edge: int
    whole: int
    node_outputs: int
    whole_outputs: int


class ArrayBackend(Protocol):
    """The array operations that the network needs and that differ between numpy and torch."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at the indices in `index`; an index may occur several times."""
        ...

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return `count` rows: row i is the sum of all `rows[r]` with `index[r] == i`.

        `index` must be in ascending order.
        """
        ...

    def rectify(self, rows: Array) -> Array:
        """Return the rows with negative numbers replaced by 0 (ReLU)."""
        ...

    def normalise(self, rows: Array, gain: Array, shift: Array) -> Array:
        """Return each row scaled to mean 0 and variance 1, times the gain, plus the shift."""
        ...


class NumpyBackend:
    """The array operations with numpy, which is faster than torch for a single graph."""

    def take(self, rows: Array, index: Array) -> Array:
        """Return the rows at the indices in `index`."""
        return rows[index]

    def segment_sum(self, rows: Array, index: Array, count: int) -> Array:
        """Return `count` rows: row i is the sum of all `rows[r]` with `index[r] == i`.

        `index` must be in ascending order.
        """
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
        # Not `np.mean`: for rows of 16 numbers it takes three times as long.
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
    """Return the outputs of the network for a graph or a batch of graphs.

    The first array has one row per node, and the second array one row per graph.
    """
    return _Evaluation(weights, graph, backend).outputs()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Evaluation:
    """One evaluation of the network on a graph or a batch of graphs."""

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
        """Return, for edges, nodes and graphs, the part of a block's first layer that comes from `_READ`.

        For example, the part for an edge is the sum of four products of a row and a matrix: the rows are
        those of the edge, its two nodes and its graph. Each product has its own matrix. With the prefix
        "encoded_", these are the matrices for the rows before the first round; with "", for current rows.
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
        """Return the output of the block `name`.

        `hidden` is the output of the block's first layer without the bias: the sum of the products of all
        inputs with their matrices.
        """
        block = {part: self.weights[f"{name}.{part}"] for part in _PARTS}
        rectified = self.backend.rectify(hidden + block["hidden_bias"])
        return self.backend.normalise(
            rectified @ block["weight"] + block["bias"], block["gain"], block["shift"]
        )
