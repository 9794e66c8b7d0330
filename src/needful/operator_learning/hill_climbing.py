"""Hill climbing over sets of operators, and two of its moves: delete an operator, or add further effects.

The move that deletes an operator is called ReduceComplexity in the paper.

This module deviates from the paper (E8 in docs/paper_to_code.md): the published pseudo-code ends after one
pass. Here, hill climbing continues until neither adding nor deleting operators improves the objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from needful.core.atoms import LiftedAtom
from needful.core.objects import Abbreviated
from needful.core.operators import Operator
from needful.operator_learning.improve_coverage import cover_where_stuck, improve_coverage
from needful.operator_learning.induction import common_atoms_after, lifted_atoms
from needful.operator_learning.learning_problem import LearningProblem
from needful.operator_learning.objective import Hypothesis, Objective
from needful.operator_learning.partition import FittedOperator

# The maximum number of times that hill climbing is resumed after it ended with uncovered transitions.
MAX_ESCAPES = 8
# Reliable effects (see `reliable_effects`) are added only to operators with at least this number of
# transitions. A single transition is not enough evidence.
MIN_TRANSITIONS = 2

Move: TypeAlias = Callable[[Hypothesis, LearningProblem], Hypothesis]
Resume: TypeAlias = "Callable[[Climb, LearningProblem], Climb]"


@dataclass(frozen=True, slots=True, repr=False)
class ClimbStep(Abbreviated):
    """One accepted move: its name, the objective it reached, and the operators it added and removed."""

    move: str
    objective: Objective
    added: tuple[str, ...]
    removed: tuple[str, ...]


def operator_text(fitted: FittedOperator) -> str:
    """Return the text of a fitted operator; this function is the default of `Climb.describe`."""
    return fitted.operator.text


@dataclass(frozen=True, slots=True, repr=False)
class Climb(Abbreviated):
    """The operators that hill climbing has reached, and the steps that led to them.

    `describe` returns the text that a step records for an operator, for example with the user's names.
    """

    hypothesis: Hypothesis
    steps: tuple[ClimbStep, ...] = ()
    describe: Callable[[FittedOperator], str] = operator_text

    def accept(self, move: str, reached: Hypothesis) -> Climb:
        """Return this climb with a further step to `reached` if `reached` has a lower objective.

        Otherwise return this climb itself.
        """
        return self.add_step(move, reached) if reached.objective < self.hypothesis.objective else self

    def add_step(self, move: str, reached: Hypothesis) -> Climb:
        """Return this climb with a further step, named `move`, to the hypothesis `reached`.

        If `reached` is already the climb's hypothesis, return this climb itself.
        """
        if reached is self.hypothesis:
            return self
        old, new = self.hypothesis.operator_texts, reached.operator_texts
        added = (self.describe(one) for one in reached.fitted if one.operator.text not in old)
        removed = (self.describe(one) for one in self.hypothesis.fitted if one.operator.text not in new)
        step = ClimbStep(move, reached.objective, tuple(sorted(added)), tuple(sorted(removed)))
        return Climb(reached, (*self.steps, step), self.describe)


def alternate(problem: LearningProblem, reduce: Move, start: Climb) -> Climb:
    """Learn operators by alternating between two phases (HillClimbing of the paper).

    The first phase adds operators once, to cover more transitions. The second phase deletes operators with
    `reduce` as long as this lowers the objective. The loop ends when neither phase changes anything. Poor
    operators are thus deleted before they can influence the operators that are added later.
    """
    climb = start
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller, shrunk = covered, covered.accept("delete", reduce(covered.hypothesis, problem))
        while shrunk is not smaller:
            smaller, shrunk = shrunk, shrunk.accept("delete", reduce(shrunk.hypothesis, problem))
        if smaller is climb:
            return climb
        climb = smaller


def steepest_descent(problem: LearningProblem, reduce: Move, start: Climb) -> Climb:
    """Learn operators by always applying the better of two moves, as in the authors' code.

    One move adds operators to cover more transitions, the other deletes an operator with `reduce`. Both
    are tried in each iteration. The loop ends when neither lowers the objective.
    """
    climb = start
    while True:
        covered = climb.accept("cover", improve_coverage(climb.hypothesis, problem))
        smaller = climb.accept("delete", reduce(climb.hypothesis, problem))
        best = min(covered, smaller, key=lambda reached: reached.hypothesis.objective)
        if best is climb:
            return climb
        climb = best


def reduce_complexity(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete the operator whose deletion lowers the objective most; return `start` if none lowers it.

    The transitions of the deleted operator are assigned to other operators that add the atoms needed in
    these transitions, if there are such operators. If several deletions are equally good, the operator
    whose text comes first is deleted.
    """
    best = start
    for deleted in start.candidates:
        rest = (candidate for candidate in start.candidates if candidate is not deleted)
        smaller = problem.fit_if_better(rest, start, best.objective)
        best = best if smaller is None else smaller
    return best


