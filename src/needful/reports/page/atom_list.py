"""Atoms in writing, listed once and referred to by number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from needful.core.atoms import GroundAtom


@dataclass(frozen=True, slots=True)
class AtomList:
    """The atoms that a page speaks of."""

    numbers: dict[str, int] = field(default_factory=dict)

    def add(self, atoms: Iterable[GroundAtom]) -> list[int]:
        """Return the numbers of atoms, in the order of the atoms."""
        return [self.numbers.setdefault(str(atom), len(self.numbers)) for atom in sorted(atoms)]

    def texts(self) -> list[str]:
        """Return all atoms by number."""
        return list(self.numbers)
