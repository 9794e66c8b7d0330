"""Grounding: turn a task and lifted operators into a compact problem over numbered atoms.

Each atom has a number. A set of atoms is an integer, its bit mask: bit i is set if atom i is in the set. A
delete pattern is a quantified delete effect, such as On(x, any block). It can match thousands of atoms, so
its mask is stored once per ground pattern, and ground operators refer to it by index.

Operators are grounded by joins over the atoms that are reachable if delete effects are ignored. The set of
these atoms grows in rounds. Each round finds the groundings whose preconditions are all reached, with at
least one first reached in the previous round (semi-naive evaluation). Every grounding is thus found exactly
once, and not all combinations of objects are enumerated. Negative preconditions are ignored, with one
exception. If a negative precondition forbids an atom that holds at the start, and no operator deletes atoms
of the same predicate, the grounding is never applicable and is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from needful.abstraction.atom_table import AtomTable
from needful.abstraction.joins import UNBOUND, Constraint, join
from needful.core.atoms import AbstractState, GroundAtom, LiftedAtom, Predicate
from needful.core.limits import Budget
from needful.core.objects import Object, Type, Variable
from needful.core.operators import DeletePattern, GroundOperator, Operator
from needful.core.plans import AbstractPlan
from needful.core.tasks import AbstractTask
from needful.planning.costs import UNIT_COSTS, OperatorCosts

# The maximum number of atoms. For the atom with number n, an integer of n + 1 bits is stored (2 ** n).
# Memory is therefore quadratic in the number of atoms: about 1 GB at this limit.
_MAX_ATOMS = 130_000
# The memory limit, in bytes, for the bit masks of all ground operators; a mask can have one bit per atom.
_MAX_OPERATOR_BYTES = 1 << 31

# The index of an operator, and for each parameter of the operator the index of the object bound to it.
Grounding: TypeAlias = tuple[int, tuple[int, ...]]
# A lifted atom: its predicate, and for each argument the index of the operator's parameter.
IndexedAtom: TypeAlias = tuple[Predicate, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class EncodedOperator:
    """A ground operator over numbered atoms.

    Attributes:
        operator: the index of the lifted operator.
        objects: for each parameter, the index of the object that it is bound to.
        preconditions: the atoms that must hold, as a bit mask.
        adds: the add effects as a bit mask; they override all deletes.
        deletes: the delete effects on single atoms, as a bit mask.
        patterns: the delete patterns (quantified deletes), as indices into `GroundProblem.pattern_masks`.
        negative_preconditions: the atoms that must not hold, as a bit mask. Atoms that never hold are left
            out.
    """

    operator: int
    objects: tuple[int, ...]
    preconditions: int
    adds: int
    deletes: int
    patterns: tuple[int, ...]
    negative_preconditions: int = 0

    @property
    def mask_bytes(self) -> int:
        """The memory that the bit masks take, in bytes."""
        masks = (self.preconditions, self.negative_preconditions, self.adds, self.deletes)
        return sum(mask.bit_length() for mask in masks) // 8


@dataclass(frozen=True, slots=True, repr=False)
class GroundProblem:
    """A task over numbered atoms and its ground operators.

    Attributes:
        operators: the lifted operators.
        objects: the objects, sorted; an object's number is its index.
        atoms: the atoms, sorted by predicate and object numbers; an atom's number is its index.
        initial: the atoms that hold at the start, as a bit mask.
        goal: the atoms that must hold at the end, as a bit mask.
        reachable: the atoms that are reachable if delete effects are ignored, as a bit mask.
        ground_operators: sorted by (operator, objects); only those with reachable preconditions.
        pattern_masks: for each ground delete pattern (quantified delete), the bit mask of its atoms.
        failures: the failures discovered in simulation, as pairs: the index of the ground operator that
            failed, and the index of the object that made it fail, or -1 (see `Problem.failures`). For each
            failure, the operator requires an additional atom, which the operators that deal with the object
            add (see `deals_with`). These atoms are numbered after `atoms`, in the order of the failures.
        costs: the costs of the ground operators, where they are not 1.
        tried: the plans that were tried already, as indices of ground operators. A `Portfolio` leaves
            them out.
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
    costs: OperatorCosts = UNIT_COSTS
    tried: tuple[tuple[int, ...], ...] = ()

    def __repr__(self) -> str:
        counts = f"{len(self.objects)} objects, {self.atom_count} atoms"
        return f"GroundProblem({counts}, {len(self.ground_operators)} ground operators)"

    @property
    def atom_count(self) -> int:
        """The number of atoms, including one additional atom per discovered failure."""
        return len(self.atoms) + len(self.failures)

    @property
    def goal_reachable(self) -> bool:
        """Whether the goal is reachable if delete effects are ignored; if not, there is no plan."""
        return self.goal & ~self.reachable == 0

    def step_costs(self) -> list[int]:
        """Return the cost of each ground operator."""
        if not self.costs:
            return [1] * len(self.ground_operators)
        names = [operator.name for operator in self.operators]
        return self.costs.by_ground_operator(names, (one.operator for one in self.ground_operators))

    def ground_operator(self, index: int) -> GroundOperator:
        """Return the ground operator that has the given index in `ground_operators`."""
        encoded = self.ground_operators[index]
        return self.operators[encoded.operator].ground([self.objects[i] for i in encoded.objects])

    def plan(self, steps: Sequence[int]) -> AbstractPlan:
        """Return the abstract plan whose steps are the ground operators with the given indices."""
        return tuple(self.ground_operator(index) for index in steps)


