"""Order the parts of demonstrations by their structure instead of their names: colour refinement.

The parts of demonstrations are types, relations (predicates and controllers), objects, facts and the
demonstrations themselves. A fact is an atom with the times at which it became true or false, or an action
with the time at which it was executed. Each part gets a colour, a 64-bit number that does not depend on
names. At first, all parts of one kind have the same colour. In each round, the new colour of a part is
computed from its old colour and the colours of its neighbours. For example, the neighbours of an object are
its type and the facts about it. So objects with different facts get different colours. The rounds end when
the number of colours stops growing. Parts are then sorted by colour.

If two parts still have the same colour, they are almost always interchangeable: swapping them, and possibly
other pairs, leaves the demonstrations unchanged. One of the two then gets a new colour, and refinement
continues. This also distinguishes the neighbours of the two parts. For example, there are two equal blocks,
each in its own box. If one of the blocks gets a new colour, its box gets a new colour in the next round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from needful.core.limits import Deadline

# Ties between parts with equal colours are broken by giving one of them a new colour: at most this number
# of times for types and relations, and then at most this number of times for objects (one object per
# demonstration each time). Parts that still have equal colours afterwards are sorted by name.
MAX_CHOICES = 32

Colours = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.intp]

# The constants of `_mix`: shifts and factors, in the order of their use.
_MIX = tuple(map(np.uint64, (30, 0xBF58476D1CE4E5B9, 27, 0x94D049BB133111EB, 31)))


class ArgumentIndices(NamedTuple):
    """The arguments of facts, numbered as in `Structure.argument_objects`.

    Attributes:
        bounds: for each fact, the number of its first argument; the last item is the count of arguments.
        facts: for each argument, its fact.
        positions: for each argument, its position in the fact.
    """

    bounds: Indices
    facts: Indices
    positions: Indices


@dataclass(slots=True)
class Structure:
    """Demonstrations as arrays of numbers.

    A relation is a predicate or a controller. A fact is an atom or an action of a demonstration. An event
    is a change of an atom, or the execution of an action. An atom also has an event if it holds in the
    first state, and another one if it is part of the goal. For refinement, types, relations, and the
    objects of each demonstration must be numbered in the order of their names. While demonstrations are
    read, relations are still numbered in the order in which they are found.

    Attributes:
        type_parents: for each type, its parent, or -1 if it has no parent.
        relation_kinds: for each relation, whether it is a predicate or a controller, as a number.
        relation_types: for each relation, the types of its arguments.
        object_types: for each object, its type. Objects of different demonstrations are different.
        object_demonstrations: for each object, its demonstration.
        fact_relations: for each fact, its relation.
        fact_demonstrations: for each fact, its demonstration.
        argument_objects: the objects of the first fact in order, then those of the second fact, and so on.
        event_facts: for each event, its fact.
        event_codes: for each event, its time and kind, as one number.
    """

    type_parents: list[int] = field(default_factory=list)
    relation_kinds: list[int] = field(default_factory=list)
    relation_types: list[tuple[int, ...]] = field(default_factory=list)
    object_types: list[int] = field(default_factory=list)
    object_demonstrations: list[int] = field(default_factory=list)
    fact_relations: list[int] = field(default_factory=list)
    fact_demonstrations: list[int] = field(default_factory=list)
    argument_objects: list[int] = field(default_factory=list)
    event_facts: list[int] = field(default_factory=list)
    event_codes: list[int] = field(default_factory=list)

    def add_events(self, code: int, facts: Sequence[int]) -> None:
        """Add one event with the given code for each of the given facts."""
        if facts:
            self.event_facts += facts
            self.event_codes += [code] * len(facts)

    def arguments(self) -> ArgumentIndices:
        """Return the facts and positions to which the items of `argument_objects` belong."""
        counts = _indices([len(types) for types in self.relation_types])[_indices(self.fact_relations)]
        bounds = np.concatenate((_indices([0]), np.cumsum(counts)))
        facts = np.repeat(np.arange(len(counts)), counts)
        return ArgumentIndices(bounds, facts, np.arange(len(facts)) - bounds[facts])


@dataclass(frozen=True, slots=True)
class CanonicalOrder:
    """Types, relations (predicates and controllers), objects and demonstrations, sorted by colour.

    `objects` contains the objects of all demonstrations. The objects of one demonstration are sorted by
    type, then by the number of changes and actions that involve the object (largest number first), then by
    colour. If an operator fits several objects equally well, the learner prefers those that come first.
    """

    types: list[int]
    relations: list[int]
    objects: list[int]
    demonstrations: list[int]


def canonical_order(structure: Structure, demonstrations: int, deadline: Deadline) -> CanonicalOrder:
    """Return types, relations, objects and demonstrations in an order that does not depend on names.

    `demonstrations` is the number of demonstrations.

    Raises `LearningTimeoutError` if the deadline passes.
    """
    refinement = _Refinement(structure, demonstrations, deadline)
    refinement.refine()
    for _ in range(MAX_CHOICES):
        if not refinement.choose_type_or_relation():
            break
        refinement.refine()
    order = np.argsort(refinement.demonstrations, kind="stable").tolist()
    for _ in range(MAX_CHOICES):
        if not refinement.choose_objects():
            break
        refinement.refine_objects()
    types = np.argsort(refinement.types, kind="stable")
    ranks = np.empty_like(types)
    ranks[types] = np.arange(len(types))
    keys = (refinement.objects, -refinement.count_events(), ranks[refinement.object_types])
    return CanonicalOrder(
        types.tolist(),
        np.argsort(refinement.relations, kind="stable").tolist(),
        np.lexsort(keys).tolist(),
        order,
    )


def _mix(values: Colours) -> Colours:
    """Return a hash of each number (the finaliser of SplitMix64)."""
    first, one, second, two, third = _MIX
    values = (values ^ (values >> first)) * one
    values = (values ^ (values >> second)) * two
    return values ^ (values >> third)


def _salted(numbers: Sequence[int] | Indices, salt: int) -> Colours:
    """Return hashes of small numbers; different salts give different hashes."""
    return _mix(np.array(numbers, dtype=np.uint64) * np.uint64(64) + np.uint64(salt))


def _sums(size: int, indices: Indices, values: Colours) -> Colours:
    """Return an array of length `size`: element i is the sum of the `values` whose index is i."""
    sums = np.zeros(size, dtype=np.uint64)
    np.add.at(sums, indices, values)
    return sums


def _distinct(colours: Colours) -> int:
    """Return the number of different colours; sorting is faster than `np.unique`."""
    colours = np.sort(colours)
    return min(len(colours), 1) + int(np.count_nonzero(colours[1:] != colours[:-1]))


def _indices(numbers: Sequence[int]) -> Indices:
    return np.array(numbers, dtype=np.intp)


class _Refinement:
    """The colours of all parts during colour refinement."""

    def __init__(self, structure: Structure, demonstrations: int, deadline: Deadline) -> None:
        self._check = deadline.check
        # Types, relations, objects and demonstrations start with different colours, because `_count` counts
        # all their colours together.
        self.types: Colours = np.zeros(len(structure.type_parents), dtype=np.uint64)
        self.relations: Colours = _salted(structure.relation_kinds, 1)
        self.objects: Colours = np.ones(len(structure.object_types), dtype=np.uint64)
        self.demonstrations: Colours = np.full(demonstrations, 2, dtype=np.uint64)
        self.object_types = _indices(structure.object_types)
        self._object_demonstrations = _indices(structure.object_demonstrations)
        self._fact_relations = _indices(structure.fact_relations)
        self._fact_demonstrations = _indices(structure.fact_demonstrations)
        count, event_facts = len(structure.fact_relations), _indices(structure.event_facts)
        self._event_counts = np.bincount(event_facts, minlength=count)
        self._fact_events = _mix(_sums(count, event_facts, _salted(structure.event_codes, 2)))
        _, self._argument_facts, positions = structure.arguments()
        self._argument_objects = _indices(structure.argument_objects)
        self._argument_salts = _salted(positions, 3)
        parents = [(kind, parent) for kind, parent in enumerate(structure.type_parents) if parent >= 0]
        self._children = _indices([kind for kind, _ in parents])
        self._parents = _indices([parent for _, parent in parents])
        signatures = [
            (relation, position, kind)
            for relation, types in enumerate(structure.relation_types)
            for position, kind in enumerate(types)
        ]
        self._signature_relations = _indices([relation for relation, _, _ in signatures])
        self._signature_salts = _salted([position for _, position, _ in signatures], 4)
        self._signature_types = _indices([kind for _, _, kind in signatures])

    def refine(self) -> None:
        """Refine all colours until their number stops growing."""
        count = 0
        while (found := self._count()) > count:
            self._check()
            count = found
            facts = self._fact_colours()
            self.demonstrations = _mix(
                _sums(len(self.demonstrations), self._fact_demonstrations, facts)
                + _sums(len(self.demonstrations), self._object_demonstrations, _mix(self.objects))
            )
            objects = self._object_colours(facts)
            relations = _mix(
                _mix(self.relations)
                + _sums(
                    len(self.relations),
                    self._fact_relations,
                    _mix(facts + self.demonstrations[self._fact_demonstrations]),
                )
                + _sums(
                    len(self.relations),
                    self._signature_relations,
                    _mix(self.types[self._signature_types] + self._signature_salts),
                )
            )
            size = len(self.types)
            self.types = _mix(
                _mix(self.types)
                + _sums(size, self._children, _mix(self.types[self._parents] + np.uint64(1)))
                + _sums(size, self._parents, _mix(self.types[self._children] + np.uint64(2)))
                + _sums(
                    size,
                    self.object_types,
                    _mix(objects + self.demonstrations[self._object_demonstrations]),
                )
                + _sums(
                    size,
                    self._signature_types,
                    _mix(self.relations[self._signature_relations] + self._signature_salts),
                )
            )
            self.objects, self.relations = objects, relations

    def refine_objects(self) -> None:
        """Refine the colours of objects only, until their number stops growing."""
        count = 0
        while (found := _distinct(self.objects)) > count:
            self._check()
            count = found
            self.objects = self._object_colours(self._fact_colours())

    def _count(self) -> int:
        colours = (self.types, self.relations, self.objects, self.demonstrations)
        return _distinct(np.concatenate(colours))

    def _fact_colours(self) -> Colours:
        arguments = _mix(self.objects[self._argument_objects] + self._argument_salts)
        facts = _mix(self._fact_events + self.relations[self._fact_relations])
        return _mix(facts + _sums(len(facts), self._argument_facts, arguments))

    def _object_colours(self, facts: Colours) -> Colours:
        about = _mix(facts[self._argument_facts] ^ self._argument_salts)
        own = _mix(self.objects + self.types[self.object_types])
        return _mix(own + _sums(len(self.objects), self._argument_objects, about))

    def count_events(self) -> npt.NDArray[np.float64]:
        """Return, for each object, the number of events (see `Structure`) that involve it."""
        counts = self._event_counts[self._argument_facts]
        sums = np.bincount(self._argument_objects, weights=counts, minlength=len(self.objects))
        return sums.astype(np.float64)

    def choose_type_or_relation(self) -> bool:
        """If several types have equal colours, give one of them a new colour; otherwise try relations.

        Return whether there were types or relations with equal colours.
        """
        for colours in (self.types, self.relations):
            values, first, counts = np.unique(colours, return_index=True, return_counts=True)
            if len(values) < len(colours):
                chosen = first[counts > 1][:1]
                colours[chosen] = _mix(colours[chosen] + np.uint64(5))
                return True
        return False

    def choose_objects(self) -> bool:
        """Give a new colour to one tied object per demonstration; return whether there was such an object.

        An object is tied if another object of the demonstration has the same colour. An object is chosen
        only if a fact also mentions another tied object: in Inside(block, box), a new colour of the block
        then distinguishes the box, too. All other tied objects can be sorted in any order.
        """
        demonstrations = self._object_demonstrations
        order = np.lexsort((self.objects, demonstrations))
        equal = (self.objects[order][1:] == self.objects[order][:-1]) & (
            demonstrations[order][1:] == demonstrations[order][:-1]
        )
        tied = np.zeros(len(self.objects), dtype=bool)
        tied[order[1:][equal]] = True
        tied[order[:-1][equal]] = True
        tied_arguments = tied[self._argument_objects]
        several = np.bincount(self._argument_facts[tied_arguments], minlength=len(self._fact_relations)) > 1
        entangled = np.zeros(len(self.objects), dtype=bool)
        entangled[self._argument_objects[tied_arguments & several[self._argument_facts]]] = True
        candidates = order[entangled[order]]
        _, first = np.unique(demonstrations[candidates], return_index=True)
        chosen = candidates[first]
        self.objects[chosen] = _mix(self.objects[chosen] + np.uint64(6))
        return len(chosen) > 0
