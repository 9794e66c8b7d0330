"""Explanations of operators, worked out by hand on three demonstrations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from carrying_world import (
    AT,
    BOX1,
    CUP,
    GOING,
    HELD,
    IN,
    NEAR,
    PUTTING,
    A,
    B,
    C,
    D,
    R,
    carrying,
)
from needful.core.operators import DeletePattern, Wildcard
from needful.errors import InvalidInputError
from needful.operator_learning.explanation import (
    Occurrence,
    Reason,
    TransitionEvidence,
    explain_operator,
    gather_evidence,
)
from needful.operator_learning.learn_operators import learn_operators

# On the way to the box the first loses sight of c, the second meets d, the third loses d.
DEMOS = (carrying(B, (A, B, C), (A, B)), carrying(A, (A,), (A, D)), carrying(C, (C, D), (C,)))


def test_why_going_is_the_way_it_is() -> None:
    learned = learn_operators(DEMOS)
    going = {operator.name: operator for operator in learned.operators}["Go"]
    robot, box, cup = going.parameters
    explained = explain_operator(going, gather_evidence(learned, DEMOS)["Go"])
    assert explained.operator == going
    assert (explained.transitions, explained.demonstrations) == (3, 3)
    first = Occurrence(0, 0, AT(R, BOX1), needed_by="Put(robby, b, box1) at step 2")
    assert explained.adds == {AT.lifted(robot, box): Reason(3, first)}
    assert explained.keeps == {NEAR.lifted(robot, cup): Reason(3, Occurrence(0, 0, NEAR(R, B)))}
    assert explained.deletes == {}
    pattern = DeletePattern(NEAR, (robot, Wildcard(CUP)))
    assert explained.patterns == {pattern: Reason(2, Occurrence(0, 0, NEAR(R, C)))}
    assert explained.not_predicted == {"Near": 1}


def test_why_putting_is_the_way_it_is() -> None:
    learned = learn_operators(DEMOS)
    putting = {operator.name: operator for operator in learned.operators}["Put"]
    _, cup, box = putting.controller_arguments
    explained = explain_operator(putting, gather_evidence(learned, DEMOS)["Put"])
    assert (explained.transitions, explained.demonstrations) == (3, 3)
    assert explained.adds == {IN.lifted(cup, box): Reason(3, Occurrence(0, 1, IN(B, BOX1), "goal"))}
    assert explained.deletes == {HELD.lifted(cup): Reason(3, Occurrence(0, 1, HELD(B)))}
    assert (explained.keeps, explained.patterns, explained.not_predicted) == ({}, {}, {})


def test_the_first_occurrence_is_the_first_that_played_a_part() -> None:
    quiet = TransitionEvidence(0, 0, (R, BOX1, A), None, frozenset({AT(R, BOX1)}), frozenset(), {})
    loud = TransitionEvidence(
        1,
        4,
        (R, BOX1, B),
        frozenset({NEAR(R, B)}),
        frozenset({AT(R, BOX1), NEAR(R, D), HELD(D)}),
        frozenset({NEAR(R, C), NEAR(R, A)}),
        {AT(R, BOX1): "goal"},
    )
    explained = explain_operator(GOING, [quiet, quiet, loud, loud])
    assert (explained.transitions, explained.demonstrations) == (4, 2)
    assert [reason.count for reason in explained.adds.values()] == [2]
    (added,), (kept,) = explained.adds.values(), explained.keeps.values()
    (forgotten,) = explained.patterns.values()
    assert added.first == Occurrence(1, 4, AT(R, BOX1), "goal")
    assert kept == Reason(2, Occurrence(1, 4, NEAR(R, B)))
    assert forgotten == Reason(2, Occurrence(1, 4, NEAR(R, A)))
    assert explained.not_predicted == {"Held": 2, "Near": 2}
    assert list(explained.not_predicted) == ["Held", "Near"]


def test_an_atomic_delete_is_not_what_a_pattern_is_there_for() -> None:
    pattern = DeletePattern(HELD, (Wildcard(CUP),))
    both = replace(PUTTING, delete_patterns=frozenset({pattern}))
    own = TransitionEvidence(0, 1, (R, B, BOX1), None, frozenset(), frozenset({HELD(B)}), {})
    assert explain_operator(both, [own]).patterns == {pattern: Reason(0, None)}
    other = TransitionEvidence(0, 1, (R, B, BOX1), None, frozenset(), frozenset({HELD(B), HELD(C)}), {})
    assert explain_operator(both, [own, other]).patterns[pattern] == Reason(1, Occurrence(0, 1, HELD(C)))


def test_what_never_happened_has_no_first_time() -> None:
    explained = explain_operator(GOING, [])
    assert (explained.transitions, explained.demonstrations) == (0, 0)
    for reasons in (explained.adds, explained.keeps, explained.patterns):
        assert list(reasons.values()) == [Reason(0, None)]


def test_evidence_must_fit_the_operator() -> None:
    wrong = TransitionEvidence(0, 0, (R, BOX1), None, frozenset(), frozenset(), {})
    with pytest.raises(InvalidInputError, match="3 parameters, got 2"):
        explain_operator(GOING, [wrong])


def test_occurrences_count_steps_from_one() -> None:
    assert str(Occurrence(2, 0, HELD(B))) == "Held(b) in demonstration 2, step 1"
    assert (
        str(Occurrence(0, 1, IN(B, BOX1), "goal"))
        == "In(b, box1) in demonstration 0, step 2, needed by goal"
    )
