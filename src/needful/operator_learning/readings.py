"""The ways to read a transition in the words of an operator: which of its atoms can hold together.

A way is what holds before the transition under one grounding on its action; as in the authors' code two
variables may be bound to one object. Only ways that are part of no other one are kept. Variables that
no atom relates are bound independently of each other, so the ways of a few are listed and combined.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from math import prod

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.operators import Operator
from needful.operator_learning.encoding import EncodedTransition

# A transition with more groundings can be read in any way.
MOST_GROUNDINGS = 10_000


class Reader:
    """Reads transitions in the words of one operator; atoms are bits, in the order of `atoms`."""

    def __init__(self, operator: Operator, atoms: Sequence[AtomKey]) -> None:
        self._operator = operator
        self._arguments = tuple(map(operator.parameters.index, operator.controller_arguments))
        self._groups = related(atoms, set(range(len(operator.parameters))) - set(self._arguments))

    def ways(self, transition: EncodedTransition) -> tuple[int, ...] | None:
        """Return the largest sets of atoms that hold together; None if there are too many groundings."""
        table, parameters = transition.table, self._operator.parameters
        domains = [list(bits(table.of_type(variable.type))) for variable in parameters]
        for place, number in zip(self._arguments, transition.arguments, strict=True):
            domains[place] = [number] if number in domains[place] else []
        groundings = prod(map(len, domains))
        if not groundings or groundings > MOST_GROUNDINGS:
            return None if groundings else ()
        ways = [0]
        for places, atoms in self._groups.items():
            bindings = itertools.product(*(domains[place] for place in places))
            found = {
                _held(atoms, dict(zip(places, objects, strict=True)), transition) for objects in bindings
            }
            ways = [way | other for way in ways for other in maximal(found)]
        return tuple(ways)


def related(atoms: Sequence[AtomKey], free: set[int]) -> dict[tuple[int, ...], list[tuple[int, AtomKey]]]:
    """Group numbered atoms so that no two groups share a free variable; the key is all their variables."""
    groups: list[tuple[set[int], list[tuple[int, AtomKey]]]] = []
    for number, atom in enumerate(atoms):
        places, members = set(atom[1]), [(number, atom)]
        for group in [one for one in groups if one[0] & places & free]:
            groups.remove(group)
            places, members = places | group[0], group[1] + members
        groups.append((places, members))
    merged: dict[tuple[int, ...], list[tuple[int, AtomKey]]] = {}
    for places, members in groups:
        merged.setdefault(tuple(sorted(places)), []).extend(members)
    return merged


def _held(
    atoms: Iterable[tuple[int, AtomKey]], binding: Mapping[int, int], transition: EncodedTransition
) -> int:
    held = 0
    for bit, (predicate, places) in atoms:
        number = transition.table.find((predicate, tuple([binding[place] for place in places])))
        if number is not None and transition.before >> number & 1:
            held |= 1 << bit
    return held


def maximal(masks: Iterable[int]) -> tuple[int, ...]:
    """Return the masks that are part of no other one, those with most bits first."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda one: (-one.bit_count(), one)):
        if all(mask & ~other for other in kept):
            kept.append(mask)
    return tuple(kept)
