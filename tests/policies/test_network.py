"""The graph network: invariances, and the agreement of numpy and torch."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from needful.policies.graph_network import (
    Graph,
    NetworkSize,
    NumpyBackend,
    batch_graphs,
    evaluate_network,
    weight_shapes,
)
from needful.policies.training import TorchBackend

SIZE = NetworkSize(node=3, edge=2, whole=2, node_outputs=2, whole_outputs=4)


def random_weights(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.normal(0.0, 0.4, shape).astype(np.float32) for name, shape in weight_shapes(SIZE).items()
    }


WEIGHTS = random_weights(0)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Draw a graph with random rows and edges, possibly none or loops; receivers ascend."""
    count = draw(st.integers(1, 6))
    pairs = draw(st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=12))
    return graph_of(count, sorted(pairs), draw(st.integers(0, 99)))


def graph_of(count: int, pairs: list[tuple[int, int]], seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    receivers, senders = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Graph(
        rng.normal(size=(count, SIZE.node)).astype(np.float32),
        rng.normal(size=(len(pairs), SIZE.edge)).astype(np.float32),
        rng.normal(size=(1, SIZE.whole)).astype(np.float32),
        senders,
        receivers,
        np.zeros(count, dtype=np.int64),
        np.zeros(len(pairs), dtype=np.int64),
    )


def outputs(graph: Graph, weights: dict[str, np.ndarray] = WEIGHTS) -> tuple[np.ndarray, np.ndarray]:
    return evaluate_network(weights, graph, NumpyBackend())


def permuted(graph: Graph, order: np.ndarray) -> Graph:
    """Return the same graph with its nodes permuted: node i is the former node order[i]."""
    new_index = np.argsort(order)
    senders, receivers = new_index[graph.senders], new_index[graph.receivers]
    edges = np.lexsort((senders, receivers))
    return Graph(
        graph.nodes[order],
        graph.edges[edges],
        graph.globals,
        senders[edges],
        receivers[edges],
        graph.node_graph,
        graph.edge_graph,
    )


@given(graphs(), st.integers(0, 99))
def test_names_and_order_of_objects_do_not_matter(graph: Graph, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(graph.nodes))
    nodes, whole = outputs(graph)
    moved_nodes, same_whole = outputs(permuted(graph, order))
    np.testing.assert_allclose(moved_nodes, nodes[order], atol=1e-4)
    np.testing.assert_allclose(same_whole, whole, atol=1e-4)


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_graphs_of_a_batch_are_independent(batch: list[Graph]) -> None:
    nodes, whole = outputs(batch_graphs(batch))
    alone = [outputs(graph) for graph in batch]
    np.testing.assert_allclose(nodes, np.concatenate([one[0] for one in alone]), atol=1e-4)
    np.testing.assert_allclose(whole, np.concatenate([one[1] for one in alone]), atol=1e-4)


@given(graphs())
def test_numpy_and_torch_agree(graph: Graph) -> None:
    tensors = Graph(*(torch.from_numpy(getattr(graph, one.name)) for one in fields(Graph)))
    weights = {name: torch.from_numpy(weight) for name, weight in WEIGHTS.items()}
    for here, there in zip(outputs(graph), evaluate_network(weights, tensors, TorchBackend()), strict=True):
        np.testing.assert_allclose(here, there.numpy(), atol=1e-4)


def test_nodes_depend_on_neighbours_within_three_steps() -> None:
    # A chain 0 → 1 → 2 → 3 → 4, without messages from the whole graph.
    chain = graph_of(5, [(1, 0), (2, 1), (3, 2), (4, 3)])
    local = {name: weight * ("_whole" not in name) for name, weight in WEIGHTS.items()}
    changed = Graph(*(getattr(chain, one.name).copy() for one in fields(Graph)))
    changed.nodes[0] += 1.0
    before, after = outputs(chain, local)[0], outputs(changed, local)[0]
    differs = ~np.isclose(before, after, atol=1e-5).all(axis=1)
    assert differs.tolist() == [True, True, True, True, False]


def test_an_edge_has_a_direction() -> None:
    forth, back = graph_of(2, [(1, 0)]), graph_of(2, [(0, 1)])
    assert not np.allclose(outputs(forth)[1], outputs(back)[1], atol=1e-3)


def test_normalisation_by_hand() -> None:
    rows, gain, shift = np.array([[1.0, 3.0] * 8], dtype=np.float32), np.full(16, 2.0), np.full(16, 0.5)
    # Mean 2 and deviation 1, except for the floor of the variance.
    expected = [[-1.5, 2.5] * 8]
    np.testing.assert_allclose(NumpyBackend().normalise(rows, gain, shift), expected, atol=1e-4)


def test_segment_sums() -> None:
    rows = np.array([[1.0], [2.0], [4.0]], dtype=np.float32)
    assert NumpyBackend().segment_sum(rows, np.array([0, 2, 2]), 4).tolist() == [[1.0], [0.0], [6.0], [0.0]]
    assert NumpyBackend().segment_sum(rows[:0], np.array([], dtype=np.int64), 2).tolist() == [[0.0], [0.0]]
