"""Quantified deletes from mispredicted atoms."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.approaches.catalogue import BILEVEL_APPROACHES
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Wildcard
from needful.operator_learning.induction import (
    nearest_common_pattern,
    partly_bound,
    whole_predicate,
    whole_typed_predicate,
    without_subsumed,
)
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PUSH, RAIN, THING, all_patterns

A, B, P = BLOCK("a"), BLOCK("b"), BALL("p")
X, Y = Variable("?x", BLOCK), Variable("?y", BALL)
ANY, ANY_BLOCK, ANY_BALL = Wildcard(THING), Wildcard(BLOCK), Wildcard(BALL)


@pytest.mark.parametrize(
    ("atom", "bound", "typed", "whole"),
    [
        (ON(A, B), (X, ANY_BLOCK), (ANY_BLOCK, ANY_BLOCK), (ANY, ANY)),
        (ON(P, A), (ANY_BALL, X), (ANY_BALL, ANY_BLOCK), (ANY, ANY)),
        (ON(B, P), (ANY_BLOCK, ANY_BALL), (ANY_BLOCK, ANY_BALL), (ANY, ANY)),
        (CLEAN(P), (ANY_BALL,), (ANY_BALL,), (ANY,)),
        (RAIN(), (), (), ()),
    ],
)
def test_one_atom_by_hand(atom, bound, typed, whole):
    """The operator's only argument ?x is bound to a."""
    assert partly_bound(atom, {A: X}) == DeletePattern(atom.predicate, bound)
    assert whole_typed_predicate(atom, {A: X}) == DeletePattern(atom.predicate, typed)
    assert whole_predicate(atom, {A: X}) == DeletePattern(atom.predicate, whole)


# Pushing a cleans it and removes it and p from b; b stays on p.
DEMO = Demonstration(
    (A, B, P),
    frozenset({CLEAN(A)}),
    (frozenset({ON(A, A), ON(A, B), ON(P, B), ON(B, P)}), frozenset({CLEAN(A), ON(B, P)})),
    (PUSH(A),),
)


@pytest.mark.parametrize(
    ("generalise", "forgets"),
    [
        (partly_bound, {"On(?x0, *:block)", "On(*:ball, *:block)"}),
        (whole_predicate, {"On(*:thing, *:thing)"}),
    ],
)
def test_quantified_deletes_by_hand(generalise, forgets):
    (operator,) = learn_operators([DEMO], OperatorLearningConfig(generalise=generalise)).operators
    assert {str(pattern) for pattern in operator.delete_patterns} == forgets
    assert {str(atom) for atom in operator.delete_effects} == {"On(?x0, ?x0)"}
    assert operator.ground([A]).apply(DEMO.abstract_states[0]) <= DEMO.abstract_states[1]


def test_the_approach_of_the_paper_has_one_predicate_per_combination_of_types():
    """In the paper's houses, a delete of On(ball, block) leaves On(block, ball)."""
    (operator,) = BILEVEL_APPROACHES["necessary-paper"].learn_operators([DEMO]).operators
    assert {str(pattern) for pattern in operator.delete_patterns} == {
        "On(*:block, *:block)",
        "On(*:ball, *:block)",
    }
    assert ON(B, P) in operator.ground([A]).apply(DEMO.abstract_states[0])


def test_subsumed_patterns_are_dropped():
    wide, bound, narrow = (
        DeletePattern(ON, arguments) for arguments in ((ANY, ANY), (X, ANY), (X, ANY_BALL))
    )
    other = DeletePattern(CLEAN, (ANY_BLOCK,))
    assert without_subsumed([bound, wide, narrow, other]) == {wide, other}
    assert without_subsumed([narrow, bound]) == {bound}
    assert without_subsumed([narrow, DeletePattern(ON, (ANY_BLOCK, Y))]) == {
        narrow,
        DeletePattern(ON, (ANY_BLOCK, Y)),
    }
    assert without_subsumed([]) == frozenset()


@given(st.frozensets(st.sampled_from(all_patterns((X, Y))), max_size=6))
def test_the_rest_covers_every_pattern_and_none_is_redundant(patterns):
    left = without_subsumed(patterns)
    assert left <= patterns
    assert all(any(wide.subsumes(pattern) for wide in left) for pattern in patterns)
    assert not any(one != other and one.subsumes(other) for one in left for other in left)


PATTERNS = st.sampled_from(all_patterns((X, Y)))


def of_one_form(one: DeletePattern, other: DeletePattern) -> bool:
    """Return whether two patterns differ only in the types of wildcards."""
    return one.predicate == other.predicate and all(
        mine == theirs or (isinstance(mine, Wildcard) and isinstance(theirs, Wildcard))
        for mine, theirs in zip(one.arguments, other.arguments, strict=True)
    )


@given(one=PATTERNS, other=PATTERNS)
def test_the_nearest_common_pattern_is_the_narrowest_of_all_that_match_both(one, other):
    common = [
        pattern
        for pattern in all_patterns((X, Y))
        if of_one_form(pattern, one) and pattern.subsumes(one) and pattern.subsumes(other)
    ]
    found = nearest_common_pattern(one, other)
    if not of_one_form(one, other):
        assert found is None
    else:
        assert found in common
        assert all(pattern.subsumes(found) for pattern in common)
