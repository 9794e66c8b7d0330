"""The abstraction function: which atoms hold in a state."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from needful.abstraction import abstract
from needful.core.atoms import GroundAtom, Predicate
from needful.core.objects import Type
from needful.core.state import State

THING = Type("thing", ("x",))
CUP = Type("cup", ("x", "full"), THING)

LEFT_OF = Predicate("LeftOf", (THING, THING), lambda s, o: s.get(o[0], "x") < s.get(o[1], "x"))
FULL = Predicate("Full", (CUP,), lambda s, o: s.get(o[0], "full") > 0.5)
SPREAD = Predicate("Spread", (), lambda s, o: len({s.get(thing, "x") for thing in s}) == len(s.objects))
PREDICATES = (LEFT_OF, FULL, SPREAD)


def test_abstract_by_hand():
    a, b, stone = CUP("a"), CUP("b"), THING("stone")
    state = State({a: (1.0, 1.0), b: (1.0, 0.0), stone: (0.0,)})
    assert abstract(state, PREDICATES) == {FULL(a), LEFT_OF(stone, a), LEFT_OF(stone, b)}
    assert abstract(state.replace({b: {"x": 2.0}}), (SPREAD,)) == {SPREAD()}


def test_predicate_may_hold_of_one_object_twice():
    together = Predicate("Together", (THING, THING), lambda s, o: s[o[0]][0] == s[o[1]][0])
    a = THING("a")
    assert abstract(State({a: (1.0,)}), (together,)) == {together(a, a)}


def test_world_without_objects_has_nullary_atoms_only():
    assert abstract(State({}), PREDICATES) == {SPREAD()}


@st.composite
def worlds(draw: st.DrawFn) -> dict:
    cups = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=3))
    stones = draw(st.lists(st.tuples(st.integers(0, 3)), max_size=2))
    vectors = {CUP(f"cup{index}"): vector for index, vector in enumerate(cups)}
    return vectors | {THING(f"stone{index}"): vector for index, vector in enumerate(stones)}


@given(worlds())
def test_agrees_with_enumeration_of_all_atoms(vectors):
    state = State(vectors)
    found = abstract(state, PREDICATES)
    for predicate in PREDICATES:
        for objects in itertools.product(vectors, repeat=len(predicate.types)):
            if all(o.type.is_subtype_of(kind) for o, kind in zip(objects, predicate.types, strict=True)):
                atom = GroundAtom(predicate, objects)
                assert (atom in found) == atom.holds(state)
    assert all(atom.holds(state) for atom in found)


@given(vectors=worlds(), data=st.data())
def test_order_of_objects_and_predicates_does_not_matter(vectors, data):
    shuffled = dict(data.draw(st.permutations(list(vectors.items()))))
    predicates = data.draw(st.permutations(PREDICATES))
    assert abstract(State(shuffled), predicates) == abstract(State(vectors), PREDICATES)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 3, allow_nan=False).map(round)), max_size=6))
def test_a_batch_classifier_replaces_the_classifier(rows):
    things = {(CUP if cup else THING)(f"t{number}"): x for number, (cup, x) in enumerate(rows)}
    state = State({thing: (x, 0.0)[: len(thing.type.features)] for thing, x in things.items()})

    def pairs(state):
        return [(a, b) for a in state for b in state if state[a][0] < state[b][0]]

    never = Predicate(
        "LeftOf", (THING, THING), lambda s, o: pytest.fail("the classifier was called"), pairs
    )
    assert abstract(state, (never,)) == abstract(state, (LEFT_OF,))
