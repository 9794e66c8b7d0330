"""The operator that each transition is assigned to, by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from needful.core.atoms import Predicate
from needful.core.controllers import Controller
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate, merge_duplicates
from needful.operator_learning.induction import partly_bound
from needful.operator_learning.learning_problem import LearningProblem
from tiny_worlds import BALL, BLOCK, CLEAN, PUSH, RAIN

A, B = BLOCK("a"), BLOCK("b")
D, E = BLOCK("d"), BLOCK("e")
X, Y, Z = (Variable(name, BLOCK) for name in ("?x", "?y", "?z"))
NONE = frozenset()
DANCE = Controller("Dance", ())

IDLE = Operator("Push", (X,), NONE, NONE, NONE, NONE, PUSH, (X,))
CLEANING = replace(IDLE, add_effects=frozenset({CLEAN.lifted(X)}))
RAINING = replace(IDLE, add_effects=frozenset({CLEAN.lifted(X), RAIN.lifted()}))
KEEPING_RAIN = replace(
    IDLE, preconditions=frozenset({RAIN.lifted()}), add_effects=frozenset({CLEAN.lifted(X), RAIN.lifted()})
)

# Pushing b in the rain cleans b. Pushing a cleans a and ends the rain. The goal is a and b clean.
PROBLEM = LearningProblem.of(
    [
        Demonstration(
            (A, B),
            frozenset({CLEAN(A), CLEAN(B)}),
            (frozenset({RAIN()}), frozenset({RAIN(), CLEAN(B)}), frozenset({CLEAN(A), CLEAN(B)})),
            (PUSH(B), PUSH(A)),
        )
    ],
    partly_bound,
)


def shares(*candidates) -> dict[str, list[int]]:
    """Return the steps that each operator is assigned, by the operator's add effects."""
    fitted = PROBLEM.fit(candidates, PROBLEM.empty_hypothesis()).fitted
    return {
        ", ".join(map(str, sorted(one.operator.add_effects))): [
            transition.step for transition, _ in one.data
        ]
        for one in fitted
    }


def candidate(operator, **kinds):
    return canonical_candidate(operator, {}, **kinds)


def test_the_best_score_wins():
    assert shares(candidate(IDLE), candidate(CLEANING)) == {"Clean(?x0)": [0, 1]}


def test_a_keep_effect_improves_the_score():
    assert shares(candidate(CLEANING), candidate(KEEPING_RAIN)) == {
        "Clean(?x0)": [1],
        "Clean(?x0), Rain()": [0],
    }


def test_add_effects_must_hold_afterwards_but_need_not_be_new():
    assert shares(candidate(RAINING)) == {"Clean(?x0), Rain()": [0]}


def test_needed_atoms_must_be_added():
    """Before anything is covered, only the last step's necessary atoms are known."""
    assert shares(candidate(IDLE)) == {"": [0]}


def test_operators_without_data_are_dropped():
    rain_on_two = replace(
        RAINING, parameters=(X, Y), add_effects=frozenset({RAIN.lifted(), CLEAN.lifted(X), CLEAN.lifted(Y)})
    )
    assert shares(candidate(CLEANING), candidate(rain_on_two)) == {"Clean(?x0)": [0, 1]}
    assert shares() == {}


def test_a_pinned_transition_stays_regardless_of_scores():
    assert shares(candidate(IDLE, pinned=frozenset({(0, 0)})), candidate(CLEANING)) == {
        "": [0],
        "Clean(?x0)": [1],
    }


def test_a_transition_pinned_to_several_candidates_goes_to_the_first_by_text():
    """`?x1:ball` sorts before `?x1:block`, although that operator has one parameter more."""
    p = BALL("p")
    clean = frozenset({CLEAN(B), CLEAN(p)})
    problem = LearningProblem.of(
        [Demonstration((A, B, p), clean, (clean, clean), (PUSH(A),))], partly_bound
    )
    ball = Variable("?p", BALL)
    one, two = (
        replace(IDLE, parameters=(X, *others), preconditions=kept, add_effects=kept)
        for others in ((Y,), (ball, Y))
        for kept in [frozenset(CLEAN.lifted(other) for other in others)]
    )
    pinned = [candidate(operator, pinned=frozenset({(0, 0)})) for operator in (one, two)]
    (fitted,) = problem.fit(pinned, problem.empty_hypothesis()).fitted
    assert len(fitted.candidate.operator.parameters) == 3


