"""Predicates, lifted atoms and ground atoms."""

from __future__ import annotations

import pytest

from needful.core.atoms import GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Type, Variable
from needful.core.state import State
from needful.errors import InvalidInputError

THING = Type("thing", ("x",))
CUP = Type("cup", ("x",), THING)
LEFT_OF = Predicate("LeftOf", (THING, THING), lambda s, o: s.get(o[0], "x") < s.get(o[1], "x"))
HANDLE = Predicate("HasHandle", (CUP,))
DARK = Predicate("Dark", ())
CUP_A, STONE = CUP("a"), THING("stone")


def test_atoms_take_objects_of_subtypes():
    assert LEFT_OF(CUP_A, STONE) == GroundAtom(LEFT_OF, (CUP_A, STONE))
    assert str(LEFT_OF(CUP_A, STONE)) == "LeftOf(a, stone)"
    assert str(DARK()) == "Dark()"


def test_atoms_do_not_take_objects_of_supertypes():
    with pytest.raises(InvalidInputError, match=r"HasHandle\(cup\) does not take stone:thing"):
        HANDLE(STONE)
    with pytest.raises(InvalidInputError, match=r"does not take \?s:thing"):
        HANDLE.lifted(Variable("?s", THING))


@pytest.mark.parametrize("objects", [(), (CUP_A,), (CUP_A, STONE, STONE)])
def test_arity(objects):
    with pytest.raises(InvalidInputError, match=f"takes 2 arguments, got {len(objects)}"):
        LEFT_OF(*objects)


def test_lifted_atoms_are_grounded_by_a_binding():
    a, b = Variable("?a", THING), Variable("?b", THING)
    atom = LEFT_OF.lifted(b, a)
    assert str(atom) == "LeftOf(?b, ?a)"
    assert atom.ground({a: CUP_A, b: STONE}) == LEFT_OF(STONE, CUP_A)
    assert LiftedAtom(LEFT_OF, (a, a)).ground({a: CUP_A}) == LEFT_OF(CUP_A, CUP_A)


def test_grounding_checks_types():
    a = Variable("?a", CUP)
    with pytest.raises(InvalidInputError, match="does not take stone"):
        HANDLE.lifted(a).ground({a: STONE})


def test_classifiers_decide_atoms():
    state = State({CUP_A: [1.0], STONE: [2.0]})
    assert LEFT_OF(CUP_A, STONE).holds(state)
    assert not LEFT_OF(STONE, CUP_A).holds(state)


def test_a_predicate_without_a_classifier_raises():
    with pytest.raises(InvalidInputError, match="'HasHandle' has no classifier"):
        HANDLE(CUP_A).holds(State({CUP_A: [1.0]}))


def test_predicates_are_equal_by_signature_whatever_the_classifier():
    from_file = Predicate("LeftOf", (THING, THING))
    assert from_file == LEFT_OF
    assert from_file(CUP_A, STONE) == LEFT_OF(CUP_A, STONE)
    assert hash(from_file(CUP_A, STONE)) == hash(LEFT_OF(CUP_A, STONE))
    assert Predicate("LeftOf", (THING, CUP)) != LEFT_OF


def test_atoms_sort_by_predicate_then_by_arguments():
    atoms = [LEFT_OF(STONE, CUP_A), LEFT_OF(CUP_A, STONE), HANDLE(CUP_A), DARK()]
    assert sorted(atoms) == [DARK(), HANDLE(CUP_A), LEFT_OF(CUP_A, STONE), LEFT_OF(STONE, CUP_A)]
    a, b = Variable("?a", THING), Variable("?b", THING)
    assert sorted([LEFT_OF.lifted(b, a), LEFT_OF.lifted(a, b)])[0] == LEFT_OF.lifted(a, b)
    assert sorted([LEFT_OF, DARK]) == [DARK, LEFT_OF]