class OperatorMasks(NamedTuple):
    """The atoms that a ground operator requires, forbids, adds and deletes, as bit masks.

    `adds` excludes the preconditions. `deletes` excludes the add effects and the negative preconditions.
    """

    preconditions: int
    negative_preconditions: int
    adds: int
    deletes: int

    def applicable(self, state: int) -> bool:
        """Return whether the preconditions hold and no negative precondition holds."""
        return not (self.preconditions & ~state or self.negative_preconditions & state)

    def apply(self, state: int) -> int:
        """Return the successor of a state in which the operator is applicable."""
        return state & ~self.deletes | self.adds


def operator_masks(step: int, problem: GroundProblem) -> OperatorMasks:
    """Return the bit masks of a ground operator; `deletes` includes all atoms of quantified deletes."""
    operator = problem.ground_operators[step]
    negative = operator.negative_preconditions
    return OperatorMasks(
        operator.preconditions,
        negative,
        operator.adds & ~operator.preconditions,
        deleted_atoms(operator, problem) & ~negative,
    )


def deleted_atoms(operator: EncodedOperator, problem: GroundProblem) -> int:
    """Return the bit mask of all atoms that a ground operator deletes, including quantified deletes.

    Atoms that the operator also adds are left out.
    """
    deletes = operator.deletes
    for pattern in operator.patterns:
        deletes |= problem.pattern_masks[pattern]
    return deletes & ~operator.adds


def ground(operators: Sequence[Operator], task: AbstractTask, budget: Budget) -> GroundProblem | None:
    """Return the compact problem, or None if time ran out or the problem is too large.

    The problem contains only ground operators whose preconditions are reachable if delete effects and
    negative preconditions are ignored.
    """
    table = AtomTable(task.objects)
    for atom in budget.until_deadline(task.initial):
        table.number(atom)
    indexed = [_IndexedOperator.of(operator, table) for operator in operators]
    groundings = _reachable_groundings(table, indexed, budget)
    if groundings is None:
        return None
    reached = table.atoms
    sorted_table = _sorted_table(table, task.goal, budget)
    encoder = _Encoder(sorted_table)
    ground_operators, stored = [], 0
    for index, binding in groundings:
        encoded = encoder.encode(index, indexed[index], binding)
        stored += encoded.mask_bytes
        if budget.expired() or stored > _MAX_OPERATOR_BYTES:
            return None
        ground_operators.append(encoded)
    if budget.expired():
        return None
    return GroundProblem(
        operators=tuple(operators),
        objects=sorted_table.objects,
        atoms=sorted_table.atoms,
        initial=_mask(task.initial, sorted_table),
        goal=_mask(task.goal, sorted_table),
        reachable=_mask(reached, sorted_table),
        ground_operators=tuple(ground_operators),
        pattern_masks=tuple(encoder.pattern_masks),
    )


@dataclass(frozen=True, slots=True)
class _IndexedOperator:
    """An operator whose variables are replaced by the indices of its parameters."""

    parameter_index: dict[Variable, int]
    domains: tuple[int, ...]
    preconditions: tuple[IndexedAtom, ...]
    negative_preconditions: tuple[IndexedAtom, ...]
    adds: tuple[IndexedAtom, ...]
    deletes: tuple[IndexedAtom, ...]
    patterns: tuple[DeletePattern, ...]

    @classmethod
    def of(cls, operator: Operator, table: AtomTable) -> _IndexedOperator:
        parameter_index = {variable: index for index, variable in enumerate(operator.parameters)}

        def indexed(atoms: frozenset[LiftedAtom]) -> tuple[IndexedAtom, ...]:
            return tuple(
                (atom.predicate, tuple(parameter_index[v] for v in atom.variables))
                for atom in sorted(atoms)
            )

        return cls(
            parameter_index,
            tuple(table.of_type(variable.type) for variable in operator.parameters),
            indexed(operator.preconditions),
            indexed(operator.negative_preconditions),
            indexed(operator.add_effects),
            indexed(operator.delete_effects),
            tuple(sorted(operator.delete_patterns)),
        )


