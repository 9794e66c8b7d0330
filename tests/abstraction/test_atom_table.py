"""Sets of atoms as integers."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from needful.abstraction.atom_table import AtomTable, bits, lifted_key
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Wildcard
from tiny_worlds import (
    BALL,
    BLOCK,
    CLEAN,
    ON,
    RAIN,
    ROUND,
    THING,
    all_ground_atoms,
    all_patterns,
    object_tuples,
)

A, B, P = BLOCK("a"), BLOCK("b"), BALL("p")


@given(st.sets(st.integers(0, 200)))
def test_bits_lists_the_ones_of_a_mask(positions):
    assert list(bits(sum(1 << position for position in positions))) == sorted(positions)


def test_objects_are_numbered_in_sorted_order_and_atoms_as_they_come():
    table = AtomTable([P, B, A, B])
    assert table.objects == (A, B, P)
    assert table.encode({ON(A, P), CLEAN(B)}) == 0b11
    assert table.encode({CLEAN(A), ON(A, P)}) == 0b110
    assert [str(atom) for atom in table.atoms] == ["Clean(b)", "On(a, p)", "Clean(a)"]
    assert table.arguments == [(1,), (0, 2), (0,)]
    assert len(table) == 3


def test_atoms_are_found_by_key():
    table = AtomTable([A, B])
    number = table.number(ON(B, A))
    assert table.find(("On", (1, 0))) == number
    assert table.find(("On", (0, 1))) is None
    assert table.number_by_arguments(ON, (1, 0)) == number
    assert table.decode(1 << table.number_by_arguments(ON, (0, 0))) == {ON(A, A)}


def test_lifted_atoms_under_a_binding():
    table = AtomTable([A, B])
    known = table.encode({ON(A, B), CLEAN(B), RAIN()})
    lifted = [("On", (1, 0)), ("Clean", (0,)), ("Rain", ())]
    assert table.ground(lifted, (1, 0)) == known
    assert table.ground(lifted, (0, 1)) == table.encode({RAIN()}), "atoms without a number are omitted"
    assert table.ground([], (0, 1)) == 0


@st.composite
def atom_sets(draw: st.DrawFn):
    objects = draw(object_tuples)
    atoms = st.frozensets(st.sampled_from(all_ground_atoms(objects)))
    return objects, draw(st.lists(atoms, min_size=2, max_size=4))


@given(atom_sets())
def test_masks_are_sets(world):
    objects, sets = world
    table = AtomTable(objects)
    masks = [table.encode(atoms) for atoms in sets]
    for one, mask in zip(sets, masks, strict=True):
        assert table.decode(mask) == one
        assert mask.bit_count() == len(one)
        assert table.encode(one) == mask, "numbers must not change"
        for other, its in zip(sets, masks, strict=True):
            assert (mask & ~its == 0) == (one <= other)
            assert table.decode(mask & ~its) == one - other


@given(atom_sets())
def test_indices_by_predicate_and_argument(world):
    objects, sets = world
    table = AtomTable(objects)
    seen = table.decode(table.encode(frozenset().union(*sets)))
    for predicate in (RAIN, CLEAN, ROUND, ON):
        with_predicate = {atom for atom in seen if atom.predicate == predicate}
        assert table.decode(table.with_predicate(predicate.name)) == with_predicate
        for position, obj in itertools.product(range(len(predicate.types)), objects):
            mask = table.with_argument(predicate.name, position, table.object_number[obj])
            assert table.decode(mask) == {atom for atom in with_predicate if atom.objects[position] == obj}


@given(object_tuples)
def test_objects_of_a_type_include_subtypes(objects):
    table = AtomTable(objects)
    for kind in (THING, BLOCK, BALL):
        expected = [number for number, obj in enumerate(table.objects) if obj.type.is_subtype_of(kind)]
        assert list(bits(table.of_type(kind))) == expected


def test_matching_by_hand():
    table = AtomTable([A, B, P])
    table.encode(all_ground_atoms((A, B, P)))
    x = Variable("?x", THING)
    of_blocks = DeletePattern(ON, (x, Wildcard(BLOCK)))
    found = table.matching(of_blocks, {x: 0}, [table.object_number[P]])
    assert table.decode(found) == {ON(P, A), ON(P, B)}


VARIABLES = (Variable("?x", THING), Variable("?y", BLOCK), Variable("?z", BALL))


@settings(deadline=None)
@given(world=atom_sets(), pattern=st.sampled_from(all_patterns(VARIABLES)), data=st.data())
def test_matching_agrees_with_the_ground_pattern(world, pattern, data):
    objects, sets = world
    table = AtomTable(objects)
    seen = table.decode(table.encode(frozenset().union(*sets)))
    chosen = [data.draw(st.sampled_from(objects)) for _ in VARIABLES]
    binding = dict(zip(VARIABLES, chosen, strict=True))
    numbers = {variable: index for index, variable in enumerate(VARIABLES)}
    found = table.matching(pattern, numbers, [table.object_number[obj] for obj in chosen])
    assert table.decode(found) == {atom for atom in seen if pattern.ground(binding).matches(atom)}


def test_lifted_key_numbers_the_variables():
    x, y = VARIABLES[:2]
    assert lifted_key(ON.lifted(y, x), {x: 0, y: 1}) == ("On", (1, 0))
    assert lifted_key(RAIN.lifted(), {}) == ("Rain", ())


def contents(table):
    """Return all attributes of a table except caches; dictionaries that are equal compare equal."""
    caches = ("_atoms", "_type_masks", "_object_masks", "_objects_at")
    kept = {name: value for name, value in vars(table).items() if name not in caches}
    return {**kept, "atoms": table.atoms}


@given(objects=object_tuples, data=st.data())
def test_tables_with_given_numbers_equal_tables_numbered_one_by_one(objects, data):
    atoms = data.draw(st.lists(st.sampled_from(all_ground_atoms(objects)), unique=True))
    expected = AtomTable(objects)
    numbers = [expected.number(atom) for atom in atoms]
    assert numbers == list(range(len(atoms)))
    keys = [(atom.predicate.name, expected.arguments[number]) for number, atom in enumerate(atoms)]
    empty = AtomTable(objects)
    table = empty.with_atoms(keys, {one.name: one for one in (RAIN, CLEAN, ROUND, ON)})
    assert contents(table) == contents(expected)
    assert len(empty) == 0
    mask = data.draw(st.integers(0, (1 << len(atoms)) - 1))
    assert table.decode(mask) == expected.decode(mask) == {atoms[number] for number in bits(mask)}
    assert table.predicates() == {atom.predicate.name: atom.predicate for atom in atoms}


@given(objects=object_tuples, data=st.data())
def test_masks_by_object(objects, data):
    table = AtomTable(objects)
    for atom in data.draw(st.lists(st.sampled_from(all_ground_atoms(objects)), unique=True)):
        table.number(atom)
        for number, obj in enumerate(table.objects):
            others = set(range(len(table.objects))) - {number}
            assert table.only_about(others) & table.with_object(number) == 0
            assert table.only_about(others) | table.with_object(number) == (1 << len(table)) - 1
            assert table.decode(table.with_object(number)) == {
                one for one in table.atoms if obj in one.objects
            }
    names = data.draw(st.sets(st.sampled_from([ON.name, RAIN.name])))
    assert table.decode(table.with_predicates(names)) == {
        a for a in table.atoms if a.predicate.name in names
    }
    for position in (0, 1):
        mask = table.with_predicate(ON.name)
        found = {atom.objects[position] for atom in table.decode(mask)}
        assert {table.objects[number] for number in bits(table.objects_at(position, mask))} == found
