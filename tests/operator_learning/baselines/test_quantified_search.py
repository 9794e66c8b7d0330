"""Cluster and Intersect with quantified effects agrees with its definition."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_baselines
import brute_force_learning
from carrying_world import A, B, C, carrying
from needful.core.operators import Operator
from needful.operator_learning.baselines.cluster_intersect import cluster_and_intersect
from needful.operator_learning.baselines.quantified_search import (
    PredictionScorer,
    cluster_and_quantify,
    minimise_prediction_error,
    prediction_error,
    quantified_variants,
    repartition,
)
from needful.operator_learning.encoding import TransitionIndex, encode_demonstrations
from needful.operator_learning.matching import Matcher
from tiny_worlds import demonstrations, operators

few_demonstrations = st.lists(demonstrations(), min_size=1, max_size=3)
few_operators = st.lists(operators(), min_size=0, max_size=4)


def index_of(demos) -> TransitionIndex:
    return TransitionIndex.of(encode_demonstrations(demos))


@settings(max_examples=200, deadline=None)
@given(few_demonstrations, few_operators)
def test_the_error_counts_the_first_eleven_groundings(demos, some):
    scorer = PredictionScorer(index_of(demos))
    expected = brute_force_baselines.prediction_error(some, brute_force_baselines.cases(demos))
    assert prediction_error([scorer.score(operator) for operator in some]) == expected


def steepest(start: list[Operator], demos) -> list[Operator]:
    everything = brute_force_baselines.cases(demos)
    current = start
    while True:
        moves = [
            [*current[:index], *replacement, *current[index + 1 :]]
            for index, operator in enumerate(current)
            for replacement in (*((one,) for one in quantified_variants(operator)), ())
        ]
        best = min(moves, key=lambda o: brute_force_baselines.prediction_error(o, everything), default=None)
        if best is None or brute_force_baselines.prediction_error(
            best, everything
        ) >= brute_force_baselines.prediction_error(current, everything):
            return current
        current = best


@settings(max_examples=60, deadline=None)
@given(few_demonstrations)
def test_the_best_move_is_taken(demos):
    start = list(cluster_and_intersect(demos).operators)
    assert list(minimise_prediction_error(start, PredictionScorer(index_of(demos)))) == steepest(
        start, demos
    )


@settings(max_examples=100, deadline=None)
@given(few_demonstrations, st.lists(operators(), min_size=1, max_size=4, unique_by=str))
def test_transitions_go_to_the_best_consistent_operator(demos, some):
    found = repartition(some, index_of(demos), Matcher())
    got = {
        (transition.demonstration, transition.step): (
            one.operator,
            tuple(transition.table.objects[number] for number in objects),
        )
        for one in found
        for transition, objects in one.data
    }
    for index, demo in enumerate(demos):
        for step, transition in enumerate(demo.transitions()):
            best = brute_force_learning.best_consistent(some, demo.objects, transition, frozenset())
            expected = None if best is None else (best.operator, best.objects)
            assert got.get((index, step)) == expected
    assert all(one.data for one in found)


def test_an_add_effect_becomes_a_quantified_delete_and_its_variable_is_dropped():
    """Near(?x3) is not mentioned elsewhere, so the parameter is dropped with it."""
    demo = carrying(A, (A,), (A, B))
    go = next(one for one in cluster_and_intersect([demo]).operators if one.controller.name == "Go")
    assert [str(v) for v in go.parameters] == ["?x0:robot", "?x1:box", "?x2:cup"]
    without_at, without_near = quantified_variants(go)
    assert [str(v) for v in without_at.parameters] == ["?x0:robot", "?x1:box", "?x2:cup"]
    assert set(map(str, without_at.delete_patterns)) == {"At(*:robot, *:box)"}
    assert [str(v) for v in without_near.parameters] == ["?x0:robot", "?x1:box"]
    assert set(map(str, without_near.delete_patterns)) == {"Near(*:robot, *:cup)"}
    assert set(map(str, without_near.add_effects)) == {"At(?x0, ?x1)"}
    assert list(quantified_variants(without_near)) == []


def test_an_operator_without_predictions_of_its_own_is_dropped():
    """Of the first 11 groundings on a way past the cups a, b and c, 9 apply, for both operators.

    Seven times a and b are left behind, which (a, b) and (b, a) predict: FP = 9 · 9 − 7 · 2, TP = 7.
    Twice all three are, which (a, b, c) and (a, c, b) predict. But (a, a, b), (a, b, a) and (a, b, b)
    leave a and b behind, so FP = 9 · 9 − 2 · 2 − 7 · 3, TP = 9, and the other operator is not needed.
    """
    past_two = [carrying(C, (A, B, C), (C,))] * 7
    past_three = [carrying(A, (A, B, C), ()), carrying(B, (A, B, C), ())]
    demos = [*past_two, *past_three]
    scorer = PredictionScorer(index_of(demos))
    two, three, put = cluster_and_intersect(demos).operators
    assert [len(one.delete_effects) for one in (two, three, put)] == [2, 3, 1]
    scores = [scorer.score(one) for one in (two, three, put)]
    assert [(one.false_positives, one.predicted_transitions.bit_count()) for one in scores] == [
        (67, 7),
        (56, 9),
        (0, 9),
    ]
    learned = cluster_and_quantify(demos)
    assert [one.delete_effects for one in learned.operators] == [three.delete_effects, put.delete_effects]
    assert [len(one.groundings) for one in learned.data] == [9, 9]
    assert learned.coverage == 1.0


def test_scores_are_cached():
    demos = [carrying(A, (A, B), (A,))]
    scorer = PredictionScorer(index_of(demos))
    (operator,) = (one for one in cluster_and_intersect(demos).operators if one.name == "Go")
    assert scorer.score(operator) is scorer.score(operator)