def test_equal_candidates_are_merged_with_all_their_pins():
    renamed = replace(
        CLEANING, parameters=(Y,), add_effects=frozenset({CLEAN.lifted(Y)}), controller_arguments=(Y,)
    )
    (merged,) = merge_duplicates(
        [candidate(CLEANING, pinned=frozenset({(0, 0)})), candidate(renamed, pinned=frozenset({(1, 2)}))]
    )
    assert merged.pinned == {(0, 0), (1, 2)}


def test_a_hint_may_name_interchangeable_variables_in_any_order():
    """Four blocks stay clean; the two that the variables were introduced for sort last."""
    blocks = tuple(BLOCK(name) for name in "bcde")
    clean = frozenset(CLEAN(block) for block in blocks)
    demo = Demonstration((A, *blocks), frozenset({RAIN()}), (clean, clean | {RAIN()}), (PUSH(A),))
    problem = LearningProblem.of([demo], partly_bound)
    number = problem.demonstrations[0].table.object_number
    kept = frozenset({CLEAN.lifted(Y), CLEAN.lifted(Z)})
    operator = replace(IDLE, parameters=(X, Y, Z), preconditions=kept, add_effects=kept | {RAIN.lifted()})
    for hint in ({Y: number[E], Z: number[D]}, {Y: number[D], Z: number[E]}, {Z: number[E]}):
        start = problem.empty_hypothesis()
        (fitted,) = problem.fit([canonical_candidate(operator, {(0, 0): hint})], start).fitted
        ((_, objects),) = fitted.data
        assert set(hint.values()) <= set(objects)


def test_interchangeable_parameters_are_ordered_so_that_preconditions_are_shared():
    """Pushing a cleans two blocks, one of which is on the other. Which one has the smaller name differs."""
    on = Predicate("On", (BLOCK, BLOCK))
    demos = [
        Demonstration(
            (A, B, D),
            frozenset({CLEAN(B), CLEAN(D)}),
            (frozenset({on(*pair)}), frozenset({on(*pair), CLEAN(B), CLEAN(D)})),
            (PUSH(A),),
        )
        for pair in ((B, D), (D, B), (B, D))
    ]
    problem = LearningProblem.of(demos, partly_bound)
    effects = frozenset({CLEAN.lifted(Y), CLEAN.lifted(Z)})
    operator = replace(IDLE, parameters=(X, Y, Z), add_effects=effects)
    (fitted,) = problem.fit([canonical_candidate(operator, {})], problem.empty_hypothesis()).fitted
    (precondition,) = fitted.operator.preconditions
    assert precondition.predicate == on
    assert len(fitted.data) == 3


def test_reorderings_permute_only_interchangeable_parameters():
    effects = frozenset({CLEAN.lifted(Y), CLEAN.lifted(Z)})
    one = canonical_candidate(replace(IDLE, parameters=(X, Y, Z), add_effects=effects), {})
    assert list(one.reorderings((7, 8, 9))) == [(7, 8, 9), (7, 9, 8)]
    assert list(canonical_candidate(CLEANING, {}).reorderings((7,))) == [(7,)]
    three = frozenset({CLEAN.lifted(X), CLEAN.lifted(Y), CLEAN.lifted(Z)})
    free = canonical_candidate(
        replace(IDLE, parameters=(X, Y, Z), add_effects=three, controller=DANCE, controller_arguments=()),
        {},
    )
    assert sorted(free.reorderings((7, 8, 9))) == sorted(permutations((7, 8, 9)))


def test_accidental_atoms_do_not_decide_the_order_of_interchangeable_parameters():
    """On(b, d) always holds. Before the first transition, b is hot and wet, before the second one d."""
    on, hot, wet = Predicate("On", (BLOCK, BLOCK)), Predicate("Hot", (BLOCK,)), Predicate("Wet", (BLOCK,))
    demos = [
        Demonstration(
            (A, B, D),
            frozenset({CLEAN(B), CLEAN(D)}),
            (frozenset({on(B, D), *more}), frozenset({on(B, D), *more, CLEAN(B), CLEAN(D)})),
            (PUSH(A),),
        )
        for more in ({hot(B), wet(B)}, {hot(D), wet(D)}, set())
    ]
    problem = LearningProblem.of(demos, partly_bound)
    effects = frozenset({CLEAN.lifted(Y), CLEAN.lifted(Z)})
    operator = replace(IDLE, parameters=(X, Y, Z), add_effects=effects)
    (fitted,) = problem.fit([canonical_candidate(operator, {})], problem.empty_hypothesis()).fitted
    assert {atom.predicate for atom in fitted.operator.preconditions} == {on}
