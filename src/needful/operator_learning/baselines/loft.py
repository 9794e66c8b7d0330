"""LOFT: cluster by effects, then search for preconditions; a baseline of the paper.

The transitions of a cluster are positive examples, those of other clusters of the controller negative
ones. A search looks for preconditions that hold before many of the former and, under any grounding,
before few of the latter. What is covered becomes negative too, and the search is repeated for the
rest, so a cluster may end as several operators.

The ways to read a transition in the words of an operator: which of its atoms can hold together.

A way is what holds before the transition under one grounding on its action; as in the authors' code two
variables may be bound to one object. Only ways that are part of no other one are kept. Variables that
no atom relates are bound independently of each other, so the ways of a few are listed and combined.

Search for the preconditions that tell positive from negative examples: LOFT's inner search.

Greedy best-first search over sets of atoms. It starts from all that held before any positive example and
takes away one atom at a time. Sets of atoms are integers, one bit an atom. The examples are kept the
other way round, for each atom an integer that says in which of them it fails, so a set of atoms is
judged by a union and the sets with one atom less by two running unions.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import prod
from operator import or_

from needful.abstraction.atom_table import AtomKey, bits
from needful.core.deadline import NO_DEADLINE, Deadline
from needful.core.demonstrations import Demonstration
from needful.core.operators import Operator
from needful.operator_learning.baselines.cluster_intersect import clusters
from needful.operator_learning.encoding import EncodedTransition, encode_demonstrations
from needful.operator_learning.induction import LiftedAtomMap, liftable_atoms_before, lifted_atoms
from needful.operator_learning.learned_operators import EncodedOperatorData, LearnedOperators, judged

# A transition with more groundings can be read in any way.
MAX_GROUNDINGS = 10_000


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
        if not groundings or groundings > MAX_GROUNDINGS:
            return None if groundings else ()
        ways = [0]
        for places, atoms in self._groups.items():
            bindings = itertools.product(*(domains[place] for place in places))
            found = {
                _held(atoms, dict(zip(places, objects, strict=True)), transition) for objects in bindings
            }
            ways = [way | other for way in ways for other in maximal_masks(found)]
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


def maximal_masks(masks: Iterable[int]) -> tuple[int, ...]:
    """Return the masks that are part of no other one, those with most bits first."""
    kept: list[int] = []
    for mask in sorted(set(masks), key=lambda one: (-one.bit_count(), one)):
        if all(mask & ~other for other in kept):
            kept.append(mask)
    return tuple(kept)


# Weights in hundredths, so that costs are whole numbers.
FALSE_POSITIVE_COST, TRUE_POSITIVE_REWARD, VARIABLE, ATOM_COST = 100, 1000, 10, 1
MAX_EXPANSIONS = 2_500


@dataclass(frozen=True, slots=True)
class LabelledExamples:
    """Examples that preconditions should fit or not fit, by the atoms that fail in them.

    Attributes:
        variables: for each atom the mask of the variables it mentions.
        positives: how many positive examples there are.
        missed: for each atom the mask of the positive examples in which it fails.
        rows: a bit for each way to read a negative example; the ways of one example are neighbours,
            and above them there is a bit that is not in the mask.
        separator_bits: these spare bits.
        refuted: for each atom the mask of the rows in which it fails.
        always: how many negative examples fit whatever the preconditions.
    """

    variables: tuple[int, ...]
    positives: int
    missed: tuple[int, ...]
    rows: int
    separator_bits: int
    refuted: tuple[int, ...]
    always: int

    @classmethod
    def of(
        cls,
        variables: Sequence[int],
        positives: Sequence[int],
        negatives: Sequence[Sequence[int] | None],
    ) -> LabelledExamples:
        """Compare examples.

        A positive one is the set of atoms that hold. A negative one can be read in several ways, each
        the set of atoms that hold then; None is one that fits whatever the preconditions.
        """
        missed, refuted = [0] * len(variables), [0] * len(variables)
        for place, held in enumerate(positives):
            for atom in range(len(variables)):
                if not held >> atom & 1:
                    missed[atom] |= 1 << place
        rows = separator_bits = place = 0
        every = (1 << len(variables)) - 1
        for ways in negatives:
            for held in ways or ():
                rows |= 1 << place
                for atom in bits(every & ~held):
                    refuted[atom] |= 1 << place
                place += 1
            separator_bits |= 1 << place
            place += 1
        always = sum(ways is None for ways in negatives)
        return cls(
            tuple(variables), len(positives), tuple(missed), rows, separator_bits, tuple(refuted), always
        )

    def cost(self, atoms: int) -> float:
        """FP − 10 TP + 0.1 (distinct variables) + 0.01 |P|, times 100; infinite if TP = 0."""
        missed = refuted = variables = 0
        for atom in bits(atoms):
            missed |= self.missed[atom]
            refuted |= self.refuted[atom]
            variables |= self.variables[atom]
        return self._cost(missed, refuted, variables, atoms.bit_count())

    def _cost(self, missed: int, refuted: int, variables: int, size: int) -> float:
        right = self.positives - missed.bit_count()
        if not right:
            return math.inf
        # Adding all ones to the ways of an example that still fit carries into its spare bit.
        fitting = ((self.rows & ~refuted) + self.rows) & self.separator_bits
        wrong = self.always + fitting.bit_count()
        return (
            FALSE_POSITIVE_COST * wrong
            - TRUE_POSITIVE_REWARD * right
            + VARIABLE * variables.bit_count()
            + ATOM_COST * size
        )

    def with_one_atom_removed(self, atoms: int) -> Iterator[tuple[int, float]]:
        """Yield the sets with one atom less, and their costs."""
        members = list(bits(atoms))
        later = [(0, 0, 0)]
        for atom in reversed(members):
            later.append(self._with(later[-1], atom))
        earlier = (0, 0, 0)
        for atom, rest in zip(members, reversed(later[:-1]), strict=True):
            missed, refuted, variables = (one | other for one, other in zip(earlier, rest, strict=True))
            yield atoms & ~(1 << atom), self._cost(missed, refuted, variables, len(members) - 1)
            earlier = self._with(earlier, atom)

    def _with(self, unions: tuple[int, int, int], atom: int) -> tuple[int, int, int]:
        missed, refuted, variables = unions
        return missed | self.missed[atom], refuted | self.refuted[atom], variables | self.variables[atom]


def best_preconditions(labelled_examples: LabelledExamples, start: int, deadline: Deadline) -> int:
    """Return the set of least cost among those met; among equals the first.

    The authors' search also ends after 30 seconds. Here only the number of expansions ends it, so
    that the same comes out everywhere.
    """
    number = itertools.count()
    best = (labelled_examples.cost(start), next(number), start)
    queue, seen = [best], {start}
    for _ in range(MAX_EXPANSIONS):
        if not queue:
            break
        deadline.check()
        _, _, atoms = heapq.heappop(queue)
        for fewer, cost in labelled_examples.with_one_atom_removed(atoms):
            if fewer not in seen:
                seen.add(fewer)
                found = (cost, next(number), fewer)
                best = min(best, found)
                heapq.heappush(queue, found)
    return best[-1]


def loft(
    demonstrations: Sequence[Demonstration],
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn operators for every set of effects, with preconditions that tell it from the others."""
    encoded = encode_demonstrations((*demonstrations, *replays))
    found = clusters(encoded, deadline)
    operators: list[EncodedOperatorData] = []
    for cluster in found:
        controller = cluster.operator.controller
        others = [one for one in found if one is not cluster and one.operator.controller == controller]
        competitors = [transition for one in others for transition, _ in one.data]
        operators += split_by_preconditions(cluster, competitors, deadline)
    return judged(operators, encoded, len(demonstrations), deadline)


