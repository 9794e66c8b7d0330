"""How long planning may take, how large a problem may be, and how many search nodes may be created."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from needful.errors import InvalidInputError

Clock: TypeAlias = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """A deadline on a monotonic clock and caps on what is stored, shared by all stages of planning.

    Attributes:
        deadline: the reading of `clock` at which time is up.
        max_nodes: how many search nodes may be created in all, or None for no cap.
        clock: returns seconds and never goes back.
        max_ground_operators: how many a problem may have, or None for no cap.
    """

    deadline: float
    max_nodes: int | None = None
    clock: Clock = time.monotonic
    max_ground_operators: int | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.deadline):
            raise InvalidInputError("A deadline must be a number, got nan.")
        if self.max_nodes is not None and self.max_nodes < 1:
            raise InvalidInputError(
                f"A search needs at least 1 node, got max_nodes={self.max_nodes}. Use None for no cap."
            )
        if self.max_ground_operators is not None and self.max_ground_operators < 0:
            raise InvalidInputError(
                f"There cannot be max_ground_operators={self.max_ground_operators}. Use None for no cap."
            )

    @classmethod
    def seconds(
        cls,
        seconds: float,
        *,
        max_nodes: int | None = None,
        clock: Clock = time.monotonic,
        max_ground_operators: int | None = None,
    ) -> Budget:
        """Return the budget that ends after so many seconds from now."""
        return cls(clock() + seconds, max_nodes, clock, max_ground_operators)

    @classmethod
    def unlimited(cls) -> Budget:
        """Return the budget that never ends."""
        return cls(math.inf)

    def expired(self) -> bool:
        """Return whether time is up."""
        return self.clock() >= self.deadline

    def remaining(self) -> float:
        """Return how many seconds are left, never less than 0."""
        return max(0.0, self.deadline - self.clock())

    def until_deadline(self, items: Iterable[T]) -> Iterator[T]:
        """Yield items as long as time remains.

        Whatever is built from them is of no use when time ran out; whoever uses it looks at the clock.
        """
        return itertools.takewhile(lambda _: not self.expired(), items)

    def allows(self, nodes: int) -> bool:
        """Return whether a search that has created so many nodes may create more."""
        return self.max_nodes is None or nodes < self.max_nodes

    def allows_grounding(self, operators: int) -> bool:
        """Return whether a problem that has so many ground operators may have more."""
        return self.max_ground_operators is None or operators < self.max_ground_operators