def _reachable_groundings(
    table: AtomTable, operators: Sequence[_IndexedOperator], budget: Budget
) -> list[Grounding] | None:
    """Return the sorted groundings with reachable preconditions, or None if a limit is exceeded.

    `table` contains the initial atoms. The atoms that the groundings add get numbers in it. Groundings with
    a negative precondition that forbids an atom that always holds are left out.
    """
    found: list[Grounding] = []
    never_deleted = _never_deleted_negatives(operators)
    initial_count = len(table)

    def holds_initially(atom: IndexedAtom, binding: tuple[int, ...]) -> bool:
        number = table.find((atom[0].name, tuple(binding[i] for i in atom[1])))
        return number is not None and number < initial_count

    old, fresh = 0, (1 << len(table)) - 1
    first = True
    while first or fresh:
        for index, operator in enumerate(operators):
            for binding in _new_bindings(table, operator, old, fresh, first, budget):
                if any(holds_initially(atom, binding) for atom in never_deleted[index]):
                    continue
                if not budget.allows_grounding(len(found)) or len(table) > _MAX_ATOMS:
                    return None
                found.append((index, binding))
                for predicate, indices in operator.adds:
                    table.number_by_arguments(predicate, tuple(binding[i] for i in indices))
        if budget.expired():
            return None
        old |= fresh
        fresh = ((1 << len(table)) - 1) & ~old
        first = False
    return sorted(found)


def _never_deleted_negatives(operators: Sequence[_IndexedOperator]) -> list[list[IndexedAtom]]:
    """Return, for each operator, the negative preconditions whose predicate no operator deletes."""
    deleted = {predicate.name for operator in operators for predicate, _ in operator.deletes}
    deleted |= {pattern.predicate.name for operator in operators for pattern in operator.patterns}
    return [
        [atom for atom in operator.negative_preconditions if atom[0].name not in deleted]
        for operator in operators
    ]


def _new_bindings(
    table: AtomTable, operator: _IndexedOperator, old: int, fresh: int, first: bool, budget: Budget
) -> Iterator[tuple[int, ...]]:
    """Yield the bindings of an operator that become possible in one round.

    A binding has an object index for each parameter. `fresh` is the bit mask of the atoms first reached in
    the previous round, and `old` that of the atoms reached before. In a new binding, all preconditions are
    reached and at least one is fresh. To find each binding once, there is one join per precondition: it
    finds the bindings in which this precondition is fresh and all preconditions before it are old. An
    operator without preconditions has bindings in the first round only.
    """
    free = [UNBOUND] * len(operator.domains)
    if first and not operator.preconditions:
        yield from join(table, [], operator.domains, free, budget.expired)
    for pivot in range(len(operator.preconditions)):
        allowed = [old] * pivot + [fresh] + [old | fresh] * (len(operator.preconditions) - pivot - 1)
        constraints = [
            Constraint(predicate.name, indices, among)
            for (predicate, indices), among in zip(operator.preconditions, allowed, strict=True)
        ]
        yield from join(table, constraints, operator.domains, free, budget.expired)


def _sorted_table(table: AtomTable, goal: AbstractState, budget: Budget) -> AtomTable:
    """Return a table of the atoms of `table` and of the goal, numbered in a deterministic order."""
    table.encode(goal)
    keyed = zip(table.atoms, table.arguments, strict=True)
    result = AtomTable(table.objects)
    for atom, _ in budget.until_deadline(sorted(keyed, key=_sort_key)):
        result.number(atom)
    return result


def _sort_key(keyed: tuple[GroundAtom, tuple[int, ...]]) -> tuple[str, tuple[int, ...]]:
    atom, arguments = keyed
    return atom.predicate.name, arguments


def _mask(atoms: Iterable[GroundAtom], table: AtomTable) -> int:
    """Return the bit mask of a set of atoms, built in a byte array because updating a long int is slow."""
    ones = bytearray(len(table) // 8 + 1)
    for atom in atoms:
        number = table.number(atom)
        ones[number // 8] |= 1 << number % 8
    return int.from_bytes(ones, "little")


class _Encoder:
    """Turns groundings into ground operators with bit masks; equal delete patterns share one mask."""

    def __init__(self, table: AtomTable) -> None:
        self.table = table
        self.pattern_masks: list[int] = []
        self._pattern_index: dict[tuple[str, tuple[int | Type, ...]], int] = {}

    def encode(self, index: int, operator: _IndexedOperator, binding: tuple[int, ...]) -> EncodedOperator:
        return EncodedOperator(
            index,
            binding,
            self._mask(operator.preconditions, binding),
            self._mask(operator.adds, binding),
            self._mask(operator.deletes, binding),
            tuple(self._pattern(pattern, operator, binding) for pattern in operator.patterns),
            self._mask(operator.negative_preconditions, binding),
        )

    def _mask(self, atoms: Iterable[IndexedAtom], binding: tuple[int, ...]) -> int:
        mask = 0
        for predicate, indices in atoms:
            number = self.table.find((predicate.name, tuple(binding[i] for i in indices)))
            # An atom without a number never holds. It occurs only as a delete effect or as a negative
            # precondition, and is left out.
            if number is not None:
                mask |= 1 << number
        return mask

    def _pattern(self, pattern: DeletePattern, operator: _IndexedOperator, binding: tuple[int, ...]) -> int:
        parameter_index = operator.parameter_index
        arguments = tuple(
            binding[parameter_index[a]] if isinstance(a, Variable) else a.type for a in pattern.arguments
        )
        key = (pattern.predicate.name, arguments)
        index = self._pattern_index.get(key)
        if index is None:
            index = self._pattern_index[key] = len(self.pattern_masks)
            self.pattern_masks.append(self.table.matching(pattern, parameter_index, binding))
        return index