def reduce_truthfully(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Delete the operator whose deletion lowers the objective most, unless false claims would increase.

    A deletion moves transitions to other operators, whose preconditions then become weaker. The weaker
    operators may predict atoms that do not hold (false claims; see `false_claims`). A deletion that
    increases the number of false claims is rejected. The last operator of a controller is never deleted. If
    several deletions are equally good, the operator with the fewest `Candidate.conditions` is deleted;
    these are preconditions on objects that are not arguments of its controller. If no allowed deletion
    lowers the objective, return `start`.
    """
    controllers = [candidate.controller for candidate in start.candidates]
    best = start
    for deleted in sorted(start.candidates, key=lambda one: len(one.conditions)):
        if controllers.count(deleted.controller) == 1:
            continue
        rest = (candidate for candidate in start.candidates if candidate is not deleted)
        smaller = problem.fit_if_better(rest, start, best.objective)
        if smaller is not None and problem.false_claims(smaller) <= problem.false_claims(start):
            best = smaller
    return best


def keep_all_operators(start: Hypothesis, problem: LearningProblem) -> Hypothesis:
    """Return `start` unchanged; an ablation that puts no penalty on the number of operators (λ = 0)."""
    return start


def climb_where_stuck(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Try to cover the transitions that are still uncovered after hill climbing.

    `cover_where_stuck` searches for an improvement. After each improvement, `resume` continues hill
    climbing, which may also delete operators. There are at most `MAX_ESCAPES` improvements. If `climb`
    already covers all transitions, it is returned unchanged.
    """
    for _ in range(MAX_ESCAPES):
        if not climb.hypothesis.coverage.uncovered:
            break
        covered = climb.accept("pin", cover_where_stuck(climb.hypothesis, problem))
        if covered is climb:
            break
        climb = resume(covered, problem)
    return climb


def stay_where_stuck(climb: Climb, problem: LearningProblem, resume: Resume) -> Climb:
    """Return `climb` unchanged even if transitions are uncovered, as in the paper."""
    return climb


def necessary_effects_only(climb: Climb, problem: LearningProblem) -> Climb:
    """Return `climb` unchanged: operators predict only necessary effects, as in the paper."""
    return climb


def reliable_effects(climb: Climb, problem: LearningProblem) -> Climb:
    """Add effects that tasks with more objects need, although no demonstration needed them.

    If all training tasks have one object, no demonstration needs HandEmpty after the object was placed.
    Hill climbing then leaves this effect out, and no plan can pick up a second object. An atom is added to
    the effects of an operator under these conditions:

    - The atom held after every transition of the operator, and there are at least two transitions.
    - In at least one transition, the operator does not predict the atom: the atom became true although it
      is no add effect, or it stayed true although a quantified delete matches it.
    - Some operator has the atom's predicate in a precondition, and some operator deletes atoms of this
      predicate. Otherwise no plan needs the effect, or atoms of the predicate stay true anyway.
    - The number of false claims (predicted atoms that do not hold) does not increase; see `false_claims`.

    If fewer transitions would be covered with the new effects, none of them is added.

    The paper has no such step: its operators predict only changes that were necessary in a demonstration.
    """
    hypothesis = climb.hypothesis
    fitted = list(hypothesis.fitted)
    reusable = _reusable_predicates(one.operator for one in fitted)
    for index, one in enumerate(hypothesis.fitted):
        for atom in _reliable_atoms(one, reusable, problem):
            earlier = fitted[index]
            extended = replace(earlier.operator, add_effects=earlier.operator.add_effects | {atom})
            fitted[index] = replace(earlier, operator=extended)
            if problem.validity.count(each.operator for each in fitted) > problem.false_claims(hypothesis):
                fitted[index] = earlier
    if tuple(fitted) == hypothesis.fitted:
        return climb
    reached = problem.with_fitted(hypothesis, tuple(fitted))
    if reached.coverage.uncovered > hypothesis.coverage.uncovered:
        return climb
    return climb.add_step("predict", reached)


def _reusable_predicates(operators: Iterable[Operator]) -> frozenset[str]:
    """Return the predicates, by name, that some operator requires and some operator deletes."""
    required, deleted = set[str](), set[str]()
    for operator in operators:
        required |= {atom.predicate.name for atom in operator.preconditions}
        deleted |= {atom.predicate.name for atom in operator.delete_effects}
        deleted |= {pattern.predicate.name for pattern in operator.delete_patterns}
    return frozenset(required & deleted)


def _reliable_atoms(
    fitted: FittedOperator, reusable: frozenset[str], problem: LearningProblem
) -> Iterator[LiftedAtom]:
    """Yield atoms that hold after all transitions of an operator, but are not predicted in all of them."""
    operator, data = fitted.operator, fitted.data
    if len(data) < MIN_TRANSITIONS:
        return
    after = common_atoms_after(operator, data, reusable)
    predictions = [problem.matcher.predict(operator, *datum) for datum in data] if after else []
    for key in sorted(after):
        predicted = all(
            transition.table.ground((key,), objects) & prediction
            for (transition, objects), prediction in zip(data, predictions, strict=True)
        )
        if not predicted:
            yield from lifted_atoms(operator.parameters, {key: after[key]})
