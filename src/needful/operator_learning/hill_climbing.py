"""Hill climbing over sets of operators.

Deviation E8, docs/paper_to_code.md: the published pseudo-code ends after one pass; the intended algorithm
continues until neither adding nor deleting operators improves the objective.
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
    """One accepted move: its name, the objective it reached, and the operators it added and removed."""

    move: str
    objective: Objective
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def __repr__(self) -> str:
        counts = f"added={len(self.added)}, removed={len(self.removed)}"
        return f"ClimbStep({self.move!r}, {self.objective}, {counts})"


@dataclass(frozen=True, slots=True)
class Climb:
    """The operators that hill climbing has reached, and the steps that led there."""

    hypothesis: Hypothesis
    steps: tuple[ClimbStep, ...] = ()

    def __repr__(self) -> str:
        return f"Climb({self.hypothesis!r}, steps={len(self.steps)})"

    def accept(self, move: str, reached: Hypothesis) -> Climb:
        """Return this climb continued by a move to `reached` if this lowers the objective.

        Otherwise return the climb unchanged.
        """
        return self.add_step(move, reached) if reached.objective < self.hypothesis.objective else self

    def add_step(self, move: str, reached: Hypothesis) -> Climb:
        """Return this climb continued by a move to `reached`.

        If `reached` already is the climb's hypothesis, return the climb unchanged.
        """
        if reached is self.hypothesis:
            return self
        old, new = self.hypothesis.operator_texts, reached.operator_texts
        step = ClimbStep(move, reached.objective, tuple(sorted(new - old)), tuple(sorted(old - new)))
        return Climb(reached, (*self.steps, step))


def alternate(problem: LearningProblem, reduce: Move) -> Climb:
    """Improve coverage once, then delete operators while this helps; repeat both (LEARN, §3).

    The loop ends when neither changes anything.
    Poor early operators are deleted before they can influence the operators that are added later.
    """
    climb = Climb(problem.empty_hypothesis())
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller, shrunk = covered, covered.accept("delete", reduce(covered.hypothesis, problem))
        while shrunk is not smaller:
            smaller, shrunk = shrunk, shrunk.accept("delete", reduce(shrunk.hypothesis, problem))
        if smaller is climb:
            return climb
        climb = smaller


def steepest_descent(problem: LearningProblem, reduce: Move) -> Climb:
    """Try to improve coverage and to delete an operator; keep the better result and repeat.

    This is the schedule of the authors' code. The loop ends when neither lowers the objective.
    """
    climb = Climb(problem.empty_hypothesis())
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller = climb.accept("delete", reduce(climb.hypothesis, problem))
        best = min(covered, smaller, key=lambda reached: reached.hypothesis.objective)
        if best is climb:
            return climb
        climb = best
