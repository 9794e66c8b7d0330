"""Canonical forms of operators: operators that differ only in variable names get the same form.

The form names the variables in a canonical order. Controller arguments come first, in the controller's
order. Colour refinement orders the other variables by their types and by the atoms that contain them. If
several orders remain, a search tries them. It chooses the order that makes the operator's sorted list of
atoms lexicographically smallest. Orders that differ only by swapping two symmetric variables give the same
list, so the search tries only one of them. The number of orders that are tried is limited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

from needful.core.atoms import LiftedAtom
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator

# One atom or `DeletePattern` of an operator: a text and the indices of its variables. The text holds the
# role (such as "add" or "delete") and the predicate. In a delete pattern such as `On(?x, *:block)`, the
# wildcard `*:block` stands for every block; the text then also holds the types of the wildcards.
Incidence: TypeAlias = tuple[str, tuple[int, ...]]

# An operator with numbers instead of variables, so without their names and types: the controller's name,
# the numbers of the controller's arguments, the number of variables, and the atoms and delete patterns.
UntypedForm: TypeAlias = tuple[str, tuple[int, ...], int, tuple[Incidence, ...]]

# The limit of `_search`, which tries orders of variables. At each branch, the search always tries the first
# choice. Of all further choices, it tries at most this number in total.
MAX_ORDERS = 500


def canonical_form(operator: Operator) -> tuple[Operator, dict[Variable, Variable]]:
    """Return the operator with variables renamed to ?x0, ?x1, ..., and the renaming (old to new)."""
    fixed = list(dict.fromkeys(operator.controller_arguments))
    free = [variable for variable in operator.parameters if variable not in set(fixed)]
    indices = {variable: index for index, variable in enumerate(fixed + free)}
    incidences = _incidences(operator, indices)
    labels = [variable.type.name for variable in fixed + free]
    order = _best_order(len(fixed), labels, incidences)
    ordered = [(fixed + free)[index] for index in order]
    renaming = {old: Variable(f"?x{index}", old.type) for index, old in enumerate(ordered)}
    return rename(operator, renaming), renaming


def rename(operator: Operator, renaming: dict[Variable, Variable]) -> Operator:
    """Return a copy of the operator with renamed variables; `renaming` maps old variables to new ones.

    The parameters of the copy are the values of `renaming`, in the order of this dictionary.
    """

    def atoms(old: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(LiftedAtom(a.predicate, tuple(renaming[v] for v in a.variables)) for a in old)

    return replace(
        operator,
        parameters=tuple(renaming.values()),
        preconditions=atoms(operator.preconditions),
        negative_preconditions=atoms(operator.negative_preconditions),
        add_effects=atoms(operator.add_effects),
        delete_effects=atoms(operator.delete_effects),
        delete_patterns=frozenset(
            DeletePattern(
                p.predicate, tuple(renaming[a] if isinstance(a, Variable) else a for a in p.arguments)
            )
            for p in operator.delete_patterns
        ),
        controller_arguments=tuple(renaming[v] for v in operator.controller_arguments),
    )


def untyped_form(operator: Operator) -> tuple[UntypedForm, tuple[Variable, ...]]:
    """Return the operator with indices instead of variables, and the variables in the order of the indices.

    Two operators with equal untyped forms differ only in the names and types of their variables. Variables
    of the two operators correspond to each other if they have the same index. Variables that can be swapped
    without changing the operator's atoms are ordered by type and name.
    """
    fixed = tuple(dict.fromkeys(operator.controller_arguments))
    free = (variable for variable in operator.parameters if variable not in fixed)
    variables = (*fixed, *sorted(free, key=lambda variable: (variable.type.name, variable.name)))
    incidences = _incidences(operator, {variable: index for index, variable in enumerate(variables)})
    order = _best_order(len(fixed), [""] * len(variables), incidences)
    rank = {variable: index for index, variable in enumerate(order)}
    atoms = sorted((kind, tuple(rank[v] for v in vs)) for kind, vs in incidences)
    arguments = tuple(fixed.index(variable) for variable in operator.controller_arguments)
    form = (operator.controller.name, arguments, len(variables), tuple(atoms))
    return form, tuple(variables[index] for index in order)


def interchangeable(operator: Operator) -> tuple[tuple[Variable, ...], ...]:
    """Return the groups of two or more parameters that can be swapped without changing the operator.

    If two groundings differ only by a permutation of the objects within a group, they have the same ground
    atoms, so callers can skip one of the groundings. Controller arguments are in no group.
    """
    indices = {variable: index for index, variable in enumerate(operator.parameters)}
    incidences = _incidences(operator, indices)
    groups: list[list[Variable]] = []
    for variable in operator.parameters:
        if variable in operator.controller_arguments:
            continue
        for group in groups:
            first = group[0]
            if first.type == variable.type and _is_symmetric_pair(
                indices[first], indices[variable], incidences
            ):
                group.append(variable)
                break
        else:
            groups.append([variable])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _incidences(operator: Operator, indices: dict[Variable, int]) -> list[Incidence]:
    found: list[Incidence] = []
    roles = (
        ("add", operator.add_effects),
        ("delete", operator.delete_effects),
        ("need", operator.preconditions),
        ("forbid", operator.negative_preconditions),
    )
    for role, atoms in roles:
        found += [(f"{role} {a.predicate.name}", tuple(indices[v] for v in a.variables)) for a in atoms]
    for pattern in operator.delete_patterns:
        arguments = ",".join("?" if isinstance(a, Variable) else str(a) for a in pattern.arguments)
        bound = tuple(indices[a] for a in pattern.arguments if isinstance(a, Variable))
        found.append((f"forget {pattern.predicate.name}({arguments})", bound))
    return sorted(found)


def _best_order(fixed: int, labels: Sequence[str], incidences: list[Incidence]) -> list[int]:
    """Return the indices of the variables in canonical order.

    The first `fixed` variables (the controller arguments) keep their order. `labels` holds the type name of
    each variable, or empty strings if types are ignored. `incidences` holds the operator's atoms and delete
    patterns, with the indices of their variables.
    """
    colours = [index if index < fixed else fixed for index in range(len(labels))]
    if len(labels) - fixed <= 1:
        return list(range(len(labels)))
    return _search(_refine(colours, labels, incidences), labels, incidences, iter(range(MAX_ORDERS)))[1]


def _refine(colours: list[int], labels: Sequence[str], incidences: list[Incidence]) -> list[int]:
    """Return the colour of each variable after colour refinement.

    In each round, two variables of the same colour get different colours if their labels differ, or if they
    occur in different atoms or at different positions. Two atoms count as different if their texts differ
    or the colours of their variables differ. Refinement ends when a round adds no colour.
    """
    while True:
        seen: list[list[tuple[str, int, tuple[int, ...]]]] = [[] for _ in colours]
        for kind, variables in incidences:
            atom_colours = tuple(colours[v] for v in variables)
            for position, variable in enumerate(variables):
                seen[variable].append((kind, position, atom_colours))
        keys = [(c, labels[i], tuple(sorted(seen[i]))) for i, c in enumerate(colours)]
        rank = {key: index for index, key in enumerate(sorted(set(keys)))}
        refined = [rank[key] for key in keys]
        if len(rank) == len(set(colours)):
            return refined
        colours = refined


def _search(
    colours: list[int], labels: Sequence[str], incidences: list[Incidence], remaining: Iterator[int]
) -> tuple[list[Incidence], list[int]]:
    """Try all orders of the variables that have the same colour.

    `remaining` limits the search. At each branch, every choice except the first takes one item from it.
    Once no item is left, only first choices are tried. Returns the lexicographically smallest sorted list
    of atoms, and the order of variables that gives it.
    """
    by_colour: dict[int, list[int]] = {}
    for variable, colour in enumerate(colours):
        by_colour.setdefault(colour, []).append(variable)
    ambiguous = [colour for colour, members in sorted(by_colour.items()) if len(members) > 1]
    if not ambiguous:
        order = sorted(range(len(colours)), key=colours.__getitem__)
        rank = {variable: index for index, variable in enumerate(order)}
        return sorted((kind, tuple(rank[v] for v in vs)) for kind, vs in incidences), order
    best: tuple[list[Incidence], list[int]] | None = None
    tried: list[int] = []
    for variable in by_colour[ambiguous[0]]:
        if any(_is_symmetric_pair(variable, other, incidences) for other in tried):
            continue
        if best is not None and next(remaining, None) is None:
            break
        tried.append(variable)
        # Doubling all colours leaves room to put `variable` just before the others of its colour.
        chosen = [2 * colour - (index == variable) for index, colour in enumerate(colours)]
        found = _search(_refine(chosen, labels, incidences), labels, incidences, remaining)
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return best


def _is_symmetric_pair(one: int, other: int, incidences: list[Incidence]) -> bool:
    """Return whether swapping two variables leaves all atoms of the operator unchanged."""
    swap = {one: other, other: one}
    swapped = sorted((kind, tuple(swap.get(v, v) for v in vs)) for kind, vs in incidences)
    return swapped == incidences
