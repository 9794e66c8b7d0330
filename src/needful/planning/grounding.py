"""Ground operators by joins over the atoms that can be reached at all.

Ignoring deletes, the reachable atoms grow in rounds. In each round an operator is joined with the
atoms so far in such a way that at least one precondition is new (semi-naive evaluation), so every
grounding is found exactly once, and the product over the types is never formed.

The compact form of an abstract planning problem: atoms are numbers, sets of atoms are integers.

A quantified delete can touch thousands of atoms. Its mask is therefore kept once for each ground
pattern, and the operators that use it share it by index.

What a ground operator changes, as masks over the atoms of a compact problem.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomTable
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator
from needful.core.plans import AbstractPlan
from needful.planning.budget import Budget


@dataclass(frozen=True, slots=True)
class EncodedOperator:
    """A ground operator over numbered atoms.

    Attributes:
        operator: the index of the lifted operator.
        objects: the number of the object that each parameter is bound to.
        preconditions: P as a mask.
        adds: E+ as a mask; adds win over all deletes.
        deletes: E- as a mask.
        patterns: Q as indices into the problem's shared `pattern_masks`.
    """

    operator: int
    objects: tuple[int, ...]
    preconditions: int
    adds: int
    deletes: int
    patterns: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """How much memory the masks take."""
        return sum(mask.bit_length() for mask in (self.preconditions, self.adds, self.deletes)) // 8


@dataclass(frozen=True, slots=True)
class GroundProblem:
    """A task over numbered atoms and the ground operators that matter for it.

    Attributes:
        operators: the lifted operators.
        objects: the objects, sorted; an object's number is its place.
        atoms: the atoms, sorted by predicate and object numbers; an atom's number is its place.
        initial: the atoms that hold at the start.
        goal: the atoms that must hold in the end.
        reachable: the atoms that can be reached if nothing is ever deleted.
        ground_operators: sorted by (operator, objects); only those with reachable preconditions.
        pattern_masks: the atoms that each ground delete pattern matches.
        failures: discovered failures (ground operator, object). Each has an atom of its own,
            numbered after `atoms` in this order, that no state is ever asked for.
    """

    operators: tuple[Operator, ...]
    objects: tuple[Object, ...]
    atoms: tuple[GroundAtom, ...]
    initial: int
    goal: int
    reachable: int
    ground_operators: tuple[EncodedOperator, ...]
    pattern_masks: tuple[int, ...]
    failures: tuple[tuple[int, int], ...] = ()

    @property
    def atom_count(self) -> int:
        """How many atoms are numbered, those of discovered failures included."""
        return len(self.atoms) + len(self.failures)

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal can be reached if nothing is ever deleted; if not, there is no plan."""
        return self.goal & ~self.reachable == 0

    def ground_operator(self, index: int) -> GroundOperator:
        """Return a ground operator in the words of the model."""
        encoded = self.ground_operators[index]
        return self.operators[encoded.operator].ground([self.objects[i] for i in encoded.objects])

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps have the given indices."""
        return tuple(self.ground_operator(index) for index in steps)


class OperatorMasks(NamedTuple):
    """What a ground operator needs, adds and deletes. What it needs and adds was there before."""

    needs: int
    adds: int
    deletes: int

    def after(self, state: int) -> int:
        """Return the state that follows one in which all that is needed holds."""
        return state & ~self.deletes | self.adds


def operator_masks(step: int, problem: GroundProblem) -> OperatorMasks:
    """Return the change that a ground operator makes; adds win over all deletes."""
    operator = problem.ground_operators[step]
    deletes = operator.deletes
    for pattern in operator.patterns:
        deletes |= problem.pattern_masks[pattern]
    return OperatorMasks(
        operator.preconditions, operator.adds & ~operator.preconditions, deletes & ~operator.adds
    )


# An atom is a bit in a number of its own: so many take a gigabyte, twice as many four.
_MAX_ATOMS = 130_000
# The memory that the masks of ground operators may take: each may be as long as there are atoms.
_MAX_OPERATOR_BYTES = 1 << 31

# The index of an operator and the numbers of the objects that its parameters are bound to.
Grounding: TypeAlias = tuple[int, tuple[int, ...]]
# A lifted atom as its predicate and, at each position, the place of the variable in the binding.
IndexedAtom: TypeAlias = tuple[Predicate, tuple[int, ...]]


def ground(
    operators: Sequence[Operator],
    objects: Iterable[Object],
    initial: AbstractState,
    goal: AbstractState,
    budget: Budget,
    allow_noops: bool = True,
) -> GroundProblem | None:
    """Return the compact problem, or None if time ran out or it is too large.

    Ground operators whose preconditions are not reachable even without deletes are left out. With
    `allow_noops` false, so are those with neither add effects nor atomic delete effects.
    """
    table = AtomTable(objects)
    for atom in budget.until_deadline(initial):
        table.number(atom)
    shapes = [_IndexedOperator.of(operator, table) for operator in operators]
    usable = [i for i, shape in enumerate(shapes) if allow_noops or shape.adds or shape.deletes]
    groundings = _reachable_groundings(table, shapes, usable, budget)
    if groundings is None:
        return None
    reached = list(table.atoms)
    numbered = _sorted_table(table, goal, budget)
    encoder = _Encoder(numbered)
    ground_operators, stored = [], 0
    for index, binding in groundings:
        encoded = encoder.encode(index, shapes[index], binding)
        stored += encoded.bytes
        if budget.expired() or stored > _MAX_OPERATOR_BYTES:
            return None
        ground_operators.append(encoded)
    if budget.expired():
        return None
    return GroundProblem(
        operators=tuple(operators),
        objects=numbered.objects,
        atoms=tuple(numbered.atoms),
        initial=_mask(initial, numbered),
        goal=_mask(goal, numbered),
        reachable=_mask(reached, numbered),
        ground_operators=tuple(ground_operators),
        pattern_masks=tuple(encoder.pattern_masks),
    )


@dataclass(frozen=True, slots=True)
class _IndexedOperator:
    """An operator whose variables are places in a binding."""

    place: dict[Variable, int]
    domains: tuple[int, ...]
    preconditions: tuple[IndexedAtom, ...]
    adds: tuple[IndexedAtom, ...]
    deletes: tuple[IndexedAtom, ...]
    patterns: tuple[DeletePattern, ...]

    @classmethod
    def of(cls, operator: Operator, table: AtomTable) -> _IndexedOperator:
        place = {variable: index for index, variable in enumerate(operator.parameters)}

        def placed(atoms: frozenset[LiftedAtom]) -> tuple[IndexedAtom, ...]:
            return tuple((a.predicate, tuple(place[v] for v in a.variables)) for a in sorted(atoms))

        return cls(
            place,
            tuple(table.of_type(variable.type) for variable in operator.parameters),
            placed(operator.preconditions),
            placed(operator.add_effects),
            placed(operator.delete_effects),
            tuple(sorted(operator.delete_patterns)),
        )


def _reachable_groundings(
    table: AtomTable, shapes: Sequence[_IndexedOperator], usable: Sequence[int], budget: Budget
) -> list[Grounding] | None:
    """Return the sorted groundings with reachable preconditions; number the atoms that they add."""
    found: list[Grounding] = []
    old, fresh = 0, (1 << len(table)) - 1
    first = True
    while first or fresh:
        for index in usable:
            shape = shapes[index]
            for binding in _new_bindings(table, shape, old, fresh, first, budget):
                if not budget.allows_grounding(len(found)) or len(table) > _MAX_ATOMS:
                    return None
                found.append((index, binding))
                for predicate, places in shape.adds:
                    table.number_by_arguments(predicate, tuple(binding[p] for p in places))
        if budget.expired():
            return None
        old |= fresh
        fresh = ((1 << len(table)) - 1) & ~old
        first = False
    return sorted(found)


def _new_bindings(
    table: AtomTable, shape: _IndexedOperator, old: int, fresh: int, first: bool, budget: Budget
) -> Iterator[tuple[int, ...]]:
    """Yield the bindings with reached preconditions of which at least one is fresh.

    One join for each precondition: the one in which it is the first that is fresh.
    """
    free = [UNBOUND] * len(shape.domains)
    if first and not shape.preconditions:
        yield from join(table, [], shape.domains, free, budget.expired)
    for pivot in range(len(shape.preconditions)):
        allowed = [old] * pivot + [fresh] + [old | fresh] * (len(shape.preconditions) - pivot - 1)
        constraints = [
            Constraint(predicate.name, places, among)
            for (predicate, places), among in zip(shape.preconditions, allowed, strict=True)
        ]
        yield from join(table, constraints, shape.domains, free, budget.expired)


def _sorted_table(table: AtomTable, goal: AbstractState, budget: Budget) -> AtomTable:
    """Return a table of the same atoms and the goal's, numbered in an order that anyone can repeat."""
    table.encode(goal)
    keyed = zip(table.atoms, table.arguments, strict=True)
    result = AtomTable(table.objects)
    for atom, _ in budget.until_deadline(sorted(keyed, key=_sort_key)):
        result.number(atom)
    return result


