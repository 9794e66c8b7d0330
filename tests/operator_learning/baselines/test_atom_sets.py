"""The sets of an operator's atoms that hold together before a transition."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import brute_force_baselines
from carrying_world import AT, BOX, BOX1, CUP, GO, HELD, NEAR, ROBOT, R
from needful.abstraction.atom_table import lifted_key
from needful.core.demonstrations import Demonstration
from needful.core.objects import Variable
from needful.core.operators import Operator
from needful.operator_learning.baselines.loft import AtomSetEnumerator, maximal_masks
from needful.operator_learning.encoding import encode_demonstrations
from tiny_worlds import all_lifted_atoms, demonstrations, operators


@settings(max_examples=200, deadline=None)
@given(demonstrations(max_steps=1), operators(), st.data())
def test_atom_sets_are_the_maximal_sets_that_hold_under_one_binding(demo, operator, data):
    (transition,) = demo.transitions()
    if transition.action.controller != operator.controller:
        return
    atoms = data.draw(
        st.lists(st.sampled_from(all_lifted_atoms(operator.parameters)), unique=True, max_size=6)
    )
    case = (demo.objects, transition)
    held = [
        sum(1 << bit for bit, atom in enumerate(atoms) if atom.ground(binding) in transition.before)
        for binding in brute_force_baselines.bindings(operator, case)
    ]
    number = {variable: index for index, variable in enumerate(operator.parameters)}
    enumerator = AtomSetEnumerator(operator, [lifted_key(atom, number) for atom in atoms])
    atom_sets = enumerator.maximal_atom_sets(encode_demonstrations([demo])[0].transitions[0])
    assert atom_sets is not None
    assert sorted(atom_sets) == sorted(maximal_masks(held))


@given(st.sets(st.integers(0, 63)))
def test_maximal_masks(masks):
    kept = maximal_masks(masks)
    assert all(any(not mask & ~other for other in kept) for mask in masks)
    assert not any(not one & ~other for one, other in itertools.permutations(kept, 2))
    assert set(kept) <= masks


def going(cups: int, variables: int) -> tuple[Operator, Demonstration]:
    """Return an operator with variables for cups, and a demonstration that passes a number of cups."""
    crowd = tuple(CUP(f"cup{number:02}") for number in range(cups))
    near, there = frozenset(NEAR(R, cup) for cup in crowd), frozenset({AT(R, BOX1)})
    demo = Demonstration((R, BOX1, *crowd), there, (near, there), (GO(R, BOX1),))
    parameters = (
        Variable("?r", ROBOT),
        Variable("?b", BOX),
        *(Variable(f"?c{index}", CUP) for index in range(variables)),
    )
    nothing = frozenset[object]()
    operator = Operator("Go", parameters, *([nothing] * 4), GO, parameters[:2])  # type: ignore[arg-type]
    return operator, demo


@pytest.mark.parametrize(("cups", "atom_sets"), [(10, (0b11,)), (11, None)])
def test_more_than_ten_thousand_groundings_are_not_enumerated(cups, atom_sets):
    """There are cups⁴ groundings: four variables can be bound to ten cups in 10,000 ways."""
    operator, demo = going(cups, variables=4)
    enumerator = AtomSetEnumerator(operator, [(NEAR.name, (0, 2)), (NEAR.name, (0, 3))])
    assert enumerator.maximal_atom_sets(encode_demonstrations([demo])[0].transitions[0]) == atom_sets


def test_without_objects_of_a_type_there_is_no_atom_set():
    operator, demo = going(cups=0, variables=1)
    assert (
        AtomSetEnumerator(operator, [(HELD.name, (2,))]).maximal_atom_sets(
            encode_demonstrations([demo])[0].transitions[0]
        )
        == ()
    )
