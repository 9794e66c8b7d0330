"""States as graphs, checked by hand."""

from __future__ import annotations

import numpy as np
import pytest
from cup_world import A_CUP, A_ROOM, ATOMS, BLOCK, GOAL, IN, ON, STATE, THING, VOCABULARY

from needful.core.atoms import Predicate
from needful.core.model import Vocabulary
from needful.core.objects import Type
from needful.core.state import State
from needful.errors import InvalidInputError, UnknownNameError
from needful.policies.graph_network import Graph, GraphEncoding, batch_graphs

ENCODING = GraphEncoding.of(VOCABULARY)


def edge_rows(graph: Graph) -> dict[tuple[int, int], list[float]]:
    ends = zip(graph.senders.tolist(), graph.receivers.tolist(), strict=True)
    return dict(zip(ends, graph.edges.tolist(), strict=True))


def test_a_small_state_by_hand() -> None:
    graph = ENCODING.encode(STATE, ATOMS, GOAL)
    # thing, cup, room | Clean in s | Clean in g | x, full, size
    assert graph.nodes.tolist() == [
        [1, 0, 0, 1, 0, 2.0, 0, 0],
        [1, 1, 0, 0, 1, 3.0, 0.5, 0],
        [0, 0, 1, 0, 0, 0, 0, 9.0],
    ]
    # On, In each: i to j in s | j to i in s | i to j in g | j to i in g
    assert edge_rows(graph) == {
        (1, 0): [1, 0, 0, 0, 0, 0, 0, 0],
        (0, 1): [0, 0, 1, 0, 0, 0, 0, 0],
        (1, 2): [0, 1, 0, 0, 0, 1, 0, 0],
        (2, 1): [0, 0, 0, 1, 0, 0, 0, 1],
    }
    # a constant | Rainy in s | Rainy in g
    assert graph.globals.tolist() == [[1, 1, 0]]
    assert (graph.node_graph.tolist(), graph.edge_graph.tolist()) == ([0] * 3, [0] * 4)
    assert {array.dtype for array in (graph.nodes, graph.edges, graph.globals)} == {np.dtype(np.float32)}


def test_widths_match_the_rows() -> None:
    graph = ENCODING.encode(STATE, ATOMS, GOAL)
    widths = (graph.nodes.shape[1], graph.edges.shape[1], graph.globals.shape[1])
    assert widths == (ENCODING.node_width, ENCODING.edge_width, ENCODING.global_width) == (8, 8, 3)


def test_an_atom_of_one_object_twice_is_one_edge() -> None:
    graph = ENCODING.encode(STATE, frozenset({ON(BLOCK, BLOCK)}), frozenset())
    assert edge_rows(graph) == {(0, 0): [1, 0, 1, 0, 0, 0, 0, 0]}


def test_without_atoms_there_are_no_edges() -> None:
    graph = ENCODING.encode(STATE, frozenset(), frozenset())
    assert graph.edges.shape == (0, 8)
    assert (graph.senders.shape, graph.receivers.shape) == ((0,), (0,))
    assert graph.globals.tolist() == [[1, 0, 0]]


def test_goal_atoms_make_edges() -> None:
    graph = ENCODING.encode(STATE, frozenset(), frozenset({IN(A_CUP, A_ROOM)}))
    assert sorted(edge_rows(graph)) == [(1, 2), (2, 1)]


def test_receivers_ascend() -> None:
    atoms = frozenset({ON(A_CUP, BLOCK), ON(BLOCK, A_CUP), IN(BLOCK, A_ROOM), IN(A_CUP, A_ROOM)})
    graph = ENCODING.encode(STATE, atoms, GOAL)
    assert graph.receivers.tolist() == sorted(graph.receivers.tolist())


def test_batches_of_graphs() -> None:
    small = State({BLOCK: (1.0,), A_CUP: (2.0, 0.0)})
    one = ENCODING.encode(STATE, ATOMS, GOAL)
    other = ENCODING.encode(small, frozenset({ON(A_CUP, BLOCK)}), frozenset())
    both = batch_graphs([one, other, one])
    assert both.nodes.tolist() == [*one.nodes.tolist(), *other.nodes.tolist(), *one.nodes.tolist()]
    assert both.node_graph.tolist() == [0, 0, 0, 1, 1, 2, 2, 2]
    assert both.edge_graph.tolist() == [0] * 4 + [1] * 2 + [2] * 4
    assert both.senders.tolist() == [*one.senders, *(other.senders + 3), *(one.senders + 5)]
    assert both.receivers.tolist() == [*one.receivers, *(other.receivers + 3), *(one.receivers + 5)]
    assert len(both.globals) == 3


def test_predicates_of_three_arguments_are_refused() -> None:
    between = Predicate("Between", (THING, THING, THING))
    with pytest.raises(InvalidInputError, match=r"Between\(thing, thing, thing\).*operator learner"):
        GraphEncoding.of(Vocabulary((THING,), (between,), ()))


def test_unknown_types_are_ignored_and_unknown_predicates_refused() -> None:
    bowl = Type("bowl", ("x", "depth"), parent=THING)
    graph = ENCODING.encode(State({bowl("bowl"): (4.0, 7.0)}), frozenset(), frozenset())
    assert graph.nodes.tolist() == [[1, 0, 0, 0, 0, 4.0, 0, 0]]
    with pytest.raises(UnknownNameError, match=r"Unknown predicate 'Onn'\. Did you mean 'On'"):
        ENCODING.encode(STATE, frozenset(), frozenset({Predicate("Onn", (THING, THING))(BLOCK, A_CUP)}))
