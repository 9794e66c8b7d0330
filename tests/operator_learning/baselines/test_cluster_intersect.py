"""Cluster and Intersect: one operator per set of effects."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brute_force_baselines import alike, cases
from carrying_world import AT, BOX1, HELD, IN, NEAR, PUT, A, B, C, D, R, carrying
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE
from needful.operator_learning.baselines.cluster_intersect import cluster_and_intersect, cluster_by_effects
from needful.operator_learning.encoding import encode_demonstrations
from tiny_worlds import all_lifted_atoms, demonstrations

few_demonstrations = st.lists(demonstrations(), min_size=1, max_size=3)


def rows(operator) -> dict[str, set[str]]:
    return {
        "needs": set(map(str, operator.preconditions)),
        "adds": set(map(str, operator.add_effects)),
        "deletes": set(map(str, operator.delete_effects)),
    }


def test_an_operator_for_every_set_of_effects():
    """Passing one cup and passing two cups are different effects, regardless of which cups they are."""
    demos = [carrying(A, (A, B), (A,)), carrying(C, (C, D), (C,)), carrying(A, (A, B, C), (A,))]
    learned = cluster_and_intersect(demos)
    assert [rows(operator) for operator in learned.operators] == [
        {
            "needs": {"Near(?x0, ?x2)"},
            "adds": {"At(?x0, ?x1)"},
            "deletes": {"Near(?x0, ?x2)"},
        },
        {
            "needs": {"Near(?x0, ?x2)", "Near(?x0, ?x3)"},
            "adds": {"At(?x0, ?x1)"},
            "deletes": {"Near(?x0, ?x2)", "Near(?x0, ?x3)"},
        },
        {
            "needs": {"At(?x0, ?x2)", "Held(?x1)", "Near(?x0, ?x1)"},
            "adds": {"In(?x1, ?x2)"},
            "deletes": {"Held(?x1)"},
        },
    ]
    assert [operator.name for operator in learned.operators] == ["Go-1", "Go-2", "Put"]
    assert [len(one.groundings) for one in learned.data] == [2, 1, 3]
    assert learned.data[0].groundings[1].objects == (R, BOX1, D)
    assert (learned.transitions, learned.uncovered, learned.coverage) == (6, 0, 1.0)
    assert learned.not_reproduced == ()
    assert not any(operator.delete_patterns for operator in learned.operators)


def test_coverage_and_chains_are_those_of_backchaining():
    learned = cluster_and_intersect([carrying(A, (A, B), (A,))])
    assert [str(step) for step in learned.chains[0]] == ["Go(robby, box1, b)", "Put(robby, a, box1)"]
    assert learned.necessary[0] == (
        {HELD(A), NEAR(R, A), NEAR(R, B)},
        {HELD(A), NEAR(R, A), AT(R, BOX1)},
        {IN(A, BOX1)},
    )


def test_a_transition_without_effects_gives_an_operator_too():
    state = frozenset({HELD(A)})
    idle = Demonstration((R, BOX1, A), state, (state, state), (PUT(R, A, BOX1),))
    (operator,) = cluster_and_intersect([idle]).operators
    assert rows(operator) == {"needs": {"Held(?x1)"}, "adds": set(), "deletes": set()}


def test_replays_enter_clusters_but_not_coverage():
    state = frozenset({HELD(A)})
    replay = Demonstration((R, BOX1, A), frozenset(), (state, state), (PUT(R, A, BOX1),))
    learned = cluster_and_intersect([carrying(A, (A, B), (A,))], [replay])
    assert len(learned.operators) == 3
    assert (learned.transitions, learned.coverage) == (2, 1.0)
    identities = {(one.demonstration, one.step) for data in learned.data for one in data.groundings}
    assert identities == {(0, 0), (0, 1), (1, 0)}
    assert (learned.necessary[1], learned.chains[1]) == ((None, None), (None,))


@settings(max_examples=150, deadline=None)
@given(few_demonstrations)
def test_clusters_are_the_equivalence_classes_of_transitions(demos):
    everything = cases(demos)
    encoded = encode_demonstrations(demos)
    number = {
        transition: n for demo in encoded for transition in demo.transitions for n in [transition.number]
    }
    found = cluster_by_effects(encoded, NO_DEADLINE)
    numbers = [[number[transition] for transition, _ in one.data] for one in found]
    assert Counter(n for group in numbers for n in group) == Counter(range(len(everything)))
    cluster_of = {n: index for index, group in enumerate(numbers) for n in group}
    for one in range(len(everything)):
        for other in range(one):
            same_cluster = cluster_of[one] == cluster_of[other]
            assert same_cluster == alike(everything[one][1], everything[other][1])


@settings(max_examples=150, deadline=None)
@given(few_demonstrations)
def test_effects_are_exact_and_preconditions_are_all_that_always_held(demos):
    for one in cluster_and_intersect(demos).data:
        always = set(all_lifted_atoms(one.operator.parameters))
        for grounding in one.groundings:
            transition = list(demos[grounding.demonstration].transitions())[grounding.step]
            ground = one.operator.ground(grounding.objects)
            assert ground.controller_objects == transition.action.objects
            assert (ground.add_effects, ground.delete_effects) == (transition.added, transition.deleted)
            always = {atom for atom in always if atom.ground(ground.binding) in transition.before}
        assert one.operator.preconditions == always


@pytest.mark.parametrize("cups", [2, 9])
def test_many_interchangeable_objects_are_handled(cups):
    crowd = tuple(type(A)(f"cup{number}", A.type) for number in range(cups))
    before = frozenset(NEAR(R, cup) for cup in crowd)
    goal = frozenset({AT(R, BOX1)})
    demo = Demonstration((R, BOX1, *crowd), goal, (before, goal), (carrying(A, (), ()).actions[0],))
    (one,) = cluster_and_intersect([demo]).data
    assert one.groundings[0].objects == (R, BOX1, *crowd)
