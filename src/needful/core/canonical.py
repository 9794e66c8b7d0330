"""Operators in canonical form: equal up to renaming of variables means equal.

Controller arguments are fixed. The other variables are told apart by colour refinement (type and
incident atoms); what refinement leaves alike is settled by the least serialisation. Variables whose
exchange changes nothing need only one try, so fully symmetric operators stay cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from needful.core.atoms import LiftedAtom
from needful.core.objects import Variable
from needful.core.operators import DeletePattern, Operator

# One atom of an operator: what it is (role, predicate, wildcard types) and its variables.
Incidence: TypeAlias = tuple[str, tuple[int, ...]]

# What an operator is without the types of its variables: the controller and the atoms over places.
UntypedForm: TypeAlias = tuple[str, tuple[int, ...], int, tuple[Incidence, ...]]


def canonical_form(operator: Operator) -> tuple[Operator, dict[Variable, Variable]]:
    """Return the operator with variables renamed to ?x0, ?x1, ... and the renaming that was used.

    Controller arguments come first, in the controller's order.
    """
    fixed = list(dict.fromkeys(operator.controller_arguments))
    free = [variable for variable in operator.parameters if variable not in set(fixed)]
    number = {variable: index for index, variable in enumerate(fixed + free)}
    incidences = _incidences(operator, number)
    labels = [variable.type.name for variable in fixed + free]
    order = _best_order(len(fixed), labels, incidences)
    ordered = [(fixed + free)[index] for index in order]
    renaming = {old: Variable(f"?x{place}", old.type) for place, old in enumerate(ordered)}
    return rename(operator, renaming), renaming


def rename(operator: Operator, renaming: dict[Variable, Variable]) -> Operator:
    """Return the operator with its variables renamed; parameters follow the renaming's order."""

    def atoms(old: frozenset[LiftedAtom]) -> frozenset[LiftedAtom]:
        return frozenset(LiftedAtom(a.predicate, tuple(renaming[v] for v in a.variables)) for a in old)

    return replace(
        operator,
        parameters=tuple(renaming.values()),
        preconditions=atoms(operator.preconditions),
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
    """Return the operator's shape, and its variables in the order of the places that the shape has.

    Operators of equal shape are equal but for the names and types of their variables, and those at
    the same place correspond. Of variables that the shape does not tell apart, types decide.
    """
    fixed = tuple(dict.fromkeys(operator.controller_arguments))
    free = (variable for variable in operator.parameters if variable not in fixed)
    variables = (*fixed, *sorted(free, key=lambda variable: (variable.type.name, variable.name)))
    incidences = _incidences(operator, {variable: index for index, variable in enumerate(variables)})
    order = _best_order(len(fixed), [""] * len(variables), incidences)
    place = {index: place for place, index in enumerate(order)}
    atoms = sorted((kind, tuple(place[v] for v in vs)) for kind, vs in incidences)
    arguments = tuple(fixed.index(variable) for variable in operator.controller_arguments)
    found = (operator.controller.name, arguments, len(variables), tuple(atoms))
    return found, tuple(variables[index] for index in order)


def interchangeable(operator: Operator) -> tuple[tuple[Variable, ...], ...]:
    """Return the groups of parameters, two or more, that can be exchanged without changing anything.

    Groundings that differ only by an exchange within a group have the same atoms, so whoever lists
    groundings needs one of them. Controller arguments are in no group.
    """
    number = {variable: index for index, variable in enumerate(operator.parameters)}
    incidences = _incidences(operator, number)
    groups: list[list[Variable]] = []
    for variable in operator.parameters:
        if variable in operator.controller_arguments:
            continue
        for group in groups:
            first = group[0]
            if first.type == variable.type and _is_symmetric_pair(
                number[first], number[variable], incidences
            ):
                group.append(variable)
                break
        else:
            groups.append([variable])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _incidences(operator: Operator, number: dict[Variable, int]) -> list[Incidence]:
    found: list[Incidence] = []
    roles = (
        ("add", operator.add_effects),
        ("delete", operator.delete_effects),
        ("need", operator.preconditions),
    )
    for role, atoms in roles:
        found += [(f"{role} {a.predicate.name}", tuple(number[v] for v in a.variables)) for a in atoms]
    for pattern in operator.delete_patterns:
        shape = ",".join("?" if isinstance(a, Variable) else str(a) for a in pattern.arguments)
        bound = tuple(number[a] for a in pattern.arguments if isinstance(a, Variable))
        found.append((f"forget {pattern.predicate.name}({shape})", bound))
    return sorted(found)


def _best_order(fixed: int, labels: Sequence[str], incidences: list[Incidence]) -> list[int]:
    """Return the variable numbers in canonical order."""
    colours = [index if index < fixed else fixed for index in range(len(labels))]
    if len(labels) - fixed <= 1:
        return list(range(len(labels)))
    return _search(_refine(colours, labels, incidences), labels, incidences)[1]


def _refine(colours: list[int], labels: Sequence[str], incidences: list[Incidence]) -> list[int]:
    """Split colour classes by type and incident atoms until nothing splits any more."""
    while True:
        seen: list[list[tuple[str, int, tuple[int, ...]]]] = [[] for _ in colours]
        for kind, variables in incidences:
            around = tuple(colours[v] for v in variables)
            for position, variable in enumerate(variables):
                seen[variable].append((kind, position, around))
        keys = [(c, labels[i], tuple(sorted(seen[i]))) for i, c in enumerate(colours)]
        rank = {key: place for place, key in enumerate(sorted(set(keys)))}
        refined = [rank[key] for key in keys]
        if len(rank) == len(set(colours)):
            return refined
        colours = refined


def _search(
    colours: list[int], labels: Sequence[str], incidences: list[Incidence]
) -> tuple[list[Incidence], list[int]]:
    """Return the least serialisation reachable by telling equal colours apart, and its order."""
    by_colour: dict[int, list[int]] = {}
    for variable, colour in enumerate(colours):
        by_colour.setdefault(colour, []).append(variable)
    crowded = [colour for colour, members in sorted(by_colour.items()) if len(members) > 1]
    if not crowded:
        order = sorted(range(len(colours)), key=colours.__getitem__)
        place = {variable: index for index, variable in enumerate(order)}
        return sorted((kind, tuple(place[v] for v in vs)) for kind, vs in incidences), order
    best: tuple[list[Incidence], list[int]] | None = None
    tried: list[int] = []
    for variable in by_colour[crowded[0]]:
        if any(_is_symmetric_pair(variable, other, incidences) for other in tried):
            continue
        tried.append(variable)
        # Doubling the colours makes room just before the class for the chosen variable.
        chosen = [2 * colour - (index == variable) for index, colour in enumerate(colours)]
        found = _search(_refine(chosen, labels, incidences), labels, incidences)
        if best is None or found[0] < best[0]:
            best = found
    assert best is not None
    return best


def _is_symmetric_pair(one: int, other: int, incidences: list[Incidence]) -> bool:
    """Return whether exchanging two variables leaves all atoms as they are."""
    swap = {one: other, other: one}
    swapped = sorted((kind, tuple(swap.get(v, v) for v in vs)) for kind, vs in incidences)
    return swapped == incidences
