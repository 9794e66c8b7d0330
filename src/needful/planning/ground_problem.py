"""The compact form of an abstract planning problem: atoms are numbers, sets of atoms are integers.

A quantified delete can touch thousands of atoms. Its mask is therefore kept once for each ground
pattern, and the operators that use it share it by index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from needful.core.atoms import GroundAtom
from needful.core.objects import Object
from needful.core.operators import GroundOperator, Operator
from needful.core.plans import AbstractPlan


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
