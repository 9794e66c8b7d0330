"""Quantified deletes with conditions, in the style `paper` and in other forms."""

from __future__ import annotations

import pytest

from needful.core.operators import Operator
from needful.errors import InvalidInputError
from needful.planning.pddl.reader import read_pddl_domain


def operator(effect: str) -> Operator:
    text = f"""(define (domain d) (:types book - thing thing)
      (:predicates (Here ?x - thing) (On ?x ?y - thing))
      (:action act :parameters (?a - thing ?b - book)
        :effect (and {effect})))"""
    (found,) = read_pddl_domain(text).operators
    return found


def patterns(effect: str) -> list[str]:
    return sorted(map(str, operator(effect).delete_patterns))


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("(forall (?z - book) (not (Here ?z)))", ["Here(*:book)"]),
        (
            "(forall (?z - thing) (and (not (Here ?z)) (not (On ?a ?z))))",
            ["Here(*:thing)", "On(?a, *:thing)"],
        ),
        ("(forall (?y - book) (forall (?z - thing) (not (On ?z ?y))))", ["On(*:thing, *:book)"]),
        # The condition excludes an added atom.
        ("(Here ?a) (forall (?z - thing) (when (not (= ?z ?a)) (not (Here ?z))))", ["Here(*:thing)"]),
        ("(Here ?a) (forall (?z - thing) (when (not (= ?A ?Z)) (not (Here ?z))))", ["Here(*:thing)"]),
        (
            "(Here ?a) (Here ?b) (forall (?z - thing) "
            "(when (and (not (= ?z ?a)) (not (= ?z ?b))) (not (Here ?z))))",
            ["Here(*:thing)"],
        ),
        (
            "(On ?a ?b) (forall (?y ?z - thing) "
            "(when (or (not (= ?y ?a)) (not (= ?z ?b))) (not (On ?y ?z))))",
            ["On(*:thing, *:thing)"],
        ),
        # The same in two effects with different names.
        (
            "(On ?a ?b) (forall (?y ?z - thing) (when (not (= ?y ?a)) (not (On ?y ?z)))) "
            "(forall (?v ?w - thing) (when (not (= ?w ?b)) (not (On ?v ?w))))",
            ["On(*:thing, *:thing)"],
        ),
        # The variable of the quantifier hides the parameter.
        ("(Here ?b) (forall (?a - thing) (when (not (= ?a ?b)) (not (Here ?a))))", ["Here(*:thing)"]),
        # Parameters are distinct, so this condition always holds.
        ("(forall (?z - thing) (when (not (= ?a ?b)) (not (Here ?z))))", ["Here(*:thing)"]),
    ],
)
def test_deletes_that_are_patterns(effect: str, expected: list[str]) -> None:
    assert patterns(effect) == expected


def test_a_delete_without_a_quantifier_is_an_atom() -> None:
    found = operator("(not (Here ?a)) (when (not (= ?a ?b)) (not (Here ?b)))")
    assert sorted(map(str, found.delete_effects)) == ["Here(?a)", "Here(?b)"]
    assert found.delete_patterns == frozenset()


@pytest.mark.parametrize(
    "effect",
    [
        "(forall (?z - thing) (when (not (= ?z ?a)) (not (Here ?z))))",
        "(Here ?a) (forall (?z - thing) (when (not (= ?z ?b)) (not (Here ?z))))",
        "(Here ?a) (forall (?z - thing) (when (and (not (= ?z ?a)) (not (= ?z ?b))) (not (Here ?z))))",
        "(Here ?a) (forall (?z - thing) (when (= ?z ?a) (not (Here ?z))))",
        "(On ?a ?b) (forall (?y ?z - thing) (when (not (= ?y ?a)) (not (On ?y ?z))))",
        "(when (= ?a ?b) (not (Here ?a)))",
    ],
)
def test_a_condition_that_excludes_more_than_is_added(effect: str) -> None:
    with pytest.raises(InvalidInputError, match=r"line 4: the condition excludes atoms of .* not added"):
        operator(effect)


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (
            "(forall (?z - thing) (when (Here ?z) (not (Here ?z))))",
            "(Here ?z) is not supported: conditions of",
        ),
        ("(forall (?z - thing) (when (= ?z) (not (Here ?z))))", "(= ?z) is not supported"),
        (
            "(forall (?y ?z - thing) (when (= ?y ?z) (not (On ?y ?z))))",
            "must be a parameter of the action",
        ),
        (
            "(forall (?z - thing) (when (= ?z ?c) (not (Here ?z))))",
            "Unknown variable in PDDL, line 4, '?c'.",
        ),
        (
            "(when (= ?a ?b) (when (= ?a ?b) (not (Here ?a))))",
            "(when (= ?a ?b) (not (Here ?a))) is not supported",
        ),
    ],
)
def test_other_conditions_are_refused(effect: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        operator(effect)
    assert message in str(error.value)
