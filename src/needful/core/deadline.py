"""How long learning may take.

A deadline decides whether something is learned, never what: whoever works for long asks it now and
then, and it raises once time is up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from needful.errors import InvalidInputError, LearningTimeoutError


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment on a monotonic clock; make one with `Deadline.after`.

    Attributes:
        limit: how many seconds there were in the beginning.
        at: the reading of `clock` at which time is up.
        clock: returns seconds and never goes back.
    """

    limit: float = math.inf
    at: float = math.inf
    clock: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> Deadline:
        """Return the deadline so many seconds from now, or one that never comes for None."""
        if seconds is None:
            return NO_DEADLINE
        if not seconds > 0:
            raise InvalidInputError(f"A time limit must be more than 0 seconds, got {seconds}.")
        return cls(seconds, clock() + seconds, clock)

    def check(self) -> bool:
        """Raise `LearningTimeoutError` if time is up, otherwise return False: work need not stop."""
        if self.at < math.inf and self.clock() >= self.at:
            raise LearningTimeoutError(self.limit)
        return False


NO_DEADLINE = Deadline()
