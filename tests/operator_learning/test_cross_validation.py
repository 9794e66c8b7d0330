"""Cross-validation with handmade learners, and the doubts that follow from it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fake_clock import FakeClock
from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.limits import Deadline
from needful.core.objects import Type
from needful.errors import LearningTimeoutError
from needful.operator_learning.cross_validation import (
    Validation,
    cross_validate,
    fold_count,
    validation_doubts,
)
from needful.operator_learning.doubts import DoubtKind, Doubts
from needful.operator_learning.find_doubts import find_doubts
from needful.operator_learning.learn_operators import learn_operators
from needful.operator_learning.learned_operators import LearnedOperators

LAMP = Type("lamp")
LIT = Predicate("Lit", (LAMP,))
OLD = Predicate("Old", (LAMP,))
BROKEN = Predicate("Broken", (LAMP,))
SWITCH = Controller("Switch", (LAMP,))
L = LAMP("l")


def switched(old: bool) -> Demonstration:
    """Switch on one lamp, which is old or not."""
    before = frozenset({OLD(L)} if old else ())
    return Demonstration((L,), frozenset({LIT(L)}), (before, before | {LIT(L)}), (SWITCH(L),))


def burnt() -> Demonstration:
    """Switch on an old lamp, which breaks instead."""
    return Demonstration(
        (L,), frozenset({BROKEN(L)}), (frozenset({OLD(L)}), frozenset({OLD(L), BROKEN(L)})), (SWITCH(L),)
    )


def test_the_number_of_folds() -> None:
    assert [fold_count(demos, 5) for demos in (0, 1, 2, 4, 5, 50)] == [0, 0, 2, 4, 5, 5]
    assert fold_count(50, 1) == fold_count(50, 0) == 0


def test_each_demonstration_is_left_out_once_by_its_index() -> None:
    demos = [switched(index == 3) for index in range(5)]
    seen: list[list[int]] = []

    def learn(rest: Sequence[Demonstration]) -> LearnedOperators:
        seen.append([index for index, demo in enumerate(demos) if any(demo is one for one in rest)])
        return learn_operators(rest)

    validation = cross_validate(learn, demos, learn_operators(demos), 2)
    assert seen == [[1, 3], [0, 2, 4]]
    assert validation == Validation(2, 5)


def test_an_accidental_precondition_leaves_transitions_uncovered() -> None:
    """Without demonstration 1, all lamps are old, so the operator requires an old lamp."""
    demos = [switched(True), switched(False), switched(True)]
    learned = learn_operators(demos)
    validation = cross_validate(learn_operators, demos, learned, 3)
    assert (validation.uncovered, validation.failing, validation.false_claims) == (1, ((1, 0),), 0)
    (doubt,) = validation_doubts(validation, find_doubts(learned, demos))
    assert (doubt.kind, doubt.operator) == (DoubtKind.VALIDATION, None)
    assert doubt.text.startswith(
        "In cross-validation, operators did not explain 1 of 3 left-out transitions (0 in training), for "
        "example demonstration 1, step 1. Some preconditions may be accidental"
    )
    assert "--experiments" in doubt.advice


def test_false_claims_on_left_out_demonstrations() -> None:
    """An operator learned from lamps that work claims that every lamp does."""
    works = [switched(False), switched(True)]
    demos = [*works, burnt(), burnt()]
    validation = cross_validate(lambda rest: learn_operators(works), demos, learn_operators(demos), 2)
    assert (validation.false_claims, validation.false_transitions, validation.false_share) == (2, 2, 0.5)
    assert validation.uncovered == 2
    assert validation.claim is not None
    assert str(validation.claim.atom) == "Lit(?x0)"
    _, doubt = validation_doubts(validation, Doubts(transitions=4))
    assert doubt.text == (
        "In cross-validation, operators made false claims in 2 of 4 left-out transitions (0 in training), "
        "for example Lit(?x0) of Switch in demonstration 2, step 1. The operators depend on single "
        "demonstrations. Add demonstrations with other objects."
    )
    # As many false claims as in training are no further doubt.
    assert len(validation_doubts(validation, Doubts(4, uncovered=2, false_transitions=2))) == 0


def test_the_deadline_is_respected() -> None:
    demos = [switched(True)] * 3
    learned = learn_operators(demos)
    with pytest.raises(LearningTimeoutError):
        cross_validate(learn_operators, demos, learned, 3, Deadline.after(2.0, FakeClock(tick=1.0)))
