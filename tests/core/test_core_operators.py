"""Operators: application, delete patterns, grounding and validation."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.objects import Object, Variable
from needful.core.operators import DeletePattern, GroundDeletePattern, Operator, Wildcard
from needful.errors import InvalidInputError
from tiny_worlds import (
    BALL,
    BLOCK,
    CLEAN,
    ON,
    PREDICATES,
    PUSH,
    RAIN,
    ROUND,
    STACK,
    THING,
    all_ground_atoms,
    all_patterns,
    operators,
)

A, B, C = BLOCK("a"), BLOCK("b"), BLOCK("c")
X, Y = Variable("?x", BLOCK), Variable("?y", BLOCK)
ANY = Wildcard(THING)

# Stack x on y: the other atoms On(x, ...) become unknown, y stays clean, x becomes dirty.
STACKING = Operator(
    "Stack",
    (X, Y),
    preconditions=frozenset({CLEAN.lifted(X), CLEAN.lifted(Y)}),
    add_effects=frozenset({ON.lifted(X, Y), CLEAN.lifted(Y)}),
    delete_effects=frozenset({CLEAN.lifted(X)}),
    delete_patterns=frozenset({DeletePattern(ON, (X, ANY))}),
    controller=STACK,
    controller_arguments=(X, Y),
)
CAREFUL = replace(STACKING, negative_preconditions=frozenset({ON.lifted(Y, X), RAIN.lifted()}))


def test_apply_by_hand():
    before = frozenset({CLEAN(A), CLEAN(B), ON(A, C), ON(A, A), ON(C, A), RAIN()})
    after = STACKING.ground([A, B]).apply(before)
    assert after == {CLEAN(B), ON(A, B), ON(C, A), RAIN()}


def test_add_effects_win_over_deletes_and_patterns():
    stubborn = replace(
        STACKING,
        preconditions=frozenset(),
        delete_effects=frozenset({ON.lifted(X, Y)}),
        delete_patterns=frozenset({DeletePattern(ON, (ANY, ANY))}),
    )
    assert stubborn.ground([A, B]).apply(frozenset({ON(A, B), ON(B, C)})) == {ON(A, B), CLEAN(B)}


def test_keep_effects_are_preconditions_that_are_added():
    assert STACKING.keep_effects == {CLEAN.lifted(Y)}
    forgetful = replace(STACKING, delete_patterns=frozenset({DeletePattern(CLEAN, (ANY,))}))
    before = frozenset({CLEAN(A), CLEAN(B), CLEAN(C)})
    assert forgetful.ground([A, B]).apply(before) == {CLEAN(B), ON(A, B)}


def test_apply_needs_the_preconditions():
    ground = STACKING.ground([A, B])
    assert not ground.applicable(frozenset({CLEAN(A)}))
    with pytest.raises(
        InvalidInputError, match=r"Stack\(a, b\) is not applicable: Clean\(b\) does not hold"
    ):
        ground.apply(frozenset({CLEAN(A)}))


def test_apply_rejects_states_with_a_negative_precondition():
    ground = CAREFUL.ground([A, B])
    before = frozenset({CLEAN(A), CLEAN(B)})
    assert ground.applicable(before)
    assert ground.applicable(before | {ON(A, B)})
    assert not ground.applicable(before | {ON(B, A)})
    assert not ground.applicable(before | {RAIN(), ON(B, A)})
    with pytest.raises(InvalidInputError, match=r"not applicable: On\(b, a\), Rain\(\) must not hold\.$"):
        ground.apply(before | {RAIN(), ON(B, A)})
    with pytest.raises(
        InvalidInputError, match=r": Clean\(b\) does not hold and Rain\(\) must not hold\.$"
    ):
        ground.apply(frozenset({CLEAN(A), RAIN()}))


@settings(deadline=None)
@given(operator=operators(negative=True), data=st.data())
def test_applicability_follows_its_definition(operator, data):
    fitting = [
        chosen
        for chosen in itertools.permutations(OBJECTS, len(operator.parameters))
        if all(o.type.is_subtype_of(v.type) for o, v in zip(chosen, operator.parameters, strict=True))
    ]
    if not fitting:
        return
    ground = operator.ground(data.draw(st.sampled_from(fitting)))
    binding = dict(zip(operator.parameters, ground.objects, strict=True))
    needed = [atom.ground(binding) for atom in sorted(operator.preconditions)]
    forbidden = [atom.ground(binding) for atom in sorted(operator.negative_preconditions)]
    near = st.sampled_from([*needed, *forbidden, RAIN()])
    state = (frozenset(needed) ^ data.draw(st.frozensets(near, max_size=2))) - data.draw(
        st.sampled_from([frozenset(), frozenset(forbidden)])
    )
    expected = all(atom in state for atom in needed) and not any(atom in state for atom in forbidden)
    assert ground.applicable(state) == expected


OBJECTS = (BLOCK("b0"), BLOCK("b1"), BALL("p0"), BALL("p1"))


@settings(deadline=None)
@given(operator=operators(), data=st.data())
def test_apply_follows_its_definition(operator, data):
    fitting = [
        chosen
        for chosen in itertools.permutations(OBJECTS, len(operator.parameters))
        if all(o.type.is_subtype_of(v.type) for o, v in zip(chosen, operator.parameters, strict=True))
    ]
    if not fitting:
        return
    ground = operator.ground(data.draw(st.sampled_from(fitting)))
    binding = dict(zip(operator.parameters, ground.objects, strict=True))
    some = data.draw(st.frozensets(st.sampled_from(all_ground_atoms(OBJECTS)), max_size=8))
    state = some | {atom.ground(binding) for atom in operator.preconditions}
    after = ground.apply(state)
    for atom in all_ground_atoms(OBJECTS):
        added = atom in {lifted.ground(binding) for lifted in operator.add_effects}
        deleted = atom in {lifted.ground(binding) for lifted in operator.delete_effects}
        forgotten = any(pattern.ground(binding).matches(atom) for pattern in operator.delete_patterns)
        assert (atom in after) == (added or (atom in state and not deleted and not forgotten))


def test_patterns_by_hand():
    own_type = GroundDeletePattern(ON, (A, Wildcard(BLOCK)))
    assert own_type.matches(ON(A, B))
    assert own_type.matches(ON(A, A))
    assert not own_type.matches(ON(B, A))
    assert not own_type.matches(ON(A, BALL("p")))
    assert not own_type.matches(CLEAN(A))
    assert str(own_type) == "On(a, *:block)"
    assert GroundDeletePattern(RAIN, ()).matches(RAIN())


def test_subsumption_by_hand():
    all_of_it = DeletePattern(ON, (ANY, ANY))
    of_x = DeletePattern(ON, (X, ANY))
    assert all_of_it.subsumes(of_x)
    assert not of_x.subsumes(all_of_it)
    assert of_x.subsumes(DeletePattern(ON, (X, Wildcard(BALL))))
    assert not of_x.subsumes(DeletePattern(ON, (Y, ANY)))
    assert not all_of_it.subsumes(DeletePattern(CLEAN, (ANY,)))


VARIABLES = (Variable("?s", THING), Variable("?t", BLOCK))
# Enough objects of each type for a counterexample to every binding of the two variables.
UNIVERSE = tuple(kind(f"{kind.name}{i}") for kind in (THING, BLOCK, BALL) for i in range(3))
ATOMS = all_ground_atoms(UNIVERSE)
patterns = st.sampled_from(PREDICATES).flatmap(
    lambda predicate: st.lists(
        st.sampled_from([p for p in all_patterns(VARIABLES) if p.predicate == predicate]),
        min_size=2,
        max_size=2,
    )
)


@settings(max_examples=100, deadline=None)
@given(patterns)
def test_subsumes_means_matching_every_atom_that_the_other_matches(pair):
    one, other = pair
    bindings = [
        dict(zip(VARIABLES, (s, t), strict=True))
        for s, t in itertools.permutations(UNIVERSE, 2)
        if t.type == BLOCK
    ]
    always = all(
        one.ground(binding).matches(atom)
        for binding in bindings
        for atom in ATOMS
        if other.ground(binding).matches(atom)
    )
    assert one.subsumes(other) == always


def test_pattern_arguments_are_checked():
    with pytest.raises(InvalidInputError, match=r"On\(thing, thing\) takes 2 arguments, got 1"):
        DeletePattern(ON, (ANY,))
    with pytest.raises(InvalidInputError, match=r"Round\(ball\) does not take \*:block"):
        DeletePattern(ROUND, (Wildcard(BLOCK),))


def test_ground_parts_by_hand():
    ground = STACKING.ground([A, B])
    assert ground.preconditions == {CLEAN(A), CLEAN(B)}
    assert ground.add_effects == {ON(A, B), CLEAN(B)}
    assert ground.delete_effects == {CLEAN(A)}
    assert ground.delete_patterns == (GroundDeletePattern(ON, (A, ANY)),)
    assert ground.controller_objects == (A, B)
    assert ground.negative_preconditions == frozenset()
    assert CAREFUL.ground([A, B]).negative_preconditions == {ON(B, A), RAIN()}
    assert str(ground) == "Stack(a, b)"


def test_grounding_is_injective():
    with pytest.raises(InvalidInputError, match=r"needs distinct objects, got \['a', 'a'\]"):
        STACKING.ground([A, A])


def test_grounding_respects_types():
    with pytest.raises(InvalidInputError, match=r"cannot bind \?y:block to p:ball"):
        STACKING.ground([A, BALL("p")])


@pytest.mark.parametrize("objects", [[], [A], [A, B, C]])
def test_grounding_needs_one_object_per_parameter(objects):
    with pytest.raises(InvalidInputError, match=f"'Stack' has 2 parameters, got {len(objects)} objects"):
        STACKING.ground(objects)


def test_str_of_an_operator():
    assert str(STACKING) == (
        "Stack(?x:block, ?y:block)\n"
        "  controller: Stack(?x, ?y)\n"
        "  needs:      Clean(?x), Clean(?y)\n"
        "  adds:       Clean(?y), On(?x, ?y)\n"
        "  deletes:    Clean(?x)\n"
        "  forgets:    On(?x, *:thing)"
    )
    assert str(CAREFUL) == str(STACKING).replace("  adds:", "  forbids:    On(?y, ?x), Rain()\n  adds:")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parameters": (X, Y, X)}, "lists a parameter twice"),
        ({"parameters": (X, Y, Variable("?x", BALL))}, "lists a parameter twice"),
        ({"parameters": (X,)}, r"parameters: \['\?y'\]"),
        ({"preconditions": frozenset({CLEAN.lifted(Variable("?z", BLOCK))})}, r"parameters: \['\?z'\]"),
        (
            {"negative_preconditions": frozenset({CLEAN.lifted(Variable("?z", BLOCK))})},
            r"parameters: \['\?z'\]",
        ),
        (
            {"negative_preconditions": STACKING.preconditions},
            r"'Stack' requires that Clean\(\?x\) holds and that it does not hold",
        ),
        ({"add_effects": frozenset({CLEAN.lifted(Variable("?x", BALL))})}, r"parameters: \['\?x'\]"),
        ({"delete_effects": frozenset({CLEAN.lifted(Variable("?z", BLOCK))})}, r"parameters: \['\?z'\]"),
        (
            {"delete_patterns": frozenset({DeletePattern(ON, (Variable("?z", BLOCK), ANY))})},
            r"parameters: \['\?z'\]",
        ),
        ({"controller_arguments": (X, Variable("?z", BLOCK))}, r"parameters: \['\?z'\]"),
        ({"controller_arguments": (X,)}, "passes 1 arguments to 'Stack', which takes 2"),
        (
            {"controller": replace(STACK, types=(BALL, THING))},
            r"passes \?x:block to 'Stack', .* asks for a ball",
        ),
    ],
)
def test_invalid_operators_are_rejected(change, message):
    with pytest.raises(InvalidInputError, match=message):
        replace(STACKING, **change)


def test_a_variable_may_be_passed_to_the_controller_twice_or_not_at_all():
    twice = Operator("S", (X,), *[frozenset()] * 4, controller=STACK, controller_arguments=(X, X))
    assert twice.ground([A]).controller_objects == (A, A)
    push = Operator("P", (X, Y), *[frozenset()] * 4, controller=PUSH, controller_arguments=(Y,))
    assert push.ground([A, B]).controller_objects == (B,)


def test_equal_operators_are_equal_and_hash_alike():
    assert replace(STACKING) == STACKING
    assert len({STACKING, replace(STACKING), replace(STACKING, name="other")}) == 2
    assert replace(STACKING) != CAREFUL
    assert replace(CAREFUL, negative_preconditions=frozenset()) == STACKING
    assert STACKING.ground([A, B]) == STACKING.ground((A, Object("b", BLOCK)))
