"""Limits: `Deadline` limits the time of learning, and `Budget` the time and the size of a search for plans.

A deadline may stop learning, but it never changes the result. Long loops of learning call `Deadline.check`,
which raises once the time is up. A budget never raises: a search that exhausts it ends and returns the
reason.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from needful.errors import InvalidInputError, LearningTimeoutError

Clock: TypeAlias = Callable[[], float]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time at which learning must stop; created by `Deadline.after`.

    Attributes:
        limit: the time limit in seconds.
        at: the reading of `clock` at which the time is up.
        clock: returns seconds and never decreases.
    """

    limit: float = math.inf
    at: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline `seconds` from now, or one that never passes if `seconds` is None."""
        if seconds is None:
            return NO_DEADLINE
        if not seconds > 0:
            raise InvalidInputError(f"A time limit must be more than 0 seconds, got {seconds}.")
        return cls(seconds, clock() + seconds, clock)

    def at_most(self, seconds: float) -> Deadline:
        """Return this deadline, or the deadline `seconds` from now if that is earlier."""
        at = self.clock() + seconds
        return Deadline(seconds, at, self.clock) if at < self.at else self

    def with_check_limit(self, count: int) -> Deadline:
        """Return a new deadline that passes after `count` calls of its `check`, or when this one passes.

        Unlike a time limit, a limit on the number of calls has the same effect on every machine.
        """
        numbers = itertools.count()

        def clock() -> float:
            self.check()
            return float(next(numbers))

        return Deadline(self.limit, float(count), clock)

    def check(self) -> bool:
        """Raise `LearningTimeoutError` if the time is up, otherwise return False.

        The method returns a value so that it can be the argument `stop` of `abstraction.joins.join`.
        """
        if self.at < math.inf and self.clock() >= self.at:
            raise LearningTimeoutError(self.limit)
        return False


NO_DEADLINE = Deadline()


@dataclass(frozen=True, slots=True)
class Budget:
    """A deadline on a monotonic clock and size limits, shared by all stages of planning.

    Attributes:
        deadline: the reading of `clock` at which time is up.
        max_nodes: the number of search nodes that may be created in total, or None for no limit.
        clock: returns seconds and never decreases.
        max_ground_operators: the number of ground operators that a task may have, or None for no limit.
    """

    deadline: float
    max_nodes: int | None = None
    clock: Clock = time.monotonic
    max_ground_operators: int | None = None

    def __post_init__(self) -> None:
        if math.isnan(self.deadline):
            raise InvalidInputError("The deadline must be a number, got nan. Use math.inf for no deadline.")
        if self.max_nodes is not None and self.max_nodes < 1:
            raise InvalidInputError(
                f"max_nodes must be at least 1, got {self.max_nodes}. Use None for no limit."
            )
        if self.max_ground_operators is not None and self.max_ground_operators < 0:
            raise InvalidInputError(
                f"max_ground_operators must be at least 0, got {self.max_ground_operators}. "
                "Use None for no limit."
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
        """Return a budget whose deadline is the given number of seconds from now."""
        return cls(clock() + seconds, max_nodes, clock, max_ground_operators)

    @classmethod
    def unlimited(cls) -> Budget:
        """Return a budget without limits."""
        return cls(math.inf)

    def expired(self) -> bool:
        """Return whether the deadline has passed."""
        return self.clock() >= self.deadline

    def remaining(self) -> float:
        """Return the seconds until the deadline, at least 0."""
        return max(0.0, self.deadline - self.clock())

    def until_deadline(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the given items until the deadline passes.

        The caller must check `expired` afterwards and discard a result that may be incomplete.
        """
        return itertools.takewhile(lambda _: not self.expired(), items)

    def allows(self, nodes: int) -> bool:
        """Return whether a search that has created `nodes` nodes may create another."""
        return self.max_nodes is None or nodes < self.max_nodes

    def allows_grounding(self, operators: int) -> bool:
        """Return whether a task with `operators` ground operators may have one more."""
        return self.max_ground_operators is None or operators < self.max_ground_operators