def loft_with_replays(
    demonstrations: Sequence[Demonstration],
    replays: Sequence[Demonstration] = (),
    deadline: Deadline = NO_DEADLINE,
) -> LearnedOperators:
    """Learn as LOFT does; operators of what replays tried in vain are not to be planned with.

    Where a controller was never seen to change anything, its operator stays: it is all that there is
    to do about a failure that the simulator reports.
    """
    learned = loft(demonstrations, replays, deadline)
    effective = {one.controller for one in learned.operators if one.add_effects or one.delete_effects}
    idle = (
        one.name
        for one in learned.operators
        if one.controller in effective and not one.add_effects and not one.delete_effects
    )
    return replace(learned, idle=frozenset(idle))


def split_by_preconditions(
    cluster: EncodedOperatorData, competitors: Sequence[EncodedTransition], deadline: Deadline = NO_DEADLINE
) -> Iterator[EncodedOperatorData]:
    """Yield the operators of a cluster, each with the transitions that its preconditions cover.

    Where the search covers no transition it gives up; a cluster that got nothing at all needs nothing.
    """
    operator, data = cluster.operator, cluster.data
    lifted = [liftable_atoms_before(operator, datum) for datum in data]
    known: LiftedAtomMap = {key: predicate for one in lifted for key, predicate in one.items()}
    atoms = sorted(known)
    held = [sum(1 << place for place, key in enumerate(atoms) if key in one) for one in lifted]
    variables = [sum(1 << place for place in set(places)) for _, places in atoms]
    reader = Reader(operator, atoms)
    negatives: list[tuple[int, ...] | None] = []
    fresh, remaining = competitors, list(range(len(data)))
    while remaining:
        for transition in fresh:
            deadline.check()
            negatives.append(reader.ways(transition))
        positives = [held[index] for index in remaining]
        labelled_examples = LabelledExamples.of(variables, positives, negatives)
        chosen = best_preconditions(labelled_examples, reduce(or_, positives), deadline)
        covered = [index for index in remaining if not chosen & ~held[index]]
        if not covered:
            break
        needs = {atoms[place]: known[atoms[place]] for place in bits(chosen)}
        yield EncodedOperatorData(
            replace(operator, preconditions=lifted_atoms(operator.parameters, needs)),
            tuple(data[index] for index in covered),
        )
        remaining = [index for index in remaining if chosen & ~held[index]]
        fresh = [data[index][0] for index in covered]
    if len(remaining) == len(data):
        yield cluster
