"""Tuples of distinct objects, counted and numbered without listing them."""

from __future__ import annotations

from dataclasses import dataclass

from needful.core.objects import Object


@dataclass(frozen=True, slots=True)
class InjectiveTuples:
    """The tuples with one object of each domain and no object twice.

    Domains are the objects of types. Types inherit from one parent at most, so domains contain one
    another or are disjoint: taken from the smallest to the largest, each loses one object for each
    earlier one inside it.
    """

    domains: tuple[tuple[Object, ...], ...]

    @property
    def count(self) -> int:
        """How many there are, which may be more than 64 bits can hold."""
        count = 1
        earlier: list[tuple[Object, ...]] = []
        for domain in sorted(self.domains, key=len):
            count *= max(0, len(domain) - sum(other[0] in domain for other in earlier if other))
            earlier.append(domain)
        return count

    def at(self, index: int) -> tuple[Object, ...]:
        """Return the tuple with the given number, from 0 to `count` - 1."""
        chosen: dict[int, Object] = {}
        for place in sorted(range(len(self.domains)), key=lambda place: len(self.domains[place])):
            free = [obj for obj in self.domains[place] if obj not in chosen.values()]
            index, position = divmod(index, len(free))
            chosen[place] = free[position]
        return tuple(chosen[place] for place in range(len(self.domains)))
