"""Evidence for operators and explanations of their effects, computed by hand."""

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
from needful.operator_learning.hill_climbing import Climb
from needful.operator_learning.improve_coverage import improve_coverage
from needful.operator_learning.learn_operators import OperatorLearningConfig, learn_operators

# On the way to the box the first leaves c behind, the second comes near d, the third leaves d behind.
DEMOS = (carrying(B, (A, B, C), (A, B)), carrying(A, (A,), (A, D)), carrying(C, (C, D), (C,)))


def test_explanation_of_go_by_hand() -> None:
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


def test_explanation_of_put_by_hand() -> None:
    learned = learn_operators(DEMOS)
    putting = {operator.name: operator for operator in learned.operators}["Put"]
    _, cup, box = putting.controller_arguments
    explained = explain_operator(putting, gather_evidence(learned, DEMOS)["Put"])
    assert (explained.transitions, explained.demonstrations) == (3, 3)
    assert explained.adds == {IN.lifted(cup, box): Reason(3, Occurrence(0, 1, IN(B, BOX1), "goal"))}
    assert explained.deletes == {HELD.lifted(cup): Reason(3, Occurrence(0, 1, HELD(B)))}
    assert (explained.keeps, explained.patterns, explained.not_predicted) == ({}, {}, {})


def test_the_first_occurrence_is_the_first_supporting_transition() -> None:
    unsupporting = TransitionEvidence(0, 0, (R, BOX1, A), None, frozenset({AT(R, BOX1)}), frozenset(), {})
    supporting = TransitionEvidence(
        1,
        4,
        (R, BOX1, B),
        frozenset({NEAR(R, B)}),
        frozenset({AT(R, BOX1), NEAR(R, D), HELD(D)}),
        frozenset({NEAR(R, C), NEAR(R, A)}),
        {AT(R, BOX1): "goal"},
    )
    explained = explain_operator(GOING, [unsupporting, unsupporting, supporting, supporting])
    assert (explained.transitions, explained.demonstrations) == (4, 2)
    assert [reason.count for reason in explained.adds.values()] == [2]
    (added,), (kept,) = explained.adds.values(), explained.keeps.values()
    (matched,) = explained.patterns.values()
    assert added.first == Occurrence(1, 4, AT(R, BOX1), "goal")
    assert kept == Reason(2, Occurrence(1, 4, NEAR(R, B)))
    assert matched == Reason(2, Occurrence(1, 4, NEAR(R, A)))
    assert explained.not_predicted == {"Held": 2, "Near": 2}
    assert list(explained.not_predicted) == ["Held", "Near"]


def test_an_atom_with_an_atomic_delete_does_not_support_a_pattern() -> None:
    pattern = DeletePattern(HELD, (Wildcard(CUP),))
    both = replace(PUTTING, delete_patterns=frozenset({pattern}))
    own = TransitionEvidence(0, 1, (R, B, BOX1), None, frozenset(), frozenset({HELD(B)}), {})
    assert explain_operator(both, [own]).patterns == {pattern: Reason(0, None)}
    other = TransitionEvidence(0, 1, (R, B, BOX1), None, frozenset(), frozenset({HELD(B), HELD(C)}), {})
    assert explain_operator(both, [own, other]).patterns[pattern] == Reason(1, Occurrence(0, 1, HELD(C)))


def test_without_evidence_there_is_no_first_occurrence() -> None:
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


ONE_DEMO = (carrying(B, (A, B, C), (A, B)),)


def test_evidence_by_hand():
    evidence = gather_evidence(learn_operators(ONE_DEMO), ONE_DEMO)
    (going,), (putting,) = evidence["Go"], evidence["Put"]
    assert (going.demonstration, going.step, going.objects) == (0, 0, (R, BOX1, B))
    assert going.necessary == {AT(R, BOX1), NEAR(R, B), HELD(B)}
    assert (going.added, going.deleted) == ({AT(R, BOX1)}, {NEAR(R, C)})
    assert going.needed_by == {AT(R, BOX1): "Put(robby, b, box1) at step 2"}
    assert (putting.step, putting.objects) == (1, (R, B, BOX1))
    assert (putting.added, putting.deleted) == ({IN(B, BOX1)}, {HELD(B)})
    assert putting.needed_by == {IN(B, BOX1): "goal"}


def test_steps_before_the_chain_broke_have_no_evidence():
    def only_the_last_step(problem, reduce, start):
        return Climb(improve_coverage(problem.empty_hypothesis(), problem))

    learned = learn_operators(ONE_DEMO, OperatorLearningConfig(schedule=only_the_last_step))
    assert learned.chains[0][0] is None
    assert learned.necessary[0][0] is None
    assert set(gather_evidence(learned, ONE_DEMO)) == {"Put"}
