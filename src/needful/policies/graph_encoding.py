"""A state, its atoms and a goal as a graph of numbers.

Nodes are the objects. There is an edge i → j, and one j → i, if some binary atom of the abstract state
s or of the goal g relates the pair in either direction. Nullary atoms belong to the graph as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from needful.core.atoms import AbstractState, Predicate
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError

# Arrays of numpy or of torch: what is said here and in `network` holds for both.
Array: TypeAlias = Any


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """One graph or several side by side.

    Attributes:
        nodes: a row for each node.
        edges: a row for each edge.
        globals: a row for each graph.
        senders, receivers: the nodes that each edge leads from and to.
        node_graph, edge_graph: the graph that each node and each edge belongs to.
    """

    nodes: Array
    edges: Array
    globals: Array
    senders: Array
    receivers: Array
    node_graph: Array
    edge_graph: Array


def batch_graphs(graphs: Sequence[Graph]) -> Graph:
    """Return several graphs as one; nodes and graphs are numbered on."""
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


@dataclass(frozen=True, slots=True)
class GraphEncoding:
    """Which column of a graph's rows says what; made with `GraphEncoding.of` a vocabulary.

    A node's row: which types it has, its own and their ancestors; the unary predicates that hold of it;
    those that the goal asks for; its features, where those of the same name share a column. An
    edge's row: four times the binary predicates: i to j in s, j to i in s, i to j in g, j to i in g.
    The graph's row: a constant one, the nullary predicates in s, those in g. Of objects, types and
    features that the vocabulary does not have are left out.
    """

    types: tuple[Type, ...]
    features: tuple[str, ...]
    nullary: tuple[Predicate, ...]
    unary: tuple[Predicate, ...]
    binary: tuple[Predicate, ...]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> GraphEncoding:
        """Return the encoding for a vocabulary; raise if a predicate relates more than two objects."""
        by_arity: list[list[Predicate]] = [[], [], []]
        for predicate in vocabulary.predicates:
            if len(predicate.types) > 2:
                raise InvalidInputError(
                    f"A graph has no place for {predicate}: its edges join two objects. "
                    "Use an operator learner, or predicates of at most two arguments."
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
        """The column of a node's row at which features begin; those before are flags."""
        return len(self.types) + 2 * len(self.unary)

    @property
    def edge_width(self) -> int:
        """The number of columns of an edge's row."""
        return 4 * len(self.binary)

    @property
    def global_width(self) -> int:
        """The number of columns of a graph's row."""
        return 1 + 2 * len(self.nullary)

    def encode(self, state: State, atoms: AbstractState, goal: AbstractState) -> Graph:
        """Return the graph of a state; its nodes are the state's objects in their order."""
        node = {obj: number for number, obj in enumerate(state.objects)}
        nodes = self._object_rows(state)
        whole = np.zeros((1, self.global_width), dtype=np.float32)
        whole[0, 0] = 1.0
        # What is said of the pair (receiver, sender): sorted, edges with the same receiver are neighbours.
        said: dict[tuple[int, int], list[int]] = {}
        unary, binary, nullary = map(_columns, (self.unary, self.binary, self.nullary))
        known = {**unary, **binary, **nullary}
        for turn, some in enumerate((atoms, goal)):
            for atom in some:
                name, ends = atom.predicate.name, [node[obj] for obj in atom.objects]
                if name not in known:
                    raise UnknownNameError("predicate", name, known)
                if len(ends) == 2:
                    column = 2 * turn * len(binary) + binary[name]
                    said.setdefault((ends[1], ends[0]), []).append(column)
                    said.setdefault((ends[0], ends[1]), []).append(column + len(binary))
                elif len(ends) == 1:
                    nodes[ends[0], len(self.types) + turn * len(unary) + unary[name]] = 1.0
                else:
                    whole[0, 1 + turn * len(nullary) + nullary[name]] = 1.0
        pairs = sorted(said)
        edges = np.zeros((len(pairs), self.edge_width), dtype=np.float32)
        for row, pair in enumerate(pairs):
            edges[row, said[pair]] = 1.0
        receivers, senders = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
        node_graph, edge_graph = (np.zeros(count, dtype=np.int64) for count in (len(nodes), len(edges)))
        return Graph(nodes, edges, whole, senders, receivers, node_graph, edge_graph)

    def _object_rows(self, state: State) -> np.ndarray:
        """Return the rows of the objects without their atoms."""
        rows = np.zeros((len(state.objects), self.node_width), dtype=np.float32)
        types = {kind: column for column, kind in enumerate(self.types)}
        features = {name: self.first_feature + place for place, name in enumerate(self.features)}
        for row, obj in zip(rows, state.objects, strict=True):
            row[[types[kind] for kind in obj.type.ancestry() if kind in types]] = 1.0
            for name, value in zip(obj.type.features, state[obj], strict=True):
                if name in features:
                    row[features[name]] = value
        return rows


def _columns(predicates: Sequence[Predicate]) -> dict[str, int]:
    return {predicate.name: column for column, predicate in enumerate(predicates)}
