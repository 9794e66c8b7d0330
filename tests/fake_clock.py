"""A clock for tests: time passes only when it is told to, or by a bit at every look."""

from __future__ import annotations


class FakeClock:
    def __init__(self, tick: float = 0.0) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now
