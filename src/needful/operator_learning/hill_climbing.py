"""Hill climbing over sets of operators.

Deviation E8, docs/paper_to_code.md: the published pseudo-code ends after one pass; what is meant is to
go on until neither move helps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from needful.operator_learning.improve_coverage import improve_coverage
from needful.operator_learning.learning_problem import Hypothesis, LearningProblem
from needful.operator_learning.objective import Objective

Move: TypeAlias = Callable[[Hypothesis, LearningProblem], Hypothesis]


@dataclass(frozen=True, slots=True)
class ClimbStep:
    """One accepted move: what it was, what it reached, and which operators came and went."""

    move: str
    objective: Objective
    added: tuple[str, ...]
    removed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Climb:
    """The operators that hill climbing has reached, and the way there."""

    hypothesis: Hypothesis
    steps: tuple[ClimbStep, ...] = ()

    def accept(self, move: str, reached: Hypothesis) -> Climb:
        """Return the climb one step further if that lowers J(Ω), otherwise this very climb."""
        return self.go(move, reached) if reached.objective < self.hypothesis.objective else self

    def go(self, move: str, reached: Hypothesis) -> Climb:
        """Return the climb one step further, this very climb if the step leads nowhere."""
        if reached is self.hypothesis:
            return self
        old, new = self.hypothesis.texts, reached.texts
        step = ClimbStep(move, reached.objective, tuple(sorted(new - old)), tuple(sorted(old - new)))
        return Climb(reached, (*self.steps, step))


def alternate(problem: LearningProblem, reduce: Move) -> Climb:
    """Alternate one improvement of coverage with deletions until nothing changes (LEARN, §3).

    Deleting after every improvement keeps poor early operators from shaping later ones.
    """
    climb = Climb(problem.nothing())
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller, shrunk = covered, covered.accept("delete", reduce(covered.hypothesis, problem))
        while shrunk is not smaller:
            smaller, shrunk = shrunk, shrunk.accept("delete", reduce(shrunk.hypothesis, problem))
        if smaller is climb:
            return climb
        climb = smaller


def steepest_descent(problem: LearningProblem, reduce: Move) -> Climb:
    """Take the better of both moves at each step, as the authors' code does."""
    climb = Climb(problem.nothing())
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller = climb.accept("delete", reduce(climb.hypothesis, problem))
        best = min(covered, smaller, key=lambda reached: reached.hypothesis.objective)
        if best is climb:
            return climb
        climb = best
