"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Progress(Protocol):
    """Hears of the stages of a job."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage of so many parts; the function returned is told how many are done."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int | None = None) -> Callable[[int], None]:
        """Begin a stage that nobody watches."""
        return lambda done: None
