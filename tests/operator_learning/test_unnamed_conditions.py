"""Conditions that held before every transition, by definition."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.candidates import canonical_candidate
from needful.operator_learning.condition_tests import ANYTHING, TYPE_PREFIX, holds
from needful.operator_learning.consumption import (
    Consumption,
    consumed_groups,
    consumed_objects,
    consumption_classes,
)
from needful.operator_learning.encoding import encode_demonstrations
from needful.operator_learning.partition import FittedOperator
from needful.operator_learning.signatures import shared_signatures, signature_of
from needful.operator_learning.unnamed_conditions import condition_of, witnesses
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PUSH, THING, demonstrations

X = Variable("?x", BLOCK)
NONE = frozenset()
PUSHING = Operator("Push", (X,), NONE, frozenset({CLEAN.lifted(X)}), NONE, NONE, PUSH, (X,))
A, B, C, D = (BLOCK(name) for name in "abcd")
ARITY = 1
IS_BLOCK = (f"{TYPE_PREFIX}block", (1,))


def fitted(*demos: Demonstration) -> FittedOperator:
    """Return the operator of pushing with all transitions; each action must be a push."""
    data = tuple(
        (transition, transition.arguments)
        for demo in encode_demonstrations(demos)
        for transition in demo.transitions
    )
    return FittedOperator(canonical_candidate(PUSHING, {}), data, PUSHING)


def push(block, before, after) -> Demonstration:
    return Demonstration((A, B, C, D), NONE, (frozenset(before), frozenset(after)), (PUSH(block),))


@st.composite
def pushes(draw: st.DrawFn) -> Demonstration:
    demo = draw(demonstrations(max_steps=2))
    actions = tuple(PUSH(draw(st.sampled_from(demo.objects))) for _ in demo.actions)
    return Demonstration(demo.objects, demo.goal, demo.abstract_states, actions)


def signature(state, named, unnamed):
    """Return the atoms about one unnamed object, and its type: 0 is the named object, 1 the unnamed one."""
    index = {named: 0, unnamed: ARITY}
    atoms = {
        (atom.predicate.name, tuple(index.get(obj, ANYTHING) for obj in atom.objects))
        for atom in state
        if unnamed in atom.objects
    }
    return frozenset(
        atoms if unnamed.type == THING else {*atoms, (TYPE_PREFIX + unnamed.type.name, (ARITY,))}
    )


def without_needless_types(atoms):
    """Leave out the type of an unnamed object unless an atom has the named object, or this object alone."""
    others = [indices for name, indices in atoms if name[0] != TYPE_PREFIX]
    described = any(0 in indices or indices == (ARITY,) for indices in others)
    return frozenset(one for one in atoms if described or one[0][0] != TYPE_PREFIX)


@settings(max_examples=100, deadline=None)
@given(demos=st.lists(pushes(), min_size=1, max_size=2))
def test_shared_signatures_are_the_maximal_sets_of_atoms_about_one_object(demos):
    one = fitted(*demos)
    choices = []
    for demo in demos:
        for transition in demo.transitions():
            (named,) = transition.action.objects
            others = [obj for obj in demo.objects if obj != named]
            choices.append([signature(transition.before, named, other) for other in others])
    products = itertools.product(*choices)
    sets = {without_needless_types(frozenset.intersection(*chosen)) for chosen in products} - {NONE}
    maximal = {one for one in sets if not any(one < other for other in sets)}
    assert set(shared_signatures(one.data)) == maximal
    for atoms in shared_signatures(one.data):
        counts = [sum(atoms <= found for found in signatures) for signatures in choices]
        assert [witnesses(datum, atoms).bit_count() for datum in one.data] == counts
        condition = condition_of(one, one.data, atoms)
        if condition is not None:
            for datum, objects in zip(one.data, condition.objects, strict=True):
                assert holds(condition.atoms, ARITY, datum)
                table = datum[0].table
                for kind, number in zip(condition.types, objects, strict=True):
                    assert table.objects[number].type.is_subtype_of(kind)


def test_signatures_by_hand():
    """b is on a, which is pushed; c is on d, which no atom relates to a."""
    one = fitted(push(A, {ON(B, A), ON(C, D), CLEAN(B)}, {CLEAN(A)}))
    (datum,) = one.data
    number = datum[0].table.object_number
    assert signature_of(number[B], datum) == {("On", (1, 0)), ("Clean", (1,)), IS_BLOCK}
    assert signature_of(number[C], datum) == {("On", (1, ANYTHING))}
    assert signature_of(number[D], datum) == {("On", (ANYTHING, 1))}
    condition = condition_of(one, one.data, frozenset({("On", (1, ANYTHING))}))
    assert condition is not None
    assert condition.atoms == {("On", (1, 2))}
    assert condition.objects == ((number[C], number[D]),)
    assert condition.types == (BLOCK, BLOCK)


def test_consumption_by_hand():
    """Each push removes another block from the pushed one; it is not always the first on it."""
    one = fitted(
        push(A, {ON(B, A), ON(C, A), CLEAN(C)}, {CLEAN(A), ON(B, A), CLEAN(C)}),
        push(B, {ON(A, B), CLEAN(A)}, {CLEAN(A), CLEAN(B)}),
    )
    first, second = (transition.table.object_number for transition, _ in one.data)
    assert consumed_objects(one) == [
        Consumption(frozenset({("On", (1, 0)), ("Clean", (1,)), IS_BLOCK}), (first[C], second[A]), False)
    ]


def test_consumption_that_is_replaced():
    """The pushed block moves from one block to another."""
    one = fitted(push(A, {ON(A, B)}, {ON(A, C)}), push(A, {ON(A, C)}, {ON(A, D)}))
    first, second = (transition.table.object_number for transition, _ in one.data)
    (found,) = consumed_objects(one)
    assert found == Consumption(frozenset({("On", (0, 1)), IS_BLOCK}), (first[B], second[C]), True)
    gone = fitted(push(A, {ON(A, B)}, {ON(A, C)}), push(A, {ON(A, C)}, {}))
    assert [found.replaced for found in consumed_objects(gone)] == [False]


def test_an_atom_that_becomes_false_for_several_objects_is_not_consumed():
    assert consumed_objects(fitted(push(A, {ON(A, B), ON(A, C)}, {}))) == []
    assert consumed_objects(fitted(push(A, {ON(A, B)}, {}), push(A, {ON(A, B)}, {ON(A, B)}))) == []


def test_groups_of_consumed_objects_by_hand():
    """Each push makes two blocks dirty. The pushed block is between them."""
    one = fitted(
        push(A, {CLEAN(B), CLEAN(C), ON(B, A), ON(A, C)}, {ON(B, A), ON(A, C)}),
        push(B, {CLEAN(A), CLEAN(D), ON(D, B), ON(B, A)}, {ON(D, B), ON(B, A)}),
    )
    first, second = (transition.table.object_number for transition, _ in one.data)
    (found,) = consumed_groups(one)
    assert found.atoms == {("Clean", (1,)), ("Clean", (2,)), ("On", (1, 0)), ("On", (0, 2))}
    assert found.objects == ((first[B], first[C]), (second[D], second[A]))


def test_groups_of_consumed_objects_have_the_same_size():
    two, three = push(A, {CLEAN(B), CLEAN(C)}, {}), push(A, {CLEAN(B), CLEAN(C), CLEAN(D)}, {})
    assert len(consumed_groups(fitted(two, two))) == len(consumed_groups(fitted(three, three))) == 1
    assert consumed_groups(fitted(two, three)) == []
    assert consumed_groups(fitted(push(A, {CLEAN(B)}, {}))) == [], "one object is no group"


def test_the_types_of_a_condition_are_the_nearest_common_ones():
    """A ball or a block stands on the pushed block. Only balls can be round."""
    ball = BALL("e")
    demos = [
        Demonstration((A, other), NONE, (frozenset({ON(other, A)}), NONE), (PUSH(A),))
        for other in (ball, B)
    ]
    one = fitted(*demos)
    condition = condition_of(one, one.data, frozenset({("On", (1, 0))}))
    assert condition is not None
    assert condition.types == (THING,)


def test_classes_of_consumption_by_hand():
    """Two pushes remove the block above, two others remove the pushed block from the block below."""
    above = [push(A, {ON(B, A)}, {}), push(B, {ON(C, B)}, {})]
    below = [push(A, {ON(A, C), CLEAN(C)}, {CLEAN(C)}), push(A, {ON(A, D), CLEAN(D)}, {CLEAN(D)})]
    classes = consumption_classes(fitted(*above, *below))
    found = {one.atoms: [datum[0].demonstration for datum in one.data] for one in classes}
    assert found == {
        frozenset({("On", (1, 0))}): [0, 1],
        frozenset({("On", (0, 1)), ("Clean", (1,))}): [2, 3],
    }
    number = classes[0].data[0][0].table.object_number
    assert {one.atoms: one.objects for one in classes} == {
        frozenset({("On", (1, 0))}): ((number[B],), (number[C],)),
        frozenset({("On", (0, 1)), ("Clean", (1,))}): ((number[C],), (number[D],)),
    }


def test_no_division_into_classes_of_one_transition_or_with_a_rest():
    above, below = push(A, {ON(B, A)}, {}), push(A, {ON(A, C)}, {})
    assert consumption_classes(fitted(above, above)) == [], "all transitions consumed the same"
    assert consumption_classes(fitted(above, above, below)) == []
    nothing = push(A, {CLEAN(B)}, {CLEAN(B)})
    assert consumption_classes(fitted(above, above, below, below, nothing)) == []
    assert len(consumption_classes(fitted(above, above, below, below))) == 2


def test_a_class_may_consume_an_atom_about_the_pushed_block():
    above, dirty = push(A, {ON(B, A)}, {}), push(A, {CLEAN(A)}, {})
    classes = consumption_classes(fitted(above, above, dirty, dirty))
    assert {one.atoms: len(one.types) for one in classes} == {
        frozenset({("On", (1, 0))}): 1,
        frozenset({("Clean", (0,))}): 0,
    }
