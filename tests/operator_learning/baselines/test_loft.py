"""LOFT agrees with its definition, and with results by hand in small worlds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_baselines
from carrying_world import BOX1, HELD, PUT, A, B, R, carrying
from needful.core.demonstrations import Demonstration
from needful.core.limits import NO_DEADLINE
from needful.operator_learning.baselines.cluster_intersect import cluster_by_effects
from needful.operator_learning.baselines.loft import loft, loft_with_replays, split_by_preconditions
from needful.operator_learning.encoding import encode_demonstrations
from tiny_worlds import demonstrations

few_demonstrations = st.lists(demonstrations(max_steps=2), min_size=1, max_size=3)


def split_by_definition(cluster, competitors, everything):
    """Return the preconditions of each operator of a cluster, with the numbers of its transitions."""

    def binding(datum):
        transition, objects = datum
        bound = (transition.table.objects[number] for number in objects)
        return dict(zip(cluster.operator.parameters, bound, strict=True))

    found, remaining = [], list(cluster.data)
    negatives = [everything[transition.number] for transition in competitors]
    while remaining:
        positives = [(everything[datum[0].number][1], binding(datum)) for datum in remaining]
        needs = brute_force_baselines.search_preconditions(cluster.operator, positives, negatives)
        covered = [
            datum
            for datum, (transition, bound) in zip(remaining, positives, strict=True)
            if brute_force_baselines.ground(needs, bound) <= transition.before
        ]
        if not covered:
            break
        found.append((needs, [datum[0].number for datum in covered]))
        remaining = [datum for datum in remaining if datum not in covered]
        negatives += [everything[datum[0].number] for datum in covered]
    return found or [(frozenset(), [datum[0].number for datum in cluster.data])]


@settings(max_examples=60, deadline=None)
@given(few_demonstrations)
def test_clusters_are_split_as_defined(demos):
    everything = brute_force_baselines.cases(demos)
    found = cluster_by_effects(encode_demonstrations(demos), NO_DEADLINE)
    for cluster in found:
        competitors = [
            transition
            for other in found
            if other is not cluster and other.operator.controller == cluster.operator.controller
            for transition, _ in other.data
        ]
        got = [
            (one.operator.preconditions, [transition.number for transition, _ in one.data])
            for one in split_by_preconditions(cluster, competitors)
        ]
        assert got == split_by_definition(cluster, competitors, everything)


def tried(held, after=None) -> Demonstration:
    """Return a replay that tries to put cup a into the box while the given cups are held."""
    before = frozenset(HELD(cup) for cup in held)
    return Demonstration(
        (R, BOX1, A, B), frozenset(), (before, before if after is None else after), (PUT(R, A, BOX1),)
    )


def test_preconditions_separate_the_effects():
    """A held cup can be put down; Near and At hold in both cases, so they are no preconditions."""
    demo = carrying(A, (A, B), (A,))
    failed = Demonstration(
        demo.objects,
        frozenset(),
        (demo.abstract_states[1] - {HELD(A)},) * 2,
        (PUT(R, A, BOX1),),
    )
    puts = [one for one in loft([demo], [failed]).operators if one.controller == PUT]
    assert [set(map(str, one.preconditions)) for one in puts] == [set(), {"Held(?x1)"}]


def test_without_negative_examples_there_are_no_preconditions():
    learned = loft([carrying(A, (A, B), (A,))])
    assert [one.preconditions for one in learned.operators] == [frozenset(), frozenset()]
    assert learned.noop_names == frozenset()


def test_operators_of_failed_replays_are_not_planned_with():
    learned = loft_with_replays([carrying(A, (A, B), (A,))], [tried({B}), tried({A, B}, frozenset())])
    effects = {one.name: len(one.add_effects | one.delete_effects) for one in learned.operators}
    assert learned.noop_names == {name for name, count in effects.items() if not count}
    assert len(learned.noop_names) == 1
    assert {one.operator.name for one in learned.planning_data} == set(effects) - learned.noop_names


def test_a_controller_without_any_effects_keeps_its_operator():
    """Planning has no other operator for the controller."""
    learned = loft_with_replays([carrying(A, (A,), (A,))], [tried({B})])
    only = Demonstration(
        (R, BOX1, A), frozenset({HELD(A)}), (frozenset({HELD(A)}),) * 2, (PUT(R, A, BOX1),)
    )
    assert len(learned.noop_names) == 1
    assert loft_with_replays([only], [tried({B})]).noop_names == frozenset()
