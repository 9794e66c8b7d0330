"""Search for the preconditions that tell positive from negative examples: LOFT's inner search.

Greedy best-first search over sets of atoms. It starts from all that held before any positive example and
takes away one atom at a time. Sets of atoms are integers, one bit an atom. The examples are kept the
other way round, for each atom an integer that says in which of them it fails, so a set of atoms is
judged by a union and the sets with one atom less by two running unions.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from needful.abstraction.atom_table import bits
from needful.core.deadline import Deadline

# Weights in hundredths, so that costs are whole numbers.
WRONG, RIGHT, VARIABLE, ATOM = 100, 1000, 10, 1
MOST_EXPANSIONS = 2_500


@dataclass(frozen=True, slots=True)
class Contrast:
    """Examples that preconditions should fit or not fit, by the atoms that fail in them.

    Attributes:
        variables: for each atom the mask of the variables it mentions.
        positives: how many positive examples there are.
        missed: for each atom the mask of the positive examples in which it fails.
        rows: a bit for each way to read a negative example; the ways of one example are neighbours,
            and above them there is a bit that is not in the mask.
        guards: these spare bits.
        refuted: for each atom the mask of the rows in which it fails.
        always: how many negative examples fit whatever the preconditions.
    """

    variables: tuple[int, ...]
    positives: int
    missed: tuple[int, ...]
    rows: int
    guards: int
    refuted: tuple[int, ...]
    always: int

    @classmethod
    def of(
        cls,
        variables: Sequence[int],
        positives: Sequence[int],
        negatives: Sequence[Sequence[int] | None],
    ) -> Contrast:
        """Compare examples.

        A positive one is the set of atoms that hold. A negative one can be read in several ways, each
        the set of atoms that hold then; None is one that fits whatever the preconditions.
        """
        missed, refuted = [0] * len(variables), [0] * len(variables)
        for place, held in enumerate(positives):
            for atom in range(len(variables)):
                if not held >> atom & 1:
                    missed[atom] |= 1 << place
        rows = guards = place = 0
        every = (1 << len(variables)) - 1
        for ways in negatives:
            for held in ways or ():
                rows |= 1 << place
                for atom in bits(every & ~held):
                    refuted[atom] |= 1 << place
                place += 1
            guards |= 1 << place
            place += 1
        always = sum(ways is None for ways in negatives)
        return cls(tuple(variables), len(positives), tuple(missed), rows, guards, tuple(refuted), always)

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
        fitting = ((self.rows & ~refuted) + self.rows) & self.guards
        wrong = self.always + fitting.bit_count()
        return WRONG * wrong - RIGHT * right + VARIABLE * variables.bit_count() + ATOM * size

    def without_one(self, atoms: int) -> Iterator[tuple[int, float]]:
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


def best_preconditions(contrast: Contrast, start: int, deadline: Deadline) -> int:
    """Return the set of least cost among those met; among equals the first.

    The authors' search also ends after 30 seconds. Here only the number of expansions ends it, so
    that the same comes out everywhere.
    """
    number = itertools.count()
    best = (contrast.cost(start), next(number), start)
    queue, seen = [best], {start}
    for _ in range(MOST_EXPANSIONS):
        if not queue:
            break
        deadline.check()
        _, _, atoms = heapq.heappop(queue)
        for fewer, cost in contrast.without_one(atoms):
            if fewer not in seen:
                seen.add(fewer)
                found = (cost, next(number), fewer)
                best = min(best, found)
                heapq.heappush(queue, found)
    return best[-1]