def _mask(atoms: Iterable[GroundAtom], table: AtomTable) -> int:
    """Return the mask of any number of atoms in time that is linear in it."""
    ones = bytearray(len(table) // 8 + 1)
    for atom in atoms:
        number = table.number(atom)
        ones[number // 8] |= 1 << number % 8
    return int.from_bytes(ones, "little")


def _sort_key(keyed: tuple[GroundAtom, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    atom, arguments = keyed
    return atom.predicate.name, arguments


class _Encoder:
    """Turns groundings into masks, and keeps one mask for each ground delete pattern."""

    def __init__(self, table: AtomTable) -> None:
        self.table = table
        self.pattern_masks: list[int] = []
        self._pattern_index: dict[tuple[str, tuple[int | Type, ...]], int] = {}

    def encode(self, index: int, shape: _IndexedOperator, binding: tuple[int, ...]) -> EncodedOperator:
        return EncodedOperator(
            index,
            binding,
            self._mask(shape.preconditions, binding),
            self._mask(shape.adds, binding),
            self._mask(shape.deletes, binding),
            tuple(self._pattern(pattern, shape.place, binding) for pattern in shape.patterns),
        )

    def _mask(self, atoms: Iterable[IndexedAtom], binding: tuple[int, ...]) -> int:
        mask = 0
        for predicate, places in atoms:
            number = self.table.find((predicate.name, tuple(binding[p] for p in places)))
            # An atom without a number never holds, so there is no need to delete it.
            if number is not None:
                mask |= 1 << number
        return mask

    def _pattern(self, pattern: DeletePattern, place: dict[Variable, int], binding: tuple[int, ...]) -> int:
        arguments = tuple(
            binding[place[a]] if isinstance(a, Variable) else a.type for a in pattern.arguments
        )
        key = (pattern.predicate.name, arguments)
        index = self._pattern_index.get(key)
        if index is None:
            index = self._pattern_index[key] = len(self.pattern_masks)
            self.pattern_masks.append(self.table.matching(pattern, place, binding))
        return index
