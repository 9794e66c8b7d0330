"""Time limits of learning.

A deadline may stop learning, but it never changes the result. Long loops call `Deadline.check`,
which raises once the time is up.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from needful.errors import InvalidInputError, LearningTimeoutError


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
        """Return a deadline that passes when this one does, or after `count` calls of its own `check`.

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
