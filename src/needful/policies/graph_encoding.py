"""Encode a state, its atoms and a goal as a graph, the input of a graph neural network.

Each object is a node. If an atom of the abstract state or of the goal has two objects i and j, the graph
has the edges i → j and j → i. Atoms without objects belong to the whole graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.model import Vocabulary
from needful.core.objects import Abbreviated, Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

# A numpy array or a torch tensor: the class `Graph` and the module `network` work with both.
Array: TypeAlias = Any


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
        """The number of features of a whole graph."""
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
