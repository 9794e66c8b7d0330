"""Canonical forms: two operators have the same form if and only if they are equal up to renaming."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from needful.core.canonical import canonical_form, interchangeable, rename, untyped_form
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator, Wildcard
from tiny_worlds import BLOCK, CLEAN, ON, PUSH, STACK, THING, all_lifted_atoms, all_patterns, operators

pytestmark = pytest.mark.slow  # as a whole


def with_adds(variables, atoms) -> Operator:
    """Return an operator with the given add effects; its controller takes the first variable."""
    none = frozenset()
    return Operator("op", tuple(variables), none, frozenset(atoms), none, none, PUSH, (variables[0],))


def renamed(operator: Operator, order: list[int], names: list[str]) -> Operator:
    """Return the operator with its parameters reordered and renamed."""
    parameters = [operator.parameters[index] for index in order]
    return rename(
        operator, {old: Variable(f"?{name}", old.type) for old, name in zip(parameters, names, strict=True)}
    )


def equal_up_to_renaming(one: Operator, other: Operator) -> bool:
    """Compare operators under all bijections of parameters."""
    if len(one.parameters) != len(other.parameters):
        return False
    for images in itertools.permutations(other.parameters):
        pairs = dict(zip(one.parameters, images, strict=True))
        if all(old.type == new.type for old, new in pairs.items()):
            try_it = rename(one, pairs)
            if replace(try_it, parameters=other.parameters) == other:
                return True
    return False


@st.composite
def relational_operators(draw: st.DrawFn) -> Operator:
    """Draw an operator with few atoms over up to four variables, so that two are often equal."""
    kinds = draw(st.lists(st.sampled_from([THING, THING, BLOCK]), min_size=1, max_size=4))
    variables = tuple(Variable(f"?v{index}", kind) for index, kind in enumerate(kinds))
    atoms = st.frozensets(st.sampled_from(all_lifted_atoms(variables)), max_size=3)
    patterns = st.frozensets(st.sampled_from(all_patterns(variables)), max_size=1)
    none, forbidden = frozenset(), draw(st.one_of(st.just(frozenset()), atoms))
    return Operator(
        "op", variables, none, draw(atoms), none, draw(patterns), PUSH, (variables[0],), forbidden
    )


any_operator = st.one_of(operators(negative=True), relational_operators())


@settings(deadline=None)
@given(operator=any_operator, data=st.data())
def test_canonical_form_is_the_same_for_every_renaming_and_order(operator, data):
    count = len(operator.parameters)
    order = data.draw(st.permutations(range(count)))
    names = data.draw(st.permutations(["a", "b", "x0", "x1", "x2"]))[:count]
    assert canonical_form(renamed(operator, order, names))[0] == canonical_form(operator)[0]


@settings(deadline=None)
@given(operator=any_operator)
def test_canonical_form_is_the_operator_under_the_renaming_returned(operator):
    form, renaming = canonical_form(operator)
    assert rename(operator, renaming) == form
    assert sorted(renaming) == sorted(operator.parameters)
    assert [v.name for v in form.parameters] == [f"?x{index}" for index in range(len(form.parameters))]
    assert form.controller_arguments == form.parameters[: len(form.controller_arguments)]
    assert canonical_form(form)[0] == form


@settings(max_examples=200, deadline=None)
@given(one=relational_operators(), other=relational_operators(), data=st.data())
def test_equal_forms_mean_equal_up_to_renaming(one, other, data):
    assert (canonical_form(one)[0] == canonical_form(other)[0]) == equal_up_to_renaming(one, other)
    # A renamed copy with one atom changed is a harder case than two independent operators.
    order = data.draw(st.permutations(range(len(one.parameters))))
    twin = renamed(one, order, [f"v{index}" for index in range(len(order))])
    extra = data.draw(st.frozensets(st.sampled_from(all_lifted_atoms(twin.parameters)), max_size=1))
    near = replace(twin, add_effects=twin.add_effects ^ extra)
    assert (canonical_form(one)[0] == canonical_form(near)[0]) == equal_up_to_renaming(one, near)


def equal_except_for_types(one: Operator, other: Operator) -> bool:
    """Compare operators under all bijections of parameters, ignoring types."""

    def written(operator: Operator, order: tuple[Variable, ...]) -> list[object]:
        indices = {variable: index for index, variable in enumerate(order)}
        parts = (
            operator.preconditions,
            operator.negative_preconditions,
            operator.add_effects,
            operator.delete_effects,
        )
        return [
            operator.controller,
            [indices[variable] for variable in operator.controller_arguments],
            *({(a.predicate.name, tuple(indices[v] for v in a.variables)) for a in part} for part in parts),
            {
                (p.predicate.name, tuple(indices.get(a, str(a)) for a in p.arguments))
                for p in operator.delete_patterns
            },
        ]

    if len(one.parameters) != len(other.parameters):
        return False
    first = written(one, one.parameters)
    return any(first == written(other, order) for order in itertools.permutations(other.parameters))


@settings(max_examples=150, deadline=None)
@given(one=any_operator, other=any_operator, data=st.data())
def test_equal_untyped_forms_mean_equal_except_for_types(one, other, data):
    assert (untyped_form(one)[0] == untyped_form(other)[0]) == equal_except_for_types(one, other)
    order = data.draw(st.permutations(one.parameters))
    wide = rename(one, {old: Variable(f"?w{index}", old.type) for index, old in enumerate(order)})
    extra = data.draw(st.frozensets(st.sampled_from(all_lifted_atoms(wide.parameters)), max_size=1))
    near = replace(wide, add_effects=wide.add_effects ^ extra)
    assert (untyped_form(one)[0] == untyped_form(near)[0]) == equal_except_for_types(one, near)


@settings(deadline=None)
@given(operator=any_operator, data=st.data())
def test_variables_with_the_same_index_of_an_untyped_form_correspond(operator, data):
    order = data.draw(st.permutations(operator.parameters))
    twin = rename(operator, {old: Variable(f"?w{index}", old.type) for index, old in enumerate(order)})
    pairs = dict(zip(untyped_form(operator)[1], untyped_form(twin)[1], strict=True))
    assert replace(rename(operator, pairs), parameters=twin.parameters) == twin


def test_types_break_ties_of_the_untyped_form():
    """The block corresponds to the block, although both variables have the same atoms."""
    x, y, z = Variable("?x", THING), Variable("?y", BLOCK), Variable("?z", THING)
    one = with_adds((x, y, z), [ON.lifted(x, y), ON.lifted(x, z)])
    other = with_adds((x, z, y), [ON.lifted(x, y), ON.lifted(x, z)])
    assert untyped_form(one) == untyped_form(other)
    assert [variable.type for variable in untyped_form(one)[1]] == [THING, BLOCK, THING]


def test_canonical_form_by_hand():
    """Controller arguments come first, then free variables, whatever their names."""
    g, h, free = Variable("?g", BLOCK), Variable("?h", BLOCK), Variable("?a", THING)
    operator = Operator(
        "Stack",
        (free, h, g),
        preconditions=frozenset({CLEAN.lifted(free)}),
        add_effects=frozenset({ON.lifted(g, h)}),
        delete_effects=frozenset({ON.lifted(g, free)}),
        delete_patterns=frozenset({DeletePattern(ON, (free, Wildcard(THING)))}),
        controller=STACK,
        controller_arguments=(g, h),
    )
    form, renaming = canonical_form(operator)
    assert {old.name: new.name for old, new in renaming.items()} == {"?g": "?x0", "?h": "?x1", "?a": "?x2"}
    assert str(form) == (
        "Stack(?x0:block, ?x1:block, ?x2:thing)\n"
        "  controller: Stack(?x0, ?x1)\n"
        "  needs:      Clean(?x2)\n"
        "  adds:       On(?x0, ?x1)\n"
        "  deletes:    On(?x0, ?x2)\n"
        "  forgets:    On(?x2, *:thing)"
    )


def test_a_controller_argument_given_twice_counts_once():
    x, y = Variable("?x", BLOCK), Variable("?y", BLOCK)
    none = frozenset()
    operator = Operator("S", (y, x), none, frozenset({ON.lifted(y, x)}), none, none, STACK, (x, x))
    form, _ = canonical_form(operator)
    assert [v.name for v in form.controller_arguments] == ["?x0", "?x0"]
    assert {str(atom) for atom in form.add_effects} == {"On(?x1, ?x0)"}


def test_role_of_an_atom_counts():
    x = Variable("?x", BLOCK)
    adds = with_adds([x], {CLEAN.lifted(x)})
    needs = replace(adds, add_effects=frozenset(), preconditions=adds.add_effects)
    forbids = replace(adds, add_effects=frozenset(), negative_preconditions=adds.add_effects)
    deletes = replace(adds, add_effects=frozenset(), delete_effects=adds.add_effects)
    assert len({canonical_form(operator)[0] for operator in (adds, needs, forbids, deletes)}) == 4
    assert len({untyped_form(operator)[0] for operator in (adds, needs, forbids, deletes)}) == 4


def test_symmetric_operators_do_not_need_all_orders():
    """Twelve interchangeable variables have 479001600 orders; five interchangeable pairs 3628800."""
    v = [Variable(f"?v{index}", BLOCK) for index in range(13)]
    alike = with_adds(v, {CLEAN.lifted(x) for x in v[1:]})
    turned = with_adds([v[0], *v[:0:-1]], alike.add_effects)
    assert canonical_form(alike)[0] == canonical_form(turned)[0]
    pairs = with_adds(v[:11], {ON.lifted(v[i], v[i + 5]) for i in range(1, 6)})
    others = with_adds(v[:11], {ON.lifted(v[2 * i], v[2 * i - 1]) for i in range(1, 6)})
    assert canonical_form(pairs)[0] == canonical_form(others)[0]


def test_many_symmetric_pairs_do_not_need_all_orders():
    """Twelve pairs have 479,001,600 orders. Swapping two pairs swaps four variables."""
    v = [Variable(f"?v{index}", BLOCK) for index in range(25)]
    pairs = with_adds(v, {ON.lifted(v[i], v[i + 12]) for i in range(1, 13)})
    others = with_adds(v, {ON.lifted(v[2 * i], v[2 * i - 1]) for i in range(1, 13)})
    assert canonical_form(pairs)[0] == canonical_form(others)[0]


def cycle(variables) -> set:
    return {
        ON.lifted(one, other) for one, other in zip(variables, [*variables[1:], variables[0]], strict=True)
    }


def test_two_triangles_are_not_a_hexagon():
    """Colour refinement cannot distinguish the variables here; only the search can."""
    v = [Variable(f"?v{index}", BLOCK) for index in range(7)]
    hexagon, triangles = cycle(v[1:]), cycle(v[1:4]) | cycle(v[4:])
    interleaved = cycle(v[1::2]) | cycle(v[2::2])
    assert canonical_form(with_adds(v, triangles))[0] != canonical_form(with_adds(v, hexagon))[0]
    assert canonical_form(with_adds(v, triangles))[0] == canonical_form(with_adds(v, interleaved))[0]


def test_variables_that_only_the_search_distinguishes():
    """With a triangle and a square, the result depends on the first choice, so the search tries both."""
    v = [Variable(f"?v{index}", BLOCK) for index in range(8)]
    one = with_adds(v, cycle(v[1:4]) | cycle(v[4:]))
    other = with_adds(v, cycle(v[1:5]) | cycle(v[5:]))
    assert canonical_form(one)[0] == canonical_form(other)[0]


def test_interchangeable_by_hand():
    """b and c are interchangeable; d is on a, and e has another type."""
    a, b, c, d = (Variable(f"?{name}", BLOCK) for name in "abcd")
    e = Variable("?e", THING)
    operator = with_adds([a, b, c, d, e], {CLEAN.lifted(v) for v in (a, b, c, d, e)} | {ON.lifted(d, a)})
    assert interchangeable(operator) == ((b, c),)
    kept = replace(operator, preconditions=frozenset({CLEAN.lifted(b)}))
    assert interchangeable(kept) == ()
    forbidden = replace(operator, negative_preconditions=frozenset({CLEAN.lifted(b)}))
    assert interchangeable(forbidden) == ()


@settings(max_examples=200, deadline=None)
@given(any_operator)
def test_swapping_interchangeable_parameters_changes_nothing(operator):
    groups = interchangeable(operator)
    assert len({variable for group in groups for variable in group}) == sum(map(len, groups))
    for one, other in itertools.combinations(operator.parameters, 2):
        swap = {v: {one: other, other: one}.get(v, v) for v in operator.parameters}
        alike = one.type == other.type and (
            replace(rename(operator, swap), parameters=operator.parameters) == operator
        )
        assert any({one, other} <= set(group) for group in groups) == alike
