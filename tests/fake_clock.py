"""A clock for tests: its time changes only by assignment, or by `tick` per call."""

from __future__ import annotations


class FakeClock:
    def __init__(self, tick: float = 0.0) -> None:
        self.now = 0.0
        self.tick = tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now
