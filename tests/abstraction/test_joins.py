"""Joins find exactly the groundings that a product over all objects finds."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.abstraction.atom_table import AtomTable
from needful.abstraction.joins import UNBOUND, Constraint, join
from tiny_worlds import BALL, BLOCK, CLEAN, ON, PREDICATES, RAIN, THING, all_ground_atoms, object_tuples

A, B, C, P = BLOCK("a"), BLOCK("b"), BLOCK("c"), BALL("p")
EVERYTHING = 0b1111


def table_of(*atoms) -> AtomTable:
    table = AtomTable([A, B, C, P])
    table.encode(atoms)
    return table


def groundings(table, constraints, domains, binding):
    """Yield the groundings by definition: try every tuple of objects."""
    for chosen in itertools.permutations(range(len(table.objects)), len(domains)):
        fits = all(
            domain >> number & 1 and bound in (UNBOUND, number)
            for number, domain, bound in zip(chosen, domains, binding, strict=True)
        )
        if fits and all(_satisfied(table, constraint, chosen) for constraint in constraints):
            yield chosen


def _satisfied(table, constraint, chosen) -> bool:
    number = table.find((constraint.predicate, tuple(chosen[v] for v in constraint.variables)))
    return number is not None and bool(constraint.allowed >> number & 1)


def test_a_chain_by_hand():
    """Find the objects on an object that is on another object."""
    table = table_of(ON(A, B), ON(B, C), ON(C, C))
    every = table.with_predicate("On")
    constraints = [Constraint("On", (0, 1), every), Constraint("On", (1, 2), every)]
    assert list(join(table, constraints, [EVERYTHING] * 3, [UNBOUND] * 3)) == [(0, 1, 2)]


def test_groundings_are_injective():
    table = table_of(ON(C, C), CLEAN(A), CLEAN(B))
    assert list(join(table, [Constraint("On", (0, 1), ~0)], [EVERYTHING] * 2, [UNBOUND] * 2)) == []
    two_clean = [Constraint("Clean", (0,), ~0), Constraint("Clean", (1,), ~0)]
    assert set(join(table, two_clean, [EVERYTHING] * 2, [UNBOUND] * 2)) == {(0, 1), (1, 0)}


def test_a_variable_twice_in_one_atom():
    table = table_of(ON(A, B), ON(C, C))
    assert list(join(table, [Constraint("On", (0, 0), ~0)], [EVERYTHING], [UNBOUND])) == [(2,)]


def test_domains_restrict_objects():
    table = table_of(CLEAN(A), CLEAN(P))
    balls = table.of_type(BALL)
    assert list(join(table, [Constraint("Clean", (0,), ~0)], [balls], [UNBOUND])) == [(3,)]


def test_only_allowed_atoms_count():
    table = table_of(CLEAN(A), CLEAN(B))
    allowed = table.encode({CLEAN(B)})
    assert list(join(table, [Constraint("Clean", (0,), allowed)], [EVERYTHING], [UNBOUND])) == [(1,)]


def test_variables_without_constraints_take_every_free_object():
    table = table_of(CLEAN(B))
    clean = [Constraint("Clean", (0,), ~0)]
    assert list(join(table, clean, [EVERYTHING] * 2, [UNBOUND] * 2)) == [(1, 0), (1, 2), (1, 3)]
    assert list(join(table, [], [], [])) == [()]


def test_bound_variables_stay_bound():
    table = table_of(ON(A, B), ON(A, C))
    on = [Constraint("On", (0, 1), ~0)]
    assert list(join(table, on, [EVERYTHING] * 2, [0, 2])) == [(0, 2)]
    assert list(join(table, on, [EVERYTHING] * 2, [1, UNBOUND])) == []


def test_invalid_bindings_give_nothing():
    table = table_of(CLEAN(A))
    assert list(join(table, [], [EVERYTHING] * 2, [0, 0])) == [], "not injective"
    assert list(join(table, [], [table.of_type(BALL)], [0])) == [], "outside of the domain"


def test_nullary_atoms():
    constraint = [Constraint("Rain", (), ~0)]
    assert list(join(table_of(RAIN()), constraint, [], [])) == [()]
    assert list(join(table_of(CLEAN(A)), constraint, [], [])) == []


def test_stop_ends_the_join():
    table = table_of(CLEAN(A), CLEAN(B), CLEAN(C))
    clean = [Constraint("Clean", (0,), ~0)]
    assert list(join(table, clean, [EVERYTHING], [UNBOUND], stop=lambda: True)) == []
    assert list(join(table, [], [EVERYTHING], [UNBOUND], stop=lambda: True)) == []
    stopped = False
    rest = join(table, clean, [EVERYTHING], [UNBOUND], stop=lambda: stopped)
    assert next(rest) == (0,)
    stopped = True
    assert list(rest) == []
    stopped = False
    rest = join(table, [], [EVERYTHING] * 2, [UNBOUND] * 2, stop=lambda: stopped)
    assert next(rest) == (0, 1)
    stopped = True
    assert list(rest) == []


def test_ascending_groups_list_each_choice_of_objects_once():
    table = table_of(CLEAN(A), CLEAN(B), CLEAN(C), ON(P, A))
    clean = [Constraint("Clean", (0,), ~0), Constraint("Clean", (1,), ~0)]
    found = list(join(table, clean, [EVERYTHING] * 2, [UNBOUND] * 2, ascending=[(0, 1)]))
    assert found == [(0, 1), (0, 2), (1, 2)]
    unconstrained = list(join(table, [], [EVERYTHING] * 3, [UNBOUND, 1, UNBOUND], ascending=[(2, 0)]))
    assert unconstrained == [(2, 1, 0), (3, 1, 0), (3, 1, 2)]


@pytest.mark.parametrize(
    ("binding", "found"), [([2, 1], []), ([1, 2], [(1, 2)]), ([2, UNBOUND], [(2, 3)]), ([UNBOUND, 0], [])]
)
def test_bound_variables_must_ascend_too(binding, found):
    assert list(join(table_of(), [], [EVERYTHING] * 2, binding, ascending=[(0, 1)])) == found


@st.composite
def joins(draw: st.DrawFn):
    objects = draw(object_tuples)
    table = AtomTable(objects)
    table.encode(draw(st.frozensets(st.sampled_from(all_ground_atoms(objects)), max_size=9)))
    count = draw(st.integers(0, 3))
    variable_indices = st.integers(0, count - 1) if count else st.nothing()
    constraints = []
    for _ in range(draw(st.integers(0, 3))):
        predicate = draw(st.sampled_from(PREDICATES if count else (RAIN,)))
        variables = tuple(draw(variable_indices) for _ in predicate.types)
        constraints.append(
            Constraint(predicate.name, variables, draw(st.sampled_from([~0, 0b10110, 0b1011])))
        )
    domains = [table.of_type(draw(st.sampled_from([THING, BLOCK, BALL]))) for _ in range(count)]
    objects_or_none = st.sampled_from([UNBOUND, UNBOUND, *range(len(objects))])
    return table, constraints, domains, [draw(objects_or_none) for _ in range(count)]


@settings(max_examples=300, deadline=None)
@given(joins())
def test_every_grounding_comes_exactly_once(problem):
    assert sorted(join(*problem)) == sorted(groundings(*problem))


@settings(max_examples=200, deadline=None)
@given(problem=joins(), data=st.data())
def test_ascending_groups_omit_the_other_orders(problem, data):
    free = [variable for variable, number in enumerate(problem[-1]) if number == UNBOUND]
    group = data.draw(st.permutations(free))[: data.draw(st.integers(0, len(free)))]
    expected = [
        chosen
        for chosen in groundings(*problem)
        if [chosen[variable] for variable in group] == sorted(chosen[variable] for variable in group)
    ]
    assert sorted(join(*problem, ascending=[group])) == sorted(expected)
